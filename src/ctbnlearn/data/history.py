"""What was known of every trajectory at some time: everything seen up to then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.interventions import Interventions
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import keep, owner
from ctbnlearn.data.series import Series


def history(obs: Observations, until: FloatArray) -> Observations:
    """The values seen up to and including the times `until` (n_trajectories,), where the windows then end.

    Examples
    --------
    >>> obs = Observations.from_likelihoods([[0.0, 1.0]], [[[[1, 0], [0.3, 0.7]]]], ["a"])
    >>> history(obs, np.array([0.5])).n_values
    1
    """
    end = np.minimum(np.maximum(until, obs.start), obs.end)
    series = []
    for s in obs.series:
        known = s.times <= end[owner(s.offsets)]
        series.append(Series(keep(s.offsets, known), s.times[known], s.values[known], s.noise))
    given = obs.interventions
    if given is not None:
        begun = given.start < end[given.trajectory]
        finish = np.minimum(given.end, end[given.trajectory])[begun]
        given = Interventions(
            given.trajectory[begun], given.node[begun], given.start[begun], finish, given.value[begun]
        )
    return replace(obs, series=tuple(series), end=end, interventions=given)


def last_seen(obs: Observations) -> FloatArray:
    """Time of the last value of every trajectory, its start where nothing was seen."""
    out = np.array(obs.start, float)
    for s in obs.series:
        some = np.flatnonzero(np.diff(s.offsets))
        out[some] = np.maximum(out[some], s.times[s.offsets[some + 1] - 1])
    return out
