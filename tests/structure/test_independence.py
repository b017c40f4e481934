"""Tests of independence against scipy, asymptotics and their own level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency, norm

from ctbnlearn.structure.independence import independence_p_value, jump_p_values, rate_p_values


def test_rates_with_many_counts_as_the_normal_approximation_says():
    for n1, n2, t1, t2 in [(1000, 1100, 500.0, 500.0), (900, 2000, 300.0, 700.0), (1500, 1400, 80.0, 75.0)]:
        z = np.log((n1 / t1) / (n2 / t2)) / np.sqrt(1 / n1 + 1 / n2)
        found = rate_p_values(np.array([[[t1], [t2]]]), np.array([[[float(n1)], [float(n2)]]]))
        np.testing.assert_allclose(found.ravel(), 2 * norm.sf(abs(z)), rtol=0.02)


def test_rates_have_their_level():
    """Poisson counts of one rate in fixed times: five per cent of the p-values lie below 0.05, also with few counts."""
    rng = np.random.default_rng(0)
    for expected in (5.0, 50.0):
        time = np.array([1.0, 3.0])
        counts = rng.poisson(expected * time, (20_000, 2)).astype(float)
        p = rate_p_values(np.broadcast_to(time[:, None], (20_000, 2, 1)), counts[..., None])[:, 0, 0]
        assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.01)


def test_jumps_as_scipy_has_it():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 30, (4, 3, 3, 3)).astype(float) * ~np.eye(3, dtype=bool)
    counts[0, :, 0, 1] = 0  # all jumps lead to one state
    counts[1, 0, 0] = 0  # an empty sample
    found = jump_p_values(counts)
    assert np.isnan(found[0, :, 0]).all()
    assert np.isnan(found[1, 0, 0])
    for c, y, x in np.ndindex(4, 3, 3):
        if np.isnan(found[c, y, x]):
            continue
        table = np.stack([counts[c, y, x], counts[c, :, x].sum(0) - counts[c, y, x]])
        table = table[:, table.sum(0) > 0]
        assert found[c, y, x] == pytest.approx(chi2_contingency(table, correction=False).pvalue)


def test_one_p_value_of_all():
    dwell = np.array([[[4.0, 2.0], [5.0, 1.0]]])
    moves = np.zeros((1, 2, 2, 2))
    moves[0, :, 0, 1], moves[0, :, 1, 0] = [9, 1], [3, 2]
    single = rate_p_values(dwell, moves.sum(-1))
    np.testing.assert_allclose(single[:, 0], single[:, 1])  # two states: the same comparison twice
    assert independence_p_value(dwell, moves, corrected=False) == pytest.approx(single.min())
    assert independence_p_value(dwell, moves) == pytest.approx(2 * single.min())
    assert independence_p_value(dwell, np.zeros_like(moves)) == 1.0
    assert independence_p_value(dwell * [[[1], [0]]], moves) == 1.0
