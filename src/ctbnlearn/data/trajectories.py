"""What every set of trajectories has in common, however they were seen."""

from __future__ import annotations

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.variables import Variable


class Trajectories:
    """Many trajectories of the same named variables; each has a window that begins at its `start`."""

    variables: tuple[Variable, ...]
    start: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(v.name for v in self.variables)

    @property
    def n_trajectories(self) -> int:
        """Number of trajectories."""
        return len(self.start)

    def __len__(self) -> int:
        return self.n_trajectories
