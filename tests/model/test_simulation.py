"""Simulation against the rates it should follow."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError, SimulationWarning
from ctbnlearn.model import simulation
from oracles import dense


def parent_names(net):
    return {net.names[i]: [net.names[j] for j in ps] for i, ps in enumerate(net.parents)}


@pytest.mark.parametrize("cards", [[2, 2, 2], [2, 3, 4]])
def test_counts_match_rates_in_every_cell(cards):
    """M(x, x' | u) - r T is a martingale with variance r E[T]: z-scores over all cells are standard normal."""
    net = cl.random_network(3, 2, dynamics="random", n_states=cards, rng=11)
    paths = cl.simulate(net, 4000, horizon=6.0, rng=12)
    stats = cl.count_statistics(paths, parent_names(net))
    z = []
    for cim, dwell, moves in zip(net.cims, stats.dwell, stats.transitions):
        off = ~np.eye(cim.shape[-1], dtype=bool)
        expected = (cim * dwell[..., None])[:, off]
        z.append(((moves[:, off] - expected) / np.sqrt(expected)).reshape(-1))
    z = np.concatenate(z)
    assert np.abs(z).max() < 4
    assert abs((z**2).mean() - 1) < 4 * np.sqrt(2 / len(z))


def test_dwell_times_are_exponential():
    """First sojourn of one free node: mean and variance of an exponential, and the right next states."""
    rates = [[-3.0, 1.0, 2.0], [0.5, -0.5, 0.0], [1.0, 1.0, -2.0]]
    net = cl.CTBN({"a": (0, 1, 2)}, {}, {"a": rates}, {"a": [1, 0, 0]})
    paths = cl.simulate(net, 40000, n_transitions=1, rng=3)
    n = paths.n_transitions
    assert paths.times.mean() == pytest.approx(1 / 3, abs=4 / 3 / np.sqrt(n))
    assert (paths.times**2).mean() == pytest.approx(2 / 9, abs=4 * np.sqrt(20 / 81 / n))
    assert (paths.targets == 2).mean() == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / n))
    assert not (paths.targets == 0).any()


def test_long_runs_reach_the_stationary_distribution():
    net = cl.random_network(3, 2, dynamics="random", n_states=[2, 3, 2], rng=4)
    truth = dense.stationary(net)
    paths = cl.simulate(net, 20000, horizon=30.0, rng=5)
    final = paths.states_at([30.0])
    codes = np.ravel_multi_index([final[name][:, 0] for name in net.names], net.n_states)
    counts = np.bincount(codes, minlength=len(truth))
    z = (counts - 20000 * truth) / np.sqrt(20000 * truth * (1 - truth))
    assert np.abs(z).max() < 4


def test_a_path_depends_on_seed_and_number_alone(monkeypatch):
    net = cl.random_network(4, rng=0)
    whole = cl.simulate(net, 9, horizon=70.0, rng=7)
    fewer = cl.simulate(net, 4, horizon=70.0, rng=7)
    monkeypatch.setattr(simulation, "BLOCK_CELLS", 8)
    split = cl.simulate(net, 9, horizon=70.0, rng=7)
    monkeypatch.undo()
    monkeypatch.setattr(simulation, "CHUNK", simulation.CHUNK)
    for name in ("times", "nodes", "targets", "initial", "end", "offsets"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(split, name))
        np.testing.assert_array_equal(getattr(whole.select(range(4)), name), getattr(fewer, name))
    other = cl.simulate(net, 9, horizon=70.0, rng=8)
    assert not np.array_equal(other.times[:20], whole.times[:20])


def test_seeds_of_every_kind():
    net = cl.random_network(3, rng=0)
    a = cl.simulate(net, 2, n_transitions=5, rng=np.random.default_rng(3))
    b = cl.simulate(net, 2, n_transitions=5, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(a.times, b.times)
    c = cl.simulate(net, 2, n_transitions=5, rng=np.random.SeedSequence(3))
    d = cl.simulate(net, 2, n_transitions=5, rng=3)
    np.testing.assert_array_equal(c.times, d.times)


def test_number_of_transitions_and_end():
    paths = cl.simulate(cl.random_network(5, rng=0), 30, n_transitions=10, rng=1)
    assert np.diff(paths.offsets).tolist() == [10] * 30
    np.testing.assert_array_equal(paths.end, paths.times[9::10])
    assert not paths.absorbed.any()


def test_absorbing_states_end_a_path_and_say_so():
    net = cl.CTBN({"a": (0, 1, 2)}, {}, {"a": [[-1, 1, 0], [0, -2, 2], [0, 0, 0]]})
    with pytest.warns(SimulationWarning, match="of 50 paths"):
        paths = cl.simulate(net, 50, n_transitions=5, rng=0)
    assert paths.absorbed.all()
    assert (np.diff(paths.offsets) == 2 - paths.initial[:, 0]).all()
    held = cl.simulate(net, 50, horizon=9.0, rng=0)
    assert (held.end == 9.0).all()
    assert not held.absorbed.any()


def test_conditional_initial_distribution_is_followed():
    net = cl.CTBN(
        {"a": (0, 1), "b": (0, 1)},
        {},
        {"a": [[-1, 1], [1, -1]], "b": [[-1, 1], [1, -1]]},
        {"a": (["b"], [[0.9, 0.1], [0.2, 0.8]]), "b": [0.3, 0.7]},
    )
    start = cl.simulate(net, 20000, n_transitions=0, rng=0).initial
    joint = np.bincount(start[:, 0] * 2 + start[:, 1], minlength=4) / 20000
    np.testing.assert_allclose(joint, dense.initial(net), atol=4 * np.sqrt(0.25 / 20000))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_trajectories": 3}, "either n_transitions or horizon"),
        ({"n_trajectories": 3, "horizon": 1.0, "n_transitions": 2}, "either n_transitions or horizon"),
        ({"n_trajectories": 0, "horizon": 1.0}, "1 or more"),
        ({"n_trajectories": 1, "horizon": -1.0}, "positive"),
        ({"n_trajectories": 1, "horizon": np.inf}, "finite"),
        ({"n_trajectories": 1, "n_transitions": -1}, "whole number, 0 or more"),
        ({"n_trajectories": 1, "n_transitions": np.nan}, "whole number"),
        ({"n_trajectories": 2.5, "horizon": 1.0}, "whole number"),
        ({"n_trajectories": 2, "horizon": 1.0, "rng": -3}, "rng"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ParameterError, match=words):
        cl.simulate(cl.random_network(2, rng=0), **arguments)
