"""A table in Parquet files larger than memory, as learning sees it; reading is `data.scan`'s, which needs pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.clock import Clock
from ctbnlearn.data.noise import NoiseModel
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.variables import Ids, Variable

if TYPE_CHECKING:
    from ctbnlearn.data.row_groups import Index
    from ctbnlearn.data.scan import ScanPart


class TableScan:
    """A table in Parquet files whose trajectories are read in parts; `scan_table` makes it, `fit` takes it.

    Parameters
    ----------
    paths
        The files.
    index
        Where every trajectory stands.
    reading
        Further arguments of `read_table`.

    Attributes
    ----------
    variables, names
        As in `Observations`.
    ids, start, end
        Names and windows of the trajectories, in the order of their names.
    n_trajectories, n_rows, n_values
        How many trajectories, rows and values there are.
    """

    interventions: None = None
    clock = Clock()

    def __init__(self, paths: Sequence[str], index: Index, reading: Mapping[str, Any]) -> None:
        self._paths, self._index, self._reading = tuple(paths), index, dict(reading)
        self.variables: tuple[Variable, ...] = tuple(column.variable for column in index.columns)
        self.ids: Ids = index.ids
        self.start: FloatArray = index.start
        self.end: FloatArray = index.end
        self.n_rows = int(index.length.sum())
        self.n_values = sum(index.values)
        self.values_per_variable = list(index.values)
        self.noise: tuple[NoiseModel, ...] = tuple(column.noise for column in index.columns)
        self.still = list(index.still)
        self.sha256 = index.sha256

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(v.name for v in self.variables)

    @property
    def n_trajectories(self) -> int:
        """Number of trajectories."""
        return len(self.ids)

    def __len__(self) -> int:
        return self.n_trajectories

    def __repr__(self) -> str:
        return (
            f"TableScan({self.n_trajectories} trajectories, {len(self.variables)} variables, {self.n_values} values "
            f"seen, {len(self._paths)} files)"
        )

    def part(self, first: int, last: int) -> ScanPart:
        """Trajectories from one rank up to another, to be read later."""
        return self._some(np.arange(first, last))

    def select(self, trajectories: ArrayLike) -> Observations:
        """Read the chosen trajectories, by rank."""
        return self._some(np.arange(self.n_trajectories)[np.asarray(trajectories)].reshape(-1)).observations()

    def read(self) -> Observations:
        """Read all of it into memory."""
        return self.part(0, self.n_trajectories).observations()

    def with_noise(self, models: Mapping[str, NoiseModel]) -> TableScan:
        """Itself: the observation models of a scan are given, not learned."""
        return self

    def _some(self, ranks: IntArray) -> ScanPart:
        from ctbnlearn.data.scan import ScanPart

        used, file = np.unique(self._index.file[ranks], return_inverse=True)
        paths = tuple(self._paths[k] for k in used)
        return ScanPart(paths, file, self._index.first[ranks], self._index.length[ranks], self._reading)
