"""Fits repeated on parts of the data or on resampled units: how one is made cheap, and several run side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute import scratch
from ctbnlearn.execute.executors import Executors, as_workers
from ctbnlearn.execute.memory import memory_budget
from ctbnlearn.execute.workers import Workers
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
    """As many units as there are, drawn with replacement; they are renumbered, copies one after the other."""
    drawn = data.select(np.sort(rng.integers(0, data.n_trajectories, data.n_trajectories)))
    return replace(drawn, ids=range(data.n_trajectories))


def check_jobs(jobs: Executors) -> None:
    """Raise where `jobs` says nobody, before anything is computed."""
    if not isinstance(jobs, Workers):
        as_workers(jobs, "jobs").close()


def side_by_side(
    work: Callable[..., Any],
    learner: StructureLearner,
    data: Paths | Observations,
    tasks: Sequence[tuple[Any, ...]],
    jobs: Executors,
    what: str,
) -> Iterator[tuple[int, Any]]:
    """Number of every task and result of work(learner, data, *task), as they are finished.

    Parameters
    ----------
    work, learner, data, tasks
        What to do; `work` stands at the top level of a module.
    jobs
        Who does it, as `executor` of a `StructureLearner`; None: the executor of the learner, which then has none.
    what
        What a task is, for messages.
    """
    workers = as_workers(learner.executor) if jobs is None else as_workers(jobs, "jobs")
    try:
        if workers.local or workers.count == 1 or len(tasks) < 2:  # a fit takes all threads
            for k, task in enumerate(tasks):
                yield k, work(learner, data, *task)
        else:
            share = memory_budget(learner.memory) // workers.count
            given = workers.put((quiet_copy(learner, executor=None, memory=share), data))
            names = [f"{what} {k + 1} of {len(tasks)}" for k in range(len(tasks))]
            yield from workers.as_finished(_apart, [(work, given, *task) for task in tasks], names)
    except BaseException:
        workers.abandon()
        raise
    workers.close()


def _apart(work: Callable[..., Any], given: Any, *task: Any) -> Any:
    """Do a task, by whatever worker."""
    return work(*scratch.read(given), *task)


def as_units(learner: object, data: Any, what: str) -> Paths | Observations:
    """Data, read where they are a frame whose columns the learner names; raise unless units are enough."""
    if not isinstance(learner, StructureLearner):
        raise ParameterError(f"{what} needs a StructureLearner, not {type(learner).__name__}")
    if learner._reads(data):
        data = learner._read(data)
    if not isinstance(data, (Paths, Observations)):
        raise ParameterError(
            f"{what} needs Paths or Observations, not {type(data).__name__}; make them with read_paths or read_table"
        )
    if data.n_trajectories < 2:
        raise ParameterError(f"{what} needs several units to draw from, and the data hold one; give two or more")
    return data
