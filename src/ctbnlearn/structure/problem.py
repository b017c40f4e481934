"""The search problem of a data set: which parents each node may have, and what every set of them scores.

Edges are given as people have them (`as_adjacency`); here they become, per node, the allowed and required
parents, and from tables and priors the scores of parent sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import Statistics, count_statistics
from ctbnlearn.model.graph import as_adjacency
from ctbnlearn.structure.parent_sets import ParentSets, enumerate_sets
from ctbnlearn.structure.prior import check_rate_prior, log_structure_prior, rate_prior
from ctbnlearn.structure.tables import Group, Tables, tables_for
from ctbnlearn.structure.weights import scores


@dataclass(frozen=True, eq=False)
class EdgeRules:
    """Per node, which parents are allowed and which required, and how many there may be."""

    names: tuple[str, ...]
    allowed: tuple[tuple[int, ...], ...]
    required: tuple[tuple[int, ...], ...]
    max_parents: int | None

    @classmethod
    def build(
        cls, names: Sequence[str], max_parents: int | None, candidates: Any, forbidden: Any, required: Any
    ) -> EdgeRules:
        """Read the graphs and raise where they contradict each other."""
        n = len(names)
        if max_parents is not None and (
            isinstance(max_parents, bool) or not isinstance(max_parents, (int, np.integer)) or max_parents < 0
        ):
            raise ParameterError(f"max_parents must be None or a whole number, 0 or more, not {max_parents!r}")
        allowed = ~np.eye(n, dtype=bool)
        if candidates is not None:
            allowed &= as_adjacency(candidates, names, "candidates")
        must = np.zeros((n, n), bool) if required is None else as_adjacency(required, names, "required")
        if forbidden is not None:
            banned = as_adjacency(forbidden, names, "forbidden")
            both = np.argwhere(banned & must)
            if both.size:
                j, i = both[0]
                raise ParameterError(
                    f"the edge {names[j]!r} -> {names[i]!r} is both required and forbidden; drop one of them"
                )
            allowed &= ~banned
        outside = np.argwhere(must & ~allowed)
        if outside.size:
            j, i = outside[0]
            raise ParameterError(
                f"the required edge {names[j]!r} -> {names[i]!r} is not among `candidates`; add it there or drop it"
            )
        pools = tuple(tuple(int(j) for j in np.flatnonzero(allowed[:, i])) for i in range(n))
        needs = tuple(tuple(int(j) for j in np.flatnonzero(must[:, i])) for i in range(n))
        rules = cls(tuple(names), pools, needs, None if max_parents is None else int(max_parents))
        for i in range(n):
            if len(needs[i]) > rules.limit(i):
                raise ParameterError(
                    f"{names[i]!r} has {len(needs[i])} required parents {[names[j] for j in needs[i]]}, more than "
                    f"max_parents={max_parents}; raise max_parents or require fewer"
                )
        return rules

    def limit(self, node: int) -> int:
        """Largest number of parents of a node."""
        pool = len(self.allowed[node])
        return pool if self.max_parents is None else min(self.max_parents, pool)

    def sets(self, node: int) -> ParentSets:
        """Every parent set of a node that the rules admit."""
        return enumerate_sets(self.allowed[node], self.required[node], self.max_parents, self.names, node)


class CompleteData:
    """Tables and scores of parent sets from complete paths."""

    def __init__(self, paths: Paths, rules: EdgeRules, prior: Any) -> None:
        check_rate_prior(prior)
        self.rules = rules
        self.prior = prior
        self.cards = [v.n_states for v in paths.variables]
        self.totals: Statistics = count_statistics(paths)
        largest = max(rules.limit(i) for i in range(len(self.cards)))
        self.tables: Tables = tables_for(paths, rules.allowed, largest)

    def groups(self, node: int, sets: ParentSets) -> Iterable[Group]:
        """Tables of parent sets of a node."""
        return self.tables.groups(node, sets)

    def rate_prior(self, node: int, sets: ParentSets) -> tuple[FloatArray, FloatArray]:
        """Gamma shape and rate per cell of every set."""
        mean_rate = overall_rate(self.totals, node)
        return rate_prior(self.prior, sets, self.cards, self.rules.allowed[node], self.rules.max_parents, mean_rate)

    def scores(self, node: int, sets: ParentSets) -> FloatArray:
        """Closed-form score of every set."""
        return scores(self.groups(node, sets), *self.rate_prior(node, sets))

    def log_structure_prior(self, node: int, sets: ParentSets, prior: Any) -> FloatArray:
        """Log prior probability of every set."""
        return log_structure_prior(prior, sets, node, len(self.rules.allowed[node]), len(self.rules.required[node]))


def overall_rate(totals: Statistics, node: int) -> float:
    """Transitions of a node per unit of time and target state, whatever its parents do.

    A node that never moved counts as if it had moved once, one that was never watched as having rate one.
    """
    time = float(totals.dwell[node].sum())
    moves = max(float(totals.transitions[node].sum()), 1.0)
    return moves / (time * (totals.variables[node].n_states - 1)) if time > 0 else 1.0
