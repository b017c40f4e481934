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
from ctbnlearn.inference.engine import PathEngine, PathRates
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.structure.families import FamilyTables
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules
from ctbnlearn.structure.projection import Projection
from ctbnlearn.structure.tables import Group

MOST_ROOM = 64  # joint states of the parents that shapes make room for, so that little is compiled anew


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

    def __init__(
        self,
        obs: Observations,
        rules: EdgeRules,
        engine: PathEngine,
        tol: float,
        max_sweeps: int,
        mean_field: bool = False,
    ) -> None:
        self.rules, self.engine, self.tol, self.max_sweeps = rules, engine, tol, max_sweeps
        self.mean_field = mean_field
        self.cards = [v.n_states for v in obs.variables]
        self.initial: Sequence[FloatArray] = ()
        widest = np.sort(self.cards)[::-1][: rules.largest]
        self.room = (rules.largest, int(min(np.prod(widest, dtype=float), MOST_ROOM)))

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns F of the paths."""
        rates = PathRates.of_network(network, self.mean_field, self.room)
        value, found = self.engine.statistics(rates, tol=self.tol, max_sweeps=self.max_sweeps)
        self.initial = found.initial
        tilt = [rates.tilt.geometric[i, :u, :s, :s] for i, (u, s) in enumerate(zip(rates.sizes, self.cards))]
        self.tables = FamilyTables(list(self.engine.rows()), network.parents, tilt, self.cards)
        return value

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""
        return self.tables.groups(node, sets)
