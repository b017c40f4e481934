"""Expected dwell and transition tables of any parent sets of a node, worked out when asked for, from path posteriors.

As in `ctbnlearn.structure.expected`, parents are independent given their marginals, apart from those the node's path
rates depend on, which are tilted together at a transition. Sets asked for at once mostly differ in one member, as the
steps of a search do: what they share is multiplied out once, and the others come in by one matrix product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.inference.rows import Rows
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.tables import Group

Members = tuple[int, ...]


class FamilyTables:
    """Tables of parent sets from rows of path posteriors.

    Parameters
    ----------
    rows
        Path posteriors, in pieces.
    active
        Per node the parents its path rates depend on.
    geometric
        Per node those rates (U, S, S), on the joint states of the active parents.
    cards
        Number of states of every variable.
    """

    def __init__(
        self,
        rows: Sequence[Rows],
        active: Sequence[Members],
        geometric: Sequence[FloatArray],
        cards: Sequence[int],
    ) -> None:
        self.rows = [Rows(*(np.asarray(a, float) for a in part)) for part in rows]
        self.active, self.geometric, self.cards = active, geometric, list(cards)

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node, each a group of its own."""
        members = [sets.numbers(k) for k in range(len(sets))]
        common = Counter(j for m in members for j in m)
        shared: dict[Members, list[int]] = {}  # what sets share -> the last members that come in
        for m in members:
            last = min(m, key=lambda j: (common[j], j), default=None)
            base = tuple(j for j in m if j != last)
            shared.setdefault(base, []).extend([] if last is None else [last])
        found: dict[Members, tuple[FloatArray, FloatArray]] = {}
        for base, lasts in shared.items():
            self._extend(node, base, list(dict.fromkeys(lasts)), found)
        for k, m in enumerate(members):
            dwell, moves = found[m]
            yield Group(np.array([k]), dwell[None], moves[None])

    def _extend(
        self, node: int, base: Members, lasts: list[int], found: dict[Members, tuple[FloatArray, FloatArray]]
    ) -> None:
        """Put the tables of `base`, and of `base` with each of `lasts`, into `found`."""
        card, active = self.cards[node], set(self.active[node])
        outside = [j for j in lasts if j not in active]
        inside = [j for j in lasts if j in active]
        time: dict[int, FloatArray] = {}
        moves: dict[int, FloatArray] = {}

        def add(table: dict[int, FloatArray], last: int, part: FloatArray) -> None:
            table[last] = table[last] + part if last in table else part

        for rows in self.rows:
            own = rows.marginal[node, :card] * rows.dt
            jumps = rows.transitions[node, :card, :card].reshape(card**2, -1)
            joint = self._joint(rows, base)
            for last, part in self._products(rows, joint[:, None] * own, lasts):
                add(time, last, part)
            if not active:
                for last, part in self._products(rows, joint[:, None] * jumps, lasts):
                    add(moves, last, part)
                continue
            tilted = [self._joint(rows, base, self._tilt(rows, node, x, y), node) for x, y in np.ndindex(card, card)]
            for last, part in self._products(rows, np.stack(tilted, axis=1) * jumps, outside):
                add(moves, last, part)
            for last in inside:
                cells = [
                    self._joint(rows, (*base, last), self._tilt(rows, node, x, y), node) @ jumps[x * card + y]
                    for x, y in np.ndindex(card, card)
                ]
                add(moves, last, np.stack(cells, axis=-1).reshape(-1, self.cards[last], card**2).swapaxes(1, 2))
        for last in time:
            key, t = self._sorted(base, last, time[last])
            found[key] = t, self._sorted(base, last, moves[last])[1].reshape(len(t), card, card)

    def _products(self, rows: Rows, weights: FloatArray, lasts: list[int]) -> Iterator[tuple[int, FloatArray]]:
        """Sums of weights (U, W, R), and of their products with the marginals of each of `lasts`: (U, W, states).

        Without another member (-1) there is a single state.
        """
        yield -1, weights.sum(-1)[..., None]
        if lasts:
            columns = np.concatenate([rows.marginal[j, : self.cards[j]] for j in lasts])
            out = (weights.reshape(-1, weights.shape[-1]) @ columns.T).reshape(*weights.shape[:2], -1)
            ends = np.cumsum([self.cards[j] for j in lasts])
            yield from zip(lasts, np.split(out, ends[:-1], axis=-1))

    def _sorted(self, base: Members, last: int, table: FloatArray) -> tuple[Members, FloatArray]:
        """A set in increasing order, and its table (U, W, states of last) as (states of the set, W)."""
        if last < 0:
            return base, table[..., 0]
        key = tuple(sorted((*base, last)))
        shaped = table.swapaxes(1, 2).reshape(*(self.cards[j] for j in (*base, last)), -1)
        return key, np.moveaxis(shaped, len(base), key.index(last)).reshape(-1, table.shape[1])

    def _tilt(self, rows: Rows, node: int, x: int, y: int) -> FloatArray:
        """Joint probability of the active parents at a transition x -> y of the node, (cards of active..., R)."""
        joint = self._joint(rows, self.active[node]) * self.geometric[node][:, x, y, None] * (x != y)
        total = joint.sum(0)
        joint = joint * np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return joint.reshape(*(self.cards[j] for j in self.active[node]), -1)

    def _joint(
        self, rows: Rows, members: Members, tilted: FloatArray | None = None, node: int | None = None
    ) -> FloatArray:
        """Joint probability of the states of some variables, (product of their cards, R)."""
        count = len(rows.dt)
        inside = [] if tilted is None or node is None else [j for j in members if j in self.active[node]]
        out = np.ones((1, count))
        if inside and tilted is not None and node is not None:
            active = list(self.active[node])
            others = tuple(k for k, j in enumerate(active) if j not in inside)
            kept = [j for j in active if j in inside]
            out = np.moveaxis(tilted.sum(others), [kept.index(j) for j in inside], range(len(inside)))
            out = out.reshape(-1, count)
        outside = [j for j in members if j not in inside]
        for j in outside:
            out = (out[:, None] * rows.marginal[j, : self.cards[j]]).reshape(-1, count)
        order = [*inside, *outside]
        shaped = out.reshape(*(self.cards[j] for j in order), count)
        return np.moveaxis(shaped, [order.index(j) for j in members], range(len(members))).reshape(-1, count)
