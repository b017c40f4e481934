"""Paths of a known network by the method a fit used: smoothing, and prediction of what is seen next.

Sampling, and networks learned from complete data, are served by the joint chain where that is small, by draws where it
is not; prediction is that of the joint chain as long as that is cheap, else of the joint chain of every variable's
neighbourhood. Factorised methods predict by the assumed-density filter.
"""

from __future__ import annotations

from math import prod

from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference import exact, neighbourhood, posterior
from ctbnlearn.inference.methods import Exact, Factorised, Method
from ctbnlearn.model.ctbn import CTBN

MOST_SMOOTHED = 256  # joint states up to which the joint chain smooths where sampling may
MOST_FILTERED = 1024  # joint states up to which it predicts whatever there is
MOST_WORK = 30_000_000  # joint states times values of a variable up to which it predicts as well


def smooth(
    network: CTBN, obs: Observations, times: ArrayLike, method: Method | None = None, **where: str
) -> dict[str, FloatArray]:
    """Posterior state probabilities, per variable (n_trajectories, n_times, n_states).

    Parameters
    ----------
    network, obs, times
        As in `ctbnlearn.exact.smooth`; times past the end are predictions.
    method
        As a fit used it; None after complete data.
    where
        `precision` and `device` of factorised methods.
    """
    posterior.check_same_variables(network, obs)
    if obs.interventions is None and isinstance(method, Factorised):
        return posterior.smooth(network, obs, times, step=method.step, inference=method.name, **where)
    small = isinstance(method, Exact) or prod(network.n_states) <= MOST_SMOOTHED
    if small and obs.interventions is None:
        return exact.smooth(network, obs, times)
    from ctbnlearn.inference import sampled

    return sampled.smooth(network, obs, times)


def predictive(network: CTBN, obs: Observations, method: Method | None = None, **where: str) -> FloatArray:
    """Log likelihood of each observation given the earlier ones, summed per trajectory; parameters as in `smooth`."""
    _check_predictable(network, obs)
    if predicts_exactly(network, obs, method):
        return exact.log_evidence(network, obs)
    if isinstance(method, Factorised):
        return posterior.predictive(network, obs, step=method.step, **where)
    return neighbourhood.predictive(network, obs)


def forecasts(network: CTBN, obs: Observations, method: Method | None = None, **where: str) -> list[FloatArray]:
    """State probabilities at every value seen given what was seen at earlier times of its trajectory.

    Parameters as in `smooth`; per variable (n_rows, n_states).
    """
    _check_predictable(network, obs)
    if predicts_exactly(network, obs, method):
        return exact.forecasts(network, obs)
    if isinstance(method, Factorised):
        return posterior.forecasts(network, obs, step=method.step, **where)
    return neighbourhood.forecasts(network, obs)


def predicts_exactly(network: CTBN, obs: Observations, method: Method | None = None) -> bool:
    """Whether prediction is that of the joint chain of all variables."""
    if isinstance(method, Factorised):
        return False
    states = prod(network.n_states)
    work = states * (obs.n_trajectories + max(len(s.values) for s in obs.series))
    return isinstance(method, Exact) or states <= MOST_FILTERED or work <= MOST_WORK


def predictor(network: CTBN, obs: Observations, method: Method | None = None) -> str:
    """What predicts: "joint chain", "neighbourhood" or "filter"."""
    if isinstance(method, Factorised):
        return "filter"
    return "joint chain" if predicts_exactly(network, obs, method) else "neighbourhood"


def _check_predictable(network: CTBN, obs: Observations) -> None:
    posterior.check_same_variables(network, obs)
    if obs.interventions is not None:
        raise ParameterError("data with interventions cannot be scored yet; leave out the trajectories that have some")
