"""Learning from incomplete data: set up priors, beliefs and paths, and run EM, from several starts if asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.device import products_precision
from ctbnlearn.inference.engine import PathEngine, default_step
from ctbnlearn.inference.exact_paths import ExactPaths
from ctbnlearn.learn.checkpoint import Checkpoint, Saved
from ctbnlearn.learn.em import EM, Schedule, fit_decoupled
from ctbnlearn.learn.network_belief import MOST_JOINT_STATES, DenseBelief, SparseBelief
from ctbnlearn.learn.progress import Progress
from ctbnlearn.learn.tensor_file import listed, unlisted
from ctbnlearn.result.manifest import plain
from ctbnlearn.structure.all_pairs import AllPairs
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring


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
    inference: str
    schedule: Schedule
    seed: Any = None


class _Starts:
    """Makes EM anew for every start, and from what a checkpoint holds.

    Parameters
    ----------
    obs, rules, scoring, possible, settings, progress, callback
        As in `fit_incomplete`.
    start_rates, mean_rates
        What `fit_decoupled` found.
    """

    def __init__(
        self,
        obs: Observations,
        rules: EdgeRules,
        scoring: Scoring,
        possible: Sequence[BoolArray | None],
        settings: IncompleteSettings,
        progress: Progress,
        callback: Callable[[int, float], Any] | None,
        start_rates: Sequence[FloatArray],
        mean_rates: Sequence[float],
    ) -> None:
        self.obs, self.rules, self.scoring, self.possible, self.settings = obs, rules, scoring, possible, settings
        self.progress, self.callback = progress, callback
        self.start_rates, self.mean_rates = start_rates, mean_rates
        self.cards = [v.n_states for v in obs.variables]
        self.dense = all_listed(rules, self.cards)
        self.count = settings.n_init if settings.initial == "random" and self.dense else 1
        self.rng = np.random.default_rng(settings.seed)

    def fresh(self) -> EM:
        """EM at the beginning of the next start."""
        settings = self.settings
        engine = self._engine()
        belief = self._belief(engine)
        belief.mean_field = settings.inference == "mean_field"
        return EM(
            engine,
            belief,
            self.start_rates,
            settings.initial_distribution or [np.full(c, 1 / c) for c in self.cards],
            learn_initial=settings.initial_distribution is None,
            schedule=settings.schedule,
            progress=self.progress,
            callback=self.callback,
        )

    def _engine(self) -> Any:
        """Paths by themselves or on the joint chain: a `PathEngine`, or `ExactPaths`, which does all that EM asks."""
        settings = self.settings
        if settings.inference == "exact":
            self.progress.say(f"paths on the joint chain of {prod(self.cards)} states")
            return ExactPaths(self.obs)
        step = settings.step or default_step([float(r.sum(1).max()) for r in self.start_rates])
        engine = PathEngine(self.obs, step, precision=settings.precision, device=settings.device)
        cells = sum(int((b.dt > 0).sum()) for b in engine.blocks)
        self.progress.say(f"paths on {cells} cells of at most {step:.3g} units of time, {engine.device.kind}")
        return engine

    def _belief(self, engine: Any) -> DenseBelief:
        rules, scoring, cards = self.rules, self.scoring, self.cards
        if self.dense:
            problems = [self._problem(i, rules.sets(i)) for i in range(len(cards))]
            weights = [initial_weights(p, self.settings.initial, self.rng) for p in problems]
            return DenseBelief(problems, cards, rules.allowed, weights)
        pairs = None
        if scoring.concentration is None:
            products = products_precision(self.settings.precision, engine.device, len(cards))
            pairs = AllPairs(cards, rules, scoring, self.mean_rates, self.possible, products, engine.device)
        belief = SparseBelief(self._problem, rules, cards, pairs, self.settings.pool_size)
        if engine.large:
            belief.room = (1, 1)
        return belief

    def _problem(self, node: int, sets: ParentSets) -> NodeProblem:
        mean, possible = self.mean_rates[node], self.possible[node]
        return NodeProblem.build(node, sets, self.rules, self.cards, self.scoring, mean, possible)

    def pack(self, em: EM, number: int) -> Saved:
        """EM of start `number`, as it is now."""
        arrays = {
            **em.arrays(),
            **listed("start_rates", self.start_rates),
            "mean_rates": np.array(self.mean_rates, float),
        }
        progress = {"phases": em.history.phase, "converged": em.converged}
        return Saved(arrays, number, em.n_iter, {"em": progress, "random": plain(self.rng.bit_generator.state)})

    def unpack(self, saved: Saved) -> EM:
        """EM as it was, and the random numbers as they were then."""
        em = self.fresh()
        em.restore(saved.arrays, saved.round, **saved.state["em"])
        kind = getattr(np.random, saved.state["random"]["bit_generator"])
        self.rng = np.random.Generator(kind())
        self.rng.bit_generator.state = saved.state["random"]
        return em


def fit_incomplete(
    obs: Observations,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    settings: IncompleteSettings,
    progress: Progress,
    callback: Callable[[int, float], Any] | None = None,
    checkpoint: Checkpoint | None = None,
) -> EM:
    """Run EM to the end and return it; of several random starts the one with the largest F.

    With a `checkpoint`, go on from what it holds, and keep the state of every round there.
    """
    cards = [v.n_states for v in obs.variables]
    if not all_listed(rules, cards) and rules.largest > 2 and scoring.concentration is not None:
        crowded = max(range(len(cards)), key=lambda i: len(rules.allowed[i]))
        raise ParameterError(
            f"{rules.names[crowded]!r} has {len(rules.allowed[crowded])} candidate parents, too many for mixture "
            f"weights of sets of up to {rules.largest}; use posterior weights, max_parents=2 or fewer `candidates`"
        )
    if settings.inference == "exact" and not all_listed(rules, cards):
        raise ParameterError(
            f'inference="exact" lists the joint states of all candidates, here more than {MOST_JOINT_STATES} of a '
            'variable; use inference="star", or fewer `candidates`'
        )
    saved = None if checkpoint is None else checkpoint.load()
    if saved is not None and saved.round > settings.schedule.max_iter:
        raise ParameterError(f"the checkpoint holds {saved.round} rounds, more than max_iter; raise max_iter")
    size = f"{len(cards)} variables, {obs.n_trajectories} trajectories"
    if saved is None:
        progress.say(f"{size}: each variable by itself")
        alone = fit_decoupled(obs, possible, precision=settings.precision, device=settings.device)
    else:
        progress.say(f"{size}: on from the checkpoint of round {saved.round}")
        alone = unlisted(saved.arrays, "start_rates", len(cards)), saved.arrays["mean_rates"].tolist()
    starts = _Starts(obs, rules, scoring, possible, settings, progress, callback, *alone)
    first = 0 if saved is None else saved.start
    ended = None if checkpoint is None else checkpoint.load_best(first)
    best = None if ended is None else starts.unpack(ended)
    for number in range(first, starts.count):
        em = starts.fresh() if saved is None or number > first else starts.unpack(saved)
        if checkpoint is not None:
            em.keep = partial(_keep, checkpoint, starts, number)
        em.run()
        if best is None or em.history.objective[-1] > best.history.objective[-1]:
            best = em
            if checkpoint is not None and starts.count > 1:
                checkpoint.save(starts.pack(em, number), best=True)
    assert best is not None
    if settings.refine and scoring.concentration is None and settings.inference != "exact":
        progress.say(f"local evidence of {sum(map(len, best.belief.hopeful()))} parent sets")
        best.belief.refine(best.engine, best.rates)
    progress.say("done" if best.converged else "stopped before it converged")
    return best


def _keep(checkpoint: Checkpoint, starts: _Starts, number: int, em: EM) -> None:
    checkpoint.save(starts.pack(em, number))


def all_listed(rules: EdgeRules, cards: Sequence[int]) -> bool:
    """Whether the candidates of every node have few enough joint states to list them all."""
    return all(np.prod([float(cards[j]) for j in pool]) <= MOST_JOINT_STATES for pool in rules.allowed)


def initial_weights(problem: NodeProblem, kind: str, rng: np.random.Generator) -> FloatArray:
    """Weights to start from: "uniform" over all sets, "full" over the largest ones, or "random"."""
    if kind == "full":
        weights = (problem.sets.sizes == problem.sets.sizes.max()).astype(float)
    elif kind == "random":
        weights = rng.random(len(problem.sets))
    else:
        weights = np.ones(len(problem.sets))
    return weights / weights.sum()
