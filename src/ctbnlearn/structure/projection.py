"""From the joint table of a node's active parents to the tables of its parent sets, and back.

T(x | u_m) = sum of T(x | u) over the joint states u that agree with u_m: one matrix with a row for every state of
every parent set and a column for every joint state. Its transpose spreads what is known per set over u.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.tables import Group


class Projection:
    """Maps between joint states of some parents and states of the parent sets inside them.

    Parameters
    ----------
    parents
        Whose joint states, in the order of the joint table: active parents, or all candidates.
    sets
        Parent sets, all inside `parents`.
    cards
        Number of states of every variable.
    """

    def __init__(self, parents: Sequence[int], sets: ParentSets, cards: Sequence[int]) -> None:
        self.parents = tuple(parents)
        size = int(np.prod([cards[j] for j in parents], dtype=int))
        digits = dict(zip(parents, np.unravel_index(np.arange(size), [cards[j] for j in parents]))) if parents else {}
        self.sizes: IntArray = np.append(np.asarray(cards), 1)[sets.members].prod(1)
        self.first: IntArray = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        self.owner: IntArray = np.repeat(np.arange(len(sets)), self.sizes)
        self.matrix: FloatArray = np.zeros((len(self.owner), size))
        for k in range(len(sets)):
            row = np.zeros(size, np.int64)
            for j in sets.numbers(k):
                row = row * cards[j] + digits[j]
            self.matrix[self.first[k] + row, np.arange(size)] = 1.0

    def gather(self, table: FloatArray) -> FloatArray:
        """Sum a joint table (U, ...) to (rows, ...)."""
        return np.tensordot(self.matrix, table, axes=1)

    def spread(self, values: FloatArray) -> FloatArray:
        """Sum over parent sets the value of the row that agrees with each joint state: (rows, ...) to (U, ...)."""
        return np.tensordot(self.matrix.T, values, axes=1)

    def groups(self, dwell: FloatArray, transitions: FloatArray) -> Iterator[Group]:
        """Tables of the parent sets from their rows, dwell (rows, S) and transitions (rows, S, S)."""
        for size in np.unique(self.sizes):
            index = np.flatnonzero(self.sizes == size)
            rows = self.first[index][:, None] + np.arange(size)
            yield Group(index, dwell[rows], transitions[rows])
