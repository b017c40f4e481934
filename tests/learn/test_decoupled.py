"""Variables by themselves against the exact engine on each of them."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import ImpossibleEvidenceError
from ctbnlearn.inference import exact
from ctbnlearn.learn.decoupled import fit_decoupled


def test_rates_are_a_fixed_point_of_exact_em():
    variables = {"a": (0, 1), "b": ("x", "y", "z")}
    rates = {"a": np.array([[-0.5, 0.5], [1.5, -1.5]]), "b": np.array([[-1.0, 0.7, 0.3], [0.2, -0.6, 0.4], [1, 1, -2]])}
    network = cl.CTBN(variables, {}, rates)
    obs = cl.observe(cl.simulate(network, 60, horizon=6.0, rng=1), n_times=8, missing=0.2, rng=2)
    found = fit_decoupled(obs, [None, None], gain=1e-14)
    gap = float((obs.end - obs.start).sum()) / (obs.n_informative / 2)
    diagonal = [r - np.diag(r.sum(1)) for r in found]
    fitted = cl.CTBN(variables, {}, dict(zip(variables, diagonal)))
    expected = exact.expected_statistics(fitted, obs)
    for r, t, m in zip(found, expected.dwell, expected.transitions):
        again = (1 + m[0]) / (gap + t[0][:, None]) * ~np.eye(len(r), dtype=bool)
        np.testing.assert_allclose(r, again, rtol=1e-5)


def test_stays_shorter_than_the_time_between_looks_are_not_made_shorter_still():
    """From rates near one a gap EM seemed to have settled with rates ten times too high."""
    network = cl.CTBN({"ill": ("no", "yes")}, {}, {"ill": np.array([[-0.12, 0.12], [8.0, -8.0]])})
    times = [np.arange(0, 10.01, 0.1)] * 400
    obs = cl.observe(cl.simulate(network, 400, horizon=10.0, rng=1), times=times, rng=2)
    (found,) = fit_decoupled(obs, [None])
    np.testing.assert_allclose(found[[0, 1], [1, 0]], [0.12, 8.0], rtol=0.15)


def test_what_cannot_have_happened_is_named():
    obs = cl.Observations.from_likelihoods(
        [[0.0, 1.0], [0.0, 1.0]], [[[[1.0, 0.0], [1.0, 0.0]]], [[[1.0, 0.0], [0.0, 1.0]]]], {"x": (0, 1)}
    )
    only_back = np.array([[False, False], [True, False]])
    with pytest.raises(ImpossibleEvidenceError, match="trajectory 1"):
        fit_decoupled(obs, [only_back])
