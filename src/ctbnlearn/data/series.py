"""What was seen of one variable: times and values of all trajectories, holes left out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray, NumberArray
from ctbnlearn.data.noise import NoiseModel
from ctbnlearn.data.ragged import keep, take_blocks

Shared: TypeAlias = dict[Hashable, Any]  # rows chosen and what follows from them, by `Series.key`


@dataclass(frozen=True, eq=False)
class Series:
    """Everything seen of one variable: rows of all trajectories, holes left out.

    Attributes
    ----------
    offsets : (n_trajectories + 1,)
        Trajectory k owns rows offsets[k]:offsets[k+1].
    times : (n_rows,)
        Strictly increasing within a trajectory.
    values : (n_rows,) or (n_rows, n_states)
        State or label codes, measured numbers, or likelihoods, as `noise` wants them.
    noise
        The observation model, bound to the variable.
    """

    offsets: IntArray
    times: FloatArray
    values: NumberArray
    noise: NoiseModel

    def log_likelihood(self) -> FloatArray:
        """Log p(y | x) of every row, shape (n_rows, n_states)."""
        return self.noise.log_likelihood(self.values)

    def through(self, noise: NoiseModel) -> Series:
        """The same values seen through another observation model."""
        return Series(self.offsets, self.times, self.values, noise)

    @property
    def key(self) -> tuple[int, ...]:
        """The same for series that share their times."""
        return id(self.offsets), id(self.times)

    def select(self, chosen: IntArray, shared: Shared) -> Series:
        """Rows of some trajectories; `shared` keeps what series with the same times have in common."""
        if self.key not in shared:
            rows, offsets = take_blocks(self.offsets, chosen)
            shared[self.key] = rows, offsets, self.times[rows]
        rows, offsets, times = shared[self.key]
        return Series(offsets, times, self.values[rows], self.noise)


class HoledSeries(Series):
    """A series that keeps which times of a common grid it was seen at, and not those times: an eighth of the memory.

    Parameters
    ----------
    grid_offsets, grid
        Blocks and times of all rows, seen or not; common to many series.
    seen : (n_grid,)
        Where the variable was seen.
    values, noise
        As in `Series`, for the rows seen.
    """

    def __init__(
        self, grid_offsets: IntArray, grid: FloatArray, seen: BoolArray, values: NumberArray, noise: NoiseModel
    ) -> None:
        held = {"offsets": keep(grid_offsets, seen), "values": values, "noise": noise}
        for name, value in {**held, "grid_offsets": grid_offsets, "grid": grid, "seen": seen}.items():
            object.__setattr__(self, name, value)

    grid_offsets: IntArray
    grid: FloatArray
    seen: BoolArray

    def through(self, noise: NoiseModel) -> HoledSeries:
        """The same values seen through another observation model."""
        return HoledSeries(self.grid_offsets, self.grid, self.seen, self.values, noise)

    @property
    def times(self) -> FloatArray:
        """Times of the rows seen, recomputed at every call."""
        return self.grid[self.seen]

    @property
    def key(self) -> tuple[int, ...]:
        """The same for series that share their times."""
        return id(self.grid_offsets), id(self.grid), id(self.seen)

    def select(self, chosen: IntArray, shared: Shared) -> Series:
        """Rows of some trajectories; `shared` keeps what series on the same grid have in common."""
        common = "grid", id(self.grid_offsets), id(self.grid)
        if common not in shared:
            shared[common] = take_blocks(self.grid_offsets, chosen)
        rows, offsets = shared[common]
        seen = self.seen[rows]
        values = self.values[take_blocks(self.offsets, chosen)[0]]
        return Series(keep(offsets, seen), self.grid[rows[seen]], values, self.noise)
