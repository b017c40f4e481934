"""A network with edges for chains to go on from, where they might be stuck at another and agree on it.

Paths drawn without edges may hide them (see `choice`), and paths that follow one another within a gap hold chains at
the network that made them. Half of the chains go on from what blocks find: chains which are stuck then do not agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.inference.methods import Blocks
from ctbnlearn.learn.chain import Task
from ctbnlearn.learn.choice import blocks_can, spread_out
from ctbnlearn.learn.progress import Progress


class CoupledStart(NamedTuple):
    """Per variable its parents, and rates (U, S, S) without the diagonal."""

    parents: list[tuple[int, ...]]
    rates: list[FloatArray]


def coupled_start(
    data: Incomplete, task: Task, models: Mapping[str, NoiseModel], progress: Progress
) -> CoupledStart | None:
    """The network that blocks find, observation models as they are; None where it is not to be had."""
    if task.rules.largest == 0 or not blocks_can(data, task.rules):
        return None
    from ctbnlearn.inference.device import PROCESSOR
    from ctbnlearn.learn.blocks import fit_blocks

    some = spread_out(data)
    progress.tell("note", f"{len(some)} trajectories: a network that chains might go on from")
    known = data.select(some).with_noise(models)
    given = task.initial
    initial = None if given is None or not given.is_product else [t.reshape(-1) for t in given.tables]
    found = fit_blocks(known, task.rules, task.scoring, task.possible, Blocks(), initial, PROCESSOR, Progress())
    tables = [own[0] for own in found.tables]
    return CoupledStart([tuple(t.parents) for t in tables], [t.mean for t in tables])
