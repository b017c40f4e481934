"""StructureLearner: from trajectories to weights over parent sets, edge probabilities and a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import Statistics, count_statistics
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.structure.mixture import MixtureObjective, mixture_weights
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import ProjectedPrior, check_structure_prior
from ctbnlearn.structure.problem import CompleteData, EdgeRules
from ctbnlearn.structure.weights import posterior_weights


class StructureLearner(BaseEstimator):
    """Learn which variable drives which.

    Parameters
    ----------
    max_parents : int or None
        Largest number of parents of a node; None weighs every subset of the candidates.
    candidates : graph or None
        Prior network: only these edges are considered. Graphs are given as a CTBN, a networkx DiGraph, a 0/1 matrix
        [source, target] or a list of (source, target) names.
    forbidden, required : graph or None
        Edges that must not, or must, be there.
    weights : {"posterior", "mixture"}
        "posterior": exact posterior probabilities of the parent sets. "mixture": the paper's mixture weights.
    rate_prior : "auto", (shape, rate) or ProjectedPrior
        Gamma prior of every single rate. "auto": shape 1, with the mean at the node's overall rate.
    structure_prior : "size", "flat", float or matrix
        "size": uniform over sizes, then over the sets of a size; "flat": uniform over sets; otherwise log odds per
        edge. Only for posterior weights.
    dirichlet : float
        The paper's concentration c of the mixture weights: barrier lambda = 1 - c.
    barrier : {"scaled", "fixed"}
        Whether lambda shrinks as 16 / (number of sets) ("scaled"), or not, as in the paper.
    initial_distribution : "learn" or "uniform"
        Initial distribution of `network_`: shares of the trajectories that start in each state (one pseudo-count
        a state), or uniform.

    Attributes
    ----------
    edge_probabilities_ : (n, n)
        Probability of the edge [source, target]; zero diagonal.
    parent_sets_ : list of ParentSets
        Per node, every parent set considered, most probable first; items read as tuples of names.
    parent_set_weights_ : list of arrays
        Their weights, which sum to one.
    scores_ : list of arrays
        Their closed-form scores, the log marginal likelihoods of the node's data.
    network_ : CTBN
        Most probable parent set of every node, posterior-mean rates.
    objective_ : float
        Log evidence of the data, averaged over structures ("posterior"), or the value of F ("mixture").
    feature_names_in_, n_features_in_
        Names and number of the variables.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(4, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=200, n_transitions=10, rng=2)
    >>> learner = StructureLearner(max_parents=2).fit(paths)
    >>> sorted(learner.network_.edges) == sorted(net.edges)
    True
    """

    def __init__(
        self,
        max_parents: int | None = None,
        *,
        candidates: Any = None,
        forbidden: Any = None,
        required: Any = None,
        weights: str = "posterior",
        rate_prior: Any = "auto",
        structure_prior: Any = "size",
        dirichlet: float = 0.9,
        barrier: str = "scaled",
        initial_distribution: str = "learn",
    ) -> None:
        self.max_parents = max_parents
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.weights = weights
        self.rate_prior = rate_prior
        self.structure_prior = structure_prior
        self.dirichlet = dirichlet
        self.barrier = barrier
        self.initial_distribution = initial_distribution

    @classmethod
    def paper(cls, exhaustive: bool = True, max_parents: int | None = None, **others: Any) -> StructureLearner:
        """The model and hyper-parameters of Linzner et al. 2019.

        Mixture weights with c = 0.9 and the prior Gamma(5, 10) projected onto subsets.

        Parameters
        ----------
        exhaustive
            Weigh every subset of the candidates; otherwise at most `max_parents` parents.
        max_parents
            K of the greedy search; needed when not exhaustive.
        others
            Further parameters of `StructureLearner`.
        """
        if exhaustive == (max_parents is not None):
            raise ParameterError("StructureLearner.paper: give exhaustive=True, or exhaustive=False and max_parents=K")
        settings: dict[str, Any] = {
            "max_parents": max_parents,
            "weights": "mixture",
            "rate_prior": ProjectedPrior(5.0, 10.0),
            "dirichlet": 0.9,
            "barrier": "fixed",
        }
        return cls(**{**settings, **others})

    def fit(self, data: Paths, y: Any = None) -> StructureLearner:
        """Learn from complete trajectories.

        Parameters
        ----------
        data
            Complete trajectories.
        y
            Ignored; there for scikit-learn.
        """
        self._check_parameters()
        if isinstance(data, Observations):
            raise ParameterError(
                "StructureLearner learns from complete trajectories (Paths) in this version, not from Observations; "
                "read fully observed tables with read_paths"
            )
        if not isinstance(data, Paths):
            raise ParameterError(f"fit needs Paths, not {type(data).__name__}; make them with read_paths or simulate")
        rules = EdgeRules.build(data.names, self.max_parents, self.candidates, self.forbidden, self.required)
        check_structure_prior(self.structure_prior, len(data.names))
        problem = CompleteData(data, rules, self.rate_prior)
        n = len(data.names)
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self.n_features_in_ = n
        self.edge_probabilities_: FloatArray = np.zeros((n, n))
        self.parent_sets_: list[ParentSets] = []
        self.parent_set_weights_: list[FloatArray] = []
        self.scores_: list[FloatArray] = []
        self.objective_ = 0.0
        for i in range(n):
            sets = rules.sets(i)
            score, weights, value = self._weigh(problem, i, sets)
            order = np.lexsort((np.arange(len(sets)), -weights))
            self.parent_sets_.append(sets.take(order))
            self.parent_set_weights_.append(weights[order])
            self.scores_.append(score[order])
            self.edge_probabilities_[:, i] = np.clip(sets.edge_probabilities(weights), 0.0, 1.0)
            self.objective_ += value
        self.edge_probabilities_[:, :] = np.where(required_mask(rules), 1.0, self.edge_probabilities_)
        self.network_ = self._network(data, problem)
        return self

    def _check_parameters(self) -> None:
        for name, value, options in (
            ("weights", self.weights, ("posterior", "mixture")),
            ("barrier", self.barrier, ("scaled", "fixed")),
            ("initial_distribution", self.initial_distribution, ("learn", "uniform")),
        ):
            if not isinstance(value, str) or value not in options:
                raise ParameterError(f"{name} must be one of {list(options)}, not {value!r}")
        if isinstance(self.dirichlet, bool) or not isinstance(self.dirichlet, (int, float, np.number)):
            raise ParameterError(f"dirichlet must be a number, not {self.dirichlet!r}")
        if not np.isfinite(self.dirichlet):
            raise ParameterError(f"dirichlet must be finite, not {self.dirichlet!r}")

    def _weigh(self, problem: CompleteData, node: int, sets: ParentSets) -> tuple[FloatArray, FloatArray, float]:
        """Scores and weights of a node's sets, and the node's share of the objective."""
        if self.weights == "posterior":
            score = problem.scores(node, sets)
            log_prior = problem.log_structure_prior(node, sets, self.structure_prior)
            log_prior = log_prior - np.logaddexp.reduce(log_prior)
            return score, posterior_weights(score, log_prior), float(np.logaddexp.reduce(score + log_prior))
        shape, rate = problem.rate_prior(node, sets)
        score = problem.scores(node, sets)
        barrier = 1.0 - float(self.dirichlet)
        if self.barrier == "scaled":
            barrier *= 16 / len(sets)
        objective = MixtureObjective(problem.groups(node, sets), shape, rate, barrier)
        weights = mixture_weights(objective)
        value = float(objective.value(weights)) if barrier > 0 else float(objective.terms(weights).sum())
        return score, weights, value

    def _network(self, data: Paths, problem: CompleteData) -> CTBN:
        names = data.names
        best = {name: sets[0] for name, sets in zip(names, self.parent_sets_)}
        statistics: Statistics = count_statistics(data, best)
        rates, initial = {}, {}
        for i, name in enumerate(names):
            shape, rate = problem.rate_prior(i, self.parent_sets_[i][:1])
            rates[name] = posterior_mean_rates(statistics.dwell[i], statistics.transitions[i], shape[0], rate[0])
            if self.initial_distribution == "learn":
                counts = statistics.initial[i] + 1.0
                initial[name] = counts / counts.sum()
        return CTBN(data.variables, best, rates, initial or None)


def posterior_mean_rates(dwell: FloatArray, transitions: FloatArray, shape: float, rate: float) -> FloatArray:
    """Intensity matrices (U, S, S) with off-diagonals (shape + M) / (rate + T)."""
    cim = (shape + transitions) / (rate + dwell[..., None])
    diagonal = np.arange(dwell.shape[-1])
    cim[:, diagonal, diagonal] = 0.0
    cim[:, diagonal, diagonal] = -cim.sum(-1)
    return cim


def required_mask(rules: EdgeRules) -> BoolArray:
    """Matrix [source, target] of the required edges."""
    out = np.zeros((len(rules.names),) * 2, bool)
    for i, parents in enumerate(rules.required):
        out[list(parents), i] = True
    return out
