"""Variables that never change within a trajectory, such as sex or study arm."""

from __future__ import annotations

import numpy as np

from ctbnlearn.data.kinds import Data
from ctbnlearn.data.noise import ExactStates
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import owner
from ctbnlearn.data.series import Series
from ctbnlearn.data.table_scan import TableScan


def never_changing(data: Data) -> list[int]:
    """Numbers of the variables that were seen exactly and never differ within a trajectory.

    None where no variable was ever seen to change: such data tell nothing of what can.

    Examples
    --------
    >>> paths = Paths.from_trajectories({"a": (0, 1), "sex": (0, 1)}, [([0, 1], [(0.5, "a", 1)], 3.0)])
    >>> never_changing(paths)
    [1]
    """
    n = len(data.variables)
    if isinstance(data, Paths):
        still = [i for i in range(n) if not (data.nodes == i).any()]
    elif isinstance(data, TableScan):
        still = data.still
    else:
        still = [i for i, s in enumerate(data.series) if isinstance(s.noise, ExactStates) and not _changes(s)]
    return still if len(still) < n else []


def _changes(series: Series) -> bool:
    who, values = owner(series.offsets), np.asarray(series.values)
    return bool(((values[1:] != values[:-1]) & (who[1:] == who[:-1])).any())
