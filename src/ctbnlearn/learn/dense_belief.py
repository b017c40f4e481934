"""Beliefs over all parent sets of few candidates: the joint states of all of them are listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.inference.contract import Expectation
from ctbnlearn.learn.network_belief import NetworkBelief, restored_nodes
from ctbnlearn.learn.tensor_file import Arrays
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.problem import NodeProblem
from ctbnlearn.structure.projection import Projection


@final
@dataclass(frozen=True, eq=False)
class DenseBelief(NetworkBelief):
    """Every set drives the paths; all are weighed from one table a node."""

    @classmethod
    def start(
        cls,
        problems: Sequence[NodeProblem],
        cards: Sequence[int],
        candidates: Sequence[tuple[int, ...]],
        weights: Sequence[FloatArray],
    ) -> DenseBelief:
        """Beliefs at given weights, rates at their prior."""
        parts = zip(problems, candidates, weights)
        nodes = tuple(NodeBelief.of_prior(p, Projection(parents, p.sets, cards), w) for p, parents, w in parts)
        active = tuple(np.arange(len(w)) for w in weights)
        return cls(tuple(problems), tuple(weights), active, nodes)

    def update_weights(self, found: Expectation) -> DenseBelief:
        """Weights of all sets from expected statistics."""
        nodes = tuple(b.with_best_weights() for b in self.update_rates(found.statistics).nodes)
        return replace(self, nodes=nodes, weights=tuple(b.weights for b in nodes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that changes from round to round, by name."""
        return self.node_arrays()

    def restore(self, arrays: Arrays) -> DenseBelief:
        """The beliefs whose numbers `arrays` gave."""
        nodes = restored_nodes(arrays, self.problems, self.active_parents, self.cards)
        return replace(self, nodes=nodes, weights=tuple(b.weights for b in nodes))
