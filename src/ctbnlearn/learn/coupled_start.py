"""A network with edges for chains to start from, where paths drawn without edges would hide them (see `choice`).

Half of the chains start from what blocks find, so that chains which are stuck do not agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.inference.methods import Blocks
from ctbnlearn.learn.chain import Task
from ctbnlearn.learn.choice import blocks_can, chains_stick, spread_out
from ctbnlearn.learn.progress import Progress


class CoupledStart(NamedTuple):
    """Per variable its parents, and rates (U, S, S) without the diagonal."""

    parents: list[tuple[int, ...]]
    rates: list[FloatArray]


def coupled_start(
    data: Incomplete, task: Task, models: Mapping[str, NoiseModel], progress: Progress
) -> CoupledStart | None:
    """The network that blocks find, observation models as they are; None where it is not needed or not to be had."""
    if task.rules.largest == 0 or not blocks_can(data, task.rules) or not chains_stick(data):
        return None
    from ctbnlearn.inference.device import PROCESSOR
    from ctbnlearn.learn.blocks import fit_blocks

    some = spread_out(data)
    progress.tell("start", f"{len(some)} trajectories: a network to start from")
    known = data.select(some).with_noise(models)
    given = task.initial
    initial = None if given is None or not given.is_product else [t.reshape(-1) for t in given.tables]
    found = fit_blocks(known, task.rules, task.scoring, task.possible, Blocks(), initial, PROCESSOR, Progress())
    tables = [own[0] for own in found.tables]
    return CoupledStart([tuple(t.parents) for t in tables], [t.mean for t in tables])
