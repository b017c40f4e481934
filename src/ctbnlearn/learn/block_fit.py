"""Fits of blocks of variables by direct maximisation of the log evidence: the full block, and networks inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.inference.ascent import Value, maximise
from ctbnlearn.inference.block_chain import moves
from ctbnlearn.inference.block_evidence import Evidence
from ctbnlearn.learn.block_draws import RateDraws, draw_rates
from ctbnlearn.structure.block_models import Quadratic, Sets, labels, prior_constant
from ctbnlearn.structure.cell_prior import typical_rates
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import log_prior_parts, rate_prior
from ctbnlearn.structure.problem import EdgeRules, Scoring
from ctbnlearn.structure.pushes import EVEN, MOST_PARENTS, mixed

SCORED = 6  # trajectories per parameter from which on products of scores stand for the Hessian
STEP = 0.02  # of logarithms of rates, for differences of the gradient
TOGETHER = 128  # such differences taken side by side
FARTHEST = 6.0  # from the rates of a variable alone, in logarithms
DRAWS = 256  # of rates, for what Laplace's method does not see
STARTS = 4.0  # pseudo-counts of the initial distribution of a block, at that of independent members
Tables = Mapping[int, FloatArray] | Sequence[FloatArray] | Sequence[BoolArray]  # (S, S) per variable


class Network(NamedTuple):
    """A network inside a block: the block's variables, and per member its parents as positions in the block."""

    members: tuple[int, ...]
    sets: Sets


class Fit(NamedTuple):
    """A network at its most probable rates.

    Attributes
    ----------
    log_evidence
        By Laplace's method, without the prior of its structure.
    log_rates, moves : (p,)
        Logarithm of the rate, and expected number of moves, of every group.
    covariance : (p, p)
        Of the logarithms.
    settled
        Whether the maximisation has converged.
    gain
        Log evidence if parents push the block's first member, less that if its rates are independent; zero where that
        is not asked. `log_evidence` takes both for equally likely.
    """

    log_evidence: float
    log_rates: FloatArray
    moves: FloatArray
    covariance: FloatArray
    settled: bool
    gain: float

    def more_evidence(self, share: float) -> float:
        """How much more log evidence there is if such a share of variables are pushed."""
        return float(mixed(self.gain, share) - mixed(self.gain, EVEN))

    def pushed(self, share: float) -> float:
        """Probability that the first member is pushed, if such a share of variables are."""
        return 1.0 - float(np.exp(np.log1p(-share) - mixed(self.gain, share)))


@dataclass(frozen=True, eq=False)
class BlockFitter:
    """What fits of blocks depend on.

    Attributes
    ----------
    evidence
        The data.
    cards
        Number of states of every variable.
    alone : list of (S, S)
        Rates of every variable by itself.
    start : list of (S,)
        Initial distribution of every variable.
    learn_start
        Whether to estimate that of a block, with everyone driving everyone.
    possible : list of (S, S)
        Transitions that can happen.
    rules, scoring
        Which edges are admitted; priors.
    """

    evidence: Evidence
    cards: Sequence[int]
    alone: Sequence[FloatArray]
    start: Sequence[FloatArray]
    learn_start: bool
    possible: Sequence[BoolArray]
    rules: EdgeRules
    scoring: Scoring
    _priors: dict[tuple[int, tuple[int, ...]], tuple[float, FloatArray]] = field(default_factory=dict)
    _structure_priors: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    _first: dict[tuple[int, ...], tuple[BoolArray, FloatArray]] = field(default_factory=dict)
    _starts: dict[tuple[int, ...], FloatArray] = field(default_factory=dict)

    def shape(self, members: Sequence[int]) -> tuple[int, ...]:
        """Numbers of states of a block's members."""
        return tuple(self.cards[j] for j in members)

    def by_shape(self, blocks: Sequence[tuple[int, ...]]) -> list[list[int]]:
        """Numbers of the blocks of each shape."""
        kinds: dict[tuple[int, ...], list[int]] = {}
        for k, members in enumerate(blocks):
            kinds.setdefault(self.shape(members), []).append(k)
        return list(kinds.values())

    def prior(self, node: int, parents: Sequence[int]) -> tuple[float, FloatArray]:
        """Gamma prior of the rates of a variable with given parents: shape, and rate by its state, (S,)."""
        key = (node, tuple(parents))
        if key not in self._priors:
            sets = ParentSets(np.array([[*parents, *[-1] * (not parents)]]), self.rules.names)
            rules, typical = self.rules, typical_rates(self.alone[node], self.possible[node])
            prior = self.scoring.rate_prior
            shape, rate = rate_prior(prior, sets, self.cards, rules.allowed[node], rules.max_parents, typical)
            self._priors[key] = float(shape[0]), rate[0]
        return self._priors[key]

    def log_prior(self, node: int, sets: Sequence[Sequence[int]]) -> FloatArray:
        """Log prior probabilities of parent sets of a variable."""
        if node not in self._structure_priors:
            rules, structure = self.rules, self.scoring.structure_prior
            self._structure_priors[node] = log_prior_parts(
                structure, len(self.cards), node, rules.allowed[node], rules.required[node], rules.limit(node)
            )
        by_size, odds = self._structure_priors[node]
        return np.array([by_size[len(m)] + odds[list(m)].sum() for m in sets])

    def priors(self, network: Network) -> tuple[FloatArray, FloatArray]:
        """Prior of every rate of the full block under a network, (k, S) each."""
        members = network.members
        own = {i: self.prior(i, [members[k] for k in parents]) for i, parents in zip(members, network.sets)}
        shape = {i: np.full((self.cards[i],) * 2, alpha) for i, (alpha, _) in own.items()}
        rate = {i: np.repeat(beta[:, None], self.cards[i], 1) for i, (_, beta) in own.items()}
        return self._own(shape, members), self._own(rate, members)

    def _own(self, tables: Tables, members: Sequence[int]) -> FloatArray:
        """Entries [from, to] of the members' own tables on the full block, (k, S)."""
        who, step, to = moves(self.shape(members))
        states = np.unravel_index(np.arange(to.shape[1]), self.shape(members))
        cards = self.cards
        return np.stack([tables[members[j]][states[j], (states[j] + s) % cards[members[j]]] for j, s in zip(who, step)])

    def _begin(self, members: Sequence[int]) -> tuple[BoolArray, FloatArray]:
        key = tuple(members)
        if key not in self._first:
            rates = np.log(np.maximum(self._own(self.alone, members), 1e-12))
            self._first[key] = self._own(self.possible, members).astype(bool), rates
        return self._first[key]

    def used(self, members: Sequence[int]) -> BoolArray:
        """Which moves can happen from which joint states, (k, S)."""
        return self._begin(members)[0]

    def first_rates(self, members: Sequence[int]) -> FloatArray:
        """Logarithms of the rates of every member by itself, on the full block, (k, S)."""
        return self._begin(members)[1]

    def alone_rates(self, nodes: Sequence[int]) -> FloatArray:
        """Rates of variables of equal shape, each as a block of its own, (n, k, S)."""
        return np.stack([np.where(self.used((i,)), self._own(self.alone, (i,)), 0.0) for i in nodes])

    def first_start(self, members: Sequence[int]) -> FloatArray:
        """Initial distribution of independent members, (S,)."""
        joint = np.ones(1)
        for j in members:
            joint = np.outer(joint, self.start[j]).reshape(-1)
        return joint

    def block_start(self, members: tuple[int, ...]) -> FloatArray:
        """Initial distribution with everyone driving everyone, (S,), under which all networks of a block are compared.

        Learned anew with each of them, step by step beside the rates, it was left off by several nats, for some by more
        than for others.
        """
        return self._starts[members] if members in self._starts else self.first_start(members)

    def full(self, blocks: Sequence[tuple[int, ...]]) -> list[Quadratic]:
        """The log evidence of full blocks near its top."""
        out: dict[int, Quadratic] = {}
        for some in self.by_shape(blocks):
            everyone = range(len(blocks[some[0]]))
            sets = tuple(tuple(k for k in everyone if k != j) for j in everyone)
            batch = _Batch(self, [Network(blocks[k], sets) for k in some], None)
            top = maximise(batch.evaluate, batch.first, gain=0.5)  # the quadratic knows what is left
            batch.learn_start = False
            self._starts.update((blocks[k], own) for k, own in zip(some, batch.start))
            information = batch.score_products(top.point)
            _shrink(information, self.evidence.n_trajectories)
            prior = batch.log_prior(np.arange(len(some)), top.point)
            for n, k in enumerate(some):  # groups are numbered as the rates of the full block, but in another order
                order = batch.label[n].reshape(-1)
                out[k] = Quadratic(
                    top.point[n][order],
                    np.asarray(top.value[n] - prior.value[n]),
                    (top.gradient[n] - prior.gradient[n])[order],
                    information[n][np.ix_(order, order)],
                )
        return [out[k] for k in range(len(blocks))]

    def _alike(self, networks: Sequence[Network]) -> list[list[int]]:
        """Numbers of networks of one shape each, those apart that have many rates for the number of trajectories."""
        out = []
        for some in self.by_shape([network.members for network in networks]):
            cards = self.shape(networks[some[0]].members)
            rates = np.array([int(labels(cards, networks[k].sets).max()) + 1 for k in some])
            few = rates * SCORED <= self.evidence.n_trajectories
            out += [[k for k, own in zip(some, few) if own == kind] for kind in (True, False)]
        return [some for some in out if some]

    def networks(self, networks: Sequence[Network], start: Sequence[FloatArray]) -> list[Fit]:
        """Fit networks, from given logarithms of rates, one a group."""
        out: dict[int, Fit] = {}
        for some in self._alike(networks):
            batch = _Batch(self, [networks[k] for k in some], [start[k] for k in some])
            top = maximise(batch.evaluate, batch.first, gain=0.2)
            information, lacking = batch.information(top.point)
            for n, k in enumerate(some):
                there = batch.there[n]
                own, slope = information[n][np.ix_(there, there)], top.gradient[n][there]
                step = np.linalg.solve(own, slope)
                value = top.value[n] + prior_constant(batch.alpha[n][there], batch.beta[n][there]).sum()
                value += 0.5 * float(slope @ step)  # what the last step would still gain
                value += 0.5 * there.sum() * np.log(2 * np.pi) - 0.5 * (np.linalg.slogdet(own)[1] + lacking[n])
                covariance = np.zeros_like(information[n])
                covariance[np.ix_(there, there)] = np.linalg.inv(own)
                drawn, gain = self.draws(networks[k], top.point[n], covariance, DRAWS), 0.0
                value += drawn.bend
                if self.may_be_pushed(networks[k]):
                    gain = drawn.gain(self.shape([networks[k].members[a] for a in networks[k].sets[0]]))
                    value += float(mixed(gain, EVEN))
                out[k] = Fit(float(value), top.point[n], batch.flow[n], covariance, bool(top.settled[n]), gain)
        return [out[k] for k in range(len(networks))]

    def may_be_pushed(self, network: Network) -> bool:
        """Whether its parents in a network may push its first member."""
        return self.scoring.pushed and 0 < len(network.sets[0]) <= MOST_PARENTS

    def draws(self, network: Network, log_rates: FloatArray, covariance: FloatArray, count: int) -> RateDraws:
        """Draws of the rates of a network's first member."""
        node, parents = network.members[0], [network.members[k] for k in network.sets[0]]
        rate, u = self.prior(node, parents)[1], prod(self.shape(parents))
        return draw_rates(log_rates, covariance, rate, u, self.possible[node], count)


class _Batch:
    """Networks of equal shape as maximisations over the logarithms of rates, one a group, from some of these.

    Full blocks start from the rates of variables alone, and learn the initial distribution along with them.
    """

    def __init__(self, fitter: BlockFitter, networks: Sequence[Network], start: Sequence[FloatArray] | None) -> None:
        self.fitter = fitter
        self.members = np.array([network.members for network in networks])
        cards, n = fitter.shape(networks[0].members), len(networks)
        self.label = np.stack([labels(cards, network.sets) for network in networks])
        width = int(self.label.max()) + 1
        self.used = np.stack([fitter.used(network.members) for network in networks])
        self.alpha, self.beta, self.base = np.zeros((n, width)), np.ones((n, width)), np.zeros((n, width))
        self.there, self.flow = np.zeros((n, width), bool), np.zeros((n, width))
        for k, network in enumerate(networks):
            label, (shape, rate) = self.label[k], fitter.priors(network)
            self.there[k, label[self.used[k]]] = True
            self.alpha[k, label], self.beta[k, label] = shape, rate
            self.base[k, label] = fitter.first_rates(network.members)
        self.first = self.base.copy()
        for k, own in enumerate(start or ()):
            self.first[k, : len(own)] = own
        self.first = np.clip(self.first, self.base - FARTHEST, self.base + FARTHEST)
        begin = fitter.first_start if start is None else fitter.block_start
        self.start = np.stack([begin(network.members) for network in networks])
        self.first_start, self.learn_start = self.start.copy(), fitter.learn_start and start is None

    def rates(self, some: IntArray, point: FloatArray) -> FloatArray:
        """Rates of the full block, (n, k, S)."""
        label = self.label[some]
        inside = np.clip(point, self.base[some] - FARTHEST, self.base[some] + FARTHEST)
        theta = np.take_along_axis(inside, label.reshape(len(some), -1), 1).reshape(label.shape)
        return np.where(self.used[some], np.exp(theta), 0.0)

    def log_prior(self, some: IntArray, point: FloatArray) -> Value:
        """Log prior density of the logarithms of rates, without its constant."""
        there, pull = self.there[some], self.beta[some] * np.exp(np.clip(point, -50.0, 50.0))
        value = np.where(there, self.alpha[some] * point - pull, 0.0).sum(1)
        return Value(value, np.where(there, self.alpha[some] - pull, 0.0), np.where(there, pull, 1.0))

    def gather(self, some: IntArray, table: FloatArray) -> FloatArray:
        """Sums over the rates of a group, (n, p)."""
        n = len(some)
        out = np.zeros((n, self.first.shape[1]))
        np.add.at(out, (np.arange(n)[:, None], self.label[some].reshape(n, -1)), table.reshape(n, -1))
        return out

    def evaluate(self, some: IntArray, point: FloatArray) -> Value:
        """Log posterior density, its gradient, and the curvature that complete data would have.

        Networks may come several times in `some`, with a point each.
        """
        rates, data = self.rates(some, point), self.fitter.evidence
        found = data.totals(self.members[some], rates, self.start[some])
        self.flow[some] = flow = self.gather(some, rates * found.flow)
        prior = self.log_prior(some, point)
        gradient = flow - self.gather(some, rates * found.dwell[:, None]) + prior.gradient
        if self.learn_start:
            self.start[some] = (found.starts + STARTS * self.first_start[some]) / (data.n_trajectories + STARTS)
            self.start[some] /= self.start[some].sum(1, keepdims=True)
        there = self.there[some]
        curvature = np.where(there, flow + np.maximum(prior.curvature, 0.5), 1.0)
        return Value(found.log_evidence.sum(1) + prior.value, np.where(there, gradient, 0.0), curvature)

    def score_products(self, point: FloatArray) -> FloatArray:
        """What stands for minus the Hessian of the log evidence: products of the trajectories' scores, (n, p, p)."""
        every, data = np.arange(len(point)), self.fitter.evidence
        products = data.score_products(self.members, self.rates(every, point), self.start)
        one = (self.label.reshape(len(point), -1, 1) == np.arange(point.shape[1])).astype(float)
        return one.swapaxes(1, 2) @ products @ one

    def information(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Minus the Hessian of the log posterior density, (n, p, p), and what its log determinant lacks on average."""
        n, p = point.shape
        every, prior = np.arange(n), self.log_prior(np.arange(n), point).curvature
        own, count = self.there.sum(1), self.fitter.evidence.n_trajectories
        if count >= SCORED * int(own.max()):
            out = self.score_products(point)
            out[:, np.arange(p), np.arange(p)] += prior
            # a sum of products of `count` vectors: the log determinant of a Wishart matrix
            degrees = (count - np.arange(p)) / 2
            return out, -np.cumsum(digamma(degrees) - np.log(count / 2))[own - 1]
        flow, here = self.flow.copy(), self.evaluate(every, point).gradient
        out, (network, rate) = np.zeros((n, p, p)), np.nonzero(self.there)
        for low in range(0, len(rate), TOGETHER):
            some, c = network[low : low + TOGETHER], rate[low : low + TOGETHER]
            moved = point[some]
            moved[np.arange(len(c)), c] += STEP
            out[some, c] = (here[some] - self.evaluate(some, moved).gradient) / STEP
        self.flow = flow
        return _positive(0.5 * (out + out.swapaxes(1, 2)), prior, self.there), np.zeros(n)


def _shrink(information: FloatArray, n_trajectories: int) -> None:
    """Shrink sums of products of scores, in place, towards their diagonal where there are few trajectories."""
    p = information.shape[1]
    share, diagonal = p / (p + n_trajectories), np.arange(p)
    kept = information[:, diagonal, diagonal].copy()
    information *= 1 - share
    information[:, diagonal, diagonal] = kept


def _positive(information: FloatArray, prior: FloatArray, there: BoolArray) -> FloatArray:
    """Without directions that are hardly curved, or curved the wrong way; the prior alone curves somewhat."""
    out = information.copy()
    for n in range(len(out)):
        own = np.ix_(there[n], there[n])
        values, vectors = np.linalg.eigh(out[n][own])
        least = 0.3 * min(1.0, float(prior[n][there[n]].min(initial=1.0)))
        out[n][own] = (vectors * np.maximum(values, least)) @ vectors.T
    return out
