"""Prediction on neighbourhoods against the joint chain of all variables."""

from __future__ import annotations

import numpy as np

import ctbnlearn as cl
from ctbnlearn.inference import exact, known, neighbourhood, posterior


def problem(seed, n=9, trajectories=40):
    network = cl.random_network(n, max_parents=2, coupling=1.0, rng=seed)
    paths = cl.simulate(network, trajectories, horizon=8.0, rng=seed + 1)
    return network, cl.observe(paths, n_times=8, noise=cl.GaussianNoise(variance=0.2), missing=0.3, rng=seed + 2)


def score(found, obs):
    parts = [np.log((p * np.exp(s.log_likelihood())).sum(1)) for p, s in zip(found, obs.series)]
    return float(np.concatenate(parts).mean())


def test_a_neighbourhood_of_everybody_is_the_joint_chain():
    network = cl.CTBN(
        {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)},
        {"b": ["a"], "c": ["b"], "a": ["c"]},
        {
            "a": np.array([[[-1.0, 1.0], [0.5, -0.5]], [[-0.2, 0.2], [2.0, -2.0]]]),
            "b": np.array(
                [[[-1.0, 0.5, 0.5], [1, -2, 1], [0.3, 0.3, -0.6]], [[-2.0, 1, 1], [0.1, -0.2, 0.1], [1, 1, -2]]]
            ),
            "c": np.array([[[-1.0, 1.0], [1.5, -1.5]], [[-0.5, 0.5], [0.2, -0.2]], [[-3.0, 3.0], [1, -1]]]),
        },
        {"a": [0.8, 0.2]},
    )
    obs = cl.observe(cl.simulate(network, 15, horizon=5.0, rng=1), n_times=6, missing=0.2, rng=2)
    for a, b in zip(neighbourhood.forecasts(network, obs), exact.forecasts(network, obs), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_members_are_the_nearest_ancestors_that_fit():
    network = cl.random_network(12, max_parents=2, rng=4)
    for node in range(12):
        few, more = (neighbourhood.neighbourhood(network, node, most) for most in (8, 64))
        assert few[0] == more[0] == node
        assert len(few) <= 3
        assert len(more) <= 6
        assert set(few[:2]) <= set(more)
        assert set(network.parents[node]) <= set(more)


def test_neighbourhoods_predict_better_than_a_filter():
    gains = []
    for seed in (10, 20, 30):
        network, obs = problem(seed)
        best = score(exact.forecasts(network, obs), obs)
        gains.append([best - score(f.forecasts(network, obs), obs) for f in (neighbourhood, posterior)])
    lost, lost_by_filter = np.mean(gains, 0)
    assert -1e-3 < lost < 0.5 * lost_by_filter


def test_large_networks_are_scored_by_neighbourhoods():
    network, obs = problem(5, n=30, trajectories=6)
    assert known.predictor(network, obs, cl.Blocks()) == "neighbourhood"
    total = known.predictive(network, obs, cl.Blocks())
    assert total.shape == (6,)
    found = score(known.forecasts(network, obs, cl.Sampling()), obs)
    np.testing.assert_allclose(total.sum() / sum(len(s.times) for s in obs.series), found, rtol=1e-9)
