"""Does the model fit? Units are held out in folds and predicted, with the edges and without any.

Every value is predicted from what was seen of its unit at earlier times. Given that past, predictions of one variable
are those of a martingale: the number of moves seen between consecutive values minus the number predicted has the
variance sum p (1 - p) if the model is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import FloatArray, IntArray, NumberArray
from ctbnlearn.data.constant import never_changing
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.opening import Table
from ctbnlearn.data.ragged import owner
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute.executors import Executors
from ctbnlearn.inference import known
from ctbnlearn.learn.folds import (
    Forecast,
    as_foldable,
    fit_apart,
    forecast,
    label_probabilities,
    simulated_values,
    unit_folds,
)
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.learn.progress import Progress, Watcher
from ctbnlearn.learn.repeats import check_jobs, quiet_copy, side_by_side

BINS = 10  # of predicted probabilities
PERIODS = 8  # at most, of the curves over time
REPLICATES = 20  # simulated data sets behind the curves
NEGLIGIBLE = 1e-3  # nats per value that are not worth reporting
FEW = 30  # values of a period below which no point is drawn


@dataclass(frozen=True)
class ModelCheck:
    """How well units that were held out are predicted; all of it in JSON types, and nothing of single units.

    Attributes
    ----------
    gain, gain_error
        By how many nats per value the edges improve prediction over the network without edges, and its standard error
        over units. What a learner adjusts for stays in both.
    score, empty_score
        Mean log probability of a value, with edges and without.
    n_units, n_values, n_folds
        What was held out.
    variables
        By variable: variable, values, score, empty_score, gain, gain_error.
    moves
        By variable seen as labels: variable, pairs (of consecutive values), seen (that differ), predicted, error (its
        standard deviation under the model).
    calibration
        By bin of predicted probability: low, high, predicted (mean), seen (share), values.
    calibration_error
        Mean absolute difference of predicted and seen, weighted by values; None without labels.
    curves
        Points of summary curves over the time since the start: variable, what ("share of STATE" or "mean"), time, seen,
        simulated, low, high (5 and 95 % of simulated data sets).
    engine
        "joint chain": predictions are exact; "neighbourhood": each variable on the joint chain of those that drive it;
        "filter" (after factorised methods): an assumed-density filter, variables independent given the past.
    """

    gain: float
    gain_error: float
    score: float
    empty_score: float
    n_units: int
    n_values: int
    n_folds: int
    variables: Sequence[Mapping[str, Any]]
    moves: Sequence[Mapping[str, Any]]
    calibration: Sequence[Mapping[str, Any]]
    calibration_error: float | None
    curves: Sequence[Mapping[str, Any]]
    engine: str

    @property
    def words(self) -> list[str]:
        """What it comes to, in sentences."""
        return in_words(self)

    def __str__(self) -> str:
        return "\n".join(self.words)

    def to_dict(self) -> dict[str, Any]:
        """In JSON types, with the words."""
        return {"words": self.words, **asdict(self)}


def check_model(
    learner: StructureLearner,
    obs: Observations | Table,
    *,
    n_folds: int = 5,
    random_state: int = 0,
    jobs: Executors = None,
    progress: Watcher = False,
) -> ModelCheck:
    """Hold units out in folds, predict them, and compare with the network without edges and with what was seen.

    Parameters
    ----------
    learner
        Its settings; it is copied, not changed. Sampling takes few sweeps unless it says how many.
    obs
        The data; a data frame where `fit` would take it.
    n_folds
        Number of folds of units, default 5.
    random_state
        Seed of the folds and simulations.
    jobs
        Who fits folds side by side, as `executor` of a learner; None: the learner's own executor, if it has one.
    progress
        As in `StructureLearner`.

    `Result.with_check` puts it into a result and its report.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(2, 1, coupling=-0.8, rng=0)
    >>> obs = cl.observe(cl.simulate(net, 60, horizon=5.0, rng=1), n_times=20, rng=2)
    >>> check = cl.check_model(cl.StructureLearner(inference=cl.Exact(max_iter=5)), obs, n_folds=2)
    >>> check.n_units, len(check.variables)
    (60, 2)
    """
    obs = as_foldable(learner, obs, "check_model")
    check_jobs(jobs)
    whole(random_state, "random_state", 0)
    teller = Progress(progress)
    folds = unit_folds(obs.n_trajectories, n_folds, random_state)
    tasks = [(held, random_state + k) for k, held in enumerate(folds)]
    parts: list[Any] = [None] * len(folds)
    for done, (k, found) in enumerate(side_by_side(_one_fold, quiet_copy(learner), obs, tasks, jobs, "fold"), 1):
        parts[k] = found
        left = teller.seconds / done * (len(folds) - done)
        teller.count("folds", f"fold {done} of {len(folds)}", done, len(folds), left)
    still = set(never_changing(obs))
    moving = [i for i in range(len(obs.variables)) if i not in still]
    full = [[part.full[i] for part in parts] for i in moving]
    empty = [[part.empty[i] for part in parts] for i in moving]
    names = [obs.names[i] for i in moving]
    rows = [_scored(name, a, b, obs.n_trajectories) for name, a, b in zip(names, full, empty)]
    both = [f for own in full for f in own], [f for own in empty for f in own]
    total = _scored("", *both, obs.n_trajectories)
    if not total["values"]:
        raise ParameterError("check_model: no unit has values at two times, so that nothing can be predicted")
    bins, error = _calibration(both[0])
    return ModelCheck(
        total["gain"],
        total["gain_error"],
        total["score"],
        total["empty_score"],
        obs.n_trajectories,
        total["values"],
        n_folds,
        rows,
        [row for name, own in zip(names, full) if (row := _moves(name, own))],
        bins,
        error,
        _curves(obs, folds, [part.simulated for part in parts], moving),
        parts[0].engine if len({part.engine for part in parts}) == 1 else "neighbourhood",
    )


@dataclass(frozen=True, eq=False)
class _Fold:
    full: list[Forecast]
    empty: list[Forecast]
    simulated: list[list[NumberArray | None]]  # data sets, each a list of values by variable
    engine: str


def _one_fold(learner: StructureLearner, obs: Observations, held: IntArray, seed: int) -> _Fold:
    fitted = fit_apart(learner, obs, held)
    bare = fit_apart(learner, obs, held, max_parents=0, required=None)
    few = fitted._seen(obs.select(held))
    rng = np.random.default_rng(seed)
    drawn = [simulated_values(fitted.network_, few, few.series, rng) for _ in range(REPLICATES)]
    engine = known.predictor(fitted.network_, few, fitted.inference_)
    return _Fold(forecast(fitted, obs, held), forecast(bare, obs, held), drawn, engine)


def _scored(name: str, full: Sequence[Forecast], empty: Sequence[Forecast], n_units: int) -> dict[str, Any]:
    """Scores of one variable, or of all, with the standard error of a ratio of sums over units."""
    with_edges, without, count = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    for a, b in zip(full, empty):
        unit = a.unit[a.later]
        count += np.bincount(unit, minlength=n_units)
        with_edges += np.bincount(unit, a.log_probability[a.later], n_units)
        without += np.bincount(unit, b.log_probability[b.later], n_units)
    values = int(count.sum())
    gained = with_edges - without
    mean = float(gained.sum() / max(values, 1))
    units = max(int((count > 0).sum()), 1)
    scatter = float(np.sqrt(((gained - mean * count) ** 2).sum() * units / max(units - 1, 1)))
    return {
        "variable": name,
        "values": values,
        "score": float(with_edges.sum() / max(values, 1)),
        "empty_score": float(without.sum() / max(values, 1)),
        "gain": mean,
        "gain_error": scatter / max(values, 1),
    }


def _moves(name: str, parts: Sequence[Forecast]) -> dict[str, Any] | None:
    """Moves between consecutive values of a variable, seen and predicted."""
    pairs, seen, predicted, variance = 0, 0, 0.0, 0.0
    for f in parts:
        if f.labels is None:
            return None
        follows = np.append(False, f.unit[1:] == f.unit[:-1])[: len(f.unit)]
        before = np.append(0, f.values[:-1])[: len(f.values)][follows]
        p = 1.0 - f.labels[follows, before]
        pairs += int(follows.sum())
        seen += int((f.values[follows] != before).sum())
        predicted += float(p.sum())
        variance += float((p * (1 - p)).sum())
    return {"variable": name, "pairs": pairs, "seen": seen, "predicted": predicted, "error": float(np.sqrt(variance))}


def _calibration(parts: Sequence[Forecast]) -> tuple[list[dict[str, Any]], float | None]:
    """Predicted probabilities of labels against the share of them that came true."""
    chances, hits = [np.empty(0)], [np.empty(0)]
    for f in parts:
        if f.labels is not None:
            own = f.labels[f.later]
            chances.append(own.reshape(-1))
            hits.append((np.arange(own.shape[1]) == np.asarray(f.values)[f.later][:, None]).reshape(-1).astype(float))
    p, hit = np.concatenate(chances), np.concatenate(hits)
    if not len(p):
        return [], None
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    rows, error = [], 0.0
    for k in np.unique(place).tolist():
        here = place == k
        predicted, seen = float(p[here].mean()), float(hit[here].mean())
        error += abs(predicted - seen) * float(here.mean())
        row = {"low": k / BINS, "high": (k + 1) / BINS, "predicted": predicted, "seen": seen, "values": int(here.sum())}
        rows.append(row)
    return rows, error


def _curves(
    obs: Observations,
    folds: Sequence[IntArray],
    simulated: Sequence[Sequence[Sequence[NumberArray | None]]],
    moving: Sequence[int],
) -> list[dict[str, Any]]:
    """Shares of states, or means of measured values, over the time since the start."""
    rows: list[dict[str, Any]] = []
    for i in moving:
        series = obs.series[i]
        parts = [obs.select(held) for held in folds]
        since = np.concatenate([p.series[i].times - p.start[owner(p.series[i].offsets)] for p in parts])
        if not len(since) or simulated[0][0][i] is None:
            continue
        real = np.concatenate([p.series[i].values for p in parts])
        drawn = [np.concatenate([fold[r][i] for fold in simulated]) for r in range(REPLICATES)]
        cuts = np.unique(np.quantile(since, np.linspace(0, 1, min(PERIODS, max(len(since) // FEW, 1)) + 1)[1:-1]))
        period = np.searchsorted(cuts, since, side="right")
        states = obs.variables[i].states
        if label_probabilities(series) is None:
            wanted: list[tuple[str, Any]] = [("mean", None)]
        else:
            labels = getattr(series.noise, "labels", None) or states
            wanted = [(f"share of {labels[x]}", x) for x in range(1 if len(labels) == 2 else 0, len(labels))]
        for what, code in wanted:
            for k in range(len(cuts) + 1):
                here = period == k
                if here.sum() < min(FEW, len(since)):
                    continue
                points = [_level(values[here], code) for values in drawn]
                low, high = np.quantile(points, [0.05, 0.95])
                rows.append(
                    {
                        "variable": obs.names[i],
                        "what": what,
                        "time": float(since[here].mean()),
                        "seen": _level(real[here], code),
                        "simulated": float(np.mean(points)),
                        "low": float(low),
                        "high": float(high),
                    }
                )
    return rows


def _level(values: FloatArray, code: int | None) -> float:
    return float(np.mean(values) if code is None else np.mean(values == code))


def in_words(check: ModelCheck) -> list[str]:
    """The findings in sentences, the most important first."""
    size = f"{abs(check.gain):.2g} ± {check.gain_error:.1g} nats per value (one standard error)"
    if check.gain > 2 * check.gain_error:
        out = [f"The edges improve prediction of new units by {size}."]
    elif check.gain < -2 * check.gain_error:
        out = [f"The edges make prediction of new units worse, by {size}: do not trust them."]
    else:
        sign = "+" if check.gain >= 0 else "-"
        out = [f"The edges make no clear difference to the prediction of new units: {sign}{size}."]
    helped = sorted((r for r in check.variables if r["gain"] > 2 * r["gain_error"]), key=lambda r: -r["gain"])
    if helped:
        out.append("They help most with " + ", ".join(f"{r['variable']} ({r['gain']:.2g})" for r in helped[:3]) + ".")
    hurt = [r for r in check.variables if r["gain"] < -max(2 * r["gain_error"], NEGLIGIBLE)]
    if hurt:
        out.append(
            "They make prediction worse of " + ", ".join(f"{r['variable']} ({r['gain']:.2g})" for r in hurt[:5]) + "."
        )
    if check.moves:
        seen, predicted = sum(r["seen"] for r in check.moves), sum(r["predicted"] for r in check.moves)
        out.append(f"Between consecutive values {seen} moves were seen and {predicted:.0f} predicted.")
        off = [r for r in check.moves if abs(r["seen"] - r["predicted"]) > 3 * max(r["error"], 1e-9)]
        for r in off[:5]:
            more = "more" if r["predicted"] > r["seen"] else "fewer"
            out.append(f"Of {r['variable']}, {more} were predicted than seen: {r['predicted']:.0f} for {r['seen']}.")
    if check.calibration_error is not None:
        out.append(f"Predicted probabilities are off by {check.calibration_error:.2g} on average.")
    return out
