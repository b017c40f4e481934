"""Variational inference for a known network: smoothing, statistics, prediction.

The star approximation of Linzner & Koeppl (2018), to which the mixture of the 2019 paper reduces when the structure is
known, or naive mean field (Cohn et al. 2010). For networks too large for `ctbnlearn.exact`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arguments import one_of
from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import owner
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.contract import Effort, PathRates
from ctbnlearn.inference.statistics import Statistics, count_statistics
from ctbnlearn.inference.timeline import query_grid
from ctbnlearn.model.ctbn import CTBN

if TYPE_CHECKING:
    from ctbnlearn.inference.engine import PathEngine

THOROUGH = Effort(tol=1e-7, max_sweeps=500)


def smooth(
    network: CTBN,
    obs: Observations,
    times: ArrayLike,
    *,
    step: float | None = None,
    precision: str = "auto",
    device: str = "auto",
    inference: str = "star",
) -> dict[str, FloatArray]:
    """Posterior state probabilities, per variable (n_trajectories, n_times, n_states).

    Parameters
    ----------
    network
        The CTBN; of conditional initial tables the marginals are used.
    obs
        Observations of its variables.
    times
        Times (n,) common to all trajectories, or (n_trajectories, n); past the end they are predictions.
    step
        Longest cell of the time grid; default a quarter of the shortest dwell time, averaged over parent states.
    precision, device, inference
        As in `StructureLearner`.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(30, rng=0)
    >>> obs = cl.observe(cl.simulate(net, 2, horizon=3.0, rng=1), n_times=5, rng=2)
    >>> smooth(net, obs, [0.0, 1.5, 3.0])["x7"].shape
    (2, 3, 2)
    """
    check_same_variables(network, obs)
    grid = query_grid(times, obs.start, obs.ids)
    engine = _engine(network, obs, step, precision, device, inference, grid)
    found = engine.marginals(PathRates.of_network(network), THOROUGH)
    return {v.name: found[:, :, i, : v.n_states] for i, v in enumerate(network.variables)}


def expected_statistics(
    network: CTBN,
    obs: Observations,
    *,
    step: float | None = None,
    precision: str = "auto",
    device: str = "auto",
    inference: str = "star",
) -> Statistics:
    """Expected dwell times and transition counts per state of the network's parents, summed over trajectories.

    Parameters
    ----------
    network, obs, step, precision, device, inference
        As in `smooth`.
    """
    check_same_variables(network, obs)
    engine = _engine(network, obs, step, precision, device, inference)
    return engine.expect(PathRates.of_network(network), THOROUGH).statistics


def log_evidence(
    network: CTBN,
    obs: Observations,
    *,
    step: float | None = None,
    precision: str = "auto",
    device: str = "auto",
    inference: str = "star",
) -> FloatArray:
    """F of every trajectory: approximates the log evidence, exact where no variable drives another.

    No bound in the star approximation; in mean field a lower bound, but for the error of the time grid.

    Parameters
    ----------
    network, obs, step, precision, device, inference
        As in `smooth`.
    """
    check_same_variables(network, obs)
    engine = _engine(network, obs, step, precision, device, inference)
    return engine.update(PathRates.of_network(network), THOROUGH)[0]


def predictive(
    network: CTBN, obs: Observations, *, step: float | None = None, precision: str = "auto", device: str = "auto"
) -> FloatArray:
    """Log likelihood of each observation given the earlier ones, summed per trajectory (n_trajectories,).

    An assumed-density filter: variables are kept independent given the past, their rates averaged over their parents.

    Parameters
    ----------
    network, obs, step, precision, device
        As in `smooth`.
    """
    check_same_variables(network, obs)
    return _engine(network, obs, step, precision, device).predictive(PathRates.of_network(network))


def forecasts(
    network: CTBN, obs: Observations, *, step: float | None = None, precision: str = "auto", device: str = "auto"
) -> list[FloatArray]:
    """State probabilities at every value seen given what was seen at earlier times: per variable (n_rows, n_states).

    The assumed-density filter of `predictive`.
    """
    check_same_variables(network, obs)
    visits = [np.unique(np.concatenate(t)) for t in zip(*(np.split(s.times, s.offsets[1:-1]) for s in obs.series))]
    grid = np.repeat(obs.end[:, None], max(1, max(map(len, visits))), axis=1)
    for row, times in zip(grid, visits):
        row[: len(times)] = times
    engine = _engine(network, obs, step, precision, device, queries=grid)
    found = engine.forecasts(PathRates.of_network(network))
    out = []
    for i, (v, s) in enumerate(zip(network.variables, obs.series)):
        who = owner(s.offsets)
        place = np.array([int(np.searchsorted(visits[b], t)) for b, t in zip(who, s.times)], np.int64)
        out.append(found[who, place, i, : v.n_states])
    return out


def path_log_density(network: CTBN, paths: Paths) -> float:
    """Log density of complete paths given their initial states."""
    check_same_variables(network, paths, Paths)
    names = network.names
    found = count_statistics(paths, {names[i]: [names[j] for j in ps] for i, ps in enumerate(network.parents)})
    total = 0.0
    with np.errstate(divide="ignore"):
        for cim, dwell, moves in zip(network.cims, found.dwell, found.transitions):
            off = ~np.eye(cim.shape[-1], dtype=bool)
            happened = (moves > 0) & off
            total += float((moves[happened] * np.log(cim[happened])).sum())
            total -= float((dwell[..., None] * np.where(off, cim, 0.0)).sum())
    return total


def check_same_variables(network: CTBN, data: object, kind: type = Observations) -> None:
    """Raise unless the data are of the right kind and their variables are the network's."""
    if not isinstance(network, CTBN):
        raise ParameterError(f"a CTBN is needed, not {type(network).__name__}")
    if not isinstance(data, (Observations, Paths)) or not isinstance(data, kind):
        raise ParameterError(f"{kind.__name__} are needed, not {type(data).__name__}")
    if tuple(data.variables) != network.variables:
        raise ParameterError(
            f"the data's variables {list(data.names)} with their states are not the network's {list(network.names)}; "
            "they must agree in name, order and states"
        )


def _engine(
    network: CTBN,
    obs: Observations,
    step: float | None,
    precision: str,
    device: str,
    inference: str = "star",
    queries: FloatArray | None = None,
) -> PathEngine:
    """The engine asked for; default step from the mean exit rate of the fastest state of any node."""
    from ctbnlearn.inference.engine import PathEngine, default_step  # loads jax

    mean_field = one_of(inference, "inference", ("star", "mean_field")) == "mean_field"
    if step is None:
        step = default_step([float(np.max(-np.diagonal(cim, axis1=1, axis2=2).mean(0))) for cim in network.cims])
    return PathEngine(obs, step, queries=queries, mean_field=mean_field, precision=precision, device=device)
