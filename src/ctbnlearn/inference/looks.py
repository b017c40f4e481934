"""Which trajectories look the same to a block of variables: one of them is evaluated for all.

Units that are seen at the same times do, where a block has few variables; copies of a unit, as bags have them, always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray

WORTHWHILE = 0.9  # share of trajectories that look different, up to which those that look the same are put together


class Alike(NamedTuple):
    """Trajectories put together that look the same.

    Attributes
    ----------
    order : (B,)
        All trajectories, those that look the same one after the other.
    bounds : (R + 1,)
        Where in `order` those of each look begin, and the end.
    """

    order: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, looks: IntArray, n_looks: int) -> Alike:
        """Sort trajectories by the number (B,) of what each looks like."""
        order = np.argsort(looks, kind="stable")
        return cls(order, np.searchsorted(looks[order], np.arange(n_looks + 1)))

    @classmethod
    def none(cls, n_trajectories: int) -> Alike:
        """Every trajectory by itself."""
        return cls(np.arange(n_trajectories), np.arange(n_trajectories + 1))


class Looks:
    """What the trajectories of a piece of data look like to each variable, and to a block of them.

    Parameters
    ----------
    dt, table : (C, B), (C + 1, N, c, B)
        Lengths of cells; likelihoods at their ends.
    n
        Number of trajectories; further columns are padding.
    """

    def __init__(self, dt: FloatArray, table: FloatArray, n: int) -> None:
        self.all_different = Alike.none(n)
        self.numbers: list[IntArray] = []  # by variable; none where no two trajectories have the same times
        self.counts: list[int] = []
        times, count = _numbered(dt[:, :n])
        if count <= WORTHWHILE * n:
            for j in range(table.shape[1]):
                own, own_count = _numbered(table[:, j, :, :n])
                number, total = _both(times, own, own_count)
                self.numbers.append(number)
                self.counts.append(total)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return sum(number.nbytes for number in self.numbers)

    def alike(self, members: Sequence[int]) -> Alike:
        """Trajectories put together that look the same to a block."""
        most = WORTHWHILE * len(self.all_different.order)
        if not self.numbers or max(self.counts[j] for j in members) > most:
            return self.all_different
        number, count = self.numbers[members[0]], self.counts[members[0]]
        for j in members[1:]:
            number, count = _both(number, self.numbers[j], self.counts[j])
            if count > most:
                return self.all_different
        return Alike.of(number, count)


def _numbered(columns: FloatArray) -> tuple[IntArray, int]:
    """Number of every column (..., B) such that equal ones have the same; and how many there are."""
    rows = np.ascontiguousarray(columns.reshape(-1, columns.shape[-1]).T)
    kinds, number = np.unique(rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))), return_inverse=True)
    return number.reshape(-1), len(kinds)


def _both(first: IntArray, second: IntArray, n_second: int) -> tuple[IntArray, int]:
    """Numbers of pairs of numbers, and how many there are."""
    kinds, number = np.unique(first * n_second + second, return_inverse=True)
    return number, len(kinds)
