"""Bagged posteriors (BayesBag, Buehlmann 2014, Huggins & Miller 2022): sure only when it is sure.

The posterior given the very units at hand is sure of what another draw of units would contradict, the more so as the
model is only roughly right. Averaged over resampled units it is not: probabilities then tell how an edge would fare in
another study of the same size.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ctbnlearn.arguments import generator, whole
from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.files import FilePath, as_path, write_atomic
from ctbnlearn.data.messages import first_line
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import CheckpointError, ParameterError
from ctbnlearn.execute.executors import Executors
from ctbnlearn.interface import spoken
from ctbnlearn.learn.fitted import FittedNetwork
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.learn.outcome import WITHOUT_EFFECT
from ctbnlearn.learn.progress import Progress, Watcher
from ctbnlearn.learn.repeats import (
    as_units,
    brief_method,
    check_jobs,
    fit_quietly,
    quiet_copy,
    resampled,
    side_by_side,
)
from ctbnlearn.result.bags import Bags
from ctbnlearn.result.manifest import fingerprint, plain
from ctbnlearn.result.result import Result

if TYPE_CHECKING:
    from ctbnlearn.data.opening import Table

ALL = "all"  # folder of the fit to the data as they are, inside the checkpoint


class Bagged(FittedNetwork, BaseEstimator):
    """Average a learner's edge probabilities over resampled units.

    The learner is fitted to the data as they are, which gives network, parent sets, rates and effects, and to `n_bags`
    draws of as many units with replacement; probabilities of edges are averages over the draws. Unless the learner has
    its own number of sweeps, a draw takes two chains of 300: their error is averaged out, too.

    Averages are less extreme at both ends, since a draw of units adds its own scatter to that of the study: edges that
    are not there come out at 0.1 or so, rather than 0.03 (`bags_.all_data` has the latter).

    Parameters
    ----------
    learner : StructureLearner
        What to fit; it is copied, not changed.
    n_bags : int
        Number of draws, default 20.
    jobs : None, int, dask.distributed.Client or concurrent.futures.Executor
        Who fits draws side by side, as `executor` of a learner. None, the default: the learner's own executor; without
        one, draws are fitted one after the other, each with all processors.
    random_state : int or None
        Seed of the draws; None: always the same. That of the learner stays its own.
    checkpoint : path or None
        Folder to keep finished draws in, one file each, and the state of the fit to all data.
    resume : bool
        Go on from what `checkpoint` holds; data and settings must be the same, `n_bags` may grow.
    progress : bool or callable
        As in `StructureLearner`.

    Attributes
    ----------
    edge_probabilities_ : (n, n)
        Average over draws.
    bags_ : Bags
        Mean, spread and agreement of signs, edge by edge; and the probabilities from the data as they are.
    learner_ : StructureLearner
        The fit to the data as they are; `network_`, `rate_tables_`, `parent_sets_` and all others are its own.
    result_ : Result
        Its result with the averages in it, and `Result.bags`.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(3, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=50, n_transitions=10, rng=2)
    >>> bagged = cl.Bagged(cl.StructureLearner(max_parents=2), n_bags=5).fit(paths)
    >>> bagged.edge_probabilities_.shape, bagged.bags_.n_bags
    ((3, 3), 5)
    """

    def __init__(
        self,
        learner: StructureLearner | None = None,
        n_bags: int = 20,
        *,
        jobs: Executors = None,
        random_state: int | None = None,
        checkpoint: FilePath | None = None,
        resume: bool = False,
        progress: Watcher = False,
    ) -> None:
        self.learner = learner
        self.n_bags = n_bags
        self.jobs = jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.resume = resume
        self.progress = progress

    def fit(
        self, data: Paths | Observations | Table, y: object = None, *, interventions: Table | None = None
    ) -> Bagged:
        """Fit to the data and to draws of their units; arguments as in `StructureLearner.fit`."""
        learner = StructureLearner() if self.learner is None else self.learner
        data = as_units(learner, data, "Bagged")
        whole(self.n_bags, spoken("n_bags", "--bags"), 2)
        check_jobs(self.jobs)
        if self.random_state is not None:
            whole(self.random_state, "random_state", 0)
        progress = Progress(self.progress)
        if interventions is not None:
            if isinstance(data, Paths):
                raise ParameterError("interventions go with Observations; complete data (Paths) do not take them yet")
            data = data.with_interventions(interventions)
        kept = _Kept.open(self.checkpoint, self.resume, learner, data, self.random_state)
        changes: dict[str, Any] = {"progress": self.progress, "callback": learner.callback}
        if kept is not None:
            changes.update(checkpoint=kept.folder / ALL, resume=self.resume)
        self.learner_ = quiet_copy(learner, **changes).fit(data)
        inference = brief_method(learner, data)
        states, signs = {}, {}
        waiting = []
        for k in range(self.n_bags):
            known = None if kept is None else kept.read(k)
            if known is None:
                waiting.append(k)
            else:
                states[k], signs[k] = known
        brief = quiet_copy(learner, inference=inference)
        tasks = [(_seed(self.random_state, k),) for k in waiting]
        began = progress.seconds
        for done, (at, found) in enumerate(side_by_side(fit_bag, brief, data, tasks, self.jobs, "bag"), 1):
            k = waiting[at]
            states[k], signs[k] = found
            if kept is not None:
                kept.write(k, *found)
            left = (progress.seconds - began) / done * (self.n_bags - len(states))
            progress.count("bags", f"bag {len(states)} of {self.n_bags}", len(states), self.n_bags, left)
        order = range(self.n_bags)
        self.bags_ = Bags.of([states[k] for k in order], [signs[k] for k in order], self.learner_.edge_probabilities_)
        self.edge_probabilities_: FloatArray = self.bags_.mean
        return self

    def __getattr__(self, name: str) -> Any:
        """Take all other attributes from the fit to all data."""
        if name.startswith("__") or name == "learner_" or "learner_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; fit it first, if it is a result")
        return getattr(self.__dict__["learner_"], name)

    def _observed(self, data: Any) -> Any:
        return self.learner_._observed(data)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to an end."""
        return "bags_" in self.__dict__

    @property
    def inference_(self) -> Any:  # type: ignore[override]
        """How paths were inferred."""
        return self.learner_.inference_

    @property
    def result_(self) -> Result:
        """What was learned: the result of the fit to all data, with the averages in it."""
        from dataclasses import replace

        check_is_fitted(self)
        own = self.learner_.result_
        manifest = {**own.manifest, "bags": {"n_bags": self.n_bags, "seed": plain(self.random_state)}}
        return replace(own, edge_probabilities=self.bags_.mean, bags=self.bags_, manifest=manifest)


def fit_bag(learner: StructureLearner, data: Paths | Observations, seed: int) -> tuple[FloatArray, IntArray]:
    """Edge probabilities (n, n) and signs (n, n) from one draw of the units."""
    rng = generator(seed)
    result = fit_quietly(learner, resampled(data, rng)).result_
    signs = np.zeros((len(result.names),) * 2, np.int64)
    place = {name: i for i, name in enumerate(result.names)}
    for edge in result.edges.to_pylist():
        if edge["effect"] is not None and edge["sign"]:
            signs[place[edge["source"]], place[edge["target"]]] = 1 if edge["sign"] == "+" else -1
    return np.array(result.edge_probabilities), signs


def _seed(random_state: int | None, k: int) -> int:
    """Seed of bag k, whatever their number."""
    return int(np.random.SeedSequence([random_state or 0, k]).generate_state(1)[0])


class _Kept:
    """Finished bags in a folder: one JSON file each, marked with what data and settings they belong to."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder, self.mark = folder, mark

    @classmethod
    def open(
        cls,
        folder: FilePath | None,
        resume: bool,
        learner: StructureLearner,
        data: Paths | Observations,
        seed: int | None,
    ) -> _Kept | None:
        if not isinstance(resume, (bool, np.bool_)):
            raise ParameterError(f"resume must be True or False, not {resume!r}")
        if folder is None:
            if resume:
                raise ParameterError("resume=True needs `checkpoint`, the folder to resume from")
            return None
        settings = {k: plain(v) for k, v in learner.get_params(deep=False).items() if k not in WITHOUT_EFFECT}
        given = json.dumps([fingerprint(data), settings, plain(seed)], sort_keys=True)
        home = as_path(folder, "keep a checkpoint in")
        try:
            home.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as problem:
            raise CheckpointError(
                f"{home}: cannot keep a checkpoint there ({first_line(problem)}); choose another"
            ) from None
        kept = cls(home, hashlib.sha256(given.encode()).hexdigest())
        if not resume:
            for old in home.glob("bag-*.json"):
                old.unlink()
        return kept

    def _path(self, k: int) -> Path:
        return self.folder / f"bag-{k:04d}.json"

    def read(self, k: int) -> tuple[FloatArray, IntArray] | None:
        """Bag k, or None where it is not there yet."""
        path = self._path(k)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            mark, found = content["mark"], (np.array(content["edges"], float), np.array(content["signs"], np.int64))
        except (ValueError, KeyError, TypeError, OSError):
            raise CheckpointError(f"{path}: this file is damaged; remove it, and that draw is made again") from None
        if mark != self.mark:
            option = spoken("resume=True", "--resume")
            raise CheckpointError(
                f"{path}: it belongs to other data or settings; leave out {option}, or name another folder"
            )
        return found

    def write(self, k: int, edges: FloatArray, signs: IntArray) -> None:
        content = {"mark": self.mark, "edges": edges.tolist(), "signs": signs.tolist()}
        write_atomic(self._path(k), json.dumps(content))
