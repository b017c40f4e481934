"""The variational engine against exact inference, autodiff and its own symmetries."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import ctbnlearn as cl
from ctbnlearn.errors import ImpossibleEvidenceError, ParameterError
from ctbnlearn.inference import engine as engines
from ctbnlearn.inference import variational as kernels
from ctbnlearn.inference.contract import Effort, PathRates
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.engine import PathEngine
from ctbnlearn.inference.grid import bucket, build_blocks, cells_per_gap
from ctbnlearn.inference.padded_rates import PaddedRates
from ctbnlearn.inference.propagator import exponential
from padding import pad

STEPS = (0.5, 0.25, 0.125, 0.0625)  # each half of the one before


def example(n=3, coupling=0.6, seed=1, n_trajectories=6, noise=0.2, **arguments):
    net = cl.random_network(n, 2, coupling=coupling, rng=seed)
    paths = cl.simulate(net, n_trajectories, horizon=4.0, rng=seed)
    return net, cl.observe(paths, n_times=6, noise=cl.GaussianNoise(variance=noise), rng=seed, **arguments)


def totals(stats):
    """Dwell and transition totals of every node, whatever its parents do."""
    return [d.sum(0) for d in stats.dwell], [m.sum(0) for m in stats.transitions]


@pytest.mark.parametrize("n_states", [2, 3, 4])
def test_exponentials_equal_expm(n_states):
    rng = np.random.default_rng(n_states)
    off = rng.gamma(1.0, 1.0, (2, n_states, n_states, 5, 3)) * (1 - np.eye(n_states))[None, :, :, None, None]
    off[0, :, :, 0] *= 0.0  # a generator without any transition
    off[1, 0, 1, 1] = 0.0  # and one with a forbidden one
    diagonal = rng.normal(-1, 2, (2, n_states, 5, 3))
    dt = np.array([0.0, 1e-8, 0.1, 1.0, 8.0])[:, None] * np.ones(3)
    with jax.enable_x64(True):
        matrix, log_scale = (np.asarray(a) for a in exponential(off, diagonal, dt))
        slope = jax.grad(lambda o: jnp.sum(exponential(o, diagonal, dt)[0]))(off)
    assert np.isfinite(slope).all()
    for i, c, b in np.ndindex(2, 5, 3):
        g = off[i, :, :, c, b] + np.diag(diagonal[i, :, c, b])
        expected = expm(g * dt[c, b])
        found = np.exp(log_scale[i, c, b]) * matrix[i, :, :, c, b]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * expected.max())


@pytest.mark.parametrize("step", [10.0, 0.7, 0.1])
@pytest.mark.parametrize("cards", [[2, 2], [2, 3, 4]])
def test_uncoupled_networks_are_exact_at_any_step(monkeypatch, step, cards):
    pad(monkeypatch, 64, 8, 1, 1)
    net = cl.random_network(len(cards), 0, dynamics="random", n_states=cards, rng=3)
    paths = cl.simulate(net, 4, horizon=3.0, rng=1)
    obs = cl.observe(paths, n_times=5, noise={"x0": cl.GaussianNoise(0.4)}, missing=0.3, rng=2)
    np.testing.assert_allclose(
        cl.variational.log_evidence(net, obs, step=step), cl.exact.log_evidence(net, obs), atol=1e-10
    )
    times = [0.0, 0.4, 2.9, 3.0, 4.0]
    ours, exact = cl.variational.smooth(net, obs, times, step=step), cl.exact.smooth(net, obs, times)
    for name in net.names:
        np.testing.assert_allclose(ours[name], exact[name], atol=1e-10)
    a, b = cl.variational.expected_statistics(net, obs, step=step), cl.exact.expected_statistics(net, obs)
    for x, y in zip(a.dwell + a.transitions + a.initial, b.dwell + b.transitions + b.initial):
        np.testing.assert_allclose(x, y, atol=1e-8)


def test_rates_that_ignore_their_parents_are_exact_too():
    net, obs = example(coupling=0.0)
    np.testing.assert_allclose(
        cl.variational.log_evidence(net, obs, step=1.0), cl.exact.log_evidence(net, obs), atol=1e-10
    )
    times = np.linspace(0, 4, 7)
    ours, exact = cl.variational.smooth(net, obs, times, step=1.0), cl.exact.smooth(net, obs, times)
    for name in net.names:
        np.testing.assert_allclose(ours[name], exact[name], atol=1e-10)


def test_coupled_quantities_converge_at_second_order():
    """On a regular grid, halving the step divides the change of every quantity by four."""
    net = cl.random_network(3, 2, coupling=0.6, rng=1)
    paths = cl.simulate(net, 4, horizon=4.0, rng=1)
    obs = cl.observe(paths, times=np.arange(0.0, 4.5, 1.0), noise=cl.GaussianNoise(0.3), rng=1)
    found = []
    for step in STEPS:
        engine = PathEngine(obs, step)
        value, joint, _ = engine.expect(PathRates.of_network(net), Effort(1e-12, 2000))
        middle = cl.variational.smooth(net, obs, [1.5], step=step)["x1"][:, 0, 0]
        found.append(
            np.concatenate(
                [[value.sum()], *(d.reshape(-1) for d in joint.dwell), joint.transitions[1].reshape(-1), middle]
            )
        )
    changes = np.abs(np.diff(found, axis=0))
    overall = np.linalg.norm(changes, axis=1)
    slopes = np.log2(overall[:-1] / overall[1:])
    assert ((slopes > 1.7) & (slopes < 2.4)).all(), slopes
    # the objective of each trajectory: errors have either sign, so those of a sum may cancel at one step
    objective = [cl.variational.log_evidence(net, obs, step=step) for step in STEPS]
    errors = np.linalg.norm(np.diff(objective, axis=0), axis=1)
    slope_of_f = np.log2(errors[:-1] / errors[1:])
    assert ((slope_of_f > 1.7) & (slope_of_f < 2.4)).all(), slope_of_f


@jax.jit
def mean_field_step(state, evidence, tables):
    """Half way to the best answer of every node to the others."""
    log_rates = jnp.log(jnp.where(tables.geometric > 0, tables.geometric, 1.0))
    possible = (jnp.max(tables.geometric, axis=1) > 0)[..., None, None]

    def energy(q, m, t):
        u = kernels.parent_states(q, tables)
        log = jnp.einsum("nucb,nuxy->nxycb", u, log_rates)
        return jnp.sum(m * log) - jnp.sum(t * jnp.einsum("nucb,nux->nxcb", u, tables.exit))

    u = kernels.parent_states(state.marginal, tables)
    off = possible * jnp.exp(jnp.einsum("nucb,nuxy->nxycb", u, log_rates))
    leave = jnp.einsum("nucb,nux->nxcb", u, tables.exit)
    slope = jax.grad(energy)(state.marginal, state.transitions, state.marginal * evidence.dt)
    psi = jnp.where(evidence.dt > 0, slope / jnp.maximum(evidence.dt, 1e-300), 0.0)
    new, _ = kernels.answer(off, psi - leave, evidence, tables.initial)
    return kernels.State(*(0.5 * (jnp.where(jnp.isfinite(a), a, b) + b) for a, b in zip(state, new)))


def mean_field(net, obs, step):
    """Naive mean field (Cohn et al. 2010) on the same grid: parents act through E[ln R] instead of ln E[R]."""
    engine = PathEngine(obs, step, padding=(2, 4))
    (block,) = engine.blocks
    with jax.enable_x64(True):
        evidence = engine._evidence(block)
        tables = engine._tables(PathRates.of_network(net))
        state = kernels.start(evidence, tables)
        for _ in range(60):
            state = mean_field_step(state, evidence, tables)
    keep = slice(0, len(block.trajectories))
    dwell = (np.asarray(state.marginal) * block.dt)[..., keep].sum((2, 3))
    moves = np.asarray(state.transitions)[..., keep].sum((3, 4))
    return list(dwell), list(moves)


def test_mean_field_equals_its_reference_and_bounds_the_evidence():
    net = cl.random_network(3, 2, dynamics="random", n_states=[2, 3, 2], rng=4)
    obs = cl.observe(cl.simulate(net, 6, horizon=4.0, rng=1), n_times=6, noise=cl.LabelNoise(0.1), rng=2)
    options = {"step": 0.1, "inference": "mean_field"}
    stats = cl.variational.expected_statistics(net, obs, **options)
    for found, expected in zip(totals(stats), mean_field(net, obs, options["step"])):
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b[(slice(0, len(a)),) * b.ndim], rtol=1e-3, atol=1e-4)
    exact = cl.exact.log_evidence(net, obs)
    assert (cl.variational.log_evidence(net, obs, **options) <= exact + 1e-3).all()


def test_mean_field_of_a_transition_that_needs_its_parent():
    rates = {"a": [[-1, 1], [1, -1]], "b": [[[0, 0], [1, -1]], [[-2, 2], [1, -1]]]}  # b rises only while a is 1
    net = cl.CTBN({"a": (0, 1), "b": (0, 1)}, {"b": ["a"]}, rates)
    tables = PaddedRates(PathRates.of_network(net), (2, 4), mean_field=True).tables
    q = np.array([[0.01, 0.99], [0.5, 0.5]])[:, :, None, None]
    with jax.enable_x64(True):
        off = np.asarray(kernels.mean_rates(q, tables).off)[..., 0, 0]
    np.testing.assert_allclose(off[0], [[0, 1], [1, 0]])
    np.testing.assert_allclose(off[1], [[0, 2 * 1e-30**0.01], [1, 0]], rtol=1e-6)


def relative_errors(found, exact):
    """Largest relative error of dwell and transition totals per state, against the node's totals."""
    dwell = max(np.abs(a - b).max() / b.sum() for a, b in zip(found[0], exact[0]))
    moves = max(np.abs(a - b).max() / b.sum() for a, b in zip(found[1], exact[1]))
    return np.array([dwell, moves])


def known_network_errors(coupling, sizes):
    """Over so many nodes: errors of marginals, of totals (ours, mean field) and of joint parent tables."""
    marginal, ours, rival, joint = [], [], [], []
    for n in sizes:
        for seed in (1, 2):
            net, obs = example(n, coupling, seed, n_trajectories=100)
            times = np.linspace(0, 4, 9)
            a, b = cl.variational.smooth(net, obs, times), cl.exact.smooth(net, obs, times)
            marginal.append(np.mean([np.abs(a[v] - b[v]).mean() for v in net.names]))
            stats, exact = cl.variational.expected_statistics(net, obs), cl.exact.expected_statistics(net, obs)
            ours.append(relative_errors(totals(stats), totals(exact)))
            rival.append(relative_errors(mean_field(net, obs, 0.25), totals(exact)))
            joint.append(relative_errors((stats.dwell, stats.transitions), (exact.dwell, exact.transitions)))
    return np.mean(marginal), np.array(ours), np.array(rival), np.array(joint)


@pytest.mark.parametrize("sizes", [(3,), pytest.param((2, 3, 4, 5), marks=pytest.mark.slow)])
def test_known_weakly_coupled_networks(monkeypatch, sizes):
    pad(monkeypatch, 64, 112, 2, 4)
    weak, middle = known_network_errors(0.2, sizes), known_network_errors(0.6, sizes)
    assert middle[0] <= 0.02
    # one network in eight is off by more than 0.05, most of it bias: with few trajectories a bound of 0.05 on all of
    # them held or not by luck of the draw
    worst = np.sort(middle[1].max(1))
    assert worst[-1] <= 0.06
    assert worst[-2] <= 0.05
    assert weak[1].max() <= 0.01
    assert weak[0] < middle[0]
    assert weak[1].mean() < middle[1].mean()
    # joint parent tables also lack the posterior correlations: reported, and bounded
    print("joint parent tables, relative errors (dwell, transitions):", weak[3].max(0), middle[3].max(0))
    assert middle[3].max() <= 0.2
    # and better than mean field on the same cases
    assert middle[1].mean() < middle[2].mean()


@jax.jit
def child_responses(q, moves, dt, tables):
    """Derivative of the children's terms with respect to the marginals, as written out and by autodiff."""
    state = kernels.State(moves, q, None, None, None)

    def energy(other):
        return jnp.sum(kernels.energy(moves, q * dt, kernels.mean_rates(other, tables)))

    ours = kernels.child_response(state, tables, kernels.mean_rates(q, tables), dt) * dt
    return ours, jnp.where(dt > 0, jax.grad(energy)(q), 0.0)


@pytest.mark.parametrize("rival", [False, True], ids=["star", "mean field"])
@pytest.mark.parametrize("cards", [[2, 2, 2, 2], [2, 3, 2, 4]])
def test_child_response_equals_autodiff(cards, rival):
    net = cl.random_network(4, 3, dynamics="random", n_states=cards, rng=2)
    rng = np.random.default_rng(0)
    states = np.arange(max(cards))
    real = states < np.array(cards)[:, None]
    move = real[:, :, None] & real[:, None] & (states[:, None] != states)
    q = rng.random((4, len(states), 5, 2)) * real[..., None, None]
    moves = rng.random((4, len(states), len(states), 5, 2)) * move[..., None, None]
    dt = rng.random((5, 2))
    dt[3:, 1] = 0.0
    moves[..., 3:, 1] = 0.0
    with jax.enable_x64(True):
        tables = PaddedRates(PathRates.of_network(net), mean_field=rival).tables
        ours, auto = (np.asarray(a) for a in child_responses(q / q.sum(1, keepdims=True), moves, dt, tables))
    assert auto[real].any()
    np.testing.assert_allclose(ours[real], auto[real], rtol=1e-7, atol=1e-9)


def test_every_sweep_raises_the_objective():
    for coupling in (0.6, 1.5, 3.0):
        net, obs = example(5, coupling, seed=3, n_trajectories=10)
        engine = PathEngine(obs, 0.25)
        rates = PathRates.of_network(net)
        values, paths = [], None
        for _ in range(25):
            value, paths = engine.update(rates, Effort(0.0, 1), paths)
            values.append(value)
        assert (np.diff(values, axis=0) >= -1e-10 * np.abs(values[-1])).all()


def test_an_uninformative_observation_changes_nothing():
    net, obs = example()
    times, tables = [], []
    rng = np.random.default_rng(0)
    for k in range(obs.n_trajectories):
        s = obs.series[0]
        seen = s.times[s.offsets[k] : s.offsets[k + 1]]
        extra = rng.uniform(0, 4, 3)
        grid = np.sort(np.concatenate([seen, extra]))
        block = []
        for series in obs.series:
            likelihood = np.full((len(grid), 2), 0.37)
            likelihood[np.isin(grid, seen)] = np.exp(series.log_likelihood()[series.offsets[k] : series.offsets[k + 1]])
            block.append(likelihood)
        times.append(grid)
        tables.append(block)
    more = cl.Observations.from_likelihoods(times, tables, net.variables, start=0.0, end=4.0)
    a, b = (
        cl.variational.smooth(net, obs, [1.0, 3.0], step=0.02),
        cl.variational.smooth(net, more, [1.0, 3.0], step=0.02),
    )
    for name in net.names:
        np.testing.assert_allclose(a[name], b[name], atol=2e-4)  # the grids differ: equal to second order in the step
    uncoupled = cl.random_network(3, 0, rng=1)
    same = cl.Observations(uncoupled.variables, more.series, more.start, more.end)
    base = cl.Observations(uncoupled.variables, obs.series, obs.start, obs.end)
    gain = cl.variational.log_evidence(uncoupled, same) - cl.variational.log_evidence(uncoupled, base)
    np.testing.assert_allclose(gain, 9 * np.log(0.37), atol=1e-9)


def test_blocks_of_trajectories_do_not_matter(monkeypatch):
    net, obs = example(n_trajectories=7)
    whole = cl.variational.expected_statistics(net, obs)
    monkeypatch.setattr(Device, "cells", 100)
    parts = cl.variational.expected_statistics(net, obs)
    monkeypatch.setattr(engines, "KEEP_BYTES", 0)
    thrown_away = cl.variational.expected_statistics(net, obs)
    for a, b, c in zip(
        whole.dwell + whole.transitions, parts.dwell + parts.transitions, thrown_away.dwell + thrown_away.transitions
    ):
        np.testing.assert_allclose(a, b, atol=1e-4)
        np.testing.assert_allclose(a, c, atol=1e-4)


def test_groups_of_states_do_not_matter():
    cards = [2, 4, 3, 2]
    net = cl.random_network(4, 2, dynamics="random", n_states=cards, rng=3)
    obs = cl.observe(cl.simulate(net, 7, horizon=2.0, rng=1), n_times=4, missing=0.3, rng=1)
    engine = PathEngine(obs, 0.2)
    assert engine.groups == (((0, 3), 2), ((1, 2), 4))
    one, rates = PathEngine(obs, 0.2), PathRates.of_network(net)
    one.groups = ()
    paths = mine = None
    for _ in range(3):  # stops and shortened steps must be the same, too: the second and third time begin from them
        values, paths = engine.update(rates, Effort(1e-3, 4), paths)
        expected, mine = one.update(rates, Effort(1e-3, 4), mine)
        np.testing.assert_allclose(values, expected, atol=1e-9)
        (a,), (b,) = paths.states, mine.states
        there = (engine.blocks[0].dt > 0)[None, None]
        np.testing.assert_allclose(np.asarray(a.marginal) * there, np.asarray(b.marginal) * there, atol=1e-11)
        for name in ("transitions", "entropy", "first", "share"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-9)


def test_groups_are_of_similar_numbers_of_states():
    assert PathEngine(example()[1], 0.5).groups == ()
    found = engines.by_states([2, 6, 3, 2, 4, 8, 9])
    assert [(part.tolist(), states) for part, states in found] == [([0, 3], 2), ([2, 4], 4), ([1, 5], 8), ([6], 9)]


def test_grid_holds_every_observation_and_no_long_cell():
    _net, obs = example(missing=0.4)
    queries = np.tile([0.0, 1.234, 5.0], (6, 1))
    for block in build_blocks(obs, 0.3, max_cells=60, queries=queries):
        points = np.concatenate([np.zeros((1, block.dt.shape[1])), np.cumsum(block.dt, axis=0)])
        assert block.dt.max() <= 0.3 + 1e-12
        for b, k in enumerate(block.trajectories):
            np.testing.assert_allclose(points[block.queries[:, b], b], queries[k])
            assert points[-1, b] == pytest.approx(5.0)
            for i, s in enumerate(obs.series):
                seen = s.times[s.offsets[k] : s.offsets[k + 1]]
                marked = points[(block.likelihood[:, i, :2, b] != 1).any(1), b]
                np.testing.assert_allclose(marked, seen, atol=1e-12)
    assert [bucket(n) for n in (1, 8, 9, 17, 33, 65, 97, 129, 200)] == [8, 8, 16, 20, 40, 80, 112, 160, 224]
    assert cells_per_gap(np.array([0.0, 0.3, 0.31, 1e9]), 0.3).tolist() == [0, 1, 2, 256]


def test_prediction_of_each_observation_given_the_earlier_ones():
    """Exact where variables do not drive each other; where they do, the lost correlations cost a little."""
    net, obs = example(coupling=0.0)
    np.testing.assert_allclose(cl.variational.predictive(net, obs), cl.exact.log_evidence(net, obs), atol=1e-9)
    net, obs = example(4, 0.6, seed=2, n_trajectories=40)
    bias = (cl.variational.predictive(net, obs).sum() - cl.exact.log_evidence(net, obs).sum()) / obs.n_values
    print(f"bias of the predictive log likelihood at coupling 0.6: {bias:.4f} nats per value")
    assert abs(bias) < 0.05


def test_impossible_evidence_and_refusals():
    net = cl.CTBN({"a": (0, 1)}, {}, {"a": [[-1, 1], [0, 0]]})
    obs = cl.Observations.from_likelihoods([[0.0, 2.0]], [[[[0, 1], [1, 0]]]], {"a": (0, 1)}, ids=["odd"])
    for function in (cl.variational.log_evidence, cl.variational.predictive):
        with pytest.raises(ImpossibleEvidenceError, match="'odd'"):
            function(net, obs)
    net, obs = example()
    with pytest.raises(ParameterError, match="before the start"):
        cl.variational.smooth(net, obs, [-1.0])
    with pytest.raises(ParameterError, match="inference must be one of"):
        cl.variational.log_evidence(net, obs, inference="naive")
    with pytest.raises(ParameterError, match="step"):
        cl.variational.smooth(net, obs, [1.0], step=0.0)
    with pytest.raises(ParameterError, match="agree"):
        cl.variational.smooth(cl.random_network(4, rng=0), obs, [1.0])
    with pytest.raises(ParameterError, match="Observations"):
        cl.variational.smooth(net, "data.csv", [1.0])
