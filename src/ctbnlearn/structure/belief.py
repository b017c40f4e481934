"""What is believed of a node: weights of its parent sets and the posterior of their rates.

Rates of set m have q(r | m) = Gamma(a_m, b_m). Posterior weights: a = alpha + E[M], b = beta + E[T], and the path rates
are R~ = exp sum_m pi(m) [psi(a_m) - ln b_m], R = sum_m pi(m) a_m / b_m. Mixture weights (the paper):
a = alpha + pi(m) E[M], b = beta + pi(m) E[T], and R~ = prod_m (a_m / b_m)^pi(m), by Stirling's formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln

from ctbnlearn.arrays import FloatArray
from ctbnlearn.structure.problem import NodeProblem
from ctbnlearn.structure.projection import Projection


@dataclass(frozen=True, eq=False)
class NodeBelief:
    """Weights and rate posteriors of one node over parent sets inside its active parents.

    Attributes
    ----------
    problem
        The parent sets and their priors.
    projection
        Their map to the joint table of the active parents.
    weights : (n_sets,)
        Weights of the sets.
    dwell, transitions : (rows, S), (rows, S, S)
        Expected statistics of the parent sets, one row per state of each.
    """

    problem: NodeProblem
    projection: Projection
    weights: FloatArray
    dwell: FloatArray
    transitions: FloatArray

    @classmethod
    def of_prior(cls, problem: NodeProblem, projection: Projection, weights: FloatArray) -> NodeBelief:
        """What is believed before anything was seen."""
        moves = np.zeros((len(projection.owner), *problem.possible.shape))
        return cls(problem, projection, weights, moves[..., 0], moves)

    @cached_property
    def a(self) -> FloatArray:
        """Shapes of the rate posteriors (rows, S, S)."""
        return self._prior_shape + self._counted() * self.transitions

    @cached_property
    def b(self) -> FloatArray:
        """Rates of the rate posteriors (rows, S, 1)."""
        return self._prior_rate + self._counted() * self.dwell[..., None]

    @property
    def _prior_shape(self) -> FloatArray:
        return self.problem.shape[self.projection.owner][:, None, None]

    @property
    def _prior_rate(self) -> FloatArray:
        return self.problem.rate[self.projection.owner][:, :, None]

    def _share(self) -> FloatArray:
        return self.weights[self.projection.owner][:, None, None]

    def _counted(self) -> FloatArray | float:
        """The part of the statistics that counts for the rates."""
        return 1.0 if self.problem.barrier is None else self._share()

    def with_statistics(self, dwell: FloatArray, transitions: FloatArray) -> NodeBelief:
        """The same weights with other statistics, on the joint states: (U, S) and (U, S, S)."""
        return replace(self, dwell=self.projection.gather(dwell), transitions=self.projection.gather(transitions))

    def with_best_weights(self) -> NodeBelief:
        """The same statistics with the best weights for them."""
        return replace(self, weights=self.problem.weights(list(self.projection.groups(self.dwell, self.transitions))))

    def path_rates(self) -> tuple[FloatArray, FloatArray]:
        """Geometric and arithmetic mean rates on the joint states, each (U, S, S), zero where nothing can happen."""
        share = self._share()
        mean = self.projection.spread(share * self.a / self.b) * self.problem.possible
        if self.problem.arithmetic:
            return mean, mean
        log = digamma(self.a) if self.problem.barrier is None else np.log(self.a)
        return np.exp(self.projection.spread(share * (log - np.log(self.b)))) * self.problem.possible, mean

    def divergence(self) -> float:
        """The part of F that does not depend on the paths.

        Posterior weights: -KL of weights and rates from their priors. Mixture weights: F_i less the energy
        sum M ln R~ - T R that the paths' part already counts.
        """
        if self.problem.barrier is not None:
            return self._mixture_remainder()
        kl = gamma_divergence(self.a, self.b, self._prior_shape, self._prior_rate)
        per_set = np.add.reduceat((kl * self.problem.possible).sum((1, 2)), self.projection.first)
        positive = self.weights > 0
        log_weights = np.log(np.where(positive, self.weights, 1.0))
        return float((self.weights * (self.problem.log_prior - log_weights - per_set)).sum())

    def _mixture_remainder(self) -> float:
        objective = self.problem.mixture(self.projection.groups(self.dwell, self.transitions))
        constants = gammaln(objective.shape) - objective.shape * np.log(objective.rate)
        log_rate, mean = np.log(self.a) - np.log(self.b), self.a / self.b
        energy = self._share() * (self.transitions * log_rate - self.dwell[..., None] * mean) * self.problem.possible
        return float(objective.value(self.weights) - constants.sum() - energy.sum())


def gamma_divergence(a: FloatArray, b: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """KL of Gamma(a, b) from Gamma(alpha, beta), shapes and rates."""
    return (a - alpha) * digamma(a) - gammaln(a) + gammaln(alpha) + alpha * np.log(b / beta) + a * (beta - b) / b
