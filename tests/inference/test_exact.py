"""Exact inference against another program's answers and against dense matrix exponentials."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import ctbnlearn as cl
from ctbnlearn.errors import ImpossibleEvidenceError, ModelError, ParameterError
from oracles import dense
from oracles.reference_networks import load_query


def problem(seed, noise=True):
    """A random network of 2 to 4 nodes, two irregular trajectories with holes and every observation model."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    cards = rng.integers(2, 4 if n < 4 else 3, n)
    base = cl.random_network(n, 2, dynamics="random", n_states=cards, rng=seed)
    table = rng.dirichlet(np.ones(cards[0]), cards[1])
    net = cl.CTBN(
        base.variables,
        {name: [base.names[j] for j in ps] for name, ps in zip(base.names, base.parents)},
        {name: base.rates(name) for name in base.names},
        {"x0": (["x1"], table), "x1": rng.dirichlet(np.ones(cards[1]))},
    )
    paths = cl.simulate(net, 2, horizon=3.0, rng=seed)
    models = {"x0": cl.GaussianNoise(0.5), "x1": cl.LabelNoise(0.2)} if noise else None
    return net, paths, cl.observe(paths, n_times=5, noise=models, missing=0.4, rng=seed)


@pytest.mark.parametrize("seed", range(12))
def test_smoothing_filtering_and_evidence_equal_brute_force(seed):
    net, _, obs = problem(seed)
    times = np.array([0.0, 0.3, 1.7, float(obs.series[-1].times[0]) if len(obs.series[-1].times) else 1.0, 3.0, 4.5])
    smoothed = cl.exact.smooth(net, obs, times)
    filtered = cl.exact.filter(net, obs, times)
    evidence = cl.exact.log_evidence(net, obs)
    for k in range(2):
        assert evidence[k] == pytest.approx(np.log(dense.forward_backward(net, obs, k)[3]), abs=1e-10)
        for i, name in enumerate(net.names):
            np.testing.assert_allclose(smoothed[name][k], dense.smooth(net, obs, k, times)[i], atol=1e-10)
            np.testing.assert_allclose(
                filtered[name][k], dense.smooth(net, obs, k, times, filtered=True)[i], atol=1e-10
            )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("noise", [True, False])
def test_expected_statistics_equal_brute_force(seed, noise):
    net, _, obs = problem(seed, noise)
    everything = [tuple(j for j in range(len(net.names)) if j != i) for i in range(len(net.names))]
    names = {net.names[i]: [net.names[j] for j in ps] for i, ps in enumerate(everything)}
    for parents, sets in ((None, net.parents), (names, everything)):
        stats = cl.exact.expected_statistics(net, obs, parents=parents)
        dwell, moves = dense.expected_statistics(net, obs, sets)
        for i, ps in enumerate(sets):
            shape = tuple(net.n_states[j] for j in ps)
            got_dwell = stats.dwell[i].reshape(*shape, -1)
            got_moves = stats.transitions[i].reshape(*shape, net.n_states[i], net.n_states[i])
            for (u, x), value in dwell[i].items():
                assert got_dwell[(*u, x)] == pytest.approx(value, abs=1e-8)
            for (u, x, y), value in moves[i].items():
                assert got_moves[(*u, x, y)] == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_time_is_conserved_and_flows_balance(seed):
    """Dwell sums to the window; in minus out of a state is its final minus its initial probability."""
    net, paths, obs = problem(seed)
    stats = cl.exact.expected_statistics(net, obs)
    ends = cl.exact.smooth(net, obs, [0.0, 3.0])
    for i, name in enumerate(net.names):
        assert stats.dwell[i].sum() == pytest.approx((paths.end - paths.start).sum(), abs=1e-9)
        moves = stats.transitions[i].sum(0)
        change = ends[name][:, 1].sum(0) - ends[name][:, 0].sum(0)
        np.testing.assert_allclose(moves.sum(0) - moves.sum(1), change, atol=1e-9)
        np.testing.assert_allclose(stats.initial[i], ends[name][:, 0].sum(0), atol=1e-12)


def test_answers_of_another_program(shared_data):
    net, segments, answers = load_query(shared_data)
    stats = cl.exact.expected_statistics(net, segments)
    assert stats.dwell[1].sum(0)[1] == pytest.approx(8.1538, abs=5e-5)
    assert stats.transitions[1].sum(0)[0, 1] == pytest.approx(42.5293, abs=5e-5)
    expected = answers["log_evidence_density_recomputed"]
    assert cl.exact.log_evidence(net, segments)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("arguments", [{"horizon": 3.0}, {"n_transitions": 7}])
def test_complete_paths_as_evidence_give_back_the_counts(arguments):
    net = cl.random_network(3, 2, dynamics="random", n_states=[2, 3, 2], rng=3)
    paths = cl.simulate(net, 5, rng=0, **arguments)
    parents = {net.names[i]: [net.names[j] for j in ps] for i, ps in enumerate(net.parents)}
    got, counted = cl.exact.expected_statistics(net, paths), cl.count_statistics(paths, parents)
    likelihood = -len(paths) * np.log(12)
    for i, cim in enumerate(net.cims):
        np.testing.assert_allclose(got.dwell[i], counted.dwell[i], atol=1e-12)
        np.testing.assert_allclose(got.transitions[i], counted.transitions[i], atol=1e-12)
        off = ~np.eye(cim.shape[-1], dtype=bool)
        likelihood += (counted.transitions[i] * np.log(np.where(off, cim, 1))).sum()
        likelihood -= (counted.dwell[i][..., None] * np.where(off, cim, 0)).sum()
    assert cl.exact.log_evidence(net, paths).sum() == pytest.approx(likelihood, abs=1e-9)


def test_continuous_evidence_with_gaps_equals_many_point_observations():
    """Watching a variable at ever closer times tends to watching it without a break."""
    net = cl.random_network(3, 2, dynamics="random", n_states=2, rng=1)
    segments = cl.Segments.from_rows(net.variables, [(0, "x0", 0.5, 1.5, 1), (0, "x2", 1.0, 2.0, 0)], end=3.0)
    watched = cl.exact.smooth(net, segments, [0.2, 1.2, 2.5])
    gaps = []
    for n in (200, 400):
        grids = np.linspace(0.5, 1.5, n + 1), np.linspace(1.0, 2.0, n + 1)
        times = np.unique(np.concatenate(grids))
        rows = []
        for i, state in ((0, [0.0, 1.0]), (1, None), (2, [1.0, 0.0])):
            table = np.ones((len(times), 2))
            if state is not None:
                table[np.isin(times, grids[0] if i == 0 else grids[1])] = state
            rows.append(table)
        obs = cl.Observations.from_likelihoods([times], [rows], net.variables, start=0.0, end=3.0)
        points = cl.exact.smooth(net, obs, [0.2, 1.2, 2.5])
        gaps.append(max(np.abs(points[v] - watched[v]).max() for v in net.names))
    assert gaps[1] < 2e-3
    assert gaps[1] < 0.6 * gaps[0]  # first order in the spacing


def test_points_and_stretches_together():
    """A stretch that adds nothing to what points say changes nothing; both kinds of evidence combine."""
    net = cl.random_network(2, 1, rng=1)
    paths = cl.simulate(net, 2, horizon=2.0, rng=0)
    obs = cl.observe(paths, times=[0.7, 1.9], rng=0)
    both = cl.exact.log_evidence(net, [obs, paths])
    np.testing.assert_allclose(both, cl.exact.log_evidence(net, paths), atol=1e-10)
    noisy = cl.observe(paths, times=[0.7, 1.9], noise=cl.GaussianNoise(0.3), rng=0)
    expected = cl.exact.log_evidence(net, paths)
    for s, i in zip(noisy.series, range(2)):
        truth = paths.lookup(np.repeat(np.arange(2), 2), s.times)[:, i]
        expected = expected + s.log_likelihood()[np.arange(4), truth].reshape(2, 2).sum(1)
    np.testing.assert_allclose(cl.exact.log_evidence(net, [noisy, paths]), expected, atol=1e-10)


def test_blocks_of_trajectories_do_not_matter(monkeypatch):
    from ctbnlearn.inference import exact

    net, _, obs = problem(3)
    whole = cl.exact.expected_statistics(net, obs)
    monkeypatch.setattr(exact, "BLOCK_BYTES", 1)
    parts = cl.exact.expected_statistics(net, obs)
    for a, b in zip(whole.dwell + whole.transitions, parts.dwell + parts.transitions):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_long_gaps_close_times_and_far_outliers():
    net = cl.random_network(4, 2, coupling=3.0, rng=2)
    rows = [[0.0, 1e-9, 300.0]]
    up, down = [0.0, 1.0], [1.0, 0.0]
    flips = [[[down, up, down]] * 4]
    obs = cl.Observations.from_likelihoods(rows, flips, net.variables)
    value = cl.exact.log_evidence(net, obs)[0]
    q = dense.generator(net)
    leading = np.linalg.matrix_power(q, 4)[0, 15] / 24 * 1e-36  # four flips within 1e-9
    assert value == pytest.approx(np.log(leading / 16 * expm(q * 300.0)[15, 0]), abs=1e-6)
    stats = cl.exact.expected_statistics(net, obs)
    assert sum(d.sum() for d in stats.dwell) == pytest.approx(4 * 300.0)
    far = cl.observe(cl.simulate(net, 1, horizon=1.0, rng=0), times=[0.5], noise=cl.GaussianNoise(1e-6), rng=0)
    far.series[0].values[:] = 50.0
    assert np.isfinite(cl.exact.log_evidence(net, far)).all()


def test_impossible_evidence_is_named():
    net = cl.CTBN({"a": (0, 1)}, {}, {"a": [[-1, 1], [0, 0]]})
    obs = cl.Observations.from_likelihoods(
        [[0.0, 1.0], [0.0, 2.0]], [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], {"a": (0, 1)}, ids=["fine", "odd"]
    )
    with pytest.raises(ImpossibleEvidenceError, match=r"trajectory 'odd'.*time 2\.0"):
        cl.exact.log_evidence(net, obs)
    twins = cl.Paths.from_trajectories({"a": (0, 1), "b": (0, 1)}, [([0, 0], [(1.0, "a", 1), (1.0, "b", 1)], 2.0)])
    pair = cl.CTBN(twins.variables, {}, {n: [[-1, 1], [1, -1]] for n in "ab"})
    with pytest.raises(ImpossibleEvidenceError, match="two variables jump at the same time"):
        cl.exact.log_evidence(pair, twins)


def test_absorbing_and_motionless_networks():
    still = cl.CTBN({"a": (0, 1), "b": (0, 1)}, {}, {"a": np.zeros((2, 2)), "b": np.zeros((2, 2))})
    obs = cl.Observations.from_likelihoods([[0.0, 2.0]], [[[[1, 0], [1, 0]], [[0.3, 0.6], [1, 1]]]], still.variables)
    assert cl.exact.log_evidence(still, obs)[0] == pytest.approx(np.log(0.5 * 0.45))
    stats = cl.exact.expected_statistics(still, obs)
    np.testing.assert_allclose(stats.dwell[1][0], [2 / 3, 4 / 3])
    assert not any(m.any() for m in stats.transitions)


def test_refusals():
    net, paths, obs = problem(1)
    with pytest.raises(ParameterError, match="before the start"):
        cl.exact.smooth(net, obs.select([0]), [-1.0])
    with pytest.raises(ParameterError, match="variables"):
        cl.exact.log_evidence(cl.random_network(5, rng=0), obs)
    with pytest.raises(ParameterError, match="evidence must be"):
        cl.exact.log_evidence(net, "data.csv")
    with pytest.raises(ParameterError, match="needs a CTBN"):
        cl.exact.log_evidence("net", obs)
    with pytest.raises(ParameterError, match="trajectories of observations"):
        cl.exact.log_evidence(net, [obs.select([0]), paths])
    big = cl.random_network(30, rng=0)
    with pytest.raises(ModelError, match="fewer variables"):
        cl.exact.amalgamate(big)


def test_times_beyond_reach_are_refused_at_once():
    net = cl.random_network(2, rng=1)
    obs = cl.observe(cl.simulate(net, 2, horizon=2.0, rng=2), n_times=3, rng=3)
    with pytest.raises(cl.CtbnlearnError, match="mean dwell times"):
        cl.exact.smooth(net, obs, [0.5, 1e22])
