"""Expected statistics of candidate families given a known network: the E-step of structural EM.

A family is a node with some parents, not only those it has in the network. `ExactFamilies` sums them up from the joint
chain (Nodelman et al. 2005), whose cost grows exponentially in the number of variables. `VariationalFamilies` takes
parents outside the network as independent given their marginals (Linzner & Koeppl 2018), as the paper does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb
from typing import Protocol

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference import exact
from ctbnlearn.inference.engine import PathEngine, PathRates
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.structure.expected import PoolMoments, pool_moments
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules
from ctbnlearn.structure.projection import Projection
from ctbnlearn.structure.tables import Group

MOST_FAMILIES = 20_000  # candidate families of a node whose statistics are summed up side by side
MOST_ROOM = 64  # joint states of the parents that shapes make room for, so that little is compiled anew


class Families(Protocol):
    """An E-step, and the statistics it leaves."""

    initial: Sequence[FloatArray]

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns the log evidence, or what approximates it."""

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""


def check_number(rules: EdgeRules) -> None:
    """Raise where a node has too many families for `VariationalFamilies`."""
    for i, pool in enumerate(rules.allowed):
        total = sum(comb(len(pool), k) for k in range(rules.limit(i) + 1))
        if total > MOST_FAMILIES:
            raise ParameterError(
                f"{rules.names[i]!r} has {total} candidate parent sets, too many for structural EM; lower max_parents "
                "or restrict `candidates`"
            )


class ExactFamilies:
    """Statistics from the joint chain, per node on the joint states of all its candidates."""

    def __init__(self, obs: Observations, rules: EdgeRules) -> None:
        self.obs, self.rules = obs, rules
        self.cards = [v.n_states for v in obs.variables]
        self.initial: Sequence[FloatArray] = ()

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns the log evidence."""
        names = self.rules.names
        pools = {names[i]: [names[j] for j in pool] for i, pool in enumerate(self.rules.allowed)}
        self.found = exact.expected_statistics(network, self.obs, parents=pools)
        self.initial = self.found.initial
        return float(exact.log_evidence(network, self.obs).sum())

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""
        projection = Projection(self.rules.allowed[node], sets, self.cards)
        dwell, transitions = self.found.dwell[node], self.found.transitions[node]
        return projection.groups(projection.gather(dwell), projection.gather(transitions))


class VariationalFamilies:
    """Statistics from the variational engine, summed up for every family the rules admit."""

    def __init__(self, obs: Observations, rules: EdgeRules, engine: PathEngine, tol: float, max_sweeps: int) -> None:
        self.rules, self.engine, self.tol, self.max_sweeps = rules, engine, tol, max_sweeps
        self.cards = [v.n_states for v in obs.variables]
        self.initial: Sequence[FloatArray] = ()
        widest = np.sort(self.cards)[::-1][: rules.largest]
        self.room = (rules.largest, int(min(np.prod(widest, dtype=float), MOST_ROOM)))

    def expect(self, network: CTBN) -> float:
        """Work out the statistics given a network; returns F of the paths."""
        initial = network.initial.marginals(network.variables)
        rates = PathRates(self.cards, network.parents, network.cims, network.cims, initial, self.room)
        value, found = self.engine.statistics(rates, tol=self.tol, max_sweeps=self.max_sweeps)
        self.initial = found.initial
        self.moments = [
            PoolMoments(i, pool, network.parents[i], network.cims[i], self.cards, self.rules.limit(i))
            for i, pool in enumerate(self.rules.allowed)
        ]
        pool_moments(self.engine.rows(), self.moments)
        return value

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of some parent sets of a node."""
        return self.moments[node].groups(sets)
