"""Mixture weights: objective, gradient and the quality of the maximum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import ctbnlearn as cl
from ctbnlearn.structure.mixture import MixtureObjective, mixture_weights, tangent_step
from ctbnlearn.structure.parent_sets import enumerate_sets
from ctbnlearn.structure.prior import ProjectedPrior, rate_prior
from ctbnlearn.structure.tables import EventTables
from ctbnlearn.structure.weights import scores


def problem(seed):
    """Random node, data and prior: from one short trajectory to 160, with the projected and a weak prior."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    net = cl.random_network(n, 2, coupling=float(rng.uniform(0, 1.5)), rng=seed)
    paths = cl.simulate(net, int(rng.choice([1, 2, 3, 5, 10, 40, 160])), n_transitions=10, rng=seed)
    node = int(rng.integers(n))
    pool = [j for j in range(n) if j != node]
    sets = enumerate_sets(pool, [], None, net.names, node)
    prior = ProjectedPrior() if seed % 2 else (1.0, 2.0)
    shape, rate = rate_prior(prior, sets, net.n_states, pool, None, np.ones(2))
    groups = list(EventTables(paths).groups(node, sets))
    return groups, shape, rate, float(rng.choice([0.1, 0.1, 0.5, 0.02]))


def best_of_restarts(objective, restarts, rng):
    n = objective.n_sets
    best = -np.inf
    for r in range(restarts):
        start = np.clip(rng.dirichlet(np.full(n, 0.3 if r % 2 else 1.0)), 1e-6, None)
        found = minimize(
            lambda p: -float(objective.value(p)),
            start / start.sum(),
            jac=lambda p: -objective.gradient(p),
            method="SLSQP",
            bounds=[(1e-9, 1)] * n,
            constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)}],
            options={"maxiter": 300, "ftol": 1e-12},
        )
        p = np.clip(found.x, 1e-9, None)
        best = max(best, float(objective.value(p / p.sum())))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_gradient_and_curvature_equal_finite_differences(seed):
    groups, shape, rate, barrier = problem(seed)
    objective = MixtureObjective(groups, shape, rate, barrier)
    p = np.random.default_rng(seed).dirichlet(np.ones(len(shape)) * 3)
    gradient, curvature = objective.gradient(p), objective.curvatures(p)
    for k in range(len(p)):
        h = 1e-5 * p[k]
        step = np.eye(len(p))[k] * h
        slope = (objective.value(p + step) - objective.value(p - step)) / (2 * h)
        assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-5)
        bend = (objective.slopes(p + step)[k] - objective.slopes(p - step)[k]) / (2 * h)
        assert curvature[k] == pytest.approx(bend, rel=1e-5, abs=1e-4)
    assert (curvature >= -1e-9).all()  # every term is convex


@pytest.mark.parametrize("seed", range(6))
def test_degenerate_weights_give_the_exact_score(seed):
    """At a vertex, F without barrier less its constants equals the closed-form score of that set."""
    groups, shape, rate, _ = problem(seed)
    objective = MixtureObjective(groups, shape, rate, 0.0)
    exact = scores(groups, shape, rate)
    constants = np.zeros(len(shape))
    from scipy.special import gammaln

    for g in groups:
        cells = g.dwell[0].size * (g.dwell.shape[-1] - 1)
        constants[g.index] = cells * (gammaln(shape[g.index]) - shape[g.index] * np.log(rate[g.index, 0]))
    for k in range(len(shape)):
        vertex = np.eye(len(shape))[k]
        assert objective.value(vertex) - constants.sum() == pytest.approx(exact[k], abs=1e-8 * abs(exact[k]) + 1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_maximum_is_at_least_that_of_many_restarts(seed):
    groups, shape, rate, barrier = problem(seed)
    objective = MixtureObjective(groups, shape, rate, barrier)
    weights = mixture_weights(objective)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert (weights > 0).all()
    value = float(objective.value(weights))
    n = len(shape)
    for epsilon in (0.3, 1e-2, 1e-3, 1e-4):
        vertices = (1 - epsilon) * np.eye(n) + epsilon / n
        assert value >= objective.value(vertices).max() - 1e-9
    assert value >= best_of_restarts(objective, 100, np.random.default_rng(seed)) - 1e-6


def test_the_maximum_is_stationary():
    for seed in range(10):
        groups, shape, rate, barrier = problem(seed)
        objective = MixtureObjective(groups, shape, rate, barrier)
        weights = mixture_weights(objective)
        gradient = objective.gradient(weights)
        # equal slopes along the simplex, measured in units of what a change of the weight can gain
        spread = weights * (gradient - (weights * gradient).sum())
        assert np.abs(spread).max() < 1e-6 * max(1, np.abs(gradient).max())


def test_tangent_step_solves_its_problem():
    slopes = np.random.default_rng(0).normal(0, 50, (20, 7))
    p = tangent_step(slopes, 0.1)
    np.testing.assert_allclose(p.sum(1), 1)
    gradient = slopes + 0.1 / p
    np.testing.assert_allclose(gradient, gradient[:, :1] * np.ones(7), rtol=1e-6)


def test_without_barrier_one_set_takes_all():
    groups, shape, rate, _ = problem(3)
    weights = mixture_weights(MixtureObjective(groups, shape, rate, 0.0))
    assert sorted(weights)[-1] == 1
    assert weights.sum() == 1
    assert np.argmax(weights) == np.argmax(
        [MixtureObjective(groups, shape, rate, 0.0).value(v) for v in np.eye(len(shape))]
    )
