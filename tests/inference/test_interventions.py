"""Paths of variables that were set from outside at times: against a joint chain with a generator for every stretch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.linalg import expm

import ctbnlearn as cl
from ctbnlearn.inference import gibbs, path_state, sampled
from ctbnlearn.structure import set_draws

CARDS = (2, 3)  # a drives b, and b drives a


def network():
    rng = np.random.default_rng(3)
    variables = [cl.Variable("a", (0, 1)), cl.Variable("b", (0, 1, 2))]
    rates = {"a": rng.uniform(0.3, 2.0, (3, 2, 2)), "b": rng.uniform(0.3, 2.0, (2, 3, 3))}
    for r in rates.values():
        for m in r:
            np.fill_diagonal(m, 0.0)
            np.fill_diagonal(m, -m.sum(1))
    return cl.CTBN(variables, {"a": ["b"], "b": ["a"]}, rates, {"a": [0.3, 0.7], "b": [0.2, 0.5, 0.3]})


def generator(net, held, calm):
    """Joint generator on states (a, b) in C order; a variable that is held has no rates but `calm`."""
    out = np.zeros((6, 6))
    for a in range(2):
        for b in range(3):
            for x in range(2):
                if x != a:
                    out[3 * a + b, 3 * x + b] = calm if "a" in held else net.cims[0][b, a, x]
            for y in range(3):
                if y != b:
                    out[3 * a + b, 3 * a + y] = calm / 2 if "b" in held else net.cims[1][a, b, y]
    np.fill_diagonal(out, -out.sum(1))
    return out


def marginals(net, seen, held, value, low, high, end, queries):
    """Forward-backward on the joint chain; `held` is set to `value` (None: any) from low to high."""
    calm = gibbs.CALM / end if value is None else 0.0
    shape = np.zeros((6, 6))
    for s in range(6):
        for t in range(6):
            kept = s % 3 == t % 3 if held == "a" else s // 3 == t // 3
            took = t // 3 if held == "a" else t % 3
            if kept and value in (None, took):
                shape[s, t] = 1.0 / CARDS[held == "b"] if value is None else 1.0
    events = sorted({0.0, low, high, end, *queries, *(t for t, *_ in seen)})
    free, stuck = generator(net, "", 0.0), generator(net, held, calm)
    first = np.outer([0.3, 0.7], [0.2, 0.5, 0.3]).reshape(-1)

    def likelihood(t):
        out = np.ones(6)
        for when, name, code in seen:
            if when == t:
                out *= [(s // 3 if name == "a" else s % 3) == code for s in range(6)]
        return out

    forward, before = {}, first
    for k, t in enumerate(events):
        if k:
            gap = t - events[k - 1]
            before = before @ expm(gap * (stuck if low <= events[k - 1] < high else free))
        if t == low:
            before = before @ shape
        before = before * likelihood(t)
        forward[t] = before
    after, out = np.ones(6), {}
    for k in range(len(events) - 1, -1, -1):
        t = events[k]
        joint = forward[t] * after
        out[t] = joint / joint.sum()
        after = after * likelihood(t)
        if t == low:
            after = shape @ after
        if k:
            after = expm((t - events[k - 1]) * (stuck if low <= events[k - 1] < high else free)) @ after
    return np.stack([out[q] for q in queries])


@pytest.mark.parametrize("value", [None, 1])
@pytest.mark.parametrize("held", ["a", "b"])
@pytest.mark.parametrize("low", [0.0, 0.7])
def test_paths_of_set_variables_follow_their_posterior(held, value, low):
    net, end, high = network(), 3.0, 1.9
    seen = [(0.4, "b", 2), (1.2, "a", 0), (2.5, "b", 0), (2.8, "a", 1)]
    if value is not None:  # what is seen while it is set is what it was set to
        seen = [(t, v, value if v == held and low <= t < high else code) for t, v, code in seen]
    table = {"id": [0] * 4, "time": [t for t, *_ in seen]}
    for name in ("a", "b"):
        table[name] = [code if v == name else None for _, v, code in seen]
    states = {"a": [0, 1], "b": [0, 1, 2]}
    clamp = {"id": [0], "start": [low], "end": [high], "variable": [held]}
    if value is not None:
        clamp["value"] = [value]
    obs = cl.read_table(
        pa.table(table),
        trajectory="id",
        states=states,
        start=0.0,
        end=end,
        allow_unseen=True,
        interventions=pa.table(clamp),
    )
    queries = np.array([0.2, 0.9, 1.5, 2.1, 3.0])
    found = sampled.smooth(net, obs, queries, sweeps=20_000, burn_in=100, rng=5)
    joint = marginals(net, seen, held, value, low, high, end, queries).reshape(-1, 2, 3)
    np.testing.assert_allclose(found["a"][0], joint.sum(2), atol=0.02)
    np.testing.assert_allclose(found["b"][0], joint.sum(1), atol=0.02)


def test_what_happens_while_a_variable_is_set_does_not_count_for_it():
    rng = np.random.default_rng(0)
    net = cl.random_network(3, max_parents=2, rng=1)
    paths = cl.simulate(net, n_trajectories=6, horizon=5.0, rng=2)
    obs = cl.observe(paths, n_times=4, rng=3)
    rows = {"unit": [], "start": [], "end": [], "variable": []}
    for k in range(6):
        for name in net.names[:2]:
            for low in (0.5, 3.0):
                low, high = low + rng.random(), low + 1 + rng.random()
                for key, v in zip(rows, (k, low, high, name)):
                    rows[key].append(v)
    seen = path_state.gather(obs.with_interventions(pa.table(rows)))
    jumps = [
        [(paths.times[r], paths.nodes[r], paths.targets[r]) for r in range(a, b)]
        for a, b in zip(paths.offsets, paths.offsets[1:])
    ]
    held = path_state.first_paths(seen, 0)
    first, count, times, states, at = np.zeros((6, 3), int), np.zeros((6, 3), int), [], [], 0
    for k in range(6):
        for i in range(3):
            mine = [(t, x) for t, node, x in jumps[k] if node == i]
            first[k, i], count[k, i], at = at, len(mine), at + len(mine)
            times += [t for t, _ in mine]
            states += [x for _, x in mine]
    held = held._replace(
        begin=paths.initial.astype(np.int16),
        first=first,
        count=count,
        times=np.array(times),
        states=np.array(states, np.int16),
    )
    size = np.array([2, 2, 2])
    members = np.array([[1, 2], [0, 2], [0, 1]])
    stride = np.array([[0, 2, 1], [2, 0, 1], [2, 1, 0]])
    pools = set_draws.Pools(
        size, size, members, np.zeros(3, bool), stride, np.full(3, 4), np.array([0, 8, 16]), np.array([0, 16, 32]),
        np.zeros(24), np.zeros(48),
    )  # fmt: skip
    set_draws.count_paths(seen, held, pools)
    dwell, moves = np.zeros((3, 4, 2)), np.zeros((3, 4, 2, 2))
    clamps = {(u, v, a, b) for u, v, a, b in zip(rows["unit"], rows["variable"], rows["start"], rows["end"])}
    for k in range(6):
        state = paths.initial[k].copy()
        cuts = {0.0, 5.0, *(t for t, *_ in jumps[k]), *(t for u, _, *ab in clamps if u == k for t in ab)}
        events = {t: (node, x) for t, node, x in jumps[k]}
        grid = sorted(cuts)
        for low, high in zip(grid, grid[1:]):
            for i in range(3):
                inside = any(u == k and v == net.names[i] and a <= low < b for u, v, a, b in clamps)
                code = sum(stride[i, j] * state[j] for j in range(3))
                if not inside:
                    dwell[i, code, state[i]] += high - low
                if not inside and high in events and events[high][0] == i:
                    moves[i, code, state[i], events[high][1]] += 1
            if high in events:
                state[events[high][0]] = events[high][1]
    np.testing.assert_allclose(pools.dwell.reshape(3, 4, 2), dwell, atol=1e-12)
    np.testing.assert_array_equal(pools.moves.reshape(3, 4, 2, 2), moves)
    assert moves.sum() < paths.n_transitions


def test_a_variable_that_is_let_go_may_move_before_it_is_seen_again():
    """Set to 0 until shortly before it is seen in another state: there must be a path for it from the start."""
    n = 200
    rows = {
        "id": np.repeat(np.arange(n), 3),
        "time": np.tile([0.0, 1.0, 2.0], n),
        "a": np.tile([1, 0, 1], n),
        "b": np.tile([0, 1, 0], n),
    }
    clamp = {"id": np.arange(n), "start": [0.5] * n, "end": [1.95] * n, "variable": ["a"] * n, "value": [0] * n}
    obs = cl.read_table(pa.table(rows), trajectory="id", interventions=pa.table(clamp))
    net = cl.CTBN(obs.variables, {"a": [], "b": []}, {"a": [[-1, 1], [1, -1]], "b": [[-1, 1], [1, -1]]})
    found = sampled.smooth(net, obs, [1.0, 1.9, 2.0], sweeps=20, burn_in=5)
    np.testing.assert_array_equal(found["a"][..., 1], np.tile([0.0, 0.0, 1.0], (n, 1)))
