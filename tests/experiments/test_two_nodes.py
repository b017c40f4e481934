"""Bound and marginal likelihood of the two-node mixture against sums that share no code with them."""

from __future__ import annotations

from math import comb

import mpmath
import numpy as np
import pytest

from ctbnlearn.experiments import concentration, two_nodes

DWELL = np.array([[2.0, 1.5], [0.7, 3.1]])
TRANSITIONS = np.zeros((2, 2, 2))
TRANSITIONS[:, 0, 1], TRANSITIONS[:, 1, 0] = (4, 1), (2, 5)


def binomial_sum(weight):
    """The marginal likelihood with R^M multiplied out: every term is an integral of Gamma type."""
    total = mpmath.mpf(0)
    a0, b0, a1, b1 = 10, 20, 5, 10  # the paper's Gamma(5, 10), summed over two parent states for the empty set
    for x in range(2):
        m, t = [int(TRANSITIONS[u, x, 1 - x]) for u in range(2)], [mpmath.mpf(DWELL[u, x]) for u in range(2)]
        part = mpmath.mpf(0)
        for k in range(m[0] + 1):
            for j in range(m[1] + 1):
                term = mpmath.mpf(comb(m[0], k) * comb(m[1], j))
                for power, time in ((k, t[0]), (j, t[1])):
                    term *= mpmath.mpf(weight) ** power * mpmath.gamma(a1 + power) / mpmath.gamma(a1)
                    term *= mpmath.mpf(b1) ** a1 / (b1 + weight * time) ** (a1 + power)
                rest = sum(m) - k - j
                term *= mpmath.mpf(1 - weight) ** rest * mpmath.gamma(a0 + rest) / mpmath.gamma(a0)
                term *= mpmath.mpf(b0) ** a0 / (b0 + (1 - weight) * sum(t)) ** (a0 + rest)
                part += term
        total += mpmath.log(part)
    return float(total)


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5, 0.97, 1.0])
def test_marginal_is_the_multiplied_out_sum(weight):
    assert two_nodes.log_marginal(DWELL, TRANSITIONS, weight) == pytest.approx(binomial_sum(weight), abs=1e-8)


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5, 0.97, 1.0])
def test_bound_lies_below_and_meets_at_the_corners(weight):
    gap = binomial_sum(weight) - two_nodes.log_bound(two_nodes.mixture_objective(DWELL, TRANSITIONS), weight)
    if weight in (0.0, 1.0):
        assert gap == pytest.approx(0, abs=1e-9)
    else:
        assert gap > 1e-3


@pytest.mark.parametrize("c", [0.0, 0.9, 2.0])
def test_profile_without_data_is_the_prior(c):
    objective = two_nodes.mixture_objective(np.zeros((2, 2)), np.zeros((2, 2, 2)))
    expected = (concentration.GRID * (1 - concentration.GRID)) ** (1 - c)
    assert concentration.profile(objective, c) == pytest.approx(expected / expected.sum())
