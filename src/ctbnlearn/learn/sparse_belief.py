"""Beliefs over the parent sets of many candidates: all sets are weighed, few of them drive a node's paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.contract import Expectation
from ctbnlearn.inference.engine import PathEngine
from ctbnlearn.learn.network_belief import NetworkBelief, restored_nodes
from ctbnlearn.learn.tensor_file import Arrays, listed, unlisted
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.expected import SetMoments, add_rows
from ctbnlearn.structure.problem import EdgeRules, NodeProblem
from ctbnlearn.structure.projection import Projection
from ctbnlearn.structure.tables import Group, table_of

ACTIVE_STATES = 16, 640, 256  # joint states of the active parents of a node: at least; of all nodes; at most
SMALLEST_WEIGHT = 1e-4  # sets of less weight do not drive the paths


@final
@dataclass(frozen=True, eq=False)
class SparseBelief(NetworkBelief):
    """Beliefs over the sets of many candidates.

    Attributes
    ----------
    rules
        Which parents are allowed.
    engine
        Where paths come from.
    """

    rules: EdgeRules
    engine: PathEngine

    @classmethod
    def start(cls, problems: Sequence[NodeProblem], rules: EdgeRules, engine: PathEngine) -> SparseBelief:
        """Variables that do not drive each other, but for required edges."""
        cards = [len(p.possible) for p in problems]
        active, nodes, weights = [], [], []
        for problem in problems:
            smallest = np.array([np.argmin(problem.sets.sizes)])
            driving = problem.take(smallest)
            projection = Projection(driving.sets.numbers(0), driving.sets, cards)
            active.append(smallest)
            nodes.append(NodeBelief.of_prior(driving, projection, np.ones(1)))
            weights.append(np.eye(len(problem.sets))[smallest[0]])
        return cls(tuple(problems), tuple(weights), tuple(active), tuple(nodes), rules, engine)

    def update_weights(self, found: Expectation) -> SparseBelief:
        """Weigh the sets of every node, then choose the active ones."""
        weights, active, nodes = [], [], []
        for problem, groups in zip(self.problems, self._tables_of_sets(found)):
            weights.append(problem.weights(groups))
            chosen, parents = choose_active(problem, weights[-1], self.cards, most_active_states(len(self.cards)))
            driving, share = problem.take(chosen), weights[-1][chosen]
            both = (np.concatenate(rows, dtype=float) for rows in zip(*(table_of(groups, int(k)) for k in chosen)))
            projection = Projection(parents, driving.sets, self.cards)
            active.append(chosen)
            nodes.append(NodeBelief(driving, projection, share / share.sum(), *both))
        return replace(self, weights=tuple(weights), active=tuple(active), nodes=tuple(nodes))

    def _tables_of_sets(self, found: Expectation) -> Iterator[list[Group]]:
        """Per node the tables of all its sets, from the rows of the paths."""
        rates, tilt = found.paths.rates, self.engine.padded(found.paths.rates).tilt.geometric
        moments = [
            SetMoments(i, allowed, rates.parents[i], tilt[i, :u, :s, :s], self.cards, self.rules.largest)
            for i, (allowed, u, s) in enumerate(zip(self.rules.allowed, rates.sizes, self.cards))
        ]
        add_rows(self.engine.rows(found.paths), moments)
        return (list(m.groups(problem.sets)) for m, problem in zip(moments, self.problems))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that changes from round to round, by name."""
        parents = (np.array(parents, np.int64) for parents in self.active_parents)
        return {
            **self.node_arrays(),
            **listed("weights", self.weights),
            **listed("active", self.active),
            **listed("active_parents", parents),
        }

    def restore(self, arrays: Arrays) -> SparseBelief:
        """The beliefs whose numbers `arrays` gave."""
        n = len(self.nodes)
        active = tuple(unlisted(arrays, "active", n))
        parents = [tuple(a.tolist()) for a in unlisted(arrays, "active_parents", n)]
        driving = [problem.take(some) for problem, some in zip(self.problems, active)]
        nodes = restored_nodes(arrays, driving, parents, self.cards)
        return replace(self, weights=tuple(unlisted(arrays, "weights", n)), active=active, nodes=nodes)


def most_active_states(n: int) -> int:
    """Joint states of the active parents of a node among n nodes: a power of two, the more the fewer nodes."""
    least, together, most = ACTIVE_STATES
    return int(2 ** np.floor(np.log2(max(least, min(most, together // n)))))


def choose_active(
    problem: NodeProblem, weights: FloatArray, cards: Sequence[int], most: int
) -> tuple[IntArray, tuple[int, ...]]:
    """Sets that drive the paths, and the union of their parents.

    Heaviest first, as long as the union has at most `most` joint states; light sets are left out.
    """
    order = np.argsort(-weights, kind="stable")
    chosen: list[int] = []
    parents: set[int] = set()
    for k in order:
        if chosen and weights[k] < SMALLEST_WEIGHT:
            break
        union = parents.union(problem.sets.numbers(int(k)))
        if prod(cards[j] for j in union) <= most or not chosen:
            parents = union
            chosen.append(int(k))
    return np.array(chosen), tuple(sorted(parents))
