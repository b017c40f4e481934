"""Predictions of what is seen next against dense matrix exponentials, and of both filters against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import ctbnlearn as cl
from ctbnlearn.inference import exact, known, posterior
from oracles import dense


def problem(seed, edges=2):
    rng = np.random.default_rng(seed)
    net = cl.random_network(3, edges, dynamics="random", n_states=rng.integers(2, 4, 3), rng=seed)
    paths = cl.simulate(net, 5, horizon=3.0, rng=seed)
    models = {"x0": cl.GaussianNoise(0.5), "x1": cl.LabelNoise(0.2)}
    return net, cl.observe(paths, n_times=5, noise=models, missing=0.4, rng=seed)


def brute_force(net, obs):
    """Per variable and value the prior marginal at its time, from dense exponentials between times."""
    states, q = dense.joint_states(net), dense.generator(net)
    out = [[] for _ in net.variables]
    for k in range(obs.n_trajectories):
        p, now, ahead = dense.initial(net), obs.start[k], {}
        for t, likelihood in sorted(dense.point_likelihoods(net, obs, k).items()):
            p = p @ expm(q * (t - now))
            ahead[t] = [[sum(p[m] for m, s in enumerate(states) if s[i] == x) for x in range(len(v.states))]
                        for i, v in enumerate(net.variables)]  # fmt: skip
            p, now = p * likelihood / (p * likelihood).sum(), t
        for i, s in enumerate(obs.series):
            out[i] += [ahead[float(t)][i] for t in s.times[s.offsets[k] : s.offsets[k + 1]]]
    return [np.array(rows) for rows in out]


@pytest.mark.parametrize("seed", range(5))
def test_forecasts_equal_brute_force(seed):
    net, obs = problem(seed)
    for found, expected in zip(exact.forecasts(net, obs), brute_force(net, obs), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_many_trajectories_are_forecast_in_blocks(monkeypatch):
    net, obs = problem(1)
    whole = exact.forecasts(net, obs)
    monkeypatch.setattr(exact, "BLOCK_BYTES", 8 * 60 * 12 * 2)
    for a, b in zip(exact.forecasts(net, obs), whole, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_without_edges_both_filters_agree():
    net, obs = problem(3, edges=0)
    step = 0.02
    for a, b in zip(posterior.forecasts(net, obs, step=step), exact.forecasts(net, obs), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_the_joint_chain_predicts_as_long_as_it_is_cheap():
    small, large = cl.random_network(12, 1, rng=0), cl.random_network(21, 1, rng=0)
    seen = {n: cl.observe(cl.simulate(n, 20, horizon=1.0, rng=1), n_times=4, rng=2) for n in (small, large)}
    assert known.predicts_exactly(small, seen[small], cl.Sampling())
    assert not known.predicts_exactly(large, seen[large], cl.Sampling())
    assert not known.predicts_exactly(small, seen[small], cl.Star())


def test_sampled_fits_are_scored_by_the_joint_chain_beyond_ten_variables():
    net = cl.random_network(11, 2, coupling=0.8, rng=1)
    obs = cl.observe(cl.simulate(net, 8, horizon=2.0, rng=1), n_times=4, rng=2)
    np.testing.assert_array_equal(known.predictive(net, obs, cl.Sampling()), exact.log_evidence(net, obs))
    assert np.abs(posterior.predictive(net, obs) - exact.log_evidence(net, obs)).max() > 1e-3  # the filter is another
