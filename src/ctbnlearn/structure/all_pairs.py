"""Posterior over every set of up to two parents, of all nodes, from complete paths, without ever listing the sets.

Nodes are taken in batches, columns in blocks of variables with the same number of states, so that memory stays within
a budget; blocks below the diagonal are left out. Kernels are in `pair_kernels`, which says what the axes are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.device import Device
from ctbnlearn.structure import pair_kernels as kernels
from ctbnlearn.structure.cell_prior import typical_rates
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.path_moments import PathMoments
from ctbnlearn.structure.prior import log_prior_parts, rate_prior
from ctbnlearn.structure.problem import EdgeRules, Scoring

BEYOND = np.iinfo(np.int32).max  # a column that is not there
KEEP = 64  # parent sets of a node that are listed
Batch: TypeAlias = tuple[IntArray, kernels.PairPosterior, FloatArray, FloatArray]  # nodes, posterior, dwell, moves


@dataclass(frozen=True, eq=False)
class PairResult:
    """Posterior over parent sets of all nodes.

    Attributes
    ----------
    log_evidence : (N,)
        Log of the sum of score times prior over all sets.
    edges : (N, N)
        Probability of [source, target].
    sets
        Per node the heaviest sets, heaviest first.
    weights
        Per node their weights; what they lack to one is the weight of all other sets.
    dwell, transitions
        Per node the tables of the listed sets, (k, s, t, S) and (k, s, t, S, S), states of the two members first; s and
        t are the most states a variable has, cells of states that are not there are zero.
    """

    log_evidence: FloatArray
    edges: FloatArray
    sets: list[ParentSets]
    weights: list[FloatArray]
    dwell: list[FloatArray]
    transitions: list[FloatArray]

    def table(self, node: int, number: int, cards: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Dwell (U, S) and transitions (U, S, S) of a listed set."""
        card = cards[node]
        s, t = (cards[j] if j >= 0 else 1 for j in self.sets[node].members[number])
        dwell, moves = self.dwell[node][number], self.transitions[node][number]
        return dwell[:s, :t, :card].reshape(s * t, card), moves[:s, :t, :card, :card].reshape(s * t, card, card)


@dataclass(frozen=True, eq=False)
class _Block:
    """Variables with the same number of states; numbers beyond all nodes fill it up."""

    variables: IntArray
    states: int
    first: int  # its first column


class _Columns:
    """Where the states of every variable stand."""

    def __init__(self, cards: Sequence[int], most: int) -> None:
        n = len(cards)
        sizes = np.asarray(cards)
        self.blocks: list[_Block] = []
        self.place: IntArray = np.full((n + 1, sizes.max()), BEYOND)
        self.width = 0
        for states in np.unique(sizes):
            variables = np.flatnonzero(sizes == states)
            count = -(-len(variables) // most)
            size = -(-len(variables) // count)
            variables = np.concatenate([variables, np.full(count * size - len(variables), n)])
            for part in variables.reshape(count, size):
                self.blocks.append(_Block(part, int(states), self.width))
                real = part < n
                at = self.width + np.arange(size)[:, None] * (states - 1) + np.arange(states - 1)
                self.place[part[real], 1:states] = at[real]
                self.width += size * (states - 1)
        self.variables: IntArray = np.concatenate([b.variables for b in self.blocks])


def _upper(n: int) -> list[tuple[int, int]]:
    """Every two blocks, the first not behind the second."""
    return [(a, b) for a in range(n) for b in range(a, n)]


class AllPairs:
    """Weighs all sets of up to two parents.

    Parameters
    ----------
    cards
        Number of states of every node.
    rules, scoring
        Which sets are admitted, and their priors; posterior weights only.
    mean_rates
        Per node what the prior of its rates is centred on, (S, S).
    possible
        Per node the transitions that can happen, None for all.
    products
        "float32" or "float64": precision of the scores.
    device
        Where to compute, and how much memory to use there.
    """

    def __init__(
        self,
        cards: Sequence[int],
        rules: EdgeRules,
        scoring: Scoring,
        mean_rates: Sequence[FloatArray],
        possible: Sequence[BoolArray | None],
        products: str,
        device: Device,
    ) -> None:
        self.cards, self.rules, self.products, self.device = list(cards), rules, products, device
        self.columns = _Columns(cards, device.block)
        self.own: IntArray = np.asarray(cards)
        self._possible = [_off_diagonal(p, c) for p, c in zip(possible, cards)]
        n, variables = len(cards), self.columns.variables
        states = sorted({b.states for b in self.columns.blocks})
        # shape and rate of cells depend on a set through the sizes of its members alone
        kinds = [(), *((s,) for s in states), *combinations_with_replacement(states, 2)]
        agent = {s: int(np.flatnonzero(self.own == s)[0]) for s in states}
        members = np.array([[agent[s] for s in kind] + [-1] * (2 - len(kind)) for kind in kinds])
        agents = ParentSets(members, rules.names)
        self._shape: dict[tuple[int, ...], FloatArray] = {kind: np.empty(n) for kind in kinds}
        self._rate: dict[tuple[int, ...], FloatArray] = {kind: np.ones((n, self.own.max())) for kind in kinds}
        self._by_size: FloatArray = np.full((n, 3), -np.inf)
        self._odds: FloatArray = np.full((n, n + 1), -np.inf)
        self._need: BoolArray = np.zeros((n, n + 1), bool)
        for i in range(n):
            allowed = list(rules.allowed[i])
            typical = typical_rates(mean_rates[i], possible[i])
            prior = rate_prior(scoring.rate_prior, agents, cards, allowed, rules.max_parents, typical)
            for kind, shape, rate in zip(kinds, *prior):
                self._shape[kind][i], self._rate[kind][i, : cards[i]] = shape, rate
            by_size, odds = log_prior_parts(
                scoring.structure_prior, n, i, allowed, rules.required[i], min(rules.limit(i), 2)
            )
            self._by_size[i, : len(by_size)] = by_size
            self._odds[i, allowed] = odds[allowed]
            self._need[i, list(rules.required[i])] = True
        self._odds, self._need = self._odds[:, variables], self._need[:, variables]

    def run(self, paths: Paths) -> PairResult:
        """Weigh all sets of all nodes."""
        n = len(self.cards)
        evidence: FloatArray = np.empty(n)
        edges: FloatArray = np.zeros((n + 1, n))
        listed: list[tuple[ParentSets, FloatArray, FloatArray, FloatArray] | None] = [None] * n
        with jax.enable_x64(True), self.device.here():
            place = np.where(self.columns.place == BEYOND, -1, self.columns.place)
            for nodes, found, time, moves in self._batches(PathMoments(paths, place, self.columns.width)):
                evidence[nodes] = found.log_evidence
                edges[self.columns.variables[:, None], nodes] = found.edges.T
                members = np.append(self.columns.variables, n)[found.members]
                # members in the order of the nodes, none last
                turned = members[..., 0] > members[..., 1]
                members = np.where((members == n).all(-1, keepdims=True), members, np.sort(members, axis=-1))
                time, moves = (np.where(_like(turned, t), t.swapaxes(2, 3), t) for t in (time, moves))
                for k, i in enumerate(nodes):
                    real = found.weights[k] > 0
                    pairs = np.where(members[k, real] == n, -1, members[k, real])
                    listed[i] = (
                        ParentSets(pairs, self.rules.names),
                        found.weights[k, real],
                        time[k, real],
                        moves[k, real],
                    )
        sets, weights, dwell, transitions = map(list, zip(*listed))
        return PairResult(evidence, np.clip(edges[:n], 0, 1), sets, weights, dwell, transitions)

    def _batches(self, source: PathMoments) -> Iterator[Batch]:
        """Nodes with the same number of states, as many at once as memory allows; their posteriors and tables."""
        everyone = source.everyone()
        for card in np.unique(self.own):
            nodes = np.flatnonzero(self.own == card)
            size = min(len(nodes), max(1, self.device.work_bytes // self._bytes_a_node(card)))
            starts = range(0, len(nodes), size)

            def work(k: int, card: int = int(card), nodes: IntArray = nodes, size: int = size) -> Batch:
                chosen = nodes[k * size : (k + 1) * size]
                with jax.enable_x64(True), self.device.here():
                    return chosen, *self._within_memory(chosen, size, card, source, everyone)

            yield from self.device.each(work, len(starts))

    def _within_memory(
        self, chosen: IntArray, size: int, card: int, source: PathMoments, everyone: list[FloatArray]
    ) -> tuple[kernels.PairPosterior, FloatArray, FloatArray]:
        """The posterior of some nodes, in smaller batches where the device runs out of memory."""
        whole = np.resize(chosen, size)  # the last batch is filled up: one shape to compile
        try:
            found, time, moves = self._batch(whole, card, source, everyone)
            n = len(chosen)
            return kernels.PairPosterior(*(np.asarray(a)[:n] for a in found)), time[:n], moves[:n]
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            if size == 1:
                raise ParameterError(
                    "the device has not enough memory to weigh the parent sets of a single variable; use "
                    'device="cpu", precision="float32", or restrict `candidates`'
                ) from None
        half = -(-size // 2)
        parts = [self._within_memory(c, half, card, source, everyone) for c in (chosen[:half], chosen[half:]) if len(c)]
        posterior = kernels.PairPosterior(*(np.concatenate(a) for a in zip(*(p[0] for p in parts))))
        return posterior, np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])

    def _bytes_a_node(self, card: int) -> int:
        """Working memory of one node of a batch, roughly."""
        wide = card**2 - 1
        most = max(len(b.variables) * b.states for b in self.columns.blocks)
        moments = 4 * wide * self.columns.width**2
        scores = 3 * (wide * most**2 + len(self.columns.variables) ** 2) * np.dtype(self.products).itemsize
        return int(moments + scores)

    def _batch(
        self, nodes: IntArray, card: int, source: PathMoments, everyone: list[FloatArray]
    ) -> tuple[kernels.PairPosterior, FloatArray, FloatArray]:
        blocks = self.columns.blocks
        pairs = _upper(len(blocks))
        counted = source.of(nodes, card)
        pair_dt, single_dt, dt = everyone
        possible = np.stack([self._possible[i] for i in nodes])
        at = [slice(b.first, b.first + len(b.variables) * (b.states - 1)) for b in blocks]
        single, total = (jnp.asarray(a) for a in counted[:2])
        pair = [jnp.asarray(counted[2][:, :, at[a], at[b]]) for a, b in pairs]

        def prior(*states: int) -> tuple[FloatArray, FloatArray]:
            return self._shape[states][nodes], np.repeat(self._rate[states][nodes, :card], card - 1, axis=1)

        empty = kernels.reference(total, dt, prior(), possible, card=card)
        settings: dict[str, Any] = {"card": card, "kind": self.products}
        ones = [
            kernels.single_scores(
                single[..., c], total, (single_dt[c], dt), empty, prior(b.states), possible, states=b.states, **settings
            )
            for b, c in zip(blocks, at)
        ]
        twos: list[list[Array]] = [[] for _ in blocks]
        for moments, (a, b) in zip(pair, pairs):
            sa, sb = blocks[a].states, blocks[b].states
            alike = (pair_dt[at[a], at[b]], single_dt[at[a]], single_dt[at[b]], dt)
            singles = single[..., at[a]], single[..., at[b]]
            twos[a].append(
                kernels.pair_scores(
                    moments, *singles, total, alike, empty, prior(sa, sb), possible, sa=sa, sb=sb, **settings
                )
            )
        given = kernels.SetPrior(self._by_size[nodes], self._odds[nodes], self._need[nodes])
        posterior = kernels.pair_posterior(empty.score, ones, twos, given, keep=KEEP, required=bool(self._need.any()))
        return posterior, *self._listed_tables(np.asarray(posterior.members), card, single, total, pair, everyone)

    def _listed_tables(
        self,
        members: IntArray,
        card: int,
        single: Float[Array, "n W F"],
        total: Float[Array, "n W"],
        pair: list[Float[Array, "n W _ _"]],
        everyone: list[FloatArray],
    ) -> tuple[FloatArray, FloatArray]:
        """Tables of the listed sets (n, k, 2): dwell (n, k, s, t, S) and transitions (n, k, s, t, S, S)."""
        blocks = self.columns.blocks
        place = np.concatenate([self.columns.place[self.columns.variables], self.columns.place[-1:]])[:, 1:]
        first, second = place[members[..., 0]], place[members[..., 1]]
        both = 0
        for moments, (a, b) in zip(pair, _upper(len(blocks))):
            inside = [
                np.where((c >= blocks[k].first) & (c < blocks[k].first + size), c - blocks[k].first, BEYOND)
                for c, k, size in ((first, a, moments.shape[2]), (second, b, moments.shape[3]))
            ]
            both = both + kernels.pick_pairs(moments, *inside)
        ones = [np.asarray(kernels.pick_singles(single, c)) for c in (first, second)]
        found = _all_states(np.asarray(both), ones[0], ones[1], np.asarray(total)[:, :, None])
        pair_dt, single_dt, dt = everyone
        filled = np.pad(pair_dt, (0, 1)), np.append(single_dt, 0.0)
        i, j = np.minimum(first, len(single_dt)), np.minimum(second, len(single_dt))
        alike = _all_states(
            filled[0][i[..., None], j[:, :, None]], filled[1][i], filled[1][j], np.full((1, 1), float(dt))
        )
        time = np.concatenate([(alike - found[:, : card - 1].sum(1))[:, None], found[:, : card - 1]], axis=1)
        moves = np.zeros((len(found), card, card, *found.shape[2:]))
        moves[:, ~np.eye(card, dtype=bool)] = found[:, card - 1 :]
        time, moves = np.maximum(time, 0.0), np.maximum(moves, 0.0)
        return np.moveaxis(time, 1, -1), np.moveaxis(moves, (1, 2), (-2, -1))


def _all_states(pair: FloatArray, first: FloatArray, second: FloatArray, total: FloatArray) -> FloatArray:
    """Put the first states in front: (..., s, t) from the moments of the others, of one variable, and of all rows."""
    out = np.zeros((*pair.shape[:-2], pair.shape[-2] + 1, pair.shape[-1] + 1))
    out[..., 1:, 1:], out[..., 1:, 0], out[..., 0, 1:], out[..., 0, 0] = pair, first, second, total
    out[..., 0] -= out[..., 1:].sum(-1)
    out[..., 0, :] -= out[..., 1:, :].sum(-2)
    return out


def _like(mask: BoolArray, array: FloatArray) -> BoolArray:
    """The mask with as many axes as the array."""
    return mask.reshape(*mask.shape, *[1] * (array.ndim - mask.ndim))


def _off_diagonal(possible: BoolArray | None, card: int) -> BoolArray:
    """Transitions that can happen, (T,) in the order of `pair_kernels`."""
    off = ~np.eye(card, dtype=bool)
    return np.ones(int(off.sum()), bool) if possible is None else possible[off]
