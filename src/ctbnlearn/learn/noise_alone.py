"""Observation models learned with every variable by itself, for methods that do not learn them along with the network.

By sampling: without edges chains mix well, where EM stops at levels that merge or split a state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctbnlearn.arguments import Seed
from ctbnlearn.arrays import BoolArray
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.methods import Sampling
from ctbnlearn.learn.noise_draws import (
    drawn_parameters,
    learned_models,
    mean_models,
    parameter_rows,
    scale_reduction,
)
from ctbnlearn.learn.progress import Progress
from ctbnlearn.learn.sampling import in_order, make_task, sample
from ctbnlearn.model.initial import InitialSpec
from ctbnlearn.structure.problem import EdgeRules, Scoring

CHAINS = Sampling(chains=2, sweeps=400)
AGREED = 1.2  # potential scale reduction of parameters from which on chains do not agree


class Measured(NamedTuple):
    """Learned models by variable, rows of their parameters, and whether the chains agree.

    They do not where levels are too many, or overlap.
    """

    models: dict[str, NoiseModel]
    rows: list[Mapping[str, Any]]
    agreed: bool


def learn_noise(
    data: Observations,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    initial: str | InitialSpec,
    random_state: Seed,
    progress: Progress,
) -> Measured | None:
    """Learn the observation models of the data that are to be learned; None where there are none."""
    learned = learned_models(data)
    if not learned:
        return None
    rules, ordered = EdgeRules.build(data.names, 0, None, None, None), in_order(data)
    task = make_task(ordered, rules, scoring, possible, initial)
    progress.tell("start", f"how {', '.join(data.names[i] for i in learned)} was measured, by sampling without edges")
    found = sample(ordered, task, CHAINS, random_state, progress)
    draws = drawn_parameters(data, found.records)
    agreed = scale_reduction(draws, CHAINS.chains) < AGREED
    return Measured(mean_models(data, draws), parameter_rows(data, draws), agreed)
