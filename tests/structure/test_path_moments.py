"""Moments from events against sums over the stretches between them."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.data.paths import Paths
from ctbnlearn.structure import path_moments
from ctbnlearn.structure.path_moments import PathMoments

CARDS = (2, 3, 2, 4, 3)


def columns():
    place, width = np.full((len(CARDS), max(CARDS)), -1), 0
    for i in (3, 0, 2, 1, 4):  # in another order than the variables
        place[i, 1 : CARDS[i]] = width + np.arange(CARDS[i] - 1)
        width += CARDS[i] - 1
    return place, width


def some_paths():
    """Random paths with jumps at the same time, an empty one, and windows that begin anywhere."""
    rng = np.random.default_rng(3)
    variables = {f"x{i}": tuple(range(c)) for i, c in enumerate(CARDS)}
    initial = np.array([[rng.integers(c) for c in CARDS] for _ in range(6)])
    times, nodes, targets, offsets, start = [], [], [], [0], rng.uniform(0, 5, 6)
    for b, count in enumerate((40, 0, 7, 60, 1, 25)):
        state, now = initial[b].copy(), start[b]
        for _ in range(count):
            now += 0.0 if rng.random() < 0.2 and now > start[b] else rng.exponential(0.3)
            free = [i for i in range(len(CARDS)) if not any(t == now and n == i for t, n in zip(times, nodes))]
            i = int(rng.choice(free))
            state[i] = (state[i] + rng.integers(1, CARDS[i])) % CARDS[i]
            times.append(now)
            nodes.append(i)
            targets.append(int(state[i]))
        offsets.append(len(times))
    last = [max([start[b], *times[offsets[b] : offsets[b + 1]]]) + 0.5 for b in range(6)]
    return Paths(
        variables, initial, np.array(offsets), np.array(times), np.array(nodes), np.array(targets), start, last
    )


def by_stretches(paths, place, width, node, card):
    every = paths.intervals()
    z = np.zeros((len(every.duration), width))
    for i in range(len(CARDS)):
        at = place[i, every.states[:, i]]
        z[np.flatnonzero(at >= 0), at[at >= 0]] = 1.0
    weights = [every.duration * (every.states[:, node] == s) for s in range(1, card)]
    jumps = np.flatnonzero(every.node == node)
    before = every.before[jumps]
    for x in range(card):
        for y in range(card):
            if x != y:
                mine = before[(every.states[before, node] == x) & (every.target[jumps] == y)]
                weights.append(np.bincount(mine, minlength=len(z)).astype(float))
    return np.stack([z.T @ (w[:, None] * z) for w in weights]), np.array([w.sum() for w in weights])


@pytest.mark.parametrize("tile", [128, 3])
def test_moments_are_those_of_all_stretches(tile, monkeypatch):
    monkeypatch.setattr(path_moments, "TILE", tile)  # compiled code has its own; tiles are cut here
    if tile != 128:
        monkeypatch.setattr(path_moments, "_pair_times", path_moments._pair_times.py_func)
    paths, (place, width) = some_paths(), columns()
    moments = PathMoments(paths, place, width)
    for node, card in enumerate(CARDS):
        single, total, pair = moments.of([node], card)
        expected, sums = by_stretches(paths, place, width, node, card)
        np.testing.assert_allclose(pair[0], expected, atol=1e-9)
        np.testing.assert_allclose(total[0], sums, atol=1e-9)
        np.testing.assert_allclose(single[0], np.diagonal(expected, axis1=1, axis2=2), atol=1e-9)


def test_time_of_everyone_is_that_of_all_stretches():
    paths, (place, width) = some_paths(), columns()
    pair, single, total = PathMoments(paths, place, width).everyone()
    every = paths.intervals()
    assert total == pytest.approx(every.duration.sum())
    held = [every.duration[every.states[:, i] == s].sum() for i in range(len(CARDS)) for s in range(1, CARDS[i])]
    at = [place[i, s] for i in range(len(CARDS)) for s in range(1, CARDS[i])]
    np.testing.assert_allclose(single[at], held)
    np.testing.assert_allclose(pair, pair.T)


def test_many_nodes_at_once_are_as_each_alone():
    network = cl.random_network(8, max_parents=2, rng=4)
    paths = cl.simulate(network, 20, horizon=5.0, rng=5)
    place = np.stack([np.full(8, -1), np.arange(8)], 1)
    moments = PathMoments(paths, place, 8)
    together = moments.of(np.array([5, 2, 2, 7]), 2)
    for k, node in enumerate((5, 2, 2, 7)):
        for a, b in zip(together, moments.of([node], 2)):
            np.testing.assert_array_equal(a[k], b[0])
