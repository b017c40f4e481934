"""Learning from incomplete data: set up priors, beliefs and paths, and run EM, from several starts if asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.engine import PathEngine, default_step
from ctbnlearn.learn.em import EM, Schedule, fit_decoupled
from ctbnlearn.learn.network_belief import MOST_JOINT_STATES, DenseBelief, SparseBelief
from ctbnlearn.learn.progress import Progress
from ctbnlearn.structure.all_pairs import AllPairs
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, Judgement, NodeProblem


@dataclass(frozen=True, eq=False)
class IncompleteSettings:
    """What `StructureLearner` passes on: see its parameters."""

    initial: str
    n_init: int
    initial_distribution: Sequence[FloatArray] | None  # None: learn it
    step: float | None
    precision: str
    device: str
    pool_size: int | None
    refine: bool
    mean_field: bool
    schedule: Schedule
    seed: Any = None


def fit_incomplete(
    obs: Observations,
    rules: EdgeRules,
    judgement: Judgement,
    possible: Sequence[BoolArray | None],
    settings: IncompleteSettings,
    progress: Progress,
    callback: Callable[[int, float], Any] | None = None,
) -> EM:
    """Run EM to the end and return it; of several random starts the one with the largest F."""
    cards = [v.n_states for v in obs.variables]
    dense = all(np.prod([float(cards[j]) for j in pool]) <= MOST_JOINT_STATES for pool in rules.allowed)
    if not dense and rules.largest > 2 and judgement.concentration is not None:
        crowded = max(range(len(cards)), key=lambda i: len(rules.allowed[i]))
        raise ParameterError(
            f"{rules.names[crowded]!r} has {len(rules.allowed[crowded])} candidate parents, too many for mixture "
            f"weights of sets of up to {rules.largest}; use posterior weights, max_parents=2 or fewer `candidates`"
        )
    where: dict[str, Any] = {"precision": settings.precision, "device": settings.device}
    progress.say(f"{len(cards)} variables, {obs.n_trajectories} trajectories: each variable by itself")
    start_rates, mean_rates = fit_decoupled(obs, possible, **where)

    def build(node: int, sets: ParentSets) -> NodeProblem:
        return NodeProblem.build(node, sets, rules, cards, judgement, mean_rates[node], possible[node])

    step = default_step([float(r.sum(1).max()) for r in start_rates]) if settings.step is None else settings.step
    learn_initial = settings.initial_distribution is None
    p0 = [np.full(c, 1 / c) for c in cards] if learn_initial else settings.initial_distribution
    best: EM | None = None
    rng = np.random.default_rng(settings.seed)
    for _ in range(settings.n_init if settings.initial == "random" and dense else 1):
        engine = PathEngine(obs, step, **where)
        cells = sum(int((b.dt > 0).sum()) for b in engine.blocks)
        progress.say(f"paths on {cells} cells of at most {step:.3g} units of time, {engine.device.kind}")
        belief: DenseBelief
        if dense:
            problems = [build(i, rules.sets(i)) for i in range(len(cards))]
            weights = [initial_weights(p, settings.initial, rng) for p in problems]
            belief = DenseBelief(problems, cards, rules.allowed, weights)
        else:
            pairs = None
            if judgement.concentration is None:
                products = products_precision(settings.precision, engine.device, len(cards))
                pairs = AllPairs(cards, rules, judgement, mean_rates, possible, products, engine.device)
            belief = SparseBelief(build, rules, cards, pairs, settings.pool_size)
            if engine.large:
                belief.room = (1, 1)
        belief.mean_field = settings.mean_field
        em = EM(
            engine,
            belief,
            start_rates,
            p0 or [],
            learn_initial=learn_initial,
            schedule=settings.schedule,
            progress=progress,
            callback=callback,
        )
        em.run()
        if best is None or em.history.objective[-1] > best.history.objective[-1]:
            best = em
    assert best is not None
    if settings.refine and judgement.concentration is None:
        progress.say(f"local evidence of {sum(map(len, best.belief.active))} parent sets")
        best.belief.refine(best.engine, best.rates)
    progress.say("done" if best.converged else "stopped before it converged")
    return best


def products_precision(precision: str, device: Device, n_variables: int) -> str:
    """Precision of the products over all pairs: single where asked for, on an accelerator, or for many variables."""
    if precision != "auto":
        return precision
    return "float32" if device.kind == "gpu" or n_variables > 64 else "float64"


def initial_weights(problem: NodeProblem, kind: str, rng: np.random.Generator) -> FloatArray:
    """Weights to start from: "uniform" over all sets, "full" over the largest ones, or "random"."""
    if kind == "full":
        weights = (problem.sets.sizes == problem.sets.sizes.max()).astype(float)
    elif kind == "random":
        weights = rng.random(len(problem.sets))
    else:
        weights = np.ones(len(problem.sets))
    return weights / weights.sum()
