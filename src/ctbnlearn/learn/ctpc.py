"""CTPC: a network from complete data by tests of conditional independence (Bregoli, Scutari & Stella 2021).

Every node starts with all its candidates as parents. For separating sets of growing size b, a parent is dropped when
the node's moves do not depend on it given some b of the other parents. As in PC-stable (Colombo & Maathuis 2014)
parents are dropped at the end of each size, so that the order of the variables does not matter.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from sklearn.base import BaseEstimator

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.learn.fitted import FittedNetwork, given_initial, learned_initial, tables_of
from ctbnlearn.learn.outcome import FitRecord
from ctbnlearn.model.graph import Graph
from ctbnlearn.model.initial import InitialSpec
from ctbnlearn.result.history import History
from ctbnlearn.structure.independence import independence_p_value
from ctbnlearn.structure.parent_sets import enumerate_sets
from ctbnlearn.structure.prior import RatePrior
from ctbnlearn.structure.problem import EdgeRules, Scoring, Variables, centre
from ctbnlearn.structure.search import SetScorer
from ctbnlearn.structure.tables import EventTables


class CTPC(FittedNetwork, BaseEstimator):
    """Learn a network by tests of conditional independence, from complete data.

    Parameters
    ----------
    alpha : float
        Level of a test of one edge given one separating set. The literature uses 0.1 and less.
    correction : {"bonferroni", None}
        Whether the single tests behind that one, a pair for every state of the node, the other variable and the
        separating set, share its level. None is the algorithm as published: each has the level `alpha`, so that false
        edges become the more frequent, the more states there are.
    max_separating : int or None
        Largest separating set; None tries all.
    candidates, forbidden, required, exogenous
        As in `StructureLearner`; required edges are not tested.
    rate_prior, initial_distribution
        As in `HillClimb`, for the rates of `network_`.

    Attributes
    ----------
    p_values_ : (n, n)
        Largest p-value of the tests of each edge [source, target]; edges at or below `alpha` are kept. One where there
        was nothing to test.
    edge_probabilities_ : (n, n)
        A rank, no probability: it falls with the p-value from one to zero, and is one half at `alpha`.
    n_tests_ : int
        How many edges were tested given some separating set.
    network_, parent_sets_, parent_set_weights_, rate_tables_, result_, feature_names_in_, n_features_in_
        As in `StructureLearner`, of the one network found.
    objective_ : float
        Log evidence of the data given the parents found.
    n_iter_, converged_, history_
        There for other estimators' sake: a single pass.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(4, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=400, n_transitions=10, rng=2)
    >>> sorted(CTPC().fit(paths).network_.edges) == sorted(net.edges)
    True
    """

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        correction: str | None = "bonferroni",
        max_separating: int | None = None,
        candidates: Graph | None = None,
        forbidden: Graph | None = None,
        required: Graph | None = None,
        exogenous: Variables | None = None,
        rate_prior: RatePrior = "auto",
        initial_distribution: str | InitialSpec = "learn",
    ) -> None:
        self.alpha = alpha
        self.correction = correction
        self.max_separating = max_separating
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.exogenous = exogenous
        self.rate_prior = rate_prior
        self.initial_distribution = initial_distribution

    def fit(self, data: Paths, y: object = None) -> CTPC:
        """Learn from complete trajectories.

        Parameters
        ----------
        data
            `Paths`.
        y
            Ignored; there for scikit-learn.
        """
        began = time.perf_counter()
        number = isinstance(self.alpha, (int, float, np.number)) and not isinstance(self.alpha, bool)
        if not number or not 0 < self.alpha < 1:
            raise ParameterError(f"alpha must be a number between 0 and 1, not {self.alpha!r}")
        if self.correction is not None and not (isinstance(self.correction, str) and self.correction == "bonferroni"):
            raise ParameterError(f'correction must be "bonferroni" or None, not {self.correction!r}')
        if self.max_separating is not None:
            whole(self.max_separating, "max_separating", 0)
        if not isinstance(data, Paths):
            raise ParameterError(
                f"CTPC needs complete data (Paths), not {type(data).__name__}; StructureLearner and StructuralEM also "
                "learn from Observations"
            )
        rules = EdgeRules.build(data.names, None, self.candidates, self.forbidden, self.required, self.exogenous)
        scoring = Scoring(self.rate_prior, "flat").settled("flat", "shared")
        scoring.check(len(data.names))
        given_initial(self.initial_distribution, data.variables)
        tables = EventTables(data)
        self.n_tests_ = 0
        columns = [self._parents(i, rules, tables) for i in range(len(data.names))]
        self.p_values_ = np.stack(columns, axis=1)
        self._conclude(data, rules, scoring, tables)
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self.n_features_in_ = len(data.names)
        self._record = FitRecord.of(self, data, time.perf_counter() - began)
        return self

    def _parents(self, node: int, rules: EdgeRules, tables: EventTables) -> FloatArray:
        """Largest p-value of every edge into a node, (n_variables,)."""
        p = np.ones(len(rules.names))
        p[list(rules.allowed[node])] = 0.0
        size = 0
        while self.max_separating is None or size <= self.max_separating:
            parents = [j for j in rules.allowed[node] if p[j] <= self.alpha]
            if size >= len(parents):
                break
            for family in combinations(parents, size + 1):
                sets = enumerate_sets(family, family, None, rules.names, node)
                (group,) = tables.groups(node, sets)
                for j in set(family) - set(rules.required[node]):
                    p[j] = max(p[j], self._test(family, j, group.dwell[0], group.transitions[0], tables.cards))
                    self.n_tests_ += 1
            size += 1
        return p

    def _test(
        self, family: tuple[int, ...], source: int, dwell: FloatArray, transitions: FloatArray, cards: list[int]
    ) -> float:
        """P-value of independence from one member of a family given the others, from the family's tables."""
        at, own = family.index(source), dwell.shape[-1]
        shape = [cards[j] for j in family]
        time = np.moveaxis(dwell.reshape(*shape, own), at, -2).reshape(-1, cards[source], own)
        moves = np.moveaxis(transitions.reshape(*shape, own, own), at, -3).reshape(-1, cards[source], own, own)
        return independence_p_value(time, moves, corrected=self.correction is not None)

    def _conclude(self, data: Paths, rules: EdgeRules, scoring: Scoring, tables: EventTables) -> None:
        """The network found, and edges ranked by their p-values."""
        p, totals = self.p_values_, count_statistics(data)
        kept = p <= self.alpha
        self.edge_probabilities_ = np.where(kept, 1 - 0.5 * p / self.alpha, 0.5 * (1 - p) / (1 - self.alpha))
        parents = [tuple(int(j) for j in np.flatnonzero(column)) for column in kept.T]
        mean_rates = [centre(totals, i) for i in range(len(parents))]
        scorer = SetScorer(tables, rules, scoring, tables.cards, mean_rates)
        problems = [scorer.problem(i, [m]) for i, m in enumerate(parents)]
        groups = [next(tables.groups(i, problem.sets)) for i, problem in enumerate(problems)]
        initial = learned_initial(self.initial_distribution, data.variables, totals.initial)
        chosen = [[(0, g.dwell[0], g.transitions[0])] for g in groups]
        self._set_network(data.variables, tables_of(problems, chosen), initial)
        self.parent_sets_ = [problem.sets for problem in problems]
        self.parent_set_weights_ = [np.ones(1) for _ in parents]
        self.objective_ = float(sum(problem.scores([g])[0] for problem, g in zip(problems, groups)))
        self.history_, self.converged_, self.n_iter_ = History((self.objective_,), ("parents",)), True, 1
