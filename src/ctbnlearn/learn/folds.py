"""Units in folds: each unit predicted by learners that have not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arguments import Seed, whole
from ctbnlearn.arrays import BoolArray, FloatArray, IntArray, NumberArray
from ctbnlearn.data.noise import ExactStates, LabelNoise, RawLikelihoods
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import owner
from ctbnlearn.data.series import Series
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference import known
from ctbnlearn.interface import spoken
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.learn.repeats import as_units, brief_method, fit_quietly, quiet_copy
from ctbnlearn.model.ctbn import CTBN


def unit_folds(n_units: int, n_folds: int, seed: Seed) -> list[IntArray]:
    """Numbers of the units of every fold, at random."""
    option = spoken("n_folds", "--folds")
    if whole(n_folds, option, 2) > n_units:
        raise ParameterError(f"{option}: {n_folds} folds of {n_units} units; ask for {n_units} or fewer")
    order = np.random.default_rng(seed).permutation(n_units)
    return [np.sort(order[k::n_folds]) for k in range(n_folds)]


def as_foldable(learner: object, data: Any, what: str) -> Observations:
    """Data as `as_units` has them; raise unless units of these can be held out and predicted."""
    obs = as_units(learner, data, what)
    if not isinstance(obs, Observations):
        raise ParameterError(f"{what} needs Observations: complete paths have no values to predict")
    if obs.interventions is not None:
        raise ParameterError(f"{what}: data with interventions cannot be predicted yet; leave those trajectories out")
    return obs


def fit_apart(learner: StructureLearner, obs: Observations, held: IntArray, **changes: Any) -> StructureLearner:
    """The learner fitted to all units but some, quickly."""
    others = np.setdiff1d(np.arange(obs.n_trajectories), held)
    return fit_quietly(quiet_copy(learner, inference=brief_method(learner, obs), **changes), obs.select(others))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predictions of the values of one variable in some units.

    Attributes
    ----------
    unit : (n_rows,)
        Number of the unit in the data.
    later : (n_rows,)
        Whether something was seen of the unit before.
    log_probability : (n_rows,)
        Of the value, or its density.
    labels : (n_rows, n_labels) or None
        Probability of every label, where values are labels.
    values : (n_rows,)
        Codes of the labels seen; measured values otherwise.
    """

    unit: IntArray
    later: BoolArray
    log_probability: FloatArray
    labels: FloatArray | None
    values: NumberArray


def forecast(learner: StructureLearner, obs: Observations, held: IntArray) -> list[Forecast]:
    """What a fitted learner predicts of units it has not seen, one variable after the other."""
    few = learner._seen(obs.select(held))
    found = known.forecasts(learner.network_, few, learner.inference_, **learner._where())
    first = first_seen(few)
    out = []
    for s, states in zip(few.series, found):
        who = owner(s.offsets)
        labels = label_probabilities(s)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_states = np.log(states)
            log_probability = np.logaddexp.reduce(log_states + s.log_likelihood(), axis=1)
        shares = None if labels is None else states @ labels
        out.append(Forecast(held[who], s.times > first[who], log_probability, shares, s.values))
    return out


def label_probabilities(series: Series) -> FloatArray | None:
    """p(label seen | state), (n_states, n_labels); None where values are no labels."""
    if isinstance(series.noise, ExactStates):
        return np.eye(series.noise.n_states)
    if isinstance(series.noise, LabelNoise):
        return np.exp(series.noise.log_likelihood(np.arange(np.shape(series.noise.confusion)[1]))).T
    return None


def first_seen(obs: Observations) -> FloatArray:
    """Time of the first value of every trajectory, infinite where there is none."""
    out = np.full(obs.n_trajectories, np.inf)
    for s in obs.series:
        some = np.flatnonzero(np.diff(s.offsets))
        out[some] = np.minimum(out[some], s.times[s.offsets[some]])
    return out


def simulated_values(
    network: CTBN, obs: Observations, series: Sequence[Series], rng: np.random.Generator
) -> list[NumberArray | None]:
    """Values of simulated units at the times of the real ones, one variable after the other; None: cannot be drawn."""
    from ctbnlearn.model.simulation import simulate

    span = float((obs.end - obs.start).max())
    paths = simulate(network, obs.n_trajectories, horizon=max(span, 1e-12), rng=rng)
    out: list[NumberArray | None] = []
    for i, s in enumerate(series):
        who = owner(s.offsets)
        codes = paths.lookup(who, s.times - obs.start[who])[:, i]
        out.append(None if isinstance(s.noise, RawLikelihoods) else s.noise.sample(codes, rng))
    return out
