"""Checks and small helpers for ragged columns: one block of rows per trajectory."""

from __future__ import annotations

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.variables import Ids
from ctbnlearn.errors import DataError


def owner(offsets: IntArray) -> IntArray:
    """Trajectory of every row, from the offsets of the blocks."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def offsets_from_counts(counts: IntArray | BoolArray) -> IntArray:
    """Block offsets from block lengths."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)


def keep(offsets: IntArray, chosen: BoolArray) -> IntArray:
    """Block offsets when only some rows are kept."""
    return offsets_from_counts(chosen)[offsets]


def take_blocks(offsets: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Row indices of the chosen blocks in order, and the offsets of the result."""
    lengths = np.diff(offsets)[chosen]
    new = offsets_from_counts(lengths)
    rows = np.arange(new[-1]) - np.repeat(new[:-1], lengths) + np.repeat(offsets[:-1][chosen], lengths)
    return rows, new


def check_window(ids: Ids, start: FloatArray, end: FloatArray) -> None:
    """Raise unless every trajectory has a finite, non-negative window with start <= end."""
    for name, column in (("start", start), ("end", end)):
        bad = np.flatnonzero(~np.isfinite(column) | (column < 0))
        if bad.size:
            raise DataError(
                f"trajectory {ids[bad[0]]!r}: its {name} is {column[bad[0]]}; times must be finite and not "
                "negative: shift the clock so that it begins at 0"
            )
    bad = np.flatnonzero(start > end)
    if bad.size:
        k = bad[0]
        raise DataError(f"trajectory {ids[k]!r}: it starts at {start[k]} after it ends at {end[k]}; swap them")


def check_times(
    ids: Ids,
    offsets: IntArray,
    times: FloatArray,
    start: FloatArray,
    end: FloatArray,
    what: str,
    *,
    ties: bool,
) -> None:
    """Raise unless times are finite, increasing within each trajectory and inside its window."""

    def complain(row: int, problem: str) -> None:
        k = int(np.searchsorted(offsets, row, side="right")) - 1
        raise DataError(f"trajectory {ids[k]!r}, {what} {row - offsets[k]}, time {times[row]}: {problem}")

    bad = np.flatnonzero(~np.isfinite(times) | (times < 0))
    if bad.size:
        complain(bad[0], "times must be finite and not negative: shift the clock so that it begins at 0")
    full = np.flatnonzero(np.diff(offsets))
    first, last = offsets[full], offsets[full + 1] - 1
    step = np.diff(times)
    step[last[:-1]] = np.inf  # from one trajectory to the next
    bad = np.flatnonzero(step < 0)
    if bad.size:
        complain(bad[0] + 1, f"comes after time {times[bad[0]]}; sort the rows of a trajectory by time")
    bad = np.flatnonzero(step == 0) if not ties else bad
    if bad.size:
        complain(bad[0] + 1, "stands twice; keep one row per time")
    for rows, outside in ((first, times[first] < start[full]), (last, times[last] > end[full])):
        if outside.any():
            row, k = rows[outside][0], full[outside][0]
            complain(row, f"lies outside the trajectory's window from {start[k]} to {end[k]}; widen the window")
