"""Expected statistics of candidate families given a known network: the E-step of structural EM.

A family is a node with some parents, not only those it has in the network. `ExactFamilies` sums them up from the joint
chain (Nodelman et al. 2005), whose cost grows exponentially in the number of variables. `VariationalFamilies` takes
parents outside the network as independent given their marginals (Linzner & Koeppl 2018), as the paper does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference import exact
from ctbnlearn.inference.contract import Effort, PathPosterior, PathRates
from ctbnlearn.inference.engine import PathEngine
from ctbnlearn.inference.padded_rates import Padding
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.structure.families import FamilyTables
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules
from ctbnlearn.structure.projection import Projection
from ctbnlearn.structure.tables import Group

MOST_PADDING = 64  # joint states of the parents up to which shapes are padded, so that little is recompiled


class Families(Protocol):
    """An E-step, and the statistics it leaves."""

    initial: Sequence[FloatArray]

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns the log evidence, or what approximates it."""

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""


class ExactFamilies:
    """Statistics from the joint chain, per node on the joint states of all its candidates."""

    def __init__(self, obs: Observations, rules: EdgeRules) -> None:
        self.obs, self.rules = obs, rules
        self.cards = [v.n_states for v in obs.variables]
        self.initial: Sequence[FloatArray] = ()

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns the log evidence."""
        self.found, evidence = exact.expect(network, self.obs, self.rules.allowed)
        self.initial = self.found.initial
        return float(evidence.sum())

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""
        projection = Projection(self.rules.allowed[node], sets, self.cards)
        dwell, transitions = self.found.dwell[node], self.found.transitions[node]
        return projection.groups(projection.gather(dwell), projection.gather(transitions))


class VariationalFamilies:
    """Statistics from the variational engine, of the families that are asked for."""

    def __init__(self, rules: EdgeRules, engine: PathEngine, effort: Effort) -> None:
        self.rules, self.engine, self.effort = rules, engine, effort
        self.initial: Sequence[FloatArray] = ()
        self._paths: PathPosterior | None = None

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns F of the paths."""
        values, statistics, paths = self.engine.expect(PathRates.of_network(network), self.effort, self._paths)
        self._paths, self.initial = paths, statistics.initial
        padded, cards = self.engine.padded(paths.rates).tilt.geometric, paths.rates.cards
        tilt = [padded[i, :u, :s, :s] for i, (u, s) in enumerate(zip(paths.rates.sizes, cards))]
        self.tables = FamilyTables(list(self.engine.rows(paths)), network.parents, tilt, cards)
        return float(values.sum())

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""
        return self.tables.groups(node, sets)


def family_padding(rules: EdgeRules, cards: Sequence[int]) -> Padding:
    """Parents and their joint states that path rates are padded to."""
    widest = np.sort(cards)[::-1][: rules.largest]
    return rules.largest, int(min(np.prod(widest, dtype=float), MOST_PADDING))
