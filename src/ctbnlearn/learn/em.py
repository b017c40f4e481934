"""Expectation maximisation over paths, rates and parent sets (Algorithm 2 of the paper).

Two loops: at fixed weights, path updates and rate updates alternate until F settles; then the weights of the parent
sets are updated. For posterior weights with geometric rates every step raises F (or leaves it); each is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.contract import Effort, Expectation, PathInference, PathRates
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.learn.network_belief import NetworkBelief
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


@dataclass(frozen=True, eq=False)
class EMState:
    """All that the next round depends on.

    Attributes
    ----------
    belief
        Beliefs over parent sets and rates.
    initial
        Per node the initial distribution.
    found
        What the last E-step found.
    history
        F after every step.
    n_iter
        Rounds done.
    converged
        Whether EM has converged.
    moved
        How much the probabilities of the edges into a node moved in the last round, on average over nodes.
    """

    belief: NetworkBelief
    initial: tuple[FloatArray, ...]
    found: Expectation
    history: History
    n_iter: int = 0
    converged: bool = False
    moved: float = np.inf

    @property
    def objective(self) -> float:
        """F after the last step."""
        return self.history.objective[-1]

    @property
    def change(self) -> float:
        """How much the last step changed F, up or down."""
        return abs(self.history.objective[-1] - self.history.objective[-2])

    def arrays(self, engine: PathInference) -> dict[str, NDArray[Any]]:
        """The numbers of the state by name; whether it has converged, and phases, are not among them."""
        statistics = self.found.statistics
        return {
            "history": np.array(self.history.objective, float),
            **listed("initial", self.initial),
            "found/values": self.found.values,
            **listed("found/dwell", statistics.dwell),
            **listed("found/transitions", statistics.transitions),
            **listed("found/initial", statistics.initial),
            **self.belief.arrays(),
            **engine.arrays(self.found.paths),
        }


@dataclass(frozen=True, eq=False)
class EM:
    """The two loops.

    Attributes
    ----------
    obs
        What is learned from.
    engine
        Infers the paths.
    schedule
        When to stop.
    learn_initial
        Whether to estimate the initial distribution (one pseudo-count per state).
    """

    obs: Observations
    engine: PathInference
    schedule: Schedule
    learn_initial: bool

    def begin(self, belief: NetworkBelief, initial: Sequence[FloatArray], start_rates: Sequence[FloatArray]) -> EMState:
        """Paths under decoupled rates (S, S), then the first rates under the initial weights."""
        sizes = [b.projection.matrix.shape[1] for b in belief.nodes]
        flat = [np.broadcast_to(r, (size, *r.shape)) for r, size in zip(start_rates, sizes)]
        rates = PathRates(belief.cards, belief.active_parents, flat, flat, initial)
        state = EMState(belief, tuple(initial), self.engine.expect(rates, self._effort), History())
        return self.e_step(self.rate_step(state), "rates")

    def ended(self, state: EMState) -> bool:
        """Whether no round is left."""
        return state.converged or state.n_iter >= self.schedule.max_iter

    @property
    def small(self) -> float:
        """A change of F from which on EM may end."""
        return self._effort.tol * self.obs.n_trajectories

    def round(self, state: EMState) -> EMState:
        """Rates until F moves little, then weights; converged where neither F nor the edges move much."""
        small, edges = self.small, state.belief.edges()
        for _ in range(self.schedule.max_inner):
            state = self.e_step(self.rate_step(state), "rates")
            if state.change < small:
                break
        state = self.e_step(self.weight_step(state), "weights")
        moved = float(np.abs(state.belief.edges() - edges).sum() / len(edges))
        converged = state.change < small and moved < self.schedule.edge_tol
        return replace(state, n_iter=state.n_iter + 1, converged=converged, moved=moved)

    def e_step(self, state: EMState, phase: str) -> EMState:
        """Paths under what is believed, going on from those known, and F; `phase` says what an M-step changed."""
        rates = state.belief.path_rates(state.initial)
        found = self.engine.expect(rates, self._effort, state.found.paths)
        value = float(found.values.sum()) + state.belief.divergence()
        if self.learn_initial:
            value += sum(float(np.log(p).sum()) for p in state.initial)
        return replace(state, found=found, history=state.history.then(value, phase))

    def rate_step(self, state: EMState) -> EMState:
        """M-step of the rates and of the initial distribution."""
        statistics, initial = state.found.statistics, state.initial
        if self.learn_initial:
            initial = tuple((p + 1) / (p + 1).sum() for p in statistics.initial)
        return replace(state, belief=state.belief.update_rates(statistics), initial=initial)

    def weight_step(self, state: EMState) -> EMState:
        """M-step of the weights of parent sets."""
        return replace(state, belief=state.belief.update_weights(state.found))

    def restore(
        self, belief: NetworkBelief, arrays: Arrays, n_iter: int, phases: Sequence[str], converged: bool
    ) -> EMState:
        """The state whose numbers `arrays` gave; `belief` is any of the same problem."""
        n = len(self.obs.variables)
        belief, initial = belief.restore(arrays), tuple(unlisted(arrays, "initial", n))
        rates = belief.path_rates(initial)
        tables = (tuple(unlisted(arrays, f"found/{key}", n)) for key in ("dwell", "transitions", "initial"))
        found = Expectation(
            arrays["found/values"],
            Statistics(tuple(self.obs.variables), tuple(rates.parents), *tables),
            self.engine.restore(arrays, rates, self._effort),
        )
        belief.update_rates(found.statistics)  # fails where these are not of such a belief
        history = History(tuple(arrays["history"].tolist()), tuple(phases))
        return EMState(belief, initial, found, history, n_iter, converged)

    @property
    def _effort(self) -> Effort:
        return Effort(self.schedule.tol * len(self.obs.variables), self.schedule.max_sweeps)
