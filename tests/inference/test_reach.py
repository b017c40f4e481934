"""Risk of reaching a state against dense matrix exponentials, and simulation against the exact answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.linalg import expm

import ctbnlearn as cl
from ctbnlearn.data.history import history
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference import reach
from ctbnlearn.learn.targets import as_target
from oracles import dense


def problem(seed):
    rng = np.random.default_rng(seed)
    net = cl.random_network(3, 2, dynamics="random", n_states=rng.integers(2, 4, 3), rng=seed)
    paths = cl.simulate(net, 4, horizon=3.0, rng=seed)
    models = {"x0": cl.GaussianNoise(0.5), "x1": cl.LabelNoise(0.2)}
    return net, cl.observe(paths, n_times=4, noise=models, missing=0.3, rng=seed)


def brute_force(net, obs, target, within):
    """Filter by expm between observations, then the exponential of the generator with the target absorbing."""
    states, q = dense.joint_states(net), dense.generator(net)
    there = np.array([all(s[i] in wanted for i, wanted in target.items()) for s in states])
    held = q.copy()
    held[there] = 0.0
    out = []
    for k in range(obs.n_trajectories):
        p, now = dense.initial(net), obs.start[k]
        for t, likelihood in sorted(dense.point_likelihoods(net, obs, k).items()):
            p = (p @ expm(q * (t - now))) * likelihood
            p, now = p / p.sum(), t
        p = p @ expm(q * (obs.end[k] - now))
        out.append([p @ expm(held * w) @ there for w in within])
    return np.array(out)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("target", [{0: [1]}, {0: [0], 2: [1]}])
def test_risk_equals_the_absorbing_chain(seed, target):
    net, obs = problem(seed)
    within = np.array([1.5, 0.2, 40.0])
    states = as_target(
        {net.names[i]: [net.variables[i].states[x] for x in xs] for i, xs in target.items()}, net.variables
    )
    found, engine = reach.reach(net, obs, states, within)
    assert engine == "exact"
    np.testing.assert_allclose(found, brute_force(net, obs, target, within), atol=1e-10)


@pytest.mark.parametrize("target", [{"x0": -1}, {"x0": 1, "x2": -1}])
def test_simulation_agrees_with_the_exact_answer(target):
    net = cl.random_network(4, 2, coupling=0.8, rng=5)
    obs = cl.observe(cl.simulate(net, 6, horizon=2.0, rng=1), n_times=5, missing=0.4, rng=2)
    obs = history(obs, obs.end - 0.4)  # nothing seen just before the end: states there are drawn
    states, within = as_target(target, net.variables), np.array([0.3, 1.0])
    exact = reach.reach(net, obs, states, within)[0]
    drawn = reach.simulated(net, obs, states, within, draws=4000)
    error = np.sqrt(exact * (1 - exact) / 4000)
    assert (np.abs(drawn - exact) <= 5 * error + 1e-9).all()  # draws of one chain, nearly independent


def test_a_variable_set_from_outside_does_not_change_the_risk_of_others():
    """Without edges: the risk of one variable is exact whatever was done to another, which takes the simulation."""
    net = cl.random_network(2, 0, dynamics="random", rng=1)
    obs = cl.observe(cl.simulate(net, 5, horizon=2.0, rng=1), n_times=4, rng=2)
    states, within = as_target({"x0": net.variables[0].states[1]}, net.variables), np.array([0.5])
    given = pa.table({"unit": [0, 3], "start": [0.5, 0.2], "end": [1.0, 0.4], "variable": ["x1", "x1"]})
    exact = reach.reach(net, obs, states, within)[0]
    found, engine = reach.reach(net, obs.with_interventions(given), states, within)
    assert engine == "simulation"
    assert (np.abs(found - exact) <= 5 * np.sqrt(exact * (1 - exact) / reach.DRAWS) + 1e-9).all()


def test_first_time_is_that_of_the_paths_themselves():
    net = cl.random_network(3, 2, n_states=3, dynamics="random", rng=2)
    paths = cl.simulate(net, 60, horizon=2.0, rng=3)
    target = {0: np.array([False, True, False]), 2: np.array([True, False, True])}
    expected = []
    for k in range(60):
        x = paths.initial[k].copy()
        rows = range(paths.offsets[k], paths.offsets[k + 1])
        hit = 0.0 if all(target[i][x[i]] for i in target) else np.inf
        for r in rows:
            x[paths.nodes[r]] = paths.targets[r]
            if hit == np.inf and all(target[i][x[i]] for i in target):
                hit = paths.times[r]
        expected.append(hit)
    assert 5 < np.isfinite(expected).sum() < 60
    np.testing.assert_array_equal(reach.first_time(paths, target), expected)


def test_futures_begin_where_they_are_told_to():
    from ctbnlearn.model.simulation import simulate_from

    net = cl.random_network(3, 2, rng=0)
    starts = np.array([[0, 1, 1], [1, 0, 1]] * 50)
    paths = simulate_from(net, starts, 0.7, rng=1)
    np.testing.assert_array_equal(paths.initial, starts)
    assert paths.end.tolist() == [0.7] * 100
    q, states = dense.generator(net), dense.joint_states(net)
    many = simulate_from(net, np.tile([0, 1, 1], (20000, 1)), 0.7, rng=2)
    last = many.lookup(np.arange(20000), many.end)
    share = np.array([(last == s).all(1).mean() for s in states])
    expected = expm(q * 0.7)[states.index((0, 1, 1))]
    assert np.abs(share - expected).max() < 5 * np.sqrt(0.25 / 20000)


def test_history_ends_where_asked():
    _, obs = problem(1)
    until = np.array([1.0, 0.0, 2.5, 9.0])
    known = history(obs, until)
    np.testing.assert_array_equal(known.end, [1.0, 0.0, 2.5, 3.0])
    for s, t in zip(known.series, obs.series):
        for k in range(4):
            rows = t.times[t.offsets[k] : t.offsets[k + 1]]
            assert s.times[s.offsets[k] : s.offsets[k + 1]].tolist() == rows[rows <= until[k]].tolist()


@pytest.mark.parametrize(
    ("target", "within", "words"),
    [
        ({}, 1.0, "say what is to be reached"),
        ({"nobody": 1}, 1.0, "no variable 'nobody'"),
        ({"x0": 7}, 1.0, "no state 7"),
        ({"x0": [-1, 1]}, 1.0, "some must count and some not"),
        ({"x0": 1}, 0.0, "positive time"),
        ({"x0": 1}, [1.0, np.nan], "positive time"),
        ({"x0": 1}, "soon", "positive time"),
    ],
)
def test_bad_questions_are_refused(target, within, words):
    net = cl.random_network(2, rng=0)
    obs = cl.observe(cl.simulate(net, 30, horizon=2.0, rng=1), n_times=5, rng=2)
    learner = cl.StructureLearner(inference=cl.Exact(max_iter=3, tol=10.0)).fit(obs)
    with pytest.raises(ParameterError, match=words):
        learner.risk(obs, target, within)
