"""Draws of paths against exact smoothing on the joint chain, which shares no code with them."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import DataError
from ctbnlearn.inference import sampled

BATCHES, SWEEPS = 8, 1500


def _z_scores(net, obs, times):
    """Deviations from the exact marginals in Monte Carlo standard errors, from independent batches."""
    truth = cl.exact.smooth(net, obs, times)
    runs = [sampled.smooth(net, obs, times, sweeps=SWEEPS, burn_in=100, rng=k) for k in range(BATCHES)]
    out = []
    for name, exact in truth.items():
        found = np.stack([run[name] for run in runs])
        # draws of a sweep are never more precise than independent ones
        least = np.sqrt(exact * (1 - exact) / (BATCHES * SWEEPS))
        error = np.maximum(found.std(0, ddof=1) / np.sqrt(BATCHES), least) + 1e-5
        out.append((found.mean(0) - exact) / error)
    return np.concatenate([z.reshape(-1) for z in out])


NETWORKS = {
    "glauber": lambda: cl.random_network(4, max_parents=2, coupling=1.0, rng=5),
    "mixed states": lambda: cl.random_network(4, max_parents=3, dynamics="random", n_states=[2, 3, 2, 4], rng=3),
    "one variable": lambda: cl.random_network(1, max_parents=0, dynamics="random", n_states=3, rng=1),
}


@pytest.mark.parametrize("noise", [None, cl.LabelNoise(0.15)], ids=["seen exactly", "misread"])
@pytest.mark.parametrize("name", NETWORKS)
def test_marginals_are_those_of_the_joint_chain(name, noise):
    net = NETWORKS[name]()
    paths = cl.simulate(net, 3, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=4, noise=noise, missing=0.3, rng=2)
    z = _z_scores(net, obs, np.linspace(0.0, 5.0, 8))  # past the end: predictions
    assert np.abs(z).max() < 5.0  # of some hundred correlated deviations, with eight batches each
    assert np.sqrt((z**2).mean()) < 1.6


def test_conditional_initial_distribution():
    net = cl.random_network(3, max_parents=1, coupling=0.8, rng=4)
    names = net.names
    initial = {
        names[0]: [0.2, 0.8],
        names[1]: ([names[0]], [[0.9, 0.1], [0.05, 0.95]]),
        names[2]: ([names[1]], [[0.7, 0.3], [0.1, 0.9]]),
    }
    net = cl.CTBN(
        net.variables,
        {n: [names[j] for j in net.parents[i]] for i, n in enumerate(names)},
        {n: net.cims[i] for i, n in enumerate(names)},
        initial,
    )
    obs = cl.observe(cl.simulate(net, 3, horizon=2.0, rng=1), times=[1.5], noise=cl.LabelNoise(0.1), rng=2)
    z = _z_scores(net, obs, [0.0, 0.2, 1.0, 2.0])
    assert np.abs(z).max() < 5.0


def test_gaps_much_longer_than_dwell_times():
    net = cl.random_network(3, max_parents=2, coupling=1.5, rng=2)
    obs = cl.observe(cl.simulate(net, 2, horizon=40.0, rng=1), times=[0.0, 20.0, 40.0], rng=2)
    z = _z_scores(net, obs, [5.0, 19.0, 19.9, 30.0])
    assert np.abs(z).max() < 5.0


def test_paths_do_not_depend_on_the_room_they_have(monkeypatch):
    from ctbnlearn.inference import gibbs, path_state

    net = cl.random_network(4, rng=5)
    obs = cl.observe(cl.simulate(net, 5, horizon=10.0, rng=1), n_times=6, rng=2)
    roomy = sampled.smooth(net, obs, [3.0, 7.0], sweeps=30)
    few = gibbs.draw_paths.__defaults__
    monkeypatch.setattr(gibbs.draw_paths, "__defaults__", (2,))
    monkeypatch.setattr(path_state, "LEAST_SLOTS", 1)
    tight = sampled.smooth(net, obs, [3.0, 7.0], sweeps=30)
    assert few != (2,)
    for name in roomy:
        np.testing.assert_array_equal(roomy[name], tight[name])


def test_a_trajectory_does_not_depend_on_the_others():
    net = cl.random_network(4, rng=5)
    obs = cl.observe(cl.simulate(net, 6, horizon=5.0, rng=1), n_times=6, rng=2)
    all_of_them = sampled.smooth(net, obs, [1.0, 4.0], sweeps=20)
    first = sampled.smooth(net, obs.select([0, 1]), [1.0, 4.0], sweeps=20)
    for name in first:
        np.testing.assert_array_equal(first[name], all_of_them[name][:2])


def test_impossible_observations_are_refused_by_name():
    net = cl.CTBN({"a": ("off", "on")}, {}, {"a": [[[0.0, 0.0], [1.0, -1.0]]]}, {"a": [1.0, 0.0]})
    table = pyarrow.table({"id": [1, 1], "time": [0.0, 1.0], "a": ["off", "on"]})
    obs = cl.read_table(table, trajectory="id", time="time")
    with pytest.raises(DataError, match=r"trajectory 1.*'a'.*cannot happen"):
        sampled.smooth(net, obs, [0.5])
