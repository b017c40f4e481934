"""A unit up close: the posterior of its states over time beside what was seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.clock import NO_CLOCK
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.messages import named
from ctbnlearn.data.noise import ExactStates, LabelNoise, RawLikelihoods
from ctbnlearn.data.observations import Observations, observe
from ctbnlearn.data.series import Series
from ctbnlearn.data.variables import Ids, Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.methods import Method
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.simulation import simulate

POINTS = 101
SIMULATED = 3


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
    simulated
        Whether it was drawn from the network: no unit of the data.
    """

    id: str
    times: FloatArray
    probabilities: Mapping[str, FloatArray]
    observations: Mapping[str, Sequence[tuple[float, object]]]
    simulated: bool = False


def smooth_units(network: CTBN, obs: Incomplete, ids: Sequence[str], method: Method | None = None) -> list[Unit]:
    """Smooth a few trajectories under a network; they are data of single units, so nobody's by default.

    Parameters
    ----------
    network
        The network.
    obs
        The data.
    ids
        Names of the trajectories as text.
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


def simulated_units(network: CTBN, obs: Observations, method: Method | None = None, seed: int = 0) -> list[Unit]:
    """Units drawn from a network and seen as often, for as long and through the same noise as those of the data are.

    Parameters
    ----------
    network, obs, method
        As in `smooth_units`; of the data only the median length and the median number of values count.
    seed
        Seed of the draws.
    """
    span = float(np.median(obs.end - obs.start))
    if not span > 0:
        return []
    values = np.max([np.diff(s.offsets) for s in obs.series], axis=0)
    models = {v.name: s.noise for v, s in zip(obs.variables, obs.series) if not isinstance(s.noise, RawLikelihoods)}
    drawn = simulate(network, SIMULATED, horizon=span, rng=seed)
    seen = observe(drawn, n_times=max(1, int(np.median(values))), noise=models, rng=seed)
    names = [f"simulated {k + 1}" for k in range(SIMULATED)]
    units = smooth_units(network, replace(seen, ids=names, clock=NO_CLOCK), names, method)
    return [replace(unit, simulated=True) for unit in units]


def check_units(ids: Ids, chosen: Sequence[str]) -> dict[str, int]:
    """Numbers of the chosen trajectories by name as text."""
    place = {str(name): k for k, name in enumerate(ids)}
    unknown = [name for name in chosen if name not in place]
    if unknown:
        raise ParameterError(f"there is no trajectory {named(unknown)}; the first ones are {named(list(place)[:5])}")
    return {name: place[name] for name in chosen}


def _seen(variable: Variable, series: Series, k: int) -> list[tuple[float, object]]:
    """What was seen of a variable in trajectory k; raw likelihoods cannot be shown."""
    if isinstance(series.noise, RawLikelihoods):
        return []
    rows = slice(series.offsets[k], series.offsets[k + 1])
    values = series.values[rows].tolist()
    if isinstance(series.noise, (ExactStates, LabelNoise)):
        labels = getattr(series.noise, "labels", None) or variable.states
        values = [labels[code] for code in values]
    return list(zip(series.times[rows].tolist(), values))
