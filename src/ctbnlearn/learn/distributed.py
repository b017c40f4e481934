"""Sampling and blocks by whatever workers there are, within the memory there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.execute.executors import as_workers
from ctbnlearn.execute.local import Threads
from ctbnlearn.execute.memory import memory_budget, observations_share, path_bytes, spills
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.methods import Blocks, Sampling
from ctbnlearn.learn.blocks import Found, fit_blocks
from ctbnlearn.learn.chain import Task
from ctbnlearn.learn.checkpoint import Checkpoint
from ctbnlearn.learn.progress import Progress
from ctbnlearn.learn.sampling import Sampled, in_order, make_task, sample
from ctbnlearn.structure.problem import EdgeRules, Scoring

if TYPE_CHECKING:
    from ctbnlearn.learn.learner import StructureLearner


def sampled(
    learner: StructureLearner,
    data: Incomplete,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    method: Sampling,
    checkpoint: Checkpoint | None,
    progress: Progress,
) -> tuple[Task, Sampled]:
    """Run the chains of a `StructureLearner`; returns what they learned from and what they found."""
    budget = memory_budget(learner.memory)
    packed = path_bytes(data.n_trajectories, len(data.variables), data.n_values)
    workers = (
        Threads(spill=spills(packed, method.chains, budget))
        if learner.executor is None
        else as_workers(learner.executor)
    )
    try:
        limit = observations_share(budget, 1 if workers.local else workers.count)
        data = in_order(data)
        task = make_task(data, rules, scoring, possible, learner.initial_distribution, workers, limit)
        found = sample(data, task, method, learner.random_state, progress, learner.callback, checkpoint, workers)
    except BaseException:
        workers.abandon()
        raise
    workers.close()
    progress.end(found.agreed, "stopped before the chains agreed")
    return task, found


def by_blocks(
    learner: StructureLearner,
    data: Incomplete,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    start: Sequence[FloatArray] | None,
    method: Blocks,
    device: Device,
    progress: Progress,
    checkpoint: Checkpoint | None,
) -> Found:
    """Learn by blocks as a `StructureLearner` asks for it."""
    workers = as_workers(learner.executor)
    try:
        limit = memory_budget(learner.memory) // (1 if workers.local else workers.count)
        given = rules, scoring, possible, method, start, device, progress, learner.callback
        found = fit_blocks(in_order(data), *given, checkpoint, workers, limit)
    except BaseException:
        workers.abandon()
        raise
    workers.close()
    return found
