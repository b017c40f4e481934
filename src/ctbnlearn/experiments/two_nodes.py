"""Two nodes that drive each other: the smallest mixture, whose marginal likelihood can be integrated.

Node 1 has two parent sets, "none" with weight 1 - w and "the other node" (the truth) with weight w. With a binary node
each of its two states x gives a factor

p_x = E over r0 of prod_u E over r_u of R^M exp(-T R),   R = (1 - w) r0 + w r_u,

M = M(x, x' | u), T = T(x | u), u the other node's state; rates have the Gamma priors of their set. The mixture bound
(eq. 5) replaces ln R by its average, so that all rates come apart.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.variables import Variable
from ctbnlearn.experiments import protocol
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.random_network import glauber_rates
from ctbnlearn.model.simulation import simulate
from ctbnlearn.structure.mixture import MixtureObjective
from ctbnlearn.structure.tables import Group

NAMES = ("one", "two")
LOG_RATES = np.linspace(np.log(1e-3), np.log(20.0), 400)  # beyond them the priors leave less than 1e-9
TRANSITIONS = 10  # a trajectory, as in the paper's synthetic data


def draw_paths(draw: int, trajectories: int) -> Paths:
    """Complete trajectories of the network; draw number `draw`."""
    variables = [Variable(name, (-1, 1)) for name in NAMES]
    rates = {name: glauber_rates(1, protocol.COUPLING) for name in NAMES}
    net = CTBN(variables, {"one": ["two"], "two": ["one"]}, rates)
    return simulate(net, trajectories, n_transitions=TRANSITIONS, rng=protocol.streams(draw, 2)[1])


def node_tables(paths: Paths) -> tuple[FloatArray, FloatArray]:
    """T(x | u) (2, 2) and M(x, x' | u) (2, 2, 2) of node one, u the state of node two."""
    found = count_statistics(paths, {"one": ["two"]})
    return found.dwell[0], found.transitions[0]


def priors() -> tuple[FloatArray, FloatArray]:
    """Shape (2,) and rate (2, S) of the paper's prior: for the set "none", projected, and for "the other node"."""
    factor = np.array([2.0, 1.0])
    return protocol.PAPER_PRIOR.shape * factor, np.outer(protocol.PAPER_PRIOR.rate * factor, np.ones(2))


def mixture_objective(dwell: FloatArray, transitions: FloatArray) -> MixtureObjective:
    """F of node one without its Dirichlet term, over the sets "none" and "the other node"."""
    groups = [
        Group(np.array([0]), dwell.sum(0)[None, None], transitions.sum(0)[None, None]),
        Group(np.array([1]), dwell[None], transitions[None]),
    ]
    return MixtureObjective(groups, *priors(), 0.0)


def log_bound(objective: MixtureObjective, weight: float) -> float:
    """Log of the mixture bound at weight w of the true set, normalised so that it is a likelihood."""
    at = np.array([1 - weight, weight])
    return float((objective.terms(at) - objective.terms(np.zeros(2))).sum())


def log_marginal(dwell: FloatArray, transitions: FloatArray, weight: float) -> float:
    """Log of the exact marginal likelihood at weight w, by the trapezoidal rule in the logarithms of the rates.

    The integrand decays on both sides, where that rule converges faster than any power of its step.
    """
    shape, rate = priors()
    log_step = np.log(LOG_RATES[1] - LOG_RATES[0])
    values = np.exp(LOG_RATES)

    def log_density(k: int) -> FloatArray:
        density: FloatArray = (
            shape[k] * np.log(rate[k, 0]) - gammaln(shape[k]) + shape[k] * LOG_RATES - rate[k, 0] * values + log_step
        )
        return density

    mixed = (1 - weight) * values[:, None] + weight * values[None, :]
    log_mixed = np.log(mixed)
    total = 0.0
    for x in range(2):
        inner = log_density(0)
        for u in range(2):
            path = transitions[u, x, 1 - x] * log_mixed - dwell[u, x] * mixed
            inner = inner + logsumexp(path + log_density(1)[None, :], axis=1)
        total += float(logsumexp(inner))
    return total
