"""HillClimb and Tabu: one network from complete data by local searches, and the weight of what lies around it."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.learn.fitted import FittedNetwork, check_allowed, given_initial, learned_initial, tables_of
from ctbnlearn.learn.node_search import search_nodes
from ctbnlearn.learn.outcome import FitRecord
from ctbnlearn.model.graph import Graph
from ctbnlearn.model.initial import InitialSpec
from ctbnlearn.result.history import History
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import RatePrior, StructurePrior
from ctbnlearn.structure.problem import EdgeRules, Scoring, Transitions, Variables, check_transitions
from ctbnlearn.structure.search import LOOKAHEAD, NEAR, Members, SetScorer, climb, tabu


class _Search(FittedNetwork, BaseEstimator, ABC):
    """What the searches share; see `HillClimb`."""

    max_parents: int | None
    candidates: Graph | None
    forbidden: Graph | None
    required: Graph | None
    exogenous: Variables | None
    transitions: Transitions | None
    rate_prior: RatePrior
    structure_prior: StructurePrior
    initial_distribution: str | InitialSpec
    n_near: int
    n_jobs: int | None

    @abstractmethod
    def _find(self, scorer: SetScorer, node: int, start: Members) -> Members:
        """Best parent set of a node that the search reaches."""

    @abstractmethod
    def _check(self) -> None:
        """Raise where a parameter of the search is wrong."""

    def fit(self, data: Paths, y: object = None) -> Self:
        """Learn from complete trajectories.

        Parameters
        ----------
        data
            `Paths`.
        y
            Ignored; there for scikit-learn.
        """
        began = time.perf_counter()
        self._check()
        whole(self.n_near, "n_near", 0)
        threads = os.cpu_count() or 1 if self.n_jobs is None else whole(self.n_jobs, "n_jobs", 1)
        if not isinstance(data, Paths):
            raise ParameterError(
                f"{type(self).__name__} needs complete data (Paths), not {type(data).__name__}; StructuralEM searches "
                "with Observations, and StructureLearner weighs all sets"
            )
        names = data.names
        rules = EdgeRules.build(names, self.max_parents, self.candidates, self.forbidden, self.required, self.exogenous)
        scoring = Scoring(self.rate_prior, self.structure_prior).settled("sparse", "shared")
        scoring.check(len(names))
        possible = check_transitions(self.transitions, names, [v.states for v in data.variables])
        given_initial(self.initial_distribution, data.variables)
        totals = count_statistics(data)
        check_allowed(totals, possible)
        found = search_nodes(data, totals, rules, scoring, possible, self._find, self.n_near, threads)
        self.parent_sets_: list[ParentSets] = [f.problem.sets for f in found]
        self.parent_set_weights_: list[FloatArray] = [f.weights for f in found]
        self.coverage_: FloatArray = np.array([f.coverage for f in found])
        self.edge_probabilities_: FloatArray = np.clip(np.stack([f.edges for f in found], axis=1), 0.0, 1.0)
        initial = learned_initial(self.initial_distribution, data.variables, totals.initial)
        self._set_network(data.variables, tables_of([f.problem for f in found], [f.tables for f in found]), initial)
        self.objective_ = float(sum(f.scores[0] for f in found))
        self.n_scored_ = sum(f.n_scored for f in found)
        self.history_, self.converged_, self.n_iter_ = History((self.objective_,), ("parents",)), True, 1
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        self._record = FitRecord.of(self, data, time.perf_counter() - began)
        return self


class HillClimb(_Search):
    """Learn a network by hill-climbing on the closed-form score, from complete data.

    Every variable climbs from its required parents: the best single addition or removal as long as the score rises,
    then swaps, then two additions at once. A variable for which that finds nothing is tried with three and more
    parents at once.

    Parameters
    ----------
    max_parents : int or None
        Largest number of parents of a node; default None, any number.
    candidates, forbidden, required, exogenous, transitions
        As in `StructureLearner`; default None.
    lookahead : int
        Most sets of several further parents to try where single steps end, default 1000; 0 tries none.
    rate_prior : "auto", "independent", "shared", (shape, rate) or ProjectedPrior
        Prior of the rates. "auto" is "shared": rates are drawn to the node's mean rates, all parent states as hard as
        the data say, so that sets of many parents with little data for each of their states can win.
    structure_prior : "auto", "size", "sparse", "flat", float or matrix
        As in `StructureLearner`; "auto" is "sparse".
    initial_distribution
        As in `StructureLearner`; default "learn".
    n_near : int
        After the search, sets around the best are scored for the probabilities of edges, about this many at most per
        node; default 500. 0: those next to the best set.
    n_jobs : int or None
        Threads; default None, one per core. The result does not depend on it.

    Attributes
    ----------
    edge_probabilities_ : (n, n)
        Posterior probability of the edge [source, target], over the sets that were scored.
    coverage_ : (n,)
        Per node the share of that posterior in sets all of whose neighbours were scored. Raise `n_near` where it is
        well below one.
    parent_sets_, parent_set_weights_
        Per node the heaviest sets, at most 64, and their weights.
    network_, rate_tables_, result_, feature_names_in_, n_features_in_
        As in `StructureLearner`, at the best set of every node.
    objective_ : float
        Score of the network plus its log prior.
    n_scored_ : int
        How many parent sets were scored.
    n_iter_, converged_, history_
        There for other estimators' sake: a single pass.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(4, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=200, n_transitions=10, rng=2)
    >>> sorted(HillClimb().fit(paths).network_.edges) == sorted(net.edges)
    True
    """

    def __init__(
        self,
        max_parents: int | None = None,
        *,
        candidates: Graph | None = None,
        forbidden: Graph | None = None,
        required: Graph | None = None,
        exogenous: Variables | None = None,
        transitions: Transitions | None = None,
        lookahead: int = LOOKAHEAD,
        rate_prior: RatePrior = "auto",
        structure_prior: StructurePrior = "auto",
        initial_distribution: str | InitialSpec = "learn",
        n_near: int = NEAR,
        n_jobs: int | None = None,
    ) -> None:
        self.max_parents = max_parents
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.exogenous = exogenous
        self.transitions = transitions
        self.lookahead = lookahead
        self.rate_prior = rate_prior
        self.structure_prior = structure_prior
        self.initial_distribution = initial_distribution
        self.n_near = n_near
        self.n_jobs = n_jobs

    def _check(self) -> None:
        whole(self.lookahead, "lookahead", 0)

    def _find(self, scorer: SetScorer, node: int, start: Members) -> Members:
        return climb(scorer, node, start, self.lookahead)


class Tabu(_Search):
    """Learn a network by tabu search on the closed-form score, from complete data.

    Like `HillClimb`, but a variable walks on through worse sets, by single additions and removals, never back to one of
    the last `tenure` sets.

    Parameters
    ----------
    max_parents, candidates, forbidden, required, exogenous, transitions
        As in `HillClimb`.
    tenure : int
        How many sets are not returned to; default 10.
    patience : int
        Steps without a new best set after which a walk ends; default 10.
    rate_prior, structure_prior, initial_distribution, n_near, n_jobs
        As in `HillClimb`.

    Attributes
    ----------
    edge_probabilities_, coverage_, parent_sets_, parent_set_weights_, network_, rate_tables_, result_, objective_
        As in `HillClimb`.
    n_scored_, n_iter_, converged_, history_, feature_names_in_, n_features_in_
        As in `HillClimb`.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(4, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=200, n_transitions=10, rng=2)
    >>> sorted(Tabu(max_parents=2).fit(paths).network_.edges) == sorted(net.edges)
    True
    """

    def __init__(
        self,
        max_parents: int | None = None,
        *,
        candidates: Graph | None = None,
        forbidden: Graph | None = None,
        required: Graph | None = None,
        exogenous: Variables | None = None,
        transitions: Transitions | None = None,
        tenure: int = 10,
        patience: int = 10,
        rate_prior: RatePrior = "auto",
        structure_prior: StructurePrior = "auto",
        initial_distribution: str | InitialSpec = "learn",
        n_near: int = NEAR,
        n_jobs: int | None = None,
    ) -> None:
        self.max_parents = max_parents
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.exogenous = exogenous
        self.transitions = transitions
        self.tenure = tenure
        self.patience = patience
        self.rate_prior = rate_prior
        self.structure_prior = structure_prior
        self.initial_distribution = initial_distribution
        self.n_near = n_near
        self.n_jobs = n_jobs

    def _check(self) -> None:
        whole(self.tenure, "tenure", 1)
        whole(self.patience, "patience", 1)

    def _find(self, scorer: SetScorer, node: int, start: Members) -> Members:
        return tabu(scorer, node, start, self.tenure, self.patience)
