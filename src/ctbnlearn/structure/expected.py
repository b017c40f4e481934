"""Expected dwell and transition tables of all parent sets of a node, from path posteriors.

With parents independent given their marginals, the time node i spends in x while the parents in m are in u is
sum_cells t_i(x) prod_j q_j(u_j): a weighted sum of products of columns. Products of up to K - 1 columns are formed
once, the last factor comes in by a matrix product; first states follow by differences. At a transition of i the parents
that its path rates depend on are tilted together, q(u | jump) = q^u R~(u) / r~; the others are independent of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from math import comb

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.rows import Rows
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.tables import Group


class SetMoments:
    """Sums over rows of products of up to `largest` columns of one node's pool.

    Parameters
    ----------
    node
        The node.
    pool
        Variables its parent sets are made of.
    active
        The parents its path rates depend on.
    geometric : (U, S, S)
        Those rates, on the joint states of `active`.
    cards
        Number of states of every variable.
    largest
        Largest parent set.
    """

    def __init__(
        self,
        node: int,
        pool: Sequence[int],
        active: Sequence[int],
        geometric: FloatArray,
        cards: Sequence[int],
        largest: int,
    ) -> None:
        self.node, self.active, self.geometric, self.cards = node, list(active), geometric, list(cards)
        first = [j for j in active if j in set(pool)]
        self.slots = [*first, *(j for j in pool if j not in set(first))]  # tilted parents come first
        self.tilted = len(first)
        self.card = cards[node]
        self.states = max([2, *(cards[j] for j in self.slots)])
        self.largest = min(largest, len(self.slots))
        count = len(self.slots)
        self.subsets: list[IntArray] = [
            np.array(list(combinations(range(count), k)), dtype=np.int64).reshape(comb(count, k), k)
            for k in range(self.largest + 1)
        ]
        # where a subset without its last member stands among the smaller ones
        self._number = [{tuple(m): k for k, m in enumerate(map(tuple, s))} for s in self.subsets]
        self._prefix = [
            np.array([self._number[k - 1][tuple(m[:-1])] for m in s], dtype=np.int64) if k else np.zeros(1, np.int64)
            for k, s in enumerate(self.subsets)
        ]
        free = self.states - 1
        self.dwell = [np.zeros((self.card, len(s), free**k)) for k, s in enumerate(self.subsets)]
        self.moves = [np.zeros((self.card, self.card, len(s), free**k)) for k, s in enumerate(self.subsets)]

    def add(self, rows: Rows) -> None:
        """Add the rows of a block."""
        own = rows.marginal[self.node, : self.card] * rows.dt
        z = np.zeros((len(self.slots), self.states - 1, len(rows.dt)))
        for p, j in enumerate(self.slots):
            z[p, : self.cards[j] - 1] = rows.marginal[j, 1 : self.cards[j]]
        for k, found in enumerate(self._sums(self._products(z, None), z, own, None)):
            self.dwell[k] += found
        if not self.active:
            jumps = rows.transitions[self.node, : self.card, : self.card].reshape(self.card**2, -1)
            for k, found in enumerate(self._sums(self._products(z, None), z, jumps, None)):
                self.moves[k] += found.reshape(self.moves[k].shape)
            return
        joint = np.ones((1, len(rows.dt)))
        for j in self.active:
            joint = (joint[:, None] * rows.marginal[j, : self.cards[j]]).reshape(-1, len(rows.dt))
        for x in range(self.card):
            for y in range(self.card):
                if x == y:
                    continue
                tilted = joint * self.geometric[:, x, y, None]
                total = tilted.sum(0)
                tilted *= np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
                tilted = tilted.reshape(*(self.cards[j] for j in self.active), -1)
                weight = rows.transitions[self.node, x, y][None]
                for k, found in enumerate(self._sums(self._products(z, tilted), z, weight, tilted)):
                    self.moves[k][x, y] += found[0]

    def _tilted_product(self, subset: Sequence[int], tilted: FloatArray) -> FloatArray:
        """Joint probability of states other than the first of tilted slots, ((S - 1)^k, R)."""
        axes = [self.active.index(self.slots[p]) for p in subset]
        others = tuple(k for k in range(len(self.active)) if k not in axes)
        part = np.moveaxis(tilted.sum(others), np.argsort(np.argsort(axes)), range(len(axes)))
        out = np.zeros((*[self.states - 1] * len(axes), part.shape[-1]))
        out[tuple(slice(0, self.cards[self.active[k]] - 1) for k in axes)] = part[(slice(1, None),) * len(axes)]
        return out.reshape(-1, part.shape[-1])

    def _products(self, z: FloatArray, tilted: FloatArray | None) -> list[FloatArray]:
        """Products of fewer than `largest` columns: per size (n_subsets, (S - 1)^k, R)."""
        n_rows = z.shape[-1]
        out: list[FloatArray] = [np.ones((1, 1, n_rows))]
        for k in range(1, max(self.largest, 1)):
            subsets = self.subsets[k]
            level = (out[-1][self._prefix[k]][:, :, None] * z[subsets[:, -1]][:, None]).reshape(
                len(subsets), -1, n_rows
            )
            if tilted is not None:
                for m in np.flatnonzero((subsets < self.tilted).all(1)):
                    level[m] = self._tilted_product(subsets[m], tilted)
            out.append(level)
        return out

    def _sums(
        self, products: list[FloatArray], z: FloatArray, weights: FloatArray, tilted: FloatArray | None
    ) -> Iterator[FloatArray]:
        """Weighted sums (W, n_subsets, (S - 1)^k) of all products, size by size; `weights` (W, R)."""
        for level in products[: self.largest + 1]:
            yield np.matmul(level, weights.T).transpose(2, 0, 1)
        k = len(products)
        if k > self.largest:
            return
        subsets, free = self.subsets[k], self.states - 1
        last = z.reshape(-1, z.shape[-1])
        out = np.empty((len(weights), len(subsets), free ** (k - 1), free))
        for w, weight in enumerate(weights):
            full = (products[-1] * weight).reshape(-1, z.shape[-1]) @ last.T
            full = full.reshape(len(products[-1]), free ** (k - 1), len(z), free)
            out[w] = full[self._prefix[k], :, subsets[:, -1]]
            if tilted is not None:
                for m in np.flatnonzero((subsets < self.tilted).all(1)):
                    out[w, m] = (self._tilted_product(subsets[m], tilted) @ weight).reshape(-1, free)
        yield out.reshape(len(weights), len(subsets), -1)

    def groups(self, sets: ParentSets) -> Iterator[Group]:
        """Tables of parent sets inside the pool, sets with tables of one shape together."""
        slot = {j: p for p, j in enumerate(self.slots)}
        slots = np.array([[slot[j] if j >= 0 else -1 for j in m] for m in sets.members], dtype=np.int64)
        slots = slots.reshape(len(sets), -1)
        cards = np.append(np.asarray(self.cards), 1)[sets.members]
        for k in range(self.largest + 1):
            these = np.flatnonzero(sets.sizes == k)
            if not len(these):
                continue
            time, moves = self._tables(self.dwell, k), self._tables(self.moves, k)
            ordered = np.sort(slots[these, :k], axis=1)
            number = np.array([self._number[k][tuple(m)] for m in ordered])
            rank = np.argsort(np.argsort(slots[these, :k], axis=1), axis=1)
            for order in permutations(range(k)):
                turned = np.flatnonzero((rank == order).all(1))
                for shape in np.unique(cards[these[turned], :k], axis=0) if len(turned) else ():
                    same = turned[(cards[these[turned], :k] == shape).all(1)]
                    cut = tuple(slice(0, s) for s in shape)
                    # axes of the tables follow the slots; those of the set its members
                    t = np.moveaxis(time[:, number[same]], [2 + r for r in order], range(2, 2 + k))
                    m = np.moveaxis(moves[:, :, number[same]], [3 + r for r in order], range(3, 3 + k))
                    size = int(np.prod(shape, dtype=int))
                    t = t[(slice(None), slice(None), *cut)].reshape(self.card, len(same), size)
                    m = m[(slice(None), slice(None), slice(None), *cut)].reshape(self.card, self.card, len(same), size)
                    yield Group(these[same], t.transpose(1, 2, 0), m.transpose(2, 3, 0, 1))

    def _tables(self, moments: list[FloatArray], k: int) -> FloatArray:
        """All states of all subsets of size k, (..., n_subsets, S, ..., S), from moments of all sizes."""
        subsets, free = self.subsets[k], self.states - 1
        lead = moments[0].shape[:-2]
        out = np.empty((*lead, len(subsets), *[self.states] * k))
        for inside in (c for size in range(k + 1) for c in combinations(range(k), size)):
            number = np.array([self._number[len(inside)][tuple(m)] for m in subsets[:, list(inside)]])
            part = moments[len(inside)][..., number, :].reshape(*lead, len(subsets), *[free] * len(inside))
            at = tuple(slice(1, None) if axis in inside else 0 for axis in range(k))
            out[(..., *at)] = part
        for axis in range(k):
            cells = np.moveaxis(out, len(lead) + 1 + axis, 0)
            cells[0] -= cells[1:].sum(0)
        return np.maximum(out, 0.0)  # differences of sums may fall short of zero by rounding


def add_rows(rows: Iterable[Rows], moments: Sequence[SetMoments]) -> None:
    """Add up the moments of several nodes, one pass over the rows."""
    for part in rows:
        for m in moments:
            m.add(part)
