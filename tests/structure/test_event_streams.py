"""Counts from streams of events against plain counts of rows, bit for bit."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctbnlearn as cl
from ctbnlearn.structure import family_counts
from ctbnlearn.structure.event_streams import EventStreams
from ctbnlearn.structure.family_counts import FamilyCounts
from ctbnlearn.structure.tables import EventTables


def random_paths(seed):
    """Paths with jumps at one time, jumps at the very start, empty trajectories and windows anywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    variables = [cl.Variable(f"v{i}", tuple(range(int(rng.integers(2, 5))))) for i in range(n)]
    trajectories = []
    for _ in range(int(rng.integers(1, 5))):
        start = float(rng.choice([0.0, 3.25, 17.1]))
        state = [int(rng.integers(v.n_states)) for v in variables]
        first, jumps, now = list(state), [], start
        for _ in range(int(rng.integers(0, 25))):
            now += float(rng.choice([0.0, 0.25, rng.exponential()]))
            i = int(rng.integers(n))
            if any(t == now and name == variables[i].name for t, name, _ in jumps):
                continue
            state[i] = int(rng.choice([s for s in range(variables[i].n_states) if s != state[i]]))
            jumps.append((now, variables[i].name, state[i]))
        trajectories.append((first, jumps, now + float(rng.choice([0.0, 1.5])), start))
    return cl.Paths.from_trajectories(variables, trajectories)


def plain_counts(paths, node, members, tick):
    """Whole ticks and moves row by row."""
    rows = paths.intervals()
    cards = [v.n_states for v in paths.variables]
    dwell = np.zeros((*(cards[j] for j in members), cards[node]), np.int64)
    moves = np.zeros((*dwell.shape, cards[node]), np.int64)
    for r in range(len(rows.duration)):
        dwell[tuple(rows.states[r, [*members, node]])] += int(np.rint(rows.duration[r] / tick))
        if rows.node[r] == node:
            moves[(*rows.states[rows.before[r], [*members, node]], rows.target[r])] += 1
    return dwell.reshape(-1, cards[node]), moves.reshape(-1, cards[node], cards[node])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_counts_equal_plain_counts_bit_for_bit(seed):
    paths = random_paths(seed)
    n = len(paths.variables)
    events = EventStreams(paths)
    rng = np.random.default_rng(seed)
    for node in range(n):
        counts = FamilyCounts(events, node)
        others = rng.permutation([j for j in range(n) if j != node])
        for size in range(n):
            members = tuple(int(j) for j in others[:size])
            expected = plain_counts(paths, node, members, events.tick)
            for found, plain in zip(counts.table(members), expected):
                np.testing.assert_array_equal(found, plain)
            names = [paths.names[j] for j in members]
            stats = cl.count_statistics(paths, {paths.names[node]: names})
            np.testing.assert_array_equal(expected[1], stats.transitions[node])
            scale = max(1.0, float((paths.end - paths.start).sum()))
            np.testing.assert_allclose(expected[0] * events.tick, stats.dwell[node], rtol=0, atol=1e-12 * scale)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([1, 8, 1 << 20]))
def test_growing_a_family_in_any_order_counts_the_same(seed, most):
    paths = random_paths(seed)
    n = len(paths.variables)
    events = EventStreams(paths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family_counts, "MOST_STATES", most)
        patch.setattr(family_counts, "KEPT", 2)
        for order in list(permutations(range(1, n)))[:6]:
            counts = FamilyCounts(events, 0)
            for size in range(n):
                grown = counts.table(order[:size])
                for found, plain in zip(grown, plain_counts(paths, 0, order[:size], events.tick)):
                    np.testing.assert_array_equal(found, plain)


def test_extensions_are_the_tables_of_the_larger_sets():
    paths = cl.simulate(cl.random_network(5, 3, dynamics="random", n_states=3, rng=1), 5, horizon=4.0, rng=2)
    events = EventStreams(paths)
    counts = FamilyCounts(events, 2)
    for j, (dwell, moves) in zip((0, 4), counts.extensions((1, 3), (0, 4))):
        time, jumps = plain_counts(paths, 2, (1, 3, j), events.tick)
        np.testing.assert_array_equal(np.moveaxis(dwell.reshape(3, 27), 0, 1), time)
        np.testing.assert_array_equal(np.moveaxis(moves.reshape(3, 27, 3), 0, 1), jumps)


def test_summing_a_joint_table_counts_the_same():
    """Many trajectories and few states: one joint table for all sets, the same as a table for each."""
    paths = cl.simulate(cl.random_network(4, 2, rng=3), 300, horizon=5.0, rng=4)
    tables = EventTables(paths)
    sets = cl.StructureLearner().fit(paths).parent_sets_[1]
    (*groups,) = tables.groups(1, sets)
    assert sum(len(g.index) for g in groups) == 8
    for group in groups:
        for k, dwell, moves in zip(group.index, group.dwell, group.transitions):
            time, jumps = tables.counts(1).table(sets.numbers(int(k)))
            np.testing.assert_array_equal(dwell, time * tables.events.tick)
            np.testing.assert_array_equal(moves, jumps)
