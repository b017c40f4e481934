"""What every set of trajectories has in common, however they were seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError


class Trajectories(ABC):
    """Many trajectories of the same named variables; each has a window that begins at its `start`.

    `data[3]`, `data[:10]`, `data[[2, 0]]` and `data[mask]` are the chosen trajectories, in a set of the same kind.
    """

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

    @property
    def shape(self) -> tuple[int, int]:
        """Number of trajectories and of variables; scikit-learn asks for it."""
        return self.n_trajectories, len(self.variables)

    @abstractmethod
    def select(self, trajectories: ArrayLike) -> Self:
        """Return the chosen trajectories, by number, in that order."""

    def __getitem__(self, chosen: Any) -> Self:
        if isinstance(chosen, tuple) and len(chosen) == 2 and chosen[1] is ...:  # as scikit-learn takes rows
            chosen = chosen[0]
        try:
            numbers = np.arange(self.n_trajectories)[chosen]
        except IndexError as problem:
            if isinstance(chosen, (int, np.integer)):  # the end of an iteration, too
                raise
            raise ParameterError(
                f"trajectories are chosen by number, slice, list or mask of {self.n_trajectories} ({problem})"
            ) from None
        if not np.size(numbers):
            raise ParameterError("no trajectory was chosen; choose one at least")
        return self.select(numbers)
