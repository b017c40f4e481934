"""What is believed of the whole network during learning: a `NodeBelief` per node, and how it is revised.

A node's paths depend on its active parents, those in the sets of its `NodeBelief`. `DenseBelief` holds all sets of all
candidates, `SparseBelief` is for many candidates: more sets are listed than drive the paths.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.contract import Expectation, PathPosterior, PathRates
from ctbnlearn.inference.engine import PathEngine
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.learn.local_evidence import local_weights
from ctbnlearn.learn.tensor_file import Arrays, listed, unlisted
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import NodeProblem
from ctbnlearn.structure.projection import Projection

PLAUSIBLE = 1e-6  # sets of less weight are not looked at again at the end

Table = tuple[FloatArray, FloatArray]  # dwell (U, S) and transitions (U, S, S) of a parent set


@dataclass(frozen=True, eq=False)
class NetworkBelief(abc.ABC):
    """Beliefs over the parent sets of all nodes.

    Attributes
    ----------
    problems, weights
        Per node the sets that are listed, and their weights.
    active
        Per node the numbers of the sets that drive its paths.
    nodes
        Per node the belief over those.
    extra_tables
        Per node the tables of sets outside the active parents that hold an edge of noticeable probability.
    unlisted_edges : (N, N) or None
        Probability of every edge [source, target] from sets that are not listed.
    """

    problems: tuple[NodeProblem, ...]
    weights: tuple[FloatArray, ...]
    active: tuple[IntArray, ...]
    nodes: tuple[NodeBelief, ...]
    extra_tables: tuple[Mapping[tuple[int, ...], Table], ...]
    unlisted_edges: FloatArray | None

    @abc.abstractmethod
    def update_weights(self, found: Expectation) -> Self:
        """Weights, and rates that go with them, from what an E-step found."""

    @abc.abstractmethod
    def confirm(self, found: Expectation) -> tuple[Self, bool]:
        """Whether the sets weighed so far will do, once EM has converged; with beliefs that are better informed."""

    @abc.abstractmethod
    def pool_names(self) -> list[tuple[str, ...]] | None:
        """Per node the candidates that sets were made of, where not all were."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, Any]:
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
        return edge_probabilities(self.problems, self.weights, self.unlisted_edges)

    def plausible(self) -> list[IntArray]:
        """Per node which of the sets in its belief are looked at again when EM has ended."""
        return [np.flatnonzero(b.weights >= PLAUSIBLE) for b in self.nodes]

    def refine(self, engine: PathEngine, paths: PathPosterior) -> Self:
        """Weigh the plausible sets by their local evidence (`local_weights`); others keep their weight."""
        plausible, refined = self.plausible(), []
        for i, share in enumerate(local_weights(engine, paths, self.nodes, plausible)):
            chosen = self.active[i][plausible[i]]
            weights = self.weights[i].copy()
            weights[chosen] = weights[chosen].sum() * share
            refined.append(weights)
        return replace(self, weights=tuple(refined))

    def tables(self, statistics: Statistics) -> list[list[tuple[int, FloatArray, FloatArray]]]:
        """Per node the numbers of some parent sets, with their tables (U, S) and (U, S, S).

        First the heaviest of those that drive the paths; then, of the sets whose tables are at hand, those in which
        edges of noticeable probability weigh most.
        """
        out = []
        for i, edges in enumerate(self.edges().T):
            sets, weights, active = self.problems[i].sets, self.weights[i], self.active[i]
            at_hand = [self._at_hand(i, sets.numbers(k)) for k in range(len(sets))]
            best = int(active[np.argmax(weights[active])])
            others = sets.notable(edges, weights * at_hand)
            chosen = [best, *(k for k in others if k != best)]
            out.append([(k, *self._table(i, sets.take(np.array([k])), statistics)) for k in chosen])
        return out

    def _at_hand(self, node: int, parents: tuple[int, ...]) -> bool:
        return set(parents) <= set(self.active_parents[node]) or parents in self.extra_tables[node]

    def _table(self, node: int, single: ParentSets, statistics: Statistics) -> Table:
        """Tables of one set, from the joint table of the active parents where they hold it."""
        parents, active_parents = single.numbers(0), self.active_parents[node]
        if not set(parents) <= set(active_parents):
            return self.extra_tables[node][parents]
        projection = Projection(active_parents, single, self.cards)
        return projection.gather(statistics.dwell[node]), projection.gather(statistics.transitions[node])

    def node_arrays(self) -> dict[str, Any]:
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


def edge_probabilities(
    problems: Sequence[NodeProblem], weights: Sequence[FloatArray], unlisted_edges: FloatArray | None
) -> FloatArray:
    """Probability of every edge [source, target], of sets not listed too."""
    out = np.stack([p.sets.edge_probabilities(w) for p, w in zip(problems, weights)], axis=1)
    return out if unlisted_edges is None else out + unlisted_edges
