"""The prior of shared strength against integration over rates and strengths."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from ctbnlearn.structure.cell_prior import STRENGTHS, CellPrior, as_cells, mean_rates
from ctbnlearn.structure.score import set_score

RNG = np.random.default_rng(5)
DWELL = RNG.gamma(2.0, 2.0, (4, 3))
MOVES = RNG.poisson(3.0, (4, 3, 3)).astype(float) * ~np.eye(3, dtype=bool)
MOVES[0, 0, 1] = 150.0  # beyond the list of log Gamma functions
MOVES[1, 2, 0] = 2.75  # an expected number
ALL = np.ones((3, 3), bool)


def test_a_fixed_prior_gives_the_closed_form_score():
    for possible in (ALL, np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)):
        moves = MOVES * possible
        rate = np.array([0.4, 3.0, 0.1])
        expected = set_score(DWELL, moves, np.array(1.7), rate, possible)
        assert CellPrior.fixed(1.7, rate, possible).score(*as_cells(DWELL, moves)) == pytest.approx(expected, rel=1e-12)


def test_shared_strength_integrates_rates_and_sums_strengths():
    """Every rate integrated numerically under its Gamma prior, for every strength of the grid."""
    mean = np.array([[0.0, 0.5, 2.0], [1.0, 0.0, 3.0], [0.2, 0.1, 0.0]])
    dwell, moves = DWELL[1:3], MOVES[1:3]
    mpmath.mp.dps = 25
    evidence, weight = mpmath.mpf(0), mpmath.mpf(0)
    for a in STRENGTHS:
        product = mpmath.mpf(1)
        for x in range(3):
            beta = mpmath.mpf(a) / ((mean[x].sum()) / 2)
            for u in range(2):
                for y in range(3):
                    if x != y:
                        alpha, m, t = beta * mean[x, y], mpmath.mpf(moves[u, x, y]), mpmath.mpf(dwell[u, x])
                        norm = beta**alpha / mpmath.gamma(alpha)
                        peak = (m + alpha) / (t + beta)
                        # r = s^k takes away the pole at zero of shapes below one
                        k = 1 if m + alpha >= 1 else mpmath.ceil(2 / (m + alpha))
                        product *= mpmath.quad(
                            lambda s, m=m, t=t, alpha=alpha, beta=beta, norm=norm, k=k: (
                                norm * k * s ** (k * (m + alpha) - 1) * mpmath.exp(-(s**k) * (t + beta))
                            ),
                            [0, *((peak * f) ** (mpmath.mpf(1) / k) for f in (0.3, 1, 2, 5, 20)), mpmath.inf],
                        )
        evidence, weight = evidence + product / a, weight + 1 / mpmath.mpf(a)
    found = CellPrior.shared(mean, ALL).score(*as_cells(dwell, moves))
    assert found == pytest.approx(float(mpmath.log(evidence / weight)), abs=1e-8)


def test_impossible_transitions_and_unseen_states_do_not_count():
    possible = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    prior = CellPrior.shared(np.where(possible, 1.3, 0.0), possible)
    score = prior.score(*as_cells(DWELL, MOVES * possible))
    assert score == prior.score(*as_cells(DWELL, MOVES))
    padded = [np.concatenate([t, np.zeros_like(t)]) for t in (DWELL, MOVES)]
    assert prior.score(*as_cells(*padded)) == score


def test_the_strength_follows_the_spread_of_the_rates():
    rng = np.random.default_rng(0)
    mean = np.array([[0.0, 2.0], [1.0, 0.0]])
    dwell = np.full((500, 2), 30.0)
    for strength in (0.5, 4.0, 32.0):
        prior = CellPrior.shared(mean, np.ones((2, 2), bool))
        k = STRENGTHS.index(strength)
        rates = rng.gamma(prior.shape[k], size=(500, 2, 2)) / prior.rate[k][:, None]
        shape, rate = prior.best(dwell, rng.poisson(rates * 30.0) * ~np.eye(2, dtype=bool))
        np.testing.assert_array_equal(shape, prior.shape[k])
        np.testing.assert_array_equal(rate, prior.rate[k])


def test_mean_rates_are_positive_where_nothing_happened():
    found = mean_rates(np.array([3.0, 0.0]), np.zeros((2, 2)))
    np.testing.assert_allclose(found[[0, 1], [1, 0]], [1 / 9, 1 / 3])  # one move in the whole time, and one more


def test_mean_rates_are_finite_where_a_stay_took_no_time():
    assert np.isfinite(mean_rates(np.array([5.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))).all()


def test_mean_rates_of_a_state_that_is_rare_and_left_soon_are_its_own():
    """A hundred stays of a twelfth of a year each, once in a hundred years: the usual rate is one in fifty years."""
    dwell, moves = np.array([9_990.0, 8.3, 0.0]), np.array([[0, 100.0, 0], [100.0, 0, 0], [0, 0, 0]])
    found = mean_rates(dwell, moves)
    np.testing.assert_allclose(found.sum(1)[:2] - np.diagonal(found)[:2], [100 / 9_990, 100 / 8.3])
    assert found[1, 0] / found[1, 2] == pytest.approx(101)
    assert found[2, 0] == pytest.approx(200 / 2 / dwell.sum())
