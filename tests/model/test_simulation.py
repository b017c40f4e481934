"""Simulation against the rates it should follow."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError, SimulationWarning
from ctbnlearn.model import jump_loop, simulation
from ctbnlearn.streams import streams
from oracles import dense, gillespie, xoshiro


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


def test_one_long_path_spends_its_time_as_the_stationary_distribution_says():
    """Occupancy of three nodes of three states in 100 batches of one path; their spread gives the standard error."""
    net = cl.random_network(3, 2, dynamics="random", n_states=3, rng=8)
    truth = dense.stationary(net)
    paths = cl.simulate(net, 1, n_transitions=400_000, rng=9)
    rows = paths.intervals()
    codes = np.ravel_multi_index(tuple(rows.states.T.astype(int)), net.n_states)
    batch = np.minimum(np.arange(len(codes)) // 4000, 99)
    spent = np.bincount(batch * 27 + codes, rows.duration, 2700).reshape(100, 27)
    share = spent.sum(0) / spent.sum()
    excess = spent - truth * spent.sum(1, keepdims=True)
    error = excess.std(0, ddof=1) * 10 / spent.sum()
    assert np.abs((share - truth) / error).max() < 4
    assert np.abs(share / truth - 1).max() < 0.05


def hub():
    """A node of three states that changes the rates of 99 others, and is changed by two."""
    rng = np.random.default_rng(2)
    names = [f"x{i}" for i in range(100)]
    parents = {name: ["x40"] for name in names if name != "x40"} | {"x40": ["x99", "x3"]}
    rates = {}
    for name in names:
        shape = (2, 2, 3, 3) if name == "x40" else (3, 2, 2)
        off = rng.gamma(1.0, size=shape) * (1 - np.eye(shape[-1]))
        rates[name] = off - np.eye(shape[-1]) * off.sum(-1, keepdims=True)
    return cl.CTBN({name: (0, 1, 2) if name == "x40" else (0, 1) for name in names}, parents, rates)


def conditional():
    """States that no start or jump reaches, and initial tables that depend on others, out of their order."""
    zero = np.zeros((3, 3))
    ring = np.array([[-1.0, 0, 1], [2, -2, 0], [0, 0.5, -0.5]])
    return cl.CTBN(
        {"a": (0, 1, 2), "b": (0, 1), "c": (0, 1, 2, 3)},
        {"a": ["b"], "c": ["a", "b"]},
        {
            "a": [ring, 3 * ring + zero],
            "b": [[-0.3, 0.3], [0.4, -0.4]],
            "c": np.array([[[0, 1, 0, 2], [0, 0, 0, 0], [1, 0, 0, 3], [0, 0.1, 0, 0]]] * 6).reshape(3, 2, 4, 4)
            - np.diag([3, 0, 4, 0.1]),
        },
        {"a": (["c", "b"], np.tile([[0.2, 0, 0.8], [0, 1, 0]], (4, 1))), "b": [0.5, 0.5], "c": [0, 0.3, 0.7, 0]},
    )


NETWORKS = {
    "one node": lambda: cl.random_network(1, rng=0),
    "five": lambda: cl.random_network(5, 2, rng=0),
    "mixed": lambda: cl.random_network(6, 3, dynamics="random", n_states=[2, 5, 3, 2, 4, 3], rng=1),
    "conditional": conditional,
    "hub": hub,
    "1000": lambda: cl.random_network(1000, 2, rng=3),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("length", [{"n_transitions": 300}, {"horizon": 1.5}], ids=["jumps", "horizon"])
def test_paths_are_those_of_a_plain_loop_on_the_same_streams(name, length):
    """Tree, tables and chunks change nothing: a loop that looks up every rate anew draws the same paths."""
    net = NETWORKS[name]()
    n = 1 if name == "1000" else 6
    paths = cl.simulate(net, n, **length, rng=5)
    first, second = (int(w) for w in np.random.SeedSequence(5).generate_state(2, np.uint64))
    for k in range(n):
        initial, jumps, absorbed = gillespie.path(net, xoshiro.Stream(xoshiro.row(first, second, k)), **length)
        rows = slice(paths.offsets[k], paths.offsets[k + 1])
        assert paths.initial[k].tolist() == initial
        assert list(zip(paths.nodes[rows].tolist(), paths.targets[rows].tolist())) == [j[1:] for j in jumps]
        np.testing.assert_allclose(paths.times[rows], [j[0] for j in jumps], rtol=1e-12)
        assert paths.end[k] == length.get("horizon", paths.times[rows][-1] if jumps else 0.0)
        assert not absorbed


def test_a_path_depends_on_seed_and_number_alone(monkeypatch):
    net = cl.random_network(4, rng=0)
    for length in ({"horizon": 70.0}, {"n_transitions": 100}, {"n_transitions": 0}):
        whole = cl.simulate(net, 9, **length, rng=7)
        fewer = cl.simulate(net, 4, **length, rng=7)
        monkeypatch.setattr(simulation, "FIRST_CHUNK", 1)
        monkeypatch.setattr(simulation, "LARGEST_CHUNK", 25)
        split = cl.simulate(net, 9, **length, rng=7)
        monkeypatch.undo()
        for name in ("times", "nodes", "targets", "initial", "end", "offsets"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(split, name))
            np.testing.assert_array_equal(getattr(whole.select(range(4)), name), getattr(fewer, name))
    whole, other = (cl.simulate(net, 9, horizon=70.0, rng=seed) for seed in (7, 8))
    assert not np.array_equal(other.times[:20], whole.times[:20])


def test_a_path_to_a_later_horizon_goes_on_from_the_earlier():
    net = cl.random_network(4, rng=0)
    short, long = (cl.simulate(net, 1, horizon=h, rng=2) for h in (20.0, 40.0))
    np.testing.assert_array_equal(short.times, long.times[: short.n_transitions])
    assert long.times[short.n_transitions] > 20.0


def test_sums_of_rates_do_not_drift():
    """Rates 14 powers of ten apart: after many jumps every sum is, to the bit, that of its leaves."""
    fast, slow = [[-1e9, 1e9], [3e9, -3e9]], [[-1e-5, 1e-5], [0.1, -0.1]]
    names = [f"x{i}" for i in range(6)]
    rates = {name: [fast, slow] for name in names[1:]} | {names[0]: [[-1e6, 1e6], [1e6, -1e6]]}
    net = cl.CTBN(dict.fromkeys(names, (0, 1)), {name: [names[0]] for name in names[1:]}, rates)
    tables = jump_loop.make_tables(net)
    work = jump_loop.make_work(tables)
    n = 200_000
    columns = [np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)]
    ends = [np.full((1, 6), -1, np.int32), np.empty(1, np.int64), np.empty(1), np.zeros(1, bool)]
    assert jump_loop.fill(tables, work, streams(1, 1), n + 1, np.inf, *ends, *columns) == n
    assert (columns[1] == 0).sum() > 20
    x = work.states
    leaves = [-net.cims[i][x[0] if i else 0, x[i], x[i]] for i in range(6)]
    tree = [0.0] * 8 + leaves + [0.0, 0.0]
    for at in range(7, 0, -1):
        tree[at] = tree[2 * at] + tree[2 * at + 1]
    assert work.tree[1:].tolist() == tree[1:]


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_a_node_of_rate_zero_is_never_drawn(n):
    """At and beyond the borders of rounding too."""
    rng = np.random.default_rng(n)
    size = 1 << (n - 1).bit_length()
    for _ in range(50):
        tree = np.zeros(2 * size)
        tree[size : size + n] = rng.gamma(0.3, size=n) * (rng.random(n) < 0.5)
        tree[size + rng.integers(n)] = 1e-300
        jump_loop._sum_all(tree)
        cumulated = np.cumsum(tree[size:])
        borders = np.concatenate([[0.0], cumulated])
        for left in np.concatenate([borders, np.nextafter(borders, 0), np.nextafter(borders, 99), [2 * tree[1]]]):
            found = jump_loop._descend(tree, left)
            assert tree[size + found] > 0
            assert cumulated[found] >= left * (1 - 1e-12) or found == np.flatnonzero(tree[size:])[-1]


def test_times_rise_when_waits_are_below_the_resolution_of_the_clock():
    """A slow clock beside a fast one: jumps of one node never share a time."""
    slow, fast = [[-1e-9, 1e-9], [1e-9, -1e-9]], np.array([[-1.0, 1], [1, -1]])
    net = cl.CTBN(
        {"slow": (0, 1), "fast": (0, 1)},
        {"fast": ["slow"]},
        {"slow": slow, "fast": [0 * fast, 1e9 * fast]},
        {"slow": [1, 0]},
    )
    paths = cl.simulate(net, 1, n_transitions=5000, rng=0)
    assert paths.times[0] > 1e7
    assert (np.diff(paths.times) > 0).all()


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


def test_a_joint_state_may_absorb_though_each_variable_can_move():
    """While a is 1, b moves; a, once 0, stays. The chance to end with b = 1 is that of the exact chain."""
    net = cl.CTBN(
        {"a": (0, 1), "b": (0, 1)},
        {"b": ["a"]},
        {"a": [[0, 0], [2.0, -2.0]], "b": [[[0, 0], [0, 0]], [[-1, 1], [3, -3]]]},
        {"a": [0, 1], "b": [1, 0]},
    )
    with pytest.warns(SimulationWarning, match="20000 of 20000 paths"):
        paths = cl.simulate(net, 20000, n_transitions=1000, rng=4)
    assert paths.absorbed.all()
    last = paths.offsets[1:] - 1
    assert (paths.nodes[last] == 0).all()
    np.testing.assert_array_equal(paths.end, paths.times[last])
    ended_high = np.diff(paths.offsets) % 2 == 0  # an odd number of jumps of b, and one of a
    chance = (1 - 2 / 6) / 4  # integral of 2 exp(-2 t) (1 - exp(-4 t)) / 4
    assert ended_high.mean() == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / 20000))
    with pytest.warns(SimulationWarning, match="of 20000 paths"):
        some = cl.simulate(net, 20000, n_transitions=2, rng=4)
    np.testing.assert_array_equal(some.absorbed, np.diff(some.offsets) < 2)
    assert 0 < some.absorbed.sum() < 20000


def test_a_network_whose_rates_are_zero():
    net = cl.CTBN({"a": (0, 1), "b": (0, 1, 2)}, {"b": ["a"]}, {"a": np.zeros((2, 2)), "b": np.zeros((2, 3, 3))})
    with pytest.warns(SimulationWarning, match="7 of 7 paths"):
        paths = cl.simulate(net, 7, n_transitions=3, rng=0)
    assert paths.n_transitions == 0
    assert paths.absorbed.all()
    assert (paths.end == 0).all()
    held = cl.simulate(net, 7, horizon=2.0, rng=0)
    assert held.n_transitions == 0
    assert (held.end == 2).all()
    np.testing.assert_array_equal(held.initial, paths.initial)


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
