"""Networks inside a block by the quadratic, against integration and complete data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from ctbnlearn.structure.block_models import Quadratic, groups, labels, laplace, subsets


def complete(moves, dwell):
    """The quadratic of complete data: ln Z = sum of M theta - T exp(theta)."""
    top = np.log(moves / dwell)
    return Quadratic(top, np.asarray((moves * top - moves).sum()), np.zeros_like(top), np.diag(moves))


def test_evidence_of_much_complete_data_is_the_closed_form():
    """A pair of binary variables: the second drives the first, or not."""
    rng = np.random.default_rng(1)
    moves, dwell = rng.uniform(300.0, 900.0, 8), rng.uniform(300.0, 500.0, 8)
    moves[[1, 3]] = moves[[0, 2]] * dwell[[1, 3]] / dwell[[0, 2]]  # rates of the first are nearly the same
    a, b = 2.0, 1.5
    cards = (2, 2)
    for sets in (((), ()), ((1,), ()), ((), (0,)), ((1,), (0,))):
        label = labels(cards, sets).reshape(1, -1)
        found = laplace(complete(moves, dwell), label, np.full((1, 8), a), np.full((1, 8), b), np.ones(8, bool))
        m, t = np.bincount(label[0], moves), np.bincount(label[0], dwell)
        expected = (a * np.log(b) - gammaln(a) + gammaln(a + m) - (a + m) * np.log(b + t)).sum()
        near = np.abs(np.log(moves / dwell) - np.log(m / t)[label[0]]).max() < 0.2
        assert found.log_evidence[0] == pytest.approx(expected, abs=0.05 if near else 0.2 * abs(expected))


def test_evidence_of_one_rate_is_that_of_integration():
    top, information, value, a, b = -0.3, 25.0, -7.0, 1.0, 2.0
    quadratic = Quadratic(np.array([top, 0.0]), np.asarray(value), np.array([0.4, 0.0]), np.diag([information, 0.0]))
    used = np.array([True, False])  # the way back cannot happen
    found = laplace(quadratic, np.array([[0, 1]]), np.full((1, 2), a), np.full((1, 2), b), used)

    def density(x):
        prior = a * x - b * np.exp(x) + a * np.log(b) - gammaln(a)
        return np.exp(value + 0.4 * (x - top) - 0.5 * information * (x - top) ** 2 + prior)

    assert found.log_evidence[0] == pytest.approx(np.log(quad(density, -4.0, 3.0)[0]), abs=0.02)


def test_groups_hold_the_rates_that_a_network_makes_equal():
    cards = (2, 3, 2)
    states = np.array(np.unravel_index(np.arange(12), cards)).T
    own = groups(cards, 1, (0,))  # two moves of the second variable, given the first
    assert own.shape == (2, 12)
    assert len(np.unique(own)) == 2 * 3 * 2
    for move in range(2):
        for x in range(12):
            for y in range(12):
                same = (states[x, [0, 1]] == states[y, [0, 1]]).all()
                assert (own[move, x] == own[move, y]) == same
    assert len(np.unique(labels(cards, ((), (0,), (0, 1))))) == 2 + 12 + 2 * 6


def test_subsets_hold_what_is_required():
    assert subsets([1, 2, 3], [2], 2) == [(2,), (1, 2), (2, 3)]
    assert subsets([1, 2], [], 0) == [()]
