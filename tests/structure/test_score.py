"""Scores, tables and posterior weights against integration and brute force."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError
from ctbnlearn.structure.parent_sets import ParentSets, enumerate_sets
from ctbnlearn.structure.prior import ProjectedPrior, log_prior_parts, rate_prior
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring
from ctbnlearn.structure.score import set_score
from ctbnlearn.structure.tables import EventTables, PairTables
from ctbnlearn.structure.weights import posterior_weights


def integrated_score(dwell, transitions, alpha, beta):
    """Log of the complete-data likelihood times the Gamma prior, integrated over each rate numerically."""
    total = mpmath.mpf(0)
    for u in range(dwell.shape[0]):
        for x in range(dwell.shape[1]):
            for y in range(dwell.shape[1]):
                if x != y:
                    m, t = mpmath.mpf(transitions[u, x, y]), mpmath.mpf(dwell[u, x])
                    b = mpmath.mpf(beta[x])
                    norm = b**alpha / mpmath.gamma(alpha)
                    peak = max((m + alpha - 1) / (t + b), mpmath.mpf(10) ** -3)
                    total += mpmath.log(
                        mpmath.quad(
                            lambda r, m=m, t=t, b=b, norm=norm: norm * r ** (m + alpha - 1) * mpmath.exp(-r * (t + b)),
                            [0, peak / 2, peak, 2 * peak, 10 * peak, mpmath.inf],
                        )
                    )
    return float(total)


MEAN = np.array([[0.0, 0.3, 0.5], [4.0, 0.0, 2.0], [0.7, 0.9, 0.0]])


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, None), (2.5, 4.0), (5.0, 10.0)])
def test_score_of_every_set_is_the_integral_over_the_rates(alpha, beta):
    """With beta given, or by default one over the mean of the rates out of a state."""
    net = cl.random_network(3, 2, dynamics="random", n_states=[2, 3, 2], rng=2)
    paths = cl.simulate(net, 2, n_transitions=8, rng=3)
    names = net.names
    for i, name in enumerate(names):
        others = [n for n in names if n != name]
        sets = [s for k in range(3) for s in combinations(others, k)]
        rules = EdgeRules.build(names, None, None, None, None)
        card, scoring = net.n_states[i], Scoring("auto" if beta is None else (alpha, beta))
        mean = MEAN[:card, :card]
        problem = NodeProblem.build(i, rules.sets(i), rules, net.n_states, scoring, mean)
        time = (card - 1) / mean.sum(1) if beta is None else np.full(card, beta)
        tables = EventTables(paths)
        scored = dict(zip(problem.sets, problem.scores(tables.groups(i, problem.sets))))
        for s in sets:
            stats = cl.count_statistics(paths, {name: s})
            expected = integrated_score(stats.dwell[i], stats.transitions[i], alpha, time)
            assert scored[s] == pytest.approx(expected, abs=1e-8)


def test_score_of_a_path_is_its_integrated_density():
    """The score is the marginal likelihood: it averages exp(log density) over rates drawn from the prior."""
    net = cl.random_network(1, rng=0)
    paths = cl.simulate(net, 1, horizon=2.0, rng=4)
    stats = cl.count_statistics(paths)
    score = set_score(stats.dwell[0], stats.transitions[0], np.array(2.0), np.full(2, 3.0))
    rates = np.random.default_rng(0).gamma(2.0, 1 / 3.0, (400_000, 2))
    m, t = stats.transitions[0][0][[0, 1], [1, 0]], stats.dwell[0][0]
    density = np.exp((m * np.log(rates) - t * rates).sum(1))
    error = density.std() / np.sqrt(len(density))
    assert np.exp(score) == pytest.approx(density.mean(), abs=4 * error)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 5))
def test_tables_by_products_and_by_tally_equal_single_counts(seed, n):
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, n)
    net = cl.random_network(n, 2, dynamics="random", n_states=cards, rng=seed)
    paths = cl.simulate(net, 3, horizon=3.0, rng=seed)
    pools = [[j for j in range(n) if j != i] for i in range(n)]
    by_product, by_tally = PairTables(paths), EventTables(paths)
    for i in range(n):
        sets = enumerate_sets(pools[i], [], 2, net.names, i)
        seen = 0
        for tables in (by_product, by_tally):
            for group in tables.groups(i, sets):
                for k, dwell, transitions in zip(group.index, group.dwell, group.transitions):
                    stats = cl.count_statistics(paths, {net.names[i]: sets[k]})
                    np.testing.assert_allclose(dwell, stats.dwell[i], atol=1e-12)
                    np.testing.assert_allclose(transitions, stats.transitions[i], atol=1e-12)
                    seen += 1
        assert seen == 2 * len(sets)


def test_statistics_of_parts_add_up():
    net = cl.random_network(3, rng=1)
    paths = cl.simulate(net, 6, horizon=2.0, rng=1)
    parents = {"x0": ["x1", "x2"]}
    whole = cl.count_statistics(paths, parents)
    parts = cl.count_statistics(paths.select([0, 3]), parents) + cl.count_statistics(
        paths.select([1, 2, 4, 5]), parents
    )
    for a, b in zip(whole.dwell + whole.transitions, parts.dwell + parts.transitions):
        np.testing.assert_allclose(a, b)
    with pytest.raises(ParameterError, match="added"):
        _ = whole + cl.count_statistics(paths)


def test_posterior_weights_of_huge_scores_stay_finite():
    weights = posterior_weights(np.array([-1e7, -1e7 + 1, -2e7]), np.zeros(3))
    np.testing.assert_allclose(weights, [1 / (1 + np.e), np.e / (1 + np.e), 0.0], atol=1e-9)


def test_enumeration_honours_the_rules():
    names = list("abcde")
    sets = enumerate_sets([0, 1, 2], [1], 2, names, 4)
    assert list(sets) == [("b",), ("a", "b"), ("b", "c")]
    np.testing.assert_allclose(sets.edge_probabilities(np.array([0.5, 0.25, 0.25])), [0.25, 1.0, 0.25, 0, 0])
    assert list(enumerate_sets([], [], None, names, 0)) == [()]
    with pytest.raises(ParameterError, match="not among the allowed"):
        enumerate_sets([0], [1], None, names, 4)
    with pytest.raises(ParameterError, match="more than max_parents"):
        enumerate_sets([0, 1], [0, 1], 1, names, 4)
    with pytest.raises(ParameterError, match="lower max_parents"):
        enumerate_sets(range(200), [], 8, [str(i) for i in range(201)], 200)


def log_prior(prior, sets, node, allowed, required, limit):
    by_size, odds = log_prior_parts(prior, len(sets.names), node, allowed, required, limit)
    return by_size[sets.sizes] + np.append(odds, 0.0)[sets.members].sum(1)


def test_size_prior_is_uniform_over_sizes():
    sets = enumerate_sets(range(6), [], 3, list("abcdefg"), 6)
    p = np.exp(log_prior("size", sets, 6, range(6), [], 3))
    np.testing.assert_allclose(np.bincount(sets.sizes, p), [0.25] * 4)
    inside = enumerate_sets(range(6), [0, 1], 4, list("abcdefg"), 6)
    p = np.exp(log_prior("size", inside, 6, range(6), [0, 1], 4))
    np.testing.assert_allclose(np.bincount(inside.sizes, p)[2:], [1 / 3] * 3)


def test_log_odds_prior_makes_edges_independent():
    names = list("abc")
    odds = np.log([[1, 1, 3], [1, 1, 0.5], [1, 1, 1]])
    sets = enumerate_sets([0, 1], [], None, names, 2)
    p = np.exp(log_prior(odds, sets, 2, [0, 1], [], 2))
    np.testing.assert_allclose(sets.edge_probabilities(p), [0.75, 1 / 3, 0])


@pytest.mark.parametrize("prior", ["size", "flat", 0.7])
def test_priors_sum_to_one_over_the_admitted_sets(prior):
    sets = enumerate_sets(range(5), [3], 3, list("abcdef"), 5)
    assert np.exp(log_prior(prior, sets, 5, range(5), [3], 3)).sum() == pytest.approx(1)


def test_projected_prior_sums_what_a_subset_leaves_open():
    names = list("abcd")
    cards = [2, 3, 4, 2]
    sets = enumerate_sets([0, 1, 2], [], None, names, 3)
    shape, rate = rate_prior(ProjectedPrior(5, 10), sets, cards, [0, 1, 2], None, np.ones(2))
    for k, s in enumerate(sets):
        left = np.prod([cards[names.index(n)] for n in "abc" if n not in s])
        assert shape[k] == pytest.approx(5 * left)
        assert rate[k] == pytest.approx([10 * left] * 2)
    few = enumerate_sets([0, 3], [], 1, names, 1)
    shape, _ = rate_prior(ProjectedPrior(5, 10), few, [2, 2, 2, 2], [0, 2, 3], 1, np.ones(2))
    np.testing.assert_allclose(shape, [10, 5, 5])


def test_parent_sets_read_like_a_list():
    sets = ParentSets(np.array([[0, 2], [1, -1], [-1, -1]]), "abc")
    assert list(sets) == [("a", "c"), ("b",), ()]
    assert sets[-1] == ()
    assert list(sets[:2]) == [("a", "c"), ("b",)]
    assert ("b",) in sets
    assert "3 sets" in repr(sets)
