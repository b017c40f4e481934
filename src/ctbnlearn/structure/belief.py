"""What is believed of a node: weights of its parent sets and the posterior of their rates.

Rates of set m have q(r | m) = Gamma(a_m, b_m). Posterior weights: a = alpha + E[M], b = beta + E[T], and the path rates
are R~ = exp sum_m pi(m) [psi(a_m) - ln b_m], R = sum_m pi(m) a_m / b_m. Mixture weights (the paper):
a = alpha + pi(m) E[M], b = beta + pi(m) E[T], and R~ = prod_m (a_m / b_m)^pi(m), by Stirling's formula.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from ctbnlearn.arrays import FloatArray
from ctbnlearn.structure.problem import NodeProblem
from ctbnlearn.structure.projection import Projection


class NodeBelief:
    """Weights and rate posteriors of one node over parent sets inside its active parents.

    Parameters
    ----------
    problem
        The parent sets and their priors.
    projection
        Their map to the joint table of the active parents.
    weights : (n_sets,)
        Initial weights.
    """

    def __init__(self, problem: NodeProblem, projection: Projection, weights: FloatArray) -> None:
        self.problem, self.projection, self.weights = problem, projection, weights
        rows = (len(projection.owner), *problem.possible.shape)
        self._prior_shape = problem.shape[projection.owner][:, None, None]
        self._prior_rate = problem.rate[projection.owner][:, None, None]
        self.a: FloatArray = np.broadcast_to(self._prior_shape, rows)
        self.b: FloatArray = np.broadcast_to(self._prior_rate, (*rows[:2], 1))

    def update_rates(self, dwell: FloatArray, transitions: FloatArray) -> None:
        """Rate posteriors from expected statistics on the joint states (U, S) and (U, S, S), at the weights held."""
        self.set_rows(self.projection.gather(dwell), self.projection.gather(transitions))

    def set_rows(self, dwell: FloatArray, transitions: FloatArray) -> None:
        """Rate posteriors from the tables of the parent sets, one row per state of each: (rows, S), (rows, S, S)."""
        self.dwell, self.transitions = dwell, transitions
        share = 1.0 if self.problem.barrier is None else self._share()
        self.a = self._prior_shape + share * transitions
        self.b = self._prior_rate + share * dwell[..., None]

    def update_weights(self) -> None:
        """Best weights for the statistics held, and the rate posteriors that go with them."""
        self.weights = self.problem.weights(list(self.projection.groups(self.dwell, self.transitions)))
        self.set_rows(self.dwell, self.transitions)

    def _share(self) -> FloatArray:
        return self.weights[self.projection.owner][:, None, None]

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
