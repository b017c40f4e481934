"""A unit up close: the posterior of its states over time beside what was seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.messages import named
from ctbnlearn.data.noise import ExactStates, LabelNoise, RawLikelihoods
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.scan import TableScan
from ctbnlearn.data.series import Series
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.methods import Method
from ctbnlearn.model.ctbn import CTBN

POINTS = 101


@dataclass(frozen=True, eq=False)
class Unit:
    """Smoothed states of one trajectory.

    Attributes
    ----------
    id
        Its name, as text.
    times : (m,)
        Times.
    probabilities
        Variable -> (m, n_states).
    observations
        Variable -> list of (time, label or number) seen.
    """

    id: str
    times: FloatArray
    probabilities: Mapping[str, FloatArray]
    observations: Mapping[str, Sequence[tuple[float, Any]]]


def smooth_units(
    network: CTBN, obs: Observations | TableScan, ids: Sequence[str] | None = None, method: Method | None = None
) -> list[Unit]:
    """Smooth a few trajectories under a network.

    Parameters
    ----------
    network
        The network.
    obs
        The data.
    ids
        Names of the trajectories as text; default the first three.
    method
        How the fit inferred paths.
    """
    from ctbnlearn.inference.known import smooth

    chosen = check_units(obs.ids, ids)
    if not chosen:
        return []
    few = obs.select(list(chosen.values()))
    times = few.start[:, None] + (few.end - few.start)[:, None] * np.linspace(0, 1, POINTS)
    found = smooth(network, few, times, method)
    return [
        Unit(
            name,
            times[k],
            {variable: values[k] for variable, values in found.items()},
            {v.name: _seen(v, s, k) for v, s in zip(few.variables, few.series)},
        )
        for k, name in enumerate(chosen)
    ]


def check_units(ids: Sequence[Any], chosen: Sequence[str] | None) -> dict[str, int]:
    """Numbers of the chosen trajectories by name as text, the first three by default."""
    if chosen is None:
        return {str(name): k for k, name in enumerate(ids[:3])}
    place = {str(name): k for k, name in enumerate(ids)}
    unknown = [name for name in chosen if name not in place]
    if unknown:
        raise ParameterError(f"there is no trajectory {named(unknown)}; the first ones are {named(list(place)[:5])}")
    return {name: place[name] for name in chosen}


def _seen(variable: Variable, series: Series, k: int) -> list[tuple[float, Any]]:
    """What was seen of a variable in trajectory k; raw likelihoods cannot be shown."""
    if isinstance(series.noise, RawLikelihoods):
        return []
    rows = slice(series.offsets[k], series.offsets[k + 1])
    values = series.values[rows].tolist()
    if isinstance(series.noise, (ExactStates, LabelNoise)):
        labels = getattr(series.noise, "labels", None) or variable.states
        values = [labels[code] for code in values]
    return list(zip(series.times[rows].tolist(), values))
