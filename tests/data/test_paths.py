"""Paths, observations and segments: shapes, look-ups and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctbnlearn as cl
from ctbnlearn.errors import CtbnlearnError

AB = {"a": (0, 1), "b": ("x", "y", "z")}


def example():
    return cl.Paths.from_trajectories(
        AB,
        [
            ([0, "x"], [(0.5, "a", 1), (1.5, "b", "z"), (2.0, "a", 0)], 3.0),
            ([1, "y"], [], 2.0),
            ([1, "y"], [(1.0, "a", 0), (1.0, "b", "x")], 1.0),
        ],
        ids=["p", "q", "r"],
    )


def naive_state(paths, k, t):
    state = list(paths.initial[k])
    for r in range(paths.offsets[k], paths.offsets[k + 1]):
        if paths.times[r] <= t:
            state[paths.nodes[r]] = paths.targets[r]
    return state


def test_intervals_of_a_worked_example():
    rows = example().intervals()
    assert rows.states.tolist() == [[0, 0], [1, 0], [1, 2], [0, 2], [1, 1], [1, 1], [0, 1], [0, 0]]
    np.testing.assert_allclose(rows.duration, [0.5, 1.0, 0.5, 1.0, 2.0, 1.0, 0.0, 0.0])
    assert rows.node.tolist() == [0, 1, 0, -1, -1, 0, 1, -1]
    assert rows.target.tolist() == [1, 2, 0, -1, -1, 0, 0, -1]
    # simultaneous jumps see the state before both
    assert rows.before.tolist() == [0, 1, 2, 3, 4, 5, 5, 7]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10**6), n_nodes=st.integers(1, 5))
def test_look_ups_agree_with_replaying(seed, n_nodes):
    rng = np.random.default_rng(seed)
    net = cl.random_network(n_nodes, dynamics="random", n_states=rng.integers(2, 4, n_nodes), rng=seed)
    paths = cl.simulate(net, 6, horizon=3.0, rng=seed)
    who = rng.integers(0, 6, 40)
    when = np.concatenate([rng.uniform(0, 3, 20), rng.choice(np.append(paths.times, [0.0, 3.0]), 20)])
    found = paths.lookup(who, when)
    assert found.tolist() == [naive_state(paths, k, t) for k, t in zip(who, when)]
    chosen = rng.permutation(6)[:4]
    part = paths.select(chosen)
    assert part.lookup(np.arange(4), np.full(4, 1.5)).tolist() == [naive_state(paths, k, 1.5) for k in chosen]
    rows = paths.intervals()
    assert rows.duration.sum() == pytest.approx((paths.end - paths.start).sum())
    small = sum(block.intervals().duration.sum() for block in paths.blocks(max_cells=7))
    assert small == pytest.approx(rows.duration.sum())


@pytest.mark.parametrize(
    ("trajectories", "words"),
    [
        ([], "no trajectories"),
        ([([0], [], 1.0)], "one initial label"),
        ([([0, "w"], [], 1.0)], "no state 'w'"),
        ([([0, "x"], [(0.5, "c", 1)], 1.0)], "unknown variable 'c'"),
        ([([0, "x"], [(0.5, "a", 0)], 1.0)], "already in"),
        ([([0, "x"], [(0.5, "a", 1), (0.2, "a", 0)], 1.0)], "sort the rows"),
        ([([0, "x"], [(0.5, "a", 1), (0.5, "a", 0)], 1.0)], "twice at one time"),
        ([([0, "x"], [(1.5, "a", 1)], 1.0)], "outside the trajectory's window"),
        ([([0, "x"], [(np.nan, "a", 1)], 1.0)], "finite"),
        ([([0, "x"], [(-0.5, "a", 1)], 1.0)], "not negative"),
        ([([0, "x"], [], np.inf)], "finite"),
        ([([0, "x"], [], 1.0, 2.0)], "after it ends"),
    ],
)
def test_bad_paths(trajectories, words):
    with pytest.raises(CtbnlearnError, match=words):
        cl.Paths.from_trajectories(AB, trajectories)


def test_states_at_common_times():
    paths = cl.simulate(cl.random_network(3, rng=0), 4, horizon=2.0, rng=0)
    found = paths.states_at([0.0, 1.0, 2.0])
    assert found["x1"].shape == (4, 3)
    assert found["x1"][2].tolist() == [naive_state(paths, 2, t)[1] for t in (0.0, 1.0, 2.0)]
    with pytest.raises(CtbnlearnError, match="window"):
        paths.states_at([2.5])


def test_segments_of_paths():
    segments = cl.Segments.from_paths(example())
    assert len(segments.begin) == 2 * 3 + 5
    closing = segments.begin == segments.finish
    assert closing.sum() == 2  # the two jumps at the very end of trajectory r
    with pytest.raises(CtbnlearnError, match="overlaps"):
        cl.Segments.from_rows(AB, [(0, "a", 0, 2, 0), (0, "a", 1, 3, 1)])
    with pytest.raises(CtbnlearnError, match="positive length"):
        cl.Segments.from_rows(AB, [(0, "a", 1, 1, 0)], end=4.0)
    with pytest.raises(CtbnlearnError, match="window"):
        cl.Segments.from_rows(AB, [(0, "a", 1, 5, 0)], end=4.0)
    with pytest.raises(CtbnlearnError, match="unknown variable"):
        cl.Segments.from_rows(AB, [(0, "c", 1, 5, 0)])
    with pytest.raises(CtbnlearnError, match="no state"):
        cl.Segments.from_rows(AB, [(0, "a", 1, 5, 7)])
