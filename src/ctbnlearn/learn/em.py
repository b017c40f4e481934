"""Expectation maximisation over paths, rates and parent sets (Algorithm 2 of the paper).

Two loops: at fixed weights, path updates and rate updates alternate until F settles; then the weights of the parent
sets are updated. For posterior weights with geometric rates every step raises F (or leaves it); each is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.engine import JointTables, PathEngine, PathRates
from ctbnlearn.learn.network_belief import DenseBelief
from ctbnlearn.learn.progress import Progress
from ctbnlearn.learn.tensor_file import Arrays, listed, unlisted
from ctbnlearn.result.history import History


@dataclass(frozen=True)
class Schedule:
    """How long each loop runs.

    Attributes
    ----------
    max_iter
        Weight updates at most.
    tol
        Settled when a step raises F by less than this many nats per trajectory and variable.
    max_sweeps
        Sweeps at most in one update of the paths, which ends when no trajectory gains more than `tol` a variable.
    max_inner
        Rate updates at most between two weight updates.
    edge_tol
        EM goes on as long as the probabilities of the edges into a node move by more than this in a round, all taken
        together, on average over nodes.
    """

    max_iter: int = 50
    tol: float = 5e-3
    max_sweeps: int = 20
    max_inner: int = 3
    edge_tol: float = 0.1


def fit_decoupled(
    obs: Observations,
    possible: Sequence[BoolArray | None],
    *,
    precision: str = "auto",
    device: str = "auto",
    rounds: int = 50,
    tol: float = 1e-2,
) -> tuple[list[FloatArray], list[float]]:
    """Fit every node alone: its rates (S, S), and its transitions per unit of time and target state.

    Exact at any step, so the grid holds the observations alone. The prior of each rate is Gamma(1, typical gap).
    """
    cards = [v.n_states for v in obs.variables]
    off = [~np.eye(c, dtype=bool) if p is None else p & ~np.eye(c, dtype=bool) for c, p in zip(cards, possible)]
    span = float((obs.end - obs.start).sum())
    gap = span / max(1.0, obs.n_informative / len(cards)) if span > 0 else 1.0
    engine = PathEngine(obs, max(span, 1.0), precision=precision, device=device)
    rates = [mask / gap / (card - 1) for mask, card in zip(off, cards)]
    for _ in range(rounds):
        found = engine.alone(rates)
        old, rates = rates, [mask * (1 + m) / (gap + t[:, None]) for mask, (t, m) in zip(off, found)]
        if all(abs(new.sum() - was.sum()) <= tol * was.sum() for new, was in zip(rates, old)):
            break
    mean = [max(m.sum(), 1e-3) / (t.sum() * (len(t) - 1)) if t.sum() > 0 else 1.0 for t, m in found]
    return rates, mean


class EM:
    """The two loops.

    Parameters
    ----------
    engine
        Paths of all trajectories: a `PathEngine` or `ExactPaths`.
    belief
        Beliefs over parent sets, at their initial weights.
    start_rates
        Per node the decoupled rates (S, S) from which the paths start.
    initial
        Per node the initial distribution.
    learn_initial
        Whether to estimate it (one pseudo-count a state).
    schedule
        When to stop.
    progress
        Told of every round.
    callback
        Called with the round and F after every update of the weights.
    """

    def __init__(
        self,
        engine: Any,
        belief: DenseBelief,
        start_rates: Sequence[FloatArray],
        initial: Sequence[FloatArray],
        *,
        learn_initial: bool,
        schedule: Schedule,
        progress: Progress | None = None,
        callback: Callable[[int, float], Any] | None = None,
    ) -> None:
        self.engine, self.belief, self.start_rates = engine, belief, start_rates
        self.initial = [np.asarray(p, float) for p in initial]
        self.learn_initial, self.schedule, self.callback = learn_initial, schedule, callback
        self.progress = progress or Progress()
        self.keep: Callable[[EM], Any] | None = None  # called after every round, before the callback: a checkpoint
        self.history = History()
        self.converged = False
        self.n_iter = 0

    def run(self) -> float:
        """Iterate to convergence, from the beginning or from what was restored; returns F."""
        if not self.n_iter:
            self._begin()
        value = self.history.objective[-1]
        small = self.schedule.tol * len(self.belief.cards) * self.engine.n_trajectories
        while not self.converged and self.n_iter < self.schedule.max_iter:
            self.n_iter += 1
            for _ in range(self.schedule.max_inner):
                before, value = value, self._update_rates()
                if abs(value - before) < small:
                    break
            settled, edges = value, self.belief.edges()
            self.belief.reweigh(self.engine, self.rates, self.found)
            value = self._record("weights")
            moved = np.abs(self.belief.edges() - edges).sum() / len(edges)
            if abs(value - settled) < small and moved < self.schedule.edge_tol:
                self.converged = self.belief.settled(self.engine, self.rates)
            if self.keep is not None:
                self.keep(self)
            self.progress.say(f"round {self.n_iter}: objective {value:.2f}, edges of a variable moved by {moved:.4f}")
            if self.callback is not None:
                self.callback(self.n_iter, value)
        return value

    def _begin(self) -> None:
        """Paths under the decoupled rates, then the first rates under the initial weights."""
        sizes = [b.projection.matrix.shape[1] for b in self.belief.beliefs]
        flat = [np.broadcast_to(r, (size, *r.shape)) for r, size in zip(self.start_rates, sizes)]
        self._expect(self.belief.on_joint_states(flat, flat, self.initial))
        self._update_rates()

    def arrays(self) -> dict[str, Any]:
        """The numbers that the next round depends on, by name."""
        return {
            "history": np.array(self.history.objective, float),
            **listed("initial", self.initial),
            **listed("found/dwell", self.found.dwell),
            **listed("found/transitions", self.found.transitions),
            **listed("found/initial", self.found.initial),
            **self.belief.arrays(),
            **self.engine.arrays(),
        }

    def restore(self, arrays: Arrays, n_iter: int, phases: Sequence[str], converged: bool) -> None:
        """Take up the state after `n_iter` rounds: what `arrays` gave, phases of the history, whether converged."""
        n = len(self.belief.cards)
        self.n_iter, self.converged = n_iter, converged
        self.history = History(tuple(arrays["history"].tolist()), tuple(phases))
        self.initial = unlisted(arrays, "initial", n)
        self.belief.restore(arrays)
        self.rates = self.belief.path_rates(self.initial)
        self.found = JointTables(
            self.rates.parents, *(unlisted(arrays, f"found/{key}", n) for key in ("dwell", "transitions", "initial"))
        )
        self.engine.restore(arrays, self.rates, self._path_tol(), self.schedule.max_sweeps)

    def _update_rates(self) -> float:
        self.belief.update_rates(self.found)
        if self.learn_initial:
            self.initial = [(p + 1) / (p + 1).sum() for p in self.found.initial]
        return self._record("rates")

    def _expect(self, rates: PathRates) -> float:
        self.rates = rates
        value, self.found = self.engine.statistics(rates, tol=self._path_tol(), max_sweeps=self.schedule.max_sweeps)
        return value

    def _path_tol(self) -> float:
        return self.schedule.tol * len(self.belief.cards)

    def _record(self, phase: str) -> float:
        """Update the paths under the current beliefs and record F."""
        value = self._expect(self.belief.path_rates(self.initial)) + self.belief.divergence()
        if self.learn_initial:
            value += sum(float(np.log(p).sum()) for p in self.initial)
        self.history = self.history.then(value, phase)
        return value
