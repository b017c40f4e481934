"""Posterior over every set of up to two parents, of all nodes, without ever listing the sets.

Nodes are taken in batches, columns in blocks of variables with the same number of states, so that memory stays within
a budget; blocks below the diagonal are left out. Kernels are in `pair_kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.rows import Rows
from ctbnlearn.inference.variational import Tables
from ctbnlearn.structure import pair_kernels as kernels
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import log_prior_parts, rate_prior
from ctbnlearn.structure.problem import EdgeRules, Judgement

BLOCK = 128  # variables a block of columns holds at most
KEEP = 64  # parent sets of a node that are listed


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
    reach : (N, N)
        Log weight, up to a constant per target, of the best set that holds [source, target].
    """

    log_evidence: FloatArray
    edges: FloatArray
    sets: list[ParentSets]
    weights: list[FloatArray]
    reach: FloatArray


@dataclass(frozen=True, eq=False)
class _Block:
    """Variables with the same number of states; numbers beyond all nodes fill it up."""

    variables: IntArray
    states: int
    first: int  # its first column


class _Columns:
    """Where the states of every variable stand; a constant counts as having a second state that never comes."""

    def __init__(self, cards: Sequence[int]) -> None:
        n = len(cards)
        padded = np.maximum(cards, 2)
        self.blocks: list[_Block] = []
        self.place: IntArray = np.full((n + 1, padded.max()), np.iinfo(np.int32).max)
        self.width = 0
        for states in np.unique(padded):
            variables = np.flatnonzero(padded == states)
            count = -(-len(variables) // BLOCK)
            size = -(-len(variables) // count)
            variables = np.concatenate([variables, np.full(count * size - len(variables), n)])
            for part in variables.reshape(count, size):
                self.blocks.append(_Block(part, int(states), self.width))
                real = part < n
                at = self.width + np.arange(size)[:, None] * (states - 1) + np.arange(states - 1)
                self.place[part[real], 1:states] = at[real]
                self.width += size * (states - 1)
        self.variables: IntArray = np.concatenate([b.variables for b in self.blocks])

    def fill(self, q: Any, kind: str) -> list[Any]:
        """Columns of every block (F, R) from marginals (N, S, R)."""
        extended = jnp.concatenate([q, jnp.zeros((1, *q.shape[1:]), q.dtype)])
        return [extended[b.variables, 1 : b.states].reshape(-1, q.shape[-1]).astype(kind) for b in self.blocks]


class AllPairs:
    """Weighs all sets of up to two parents.

    Parameters
    ----------
    cards
        Number of states of every node.
    rules, judgement
        Which sets are admitted, and their priors; posterior weights only.
    mean_rates
        Per node its overall rate, for rate_prior="auto".
    possible
        Per node the transitions that can happen, None for all.
    products
        "float32" or "float64": precision of the matrix products.
    device
        Where to compute, and how much memory to use there.
    """

    def __init__(
        self,
        cards: Sequence[int],
        rules: EdgeRules,
        judgement: Judgement,
        mean_rates: Sequence[float],
        possible: Sequence[BoolArray | None],
        products: str,
        device: Device,
    ) -> None:
        self.cards, self.rules, self.products, self.device = list(cards), rules, products, device
        self.columns = _Columns(cards)
        self.own: IntArray = np.maximum(cards, 2)
        self._possible = [_off_diagonal(p, c) for p, c in zip(possible, cards)]
        n, variables = len(cards), self.columns.variables
        states = sorted({b.states for b in self.columns.blocks})
        # shape and rate of cells depend on a set through the sizes of its members alone
        kinds = [(), *((s,) for s in states), *combinations_with_replacement(states, 2)]
        agent = {s: int(np.flatnonzero(self.own == s)[0]) for s in states}
        members = np.array([[agent[s] for s in kind] + [-1] * (2 - len(kind)) for kind in kinds])
        agents = ParentSets(members, rules.names)
        self._shape: dict[tuple[int, ...], FloatArray] = {kind: np.empty(n) for kind in kinds}
        self._rate: dict[tuple[int, ...], FloatArray] = {kind: np.empty(n) for kind in kinds}
        self._by_size: FloatArray = np.full((n, 3), -np.inf)
        self._odds: FloatArray = np.full((n, n + 1), -np.inf)
        self._need: BoolArray = np.zeros((n, n + 1), bool)
        for i in range(n):
            allowed = list(rules.allowed[i])
            prior = rate_prior(judgement.rate_prior, agents, cards, allowed, rules.max_parents, mean_rates[i])
            for kind, shape, rate in zip(kinds, *prior):
                self._shape[kind][i], self._rate[kind][i] = shape, rate
            by_size, odds = log_prior_parts(
                judgement.structure_prior, n, i, allowed, rules.required[i], min(rules.limit(i), 2)
            )
            self._by_size[i, : len(by_size)] = by_size
            self._odds[i, allowed] = odds[allowed]
            self._need[i, list(rules.required[i])] = True
        self._odds, self._need = self._odds[:, variables], self._need[:, variables]

    def run(
        self, rows: Callable[[], Iterable[Rows]], tables: Tables, progress: Callable[[int], Any] | None = None
    ) -> PairResult:
        """Weigh all sets of all nodes.

        Parameters
        ----------
        rows
            Gives the path posteriors, in pieces; asked for once a batch of nodes.
        tables
            The path rates they were made with.
        progress
            Called with the number of nodes done.
        """
        n = len(self.cards)
        evidence: FloatArray = np.empty(n)
        edges: FloatArray = np.zeros((n + 1, n))
        reach: FloatArray = np.zeros((n + 1, n))
        sets: list[Any] = [None] * n
        weights: list[Any] = [None] * n
        names = self.rules.names
        done = 0
        with jax.enable_x64(True), self.device.here():
            for nodes, found in self._batches(rows, tables):
                listed = np.append(self.columns.variables, n)[found.members]
                for k, i in enumerate(nodes):
                    real = found.weights[k] > 0
                    pairs = np.sort(np.where(listed[k][real] == n, -1, listed[k][real]), axis=1)[:, ::-1]
                    pairs = np.where(pairs[:, 1:] < 0, pairs, pairs[:, ::-1])
                    sets[i], weights[i] = ParentSets(pairs, names), found.weights[k][real]
                    edges[self.columns.variables, i] = found.edges[k]
                    reach[self.columns.variables, i] = found.reach[k]
                evidence[nodes] = found.log_evidence
                done += len(nodes)
                if progress is not None:
                    progress(done)
        return PairResult(evidence, np.clip(edges[:n], 0.0, 1.0), sets, weights, reach[:n])

    def _batches(
        self, rows: Callable[[], Iterable[Rows]], tables: Tables
    ) -> Iterator[tuple[IntArray, kernels.PairPosterior]]:
        """Nodes with the same number of states, as many at once as memory allows."""
        for card in np.unique(self.own):
            nodes = np.flatnonzero(self.own == card)
            size = min(
                len(nodes),
                max(1, self.device.work_bytes // self._bytes_a_node(card, max(r.dt.shape[0] for r in rows()))),
            )
            low = 0
            while low < len(nodes):
                chosen = nodes[low : low + size]
                whole = np.resize(chosen, size)  # the last batch is filled up: one shape to compile
                try:
                    found = self._batch(whole, int(card), rows, tables)
                    found = kernels.PairPosterior(*(np.asarray(a)[: len(chosen)] for a in found))
                except jax.errors.JaxRuntimeError as error:
                    if "RESOURCE_EXHAUSTED" not in str(error):
                        raise
                    if size == 1:
                        raise ParameterError(
                            "the device has not enough memory to weigh the parent sets of a single variable; use "
                            'device="cpu", precision="float32", or restrict `candidates`'
                        ) from None
                    size = max(1, size // 2)
                    continue
                yield chosen, found
                low += size

    def _bytes_a_node(self, card: int, n_rows: int) -> int:
        """Working memory of one node of a batch, roughly."""
        wide = card**2 - 1
        block = max(len(b.variables) * (b.states - 1) for b in self.columns.blocks)
        most = max(len(b.variables) * b.states for b in self.columns.blocks)
        product = wide * n_rows * block * np.dtype(self.products).itemsize
        moments = 4 * wide * self.columns.width**2
        scores = 16 * wide * most**2 + 40 * len(self.columns.variables) ** 2
        return int(product + moments + scores)

    def _batch(
        self, nodes: IntArray, card: int, rows: Callable[[], Iterable[Rows]], tables: Tables
    ) -> kernels.PairPosterior:
        blocks, place = self.columns.blocks, self.columns.place
        own = Tables(*(a[:, nodes] if k == 3 else a[nodes] for k, a in enumerate(tables)))
        pairs = [(a, b) for a in range(len(blocks)) for b in range(a, len(blocks))]
        total: list[Any] = []
        for part in rows():
            z = self.columns.fill(part.marginal, self.products)
            weighted = kernels.weigh(part.marginal, part.dt, part.transitions[nodes], nodes, own, place, card=card)
            everyone = kernels.Weighted(
                jnp.asarray(part.dt)[None, None], weighted.tilted[:1, :0], weighted.columns[:1], weighted.joint[:1, :0]
            )
            found = []
            for w in (weighted, everyone):
                found += kernels.single_moments(jnp.concatenate(z), w)
                found += [kernels.pair_moments(z[a], z[b], w, blocks[a].first, blocks[b].first) for a, b in pairs]
            total = [x + y for x, y in zip(total, found)] if total else found
        half = len(total) // 2
        (single, all_rows, *pair), (single_dt, dt, *pair_dt) = total[:half], [a[:, 0] for a in total[half:]]
        possible = np.stack([self._possible[i] for i in nodes])
        settings = {"card": card}

        def prior(*states: int) -> tuple[FloatArray, FloatArray]:
            return self._shape[states][nodes], self._rate[states][nodes]

        def columns(block: _Block) -> slice:
            return slice(block.first, block.first + len(block.variables) * (block.states - 1))

        empty = kernels.empty_scores(all_rows, dt, prior(), possible, **settings)
        ones = jnp.concatenate(
            [
                kernels.single_scores(
                    single[..., columns(b)],
                    all_rows,
                    (single_dt[..., columns(b)], dt),
                    prior(b.states),
                    possible,
                    states=b.states,
                    **settings,
                )
                for b in blocks
            ],
            axis=1,
        )
        grid: list[list[Any]] = [
            [jnp.full((len(nodes), len(a.variables), len(b.variables)), -jnp.inf) for b in blocks] for a in blocks
        ]
        for k, (a, b) in enumerate(pairs):
            left, right = columns(blocks[a]), columns(blocks[b])
            grid[a][b] = kernels.pair_scores(
                pair[k],
                single[..., left],
                single[..., right],
                all_rows,
                (pair_dt[k], single_dt[..., left], single_dt[..., right], dt),
                prior(blocks[a].states, blocks[b].states),
                possible,
                sa=blocks[a].states,
                sb=blocks[b].states,
                **settings,
            )
        twos = jnp.concatenate([jnp.concatenate(row, axis=2) for row in grid], axis=1)
        given = kernels.SetPrior(self._by_size[nodes], self._odds[nodes], self._need[nodes])
        return kernels.pair_posterior(empty, ones, twos, given, keep=KEEP)


def _off_diagonal(possible: BoolArray | None, card: int) -> BoolArray:
    """Transitions that can happen, (T,) in the order of `pair_kernels`; none for a constant."""
    off = ~np.eye(max(card, 2), dtype=bool)
    if card < 2:
        return np.zeros(int(off.sum()), bool)
    return np.ones(int(off.sum()), bool) if possible is None else possible[off]
