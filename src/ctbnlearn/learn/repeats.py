"""Fits repeated on parts of the data or on resampled units: how one is made cheap, and several run side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.methods import Blocks, Method, Sampling
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.learn.plan import make_plan

BRIEF = Sampling(chains=2, sweeps=300)  # of one of many fits, whose average is wanted


def brief_method(learner: StructureLearner, data: Paths | Observations) -> str | Method:
    """How one of many fits infers paths: as the learner does, but sampling with few sweeps unless it has its own."""
    if isinstance(data, Paths) or learner.weights != "posterior":
        return learner.inference
    method = make_plan(learner, data).method
    if isinstance(method, Sampling) and method.sweeps is None:
        return replace(BRIEF, agreement=method.agreement)
    return method if isinstance(method, Blocks) else learner.inference


def quiet_copy(learner: StructureLearner, **changes: Any) -> StructureLearner:
    """A learner of the same settings that says nothing and keeps no state."""
    own = {"progress": False, "callback": None, "checkpoint": None, "resume": False}
    return StructureLearner(**{**learner.get_params(deep=False), **own, **changes})


def fit_quietly(learner: StructureLearner, data: Paths | Observations) -> StructureLearner:
    """Fit one of many without warnings: errors average out, converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner.fit(data)


def resampled(data: Paths | Observations, rng: np.random.Generator) -> Paths | Observations:
    """As many units as there are, drawn with replacement; they are renumbered."""
    drawn = data.select(rng.integers(0, data.n_trajectories, data.n_trajectories))
    return replace(drawn, ids=range(data.n_trajectories))


def side_by_side(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[tuple[int, Any]]:
    """Results of work(*task) with the number of the task, as they come; in `jobs` processes."""
    if jobs == 1 or len(tasks) < 2:
        for k, task in enumerate(tasks):
            yield k, work(*task)
        return
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(work, *task): k for k, task in enumerate(tasks)}
        for done in as_completed(running):
            yield running[done], done.result()


def as_units(learner: object, data: Any, what: str) -> Paths | Observations:
    """Data, read where they are a frame whose columns the learner names; raise unless units are enough."""
    if not isinstance(learner, StructureLearner):
        raise ParameterError(f"{what} needs a StructureLearner, not {type(learner).__name__}")
    if not isinstance(data, (Paths, Observations, TableScan)) and (learner.trajectory, learner.time) != (None, None):
        data = learner._read(data)
    if not isinstance(data, (Paths, Observations)):
        raise ParameterError(
            f"{what} needs Paths or Observations, not {type(data).__name__}; make them with read_paths or read_table"
        )
    if data.n_trajectories < 2:
        raise ParameterError(f"{what} needs several units to draw from, and the data hold one; give two or more")
    return data
