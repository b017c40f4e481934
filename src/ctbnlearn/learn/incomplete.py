"""Learning from incomplete data: set up priors, beliefs and paths, and run EM, from several starts if asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.contract import PathInference
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.engine import PathEngine, default_step
from ctbnlearn.inference.exact_paths import ExactPaths
from ctbnlearn.inference.methods import Exact, Factorised, Iterated, MeanField
from ctbnlearn.learn.checkpoint import Checkpoint, Saved, taking_up
from ctbnlearn.learn.decoupled import fit_decoupled
from ctbnlearn.learn.dense_belief import DenseBelief
from ctbnlearn.learn.em import EM, EMState, Schedule
from ctbnlearn.learn.network_belief import NetworkBelief
from ctbnlearn.learn.noise_steps import NoiseSteps
from ctbnlearn.learn.progress import Callback, Progress
from ctbnlearn.learn.remaining import rounds_left, seconds_left
from ctbnlearn.learn.sparse_belief import SparseBelief, most_active_states
from ctbnlearn.learn.tensor_file import listed, unlisted
from ctbnlearn.result.manifest import plain
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring

MOST_JOINT_STATES = 256  # joint states of the candidates of a node up to which all are listed
MOST_SETS = 5000  # parent sets of a node: those of up to two among a hundred candidates


@dataclass(frozen=True, eq=False)
class IncompleteSettings:
    """What `StructureLearner` passes on: see its parameters."""

    method: Iterated
    initial_distribution: Sequence[FloatArray] | None  # None: learn it
    precision: str
    device: str
    seed: np.random.Generator | None = None


def fit_incomplete(
    obs: Observations,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    settings: IncompleteSettings,
    progress: Progress,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[EMState, dict[int, FloatArray]]:
    """Run EM to the end and return its last state; of several random starts the one with the largest F.

    With it come draws of the parameters of learned observation models, by number of the variable.

    With a `checkpoint`, go on from what it holds, and keep the state of every round there.
    """
    cards = [v.n_states for v in obs.variables]
    dense = all_listed(rules, cards)
    _check_size(rules, scoring, settings, dense)
    saved = None if checkpoint is None else checkpoint.load()
    method, schedule = settings.method, Schedule(max_iter=settings.method.max_iter, tol=settings.method.tol)
    if saved is not None and saved.round > schedule.max_iter:
        raise ParameterError(f"the checkpoint holds {saved.round} rounds, more than max_iter; raise max_iter")
    size, rng = f"{len(cards)} variables, {obs.n_trajectories} trajectories", np.random.default_rng(settings.seed)
    if saved is None:
        progress.tell("start", f"{size}: each variable by itself")
        alone = fit_decoupled(obs, possible)
    else:
        progress.tell("start", f"{size}: on from the checkpoint of round {saved.round}")
        with taking_up():
            alone = unlisted(saved.arrays, "start_rates", len(cards))
            rng = _generator(saved.state["random"])
            if any(np.isnan(a).any() for a in saved.arrays.values()):
                raise ValueError("not all of it are numbers")
    noise = NoiseSteps(obs)
    engine = _inference(obs, settings, alone, dense, noise.queries if noise.models else None)
    models = noise.arrays()
    progress.tell("start", engine.describe())
    em = EM(obs, engine, schedule, settings.initial_distribution is None)

    def build(node: int, sets: ParentSets) -> NodeProblem:
        return NodeProblem.build(node, sets, rules, cards, scoring, alone[node], possible[node])

    def new_belief(initial: str) -> NetworkBelief:
        problems = [build(i, rules.sets(i)) for i in range(len(cards))]
        if isinstance(engine, PathEngine) and not dense:
            return SparseBelief.start(problems, rules, engine)
        return DenseBelief.start(problems, cards, rules.allowed, [initial_weights(p, initial, rng) for p in problems])

    def pack(state: EMState, start: int) -> Saved:
        arrays = {**state.arrays(engine), **listed("start_rates", alone), **noise.arrays()}
        kept = {"phases": list(state.history.phase), "converged": state.converged}
        return Saved(arrays, start, state.n_iter, {"em": kept, "random": plain(rng.bit_generator.state)})

    def unpack(saved: Saved) -> EMState:
        with taking_up():
            noise.restore(engine, saved.arrays)
            return em.restore(new_belief("uniform"), saved.arrays, saved.round, **saved.state["em"])

    starts = method.n_init if method.initial == "random" and dense else 1
    with taking_up():
        first = 0 if saved is None else range(starts).index(saved.start)
    ended = None if checkpoint is None else checkpoint.load_best(first)
    best = None if ended is None else unpack(ended)
    initial = settings.initial_distribution or [np.full(c, 1 / c) for c in cards]
    kept = noise.arrays()
    for start in range(first, starts):
        if saved is not None and start == first:
            state = unpack(saved)
        else:
            noise.restore(engine, models)
            state = em.begin(new_belief(method.initial), initial, alone)
        passed: list[tuple[float, float, float]] = []  # rounds: when they ended, and how much they changed
        while not em.ended(state):
            noise.step(engine, state.found.paths)
            state = em.round(state)
            if checkpoint is not None:
                checkpoint.save(pack(state, start))
            passed.append((progress.seconds, state.change, state.moved))
            ends, changes, moved = zip(*passed)
            ahead = [rounds_left(changes, em.small), rounds_left(moved, schedule.edge_tol)]
            left = seconds_left(ahead, schedule.max_iter - state.n_iter, ends)
            message = f"round {state.n_iter}: objective {state.objective:.2f}"
            message += f", edges of a variable moved by {state.moved:.4f}"
            progress.count("rounds", message, state.n_iter, schedule.max_iter, left)
            if callback is not None:
                callback(state.n_iter, state.objective)
        if best is None or state.objective > best.objective:
            best, kept = state, noise.arrays()
            if checkpoint is not None and starts > 1:
                checkpoint.save(pack(state, start), best=True)
    assert best is not None
    noise.restore(engine, kept)
    progress.end(best.converged, "stopped before it converged")
    return best, noise.draws(engine, best.found.paths)


def _check_size(rules: EdgeRules, scoring: Scoring, settings: IncompleteSettings, dense: bool) -> None:
    """Raise where there are too many candidates for what is asked."""
    crowded = max(range(len(rules.names)), key=lambda i: len(rules.allowed[i]))
    count = sum(comb(len(rules.allowed[crowded]), k) for k in range(rules.limit(crowded) + 1))
    if not dense and count > MOST_SETS:
        rivals = "use posterior weights" if scoring.mixture is not None else 'use inference="blocks" or "sampling"'
        raise ParameterError(
            f"{rules.names[crowded]!r} has {len(rules.allowed[crowded])} candidate parents, {count} sets of up to "
            f'{rules.limit(crowded)}, more than the {MOST_SETS} that inference="{settings.method.name}" weighs; '
            f"{rivals}, a smaller max_parents, or fewer `candidates`"
        )
    if isinstance(settings.method, Exact) and not dense:
        raise ParameterError(
            f'inference="exact" lists the joint states of all candidates, here more than {MOST_JOINT_STATES} of a '
            'variable; use inference="sampling", or fewer `candidates`'
        )


def _inference(
    obs: Observations,
    settings: IncompleteSettings,
    alone: Sequence[FloatArray],
    dense: bool,
    queries: FloatArray | None,
) -> PathInference:
    """The path inference asked for; `alone` are the rates of variables that do not drive each other."""
    method = settings.method
    if not isinstance(method, Factorised):
        where = Device.find(settings.device, settings.precision)
        return ExactPaths(obs, float(sum(r.sum(1).max() for r in alone)), where, queries)
    states = 1 if dense else most_active_states(len(alone))
    return PathEngine(
        obs,
        method.step or default_step([float(r.sum(1).max()) for r in alone]),
        queries=queries,
        mean_field=isinstance(method, MeanField),
        padding=(max(1, int(np.log2(states))), states),
        precision=settings.precision,
        device=settings.device,
    )


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    """Random numbers as they were."""
    rng = np.random.Generator(getattr(np.random, state["bit_generator"])())
    rng.bit_generator.state = state
    return rng


def all_listed(rules: EdgeRules, cards: Sequence[int]) -> bool:
    """Whether the candidates of every node have few enough joint states to list them all."""
    return all(np.prod([float(cards[j]) for j in candidates]) <= MOST_JOINT_STATES for candidates in rules.allowed)


def initial_weights(problem: NodeProblem, kind: str, rng: np.random.Generator) -> FloatArray:
    """Weights to start from: "uniform" over all sets, "full" over the largest ones, or "random"."""
    if kind == "full":
        weights = (problem.sets.sizes == problem.sets.sizes.max()).astype(float)
    elif kind == "random":
        weights = rng.random(len(problem.sets))
    else:
        weights = np.ones(len(problem.sets))
    return weights / weights.sum()
