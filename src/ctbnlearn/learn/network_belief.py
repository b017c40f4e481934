"""What is believed of the whole network during learning: a `NodeBelief` per node, and how it is revised.

A node's paths depend on its active parents, those in the sets of its `NodeBelief`. `DenseBelief` holds all sets of all
candidates, `SparseBelief` is for many candidates: more sets are weighed than drive the paths.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.contract import Expectation, PathRates
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.learn.tensor_file import Arrays, listed, unlisted
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import NodeProblem
from ctbnlearn.structure.projection import Projection

Table = tuple[FloatArray, FloatArray]  # dwell (U, S) and transitions (U, S, S) of a parent set


@dataclass(frozen=True, eq=False)
class NetworkBelief(abc.ABC):
    """Beliefs over the parent sets of all nodes.

    Attributes
    ----------
    problems, weights
        Per node its sets, and their weights.
    active
        Per node the numbers of the sets that drive its paths.
    nodes
        Per node the belief over those.
    """

    problems: tuple[NodeProblem, ...]
    weights: tuple[FloatArray, ...]
    active: tuple[IntArray, ...]
    nodes: tuple[NodeBelief, ...]

    @abc.abstractmethod
    def update_weights(self, found: Expectation) -> Self:
        """Weights, and rates that go with them, from what an E-step found."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that changes from round to round, by name."""

    @abc.abstractmethod
    def restore(self, arrays: Arrays) -> Self:
        """The beliefs whose numbers `arrays` gave, of the same problem as these."""

    @property
    def cards(self) -> list[int]:
        """Number of states of every node."""
        return [len(p.possible) for p in self.problems]

    @cached_property
    def active_parents(self) -> list[tuple[int, ...]]:
        """Per node the parents its path rates depend on."""
        return [b.projection.parents for b in self.nodes]

    def update_rates(self, statistics: Statistics) -> Self:
        """Rate posteriors from expected statistics."""
        both = zip(self.nodes, statistics.dwell, statistics.transitions)
        return replace(self, nodes=tuple(b.with_statistics(dwell, moves) for b, dwell, moves in both))

    def path_rates(self, initial: Sequence[FloatArray]) -> PathRates:
        """Path rates of all nodes."""
        geometric, arithmetic = zip(*(b.path_rates() for b in self.nodes))
        return PathRates(self.cards, self.active_parents, geometric, arithmetic, initial)

    def divergence(self) -> float:
        """The part of F that does not depend on the paths."""
        return sum(b.divergence() for b in self.nodes)

    def edges(self) -> FloatArray:
        """Probability of every edge [source, target]."""
        return np.stack([p.sets.edge_probabilities(w) for p, w in zip(self.problems, self.weights)], axis=1)

    def tables(self, statistics: Statistics) -> list[list[tuple[int, FloatArray, FloatArray]]]:
        """Per node the numbers of some parent sets, with their tables (U, S) and (U, S, S).

        First the heaviest of those that drive the paths; then, of the sets among the active parents, those in which
        edges of noticeable probability weigh most.
        """
        out = []
        for i, edges in enumerate(self.edges().T):
            sets, weights, active = self.problems[i].sets, self.weights[i], self.active[i]
            known = set(self.active_parents[i])
            at_hand = np.array([known.issuperset(sets.numbers(k)) for k in range(len(sets))])
            best = int(active[np.argmax(weights[active])])
            others = sets.notable(edges, weights * at_hand)
            chosen = [best, *(k for k in others if k != best)]
            out.append([(k, *self._table(i, sets.take(np.array([k])), statistics)) for k in chosen])
        return out

    def _table(self, node: int, single: ParentSets, statistics: Statistics) -> Table:
        """Tables of one set, from the joint table of the active parents."""
        projection = Projection(self.active_parents[node], single, self.cards)
        return projection.gather(statistics.dwell[node]), projection.gather(statistics.transitions[node])

    def node_arrays(self) -> dict[str, NDArray[Any]]:
        """The numbers in the beliefs of the nodes, by name."""
        return {
            **listed("belief/weights", (b.weights for b in self.nodes)),
            **listed("belief/dwell", (b.dwell for b in self.nodes)),
            **listed("belief/transitions", (b.transitions for b in self.nodes)),
        }


def restored_nodes(
    arrays: Arrays, problems: Sequence[NodeProblem], active_parents: Sequence[tuple[int, ...]], cards: Sequence[int]
) -> tuple[NodeBelief, ...]:
    """The beliefs of nodes over the sets of `problems`, whose numbers `node_arrays` gave."""
    numbers = zip(*(unlisted(arrays, f"belief/{key}", len(cards)) for key in ("weights", "dwell", "transitions")))
    return tuple(
        NodeBelief(problem, Projection(parents, problem.sets, cards), *some)
        for problem, parents, some in zip(problems, active_parents, numbers)
    )
