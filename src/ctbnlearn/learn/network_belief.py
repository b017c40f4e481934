"""What is believed of the whole network during learning: a `NodeBelief` per node, and how it is revised.

`DenseBelief` lists the joint states of all candidate parents of a node and weighs every set from that one table.
`SparseBelief` is for many candidates: a node's paths depend on a handful of active parents, those in its sets of
noticeable weight, and all sets of up to two parents are weighed by matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.engine import JointTables, PathEngine, PathRates
from ctbnlearn.learn.local_evidence import local_weights
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.expected import ExpectedPairTables, PathRows
from ctbnlearn.structure.problem import NodeProblem
from ctbnlearn.structure.projection import Projection

MOST_JOINT_STATES = 256  # joint states of the candidates up to which all are listed
MOST_ACTIVE_STATES = 16  # joint states of the active parents of a node with many candidates
SMALLEST_WEIGHT = 1e-4  # sets of less weight do not drive the paths
MOST_ACTIVE_SETS = 512


class DenseBelief:
    """Beliefs over all parent sets, each node's pool being all its candidates.

    Attributes
    ----------
    pools
        Per node the parents its path rates depend on.
    beliefs
        Per node the belief over sets inside the pool.
    weights
        Per node the weights of all its sets.
    active
        Per node the numbers of the sets in its belief.
    room
        Active parents and joint states that the path rates make room for.
    """

    room = (1, 1)

    def __init__(
        self,
        problems: Sequence[NodeProblem],
        cards: Sequence[int],
        pools: Sequence[tuple[int, ...]],
        weights: Sequence[FloatArray],
    ) -> None:
        self.problems, self.cards = list(problems), list(cards)
        self.pools = [tuple(p) for p in pools]
        self.weights = list(weights)
        self.active: list[IntArray] = [np.arange(len(w)) for w in weights]
        self.beliefs = [
            NodeBelief(p, Projection(pool, p.sets, cards), w) for p, pool, w in zip(problems, self.pools, weights)
        ]

    def update_rates(self, found: JointTables) -> None:
        """Rate posteriors from expected statistics."""
        for belief, dwell, transitions in zip(self.beliefs, found.dwell, found.transitions):
            belief.update_rates(dwell, transitions)

    def reweigh(self, engine: PathEngine, rates: PathRates, found: JointTables) -> None:
        """Weights from expected statistics."""
        self.update_rates(found)
        for belief in self.beliefs:
            belief.update_weights()
        self.weights = [b.weights for b in self.beliefs]

    def refine(self, engine: PathEngine, rates: PathRates) -> None:
        """Weigh the sets by their local evidence (`local_weights`); sets that drive no paths keep their weight.

        Left out where the paths are too many to be kept in memory; the posterior is sharp there anyway.
        """
        if not engine.keep:
            return
        for i, share in enumerate(local_weights(engine, rates, self.beliefs)):
            active = self.active[i]
            weights = self.weights[i].copy()
            weights[active] = weights[active].sum() * share
            self.weights[i] = weights

    def path_rates(self, initial: Sequence[FloatArray]) -> PathRates:
        """Path rates of all nodes."""
        both = [belief.path_rates() for belief in self.beliefs]
        return PathRates(self.cards, self.pools, [b[0] for b in both], [b[1] for b in both], initial, self.room)

    def divergence(self) -> float:
        """The part of F that does not depend on the paths."""
        return sum(belief.divergence() for belief in self.beliefs)


class SparseBelief(DenseBelief):
    """Beliefs over all sets of up to two parents, with few active parents a node."""

    room = (int(np.log2(MOST_ACTIVE_STATES)), MOST_ACTIVE_STATES)

    def __init__(self, problems: Sequence[NodeProblem], cards: Sequence[int]) -> None:
        empty = [np.argsort(p.sets.sizes, kind="stable")[:1] for p in problems]  # the smallest set of every node
        smallest = [p.take(k) for p, k in zip(problems, empty)]
        pools = [s.sets.numbers(0) for s in smallest]
        super().__init__(smallest, cards, pools, [np.ones(1)] * len(problems))
        self.problems = list(problems)
        self.weights = [np.bincount(k, minlength=len(p.sets)).astype(float) for p, k in zip(problems, empty)]
        self.active = empty

    def reweigh(self, engine: PathEngine, rates: PathRates, found: JointTables) -> None:
        """Weigh all sets of every node, then choose the active ones."""
        rows = path_rows(engine)
        geometric = [rates.tables.geometric[i, :u, :s, :s] for i, (u, s) in enumerate(zip(rates.sizes, self.cards))]
        tables = ExpectedPairTables(rows, self.cards, rates.parents, geometric)
        pools, beliefs = [], []
        self.active = []
        for i, problem in enumerate(self.problems):
            groups = list(tables.groups(i, problem.sets))
            self.weights[i] = problem.weights(groups)
            active, pool = choose_active(problem, self.weights[i], self.cards)
            chosen = problem.take(active)
            share = self.weights[i][active] / self.weights[i][active].sum()
            belief = NodeBelief(chosen, Projection(pool, chosen.sets, self.cards), share)
            dwell = np.zeros((len(belief.projection.owner), self.cards[i]))
            moves = np.zeros((*dwell.shape, self.cards[i]))
            order = np.full(len(problem.sets), -1)
            order[active] = np.arange(len(active))
            for g in groups:
                inside = np.flatnonzero(order[g.index] >= 0)
                first = belief.projection.first[order[g.index[inside]]]
                at = first[:, None] + np.arange(g.dwell.shape[1])
                dwell[at], moves[at] = g.dwell[inside], g.transitions[inside]
            belief.set_rows(dwell, moves)
            pools.append(pool)
            beliefs.append(belief)
            self.active.append(active)
        self.pools, self.beliefs = pools, beliefs


def choose_active(problem: NodeProblem, weights: FloatArray, cards: Sequence[int]) -> tuple[IntArray, tuple[int, ...]]:
    """Sets that drive the paths, and the union of their parents.

    Heaviest first, as long as the joint states of the union can be listed; light sets are left out.
    """
    order = np.argsort(-weights, kind="stable")[:MOST_ACTIVE_SETS]
    chosen: list[int] = []
    pool: set[int] = set()
    for k in order:
        if chosen and weights[k] < SMALLEST_WEIGHT:
            break
        union = pool.union(problem.sets.numbers(int(k)))
        if np.prod([cards[j] for j in union], dtype=float) <= MOST_ACTIVE_STATES or not chosen:
            pool = union
            chosen.append(int(k))
    return np.array(chosen), tuple(sorted(pool))


def path_rows(engine: PathEngine) -> PathRows:
    """The engine's path posteriors as rows."""
    marginal, dt, transitions = [], [], []
    for block, state in engine.current_states():
        cell, column = np.nonzero(block.dt > 0)
        marginal.append(np.asarray(state.marginal, float)[:, :, cell, column].transpose(2, 0, 1))
        transitions.append(np.asarray(state.transitions, float)[:, :, :, cell, column].transpose(3, 0, 1, 2))
        dt.append(block.dt[cell, column])
    return PathRows(np.concatenate(marginal), np.concatenate(dt), np.concatenate(transitions))
