"""How good are risks? Histories are cut off, units held out in folds, and what came is compared with what was told.

The history of a unit ends a time `within` before its end; those for which the target held when last seen before are
left out, as are those of which nothing was seen before or nothing of the target after. The target was reached if it was
seen at a value after the cut; what came and went between two values is not seen, so that risks may exceed the share
seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.history import history
from ctbnlearn.data.noise import ExactStates
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.opening import Table
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute.executors import Executors
from ctbnlearn.inference.reach import Target, reach
from ctbnlearn.learn.folds import as_foldable, first_seen, fit_apart, unit_folds
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.learn.progress import Progress, Watcher
from ctbnlearn.learn.repeats import check_jobs, quiet_copy, side_by_side
from ctbnlearn.learn.targets import as_horizons, as_target


def check_risk(
    learner: StructureLearner,
    obs: Observations | Table,
    target: Mapping[str, Any],
    within: ArrayLike,
    *,
    n_folds: int = 5,
    random_state: int = 0,
    jobs: Executors = None,
    progress: Watcher = False,
) -> list[dict[str, Any]]:
    """Area under the ROC curve and Brier score of the risks of units that were held out.

    Parameters
    ----------
    learner
        Its settings; it is copied, not changed.
    obs
        The data; a data frame where `fit` would take it.
    target, within
        As in `StructureLearner.risk`; of one variable, whose states were seen without error.
    n_folds, random_state, jobs, progress
        As in `check_model`.

    Returns
    -------
    list of dict
        By time: within, units, reached (seen to), mean_risk, auc (None where all or none reached it), brier, and
        brier_reference: that of telling every unit the share of the others that reached it.
    """
    obs = as_foldable(learner, obs, "check_risk")
    check_jobs(jobs)
    states, horizons = as_target(target, obs.variables), as_horizons(within)
    if len(states) != 1 or not isinstance(obs.series[next(iter(states))].noise, ExactStates):
        raise ParameterError(
            "risks can be compared with what came for one variable whose states were seen without error; name one such"
        )
    folds = unit_folds(obs.n_trajectories, n_folds, random_state)
    cases = [_cases(obs, states, float(w)) for w in horizons]
    predicted = np.full((len(horizons), obs.n_trajectories), np.nan)
    tasks = [(held, states, horizons, [k for k, _ in cases]) for held in folds]
    teller = Progress(progress)
    for done, (k, found) in enumerate(side_by_side(_one_fold, quiet_copy(learner), obs, tasks, jobs, "fold"), 1):
        predicted[:, folds[k]] = found
        left = teller.seconds / done * (len(folds) - done)
        teller.count("folds", f"fold {done} of {len(folds)}", done, len(folds), left)
    return [
        _row(float(w), predicted[k][usable], reached[usable])
        for k, (w, (usable, reached)) in enumerate(zip(horizons, cases))
    ]


def _one_fold(
    learner: StructureLearner,
    obs: Observations,
    held: IntArray,
    target: Target,
    horizons: FloatArray,
    usable: list[BoolArray],
) -> FloatArray:
    """Risks (n_times, n_held) of units by a learner that has not seen them; NaN where they are not to be told."""
    fitted = fit_apart(learner, obs, held)
    out = np.full((len(horizons), len(held)), np.nan)
    for k, w in enumerate(horizons):
        mine = np.flatnonzero(usable[k][held])
        if len(mine):
            few = fitted._seen(obs.select(held[mine]))
            known = history(few, few.end - w)
            out[k, mine] = reach(fitted.network_, known, target, np.array([w]))[0][:, 0]
    return out


def _cases(obs: Observations, target: Target, within: float) -> tuple[BoolArray, BoolArray]:
    """Which units tell of a risk, and which of them were seen to reach the target."""
    (node, states), cut = next(iter(target.items())), obs.end - within
    series = obs.series[node]
    usable = (first_seen(obs) <= cut) & (obs.start <= cut)
    reached = np.zeros(obs.n_trajectories, bool)
    for b in range(obs.n_trajectories):
        rows = slice(series.offsets[b], series.offsets[b + 1])
        times, there = series.times[rows], states[series.values[rows]]
        before, after = there[times <= cut[b]], there[times > cut[b]]
        usable[b] &= len(after) > 0 and not (len(before) and before[-1])
        reached[b] = after.any()
    return usable, reached


def _row(within: float, risk: FloatArray, reached: BoolArray) -> dict[str, Any]:
    from sklearn.metrics import roc_auc_score

    n, events = len(risk), int(reached.sum())
    out: dict[str, Any] = {"within": within, "units": n, "reached": events, "mean_risk": None, "auc": None}
    out.update(brier=None, brier_reference=None)
    if n:
        out["mean_risk"], out["brier"] = float(risk.mean()), float(((risk - reached) ** 2).mean())
    if n > 1:
        others = (events - reached) / (n - 1)
        out["brier_reference"] = float(((others - reached) ** 2).mean())
    if 0 < events < n:
        out["auc"] = float(roc_auc_score(reached, risk))
    return out
