"""Chains of blocks, in loops and as batches, against dense matrix exponentials, differences, and the exact engine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import ctbnlearn as cl
from ctbnlearn.inference import block_loops, exact
from ctbnlearn.inference.block_chain import MOST_LOAD, moves
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.inference.block_kernel import Batches
from ctbnlearn.inference.contract import Effort, PathRates
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.exact_paths import ExactPaths

CARDS = (2, 3, 2)


@pytest.fixture(scope="module")
def data():
    variables = [cl.Variable(f"x{i}", tuple(range(c))) for i, c in enumerate(CARDS)]
    rng = np.random.default_rng(1)
    times, tables = [], []
    for count in (1, 4, 6, 3):
        times.append(np.cumsum(rng.exponential(0.8, count)))
        tables.append([rng.uniform(0.05, 1.0, (count, c)) for c in CARDS])
    obs = cl.Observations.from_likelihoods(times, tables, variables, start=0.0)
    return obs, times, tables


def generator(rates, exits):
    _, _, to = moves(CARDS)
    out = -np.diag(exits)
    for k in range(len(to)):
        for x in range(len(exits)):
            out[x, to[k, x]] += rates[k, x]
    return out


def by_hand(data, rates, exits, start):
    """Log evidence of every trajectory by dense exponentials."""
    _, times, tables = data
    g, out = generator(rates, exits), []
    for grid, table in zip(times, tables):
        v, before = start.copy(), 0.0
        for t, *own in zip(grid, *table):
            v = v @ expm(g * (t - before))
            v = v * np.einsum("a,b,c->abc", *own).reshape(-1)
            before = t
        out.append(np.log(v.sum()))
    return np.array(out)


@pytest.fixture(scope="module", params=["loops", "batches"])
def evidence(data, request):
    return laid_out(data[0], request.param)


def laid_out(obs, how, precision="float64"):
    """Observations for processors or, run on one all the same, for accelerators."""
    device = Device.find("cpu", precision)
    found = BlockEvidence(obs, 4.0, device)
    if how == "batches":
        found.chains = Batches(found.cards, found.chains.pieces, device)
    return found


@pytest.fixture(scope="module")
def block(evidence):
    rng = np.random.default_rng(2)
    return evidence, rng.uniform(0.1, 2.0, (2, 4, 12)), rng.dirichlet(np.ones(12), 2)


MEMBERS = np.array([[0, 1, 2], [0, 1, 2]])


def test_log_evidence_is_that_of_dense_exponentials(data, block):
    evidence, rates, start = block
    exits = rates.sum(1) * np.array([[1.0], [1.2]])  # the second chain loses probability
    found = evidence.totals(MEMBERS, rates, start, exits)
    for n in range(2):
        np.testing.assert_allclose(found.log_evidence[n], by_hand(data, rates[n], exits[n], start[n]), atol=1e-8)


def test_gradient_is_that_of_differences(data, block):
    evidence, rates, start = block
    found = evidence.totals(MEMBERS, rates, start)
    gradient = rates * (found.flow - found.dwell[:, None])
    for k, x in [(0, 0), (1, 5), (3, 11)]:
        ends = []
        for sign in (1, -1):
            moved = rates[0].copy()
            moved[k, x] *= np.exp(sign * 1e-5)
            ends.append(by_hand(data, moved, moved.sum(0), start[0]).sum())
        assert gradient[0, k, x] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_products_of_scores_are_those_of_single_trajectories(data, block):
    evidence, rates, start = block
    scores = []
    for k in range(4):
        one = laid_out(data[0].select([k]), "loops")
        found = one.totals(MEMBERS[:1], rates[:1], start[:1])
        scores.append((rates[0] * (found.flow[0] - found.dwell[0])).reshape(-1))
    scores = np.array(scores) - np.mean(scores, 0)
    np.testing.assert_allclose(evidence.score_products(MEMBERS, rates, start)[0], scores.T @ scores, atol=1e-8)


def test_single_precision_is_close(data, block):
    _, rates, start = block
    single = laid_out(data[0], "batches", "float32").totals(MEMBERS, rates, start)
    double = laid_out(data[0], "loops").totals(MEMBERS, rates, start)
    np.testing.assert_allclose(single.log_evidence, double.log_evidence, atol=1e-4)
    np.testing.assert_allclose(single.flow, double.flow, rtol=1e-3, atol=1e-4)


def test_moments_of_cells_add_up_to_those_of_trajectories(evidence, block):
    _, rates, start = block
    total = evidence.totals(MEMBERS, rates, start)
    some, flow, dwell = zip(*evidence.chains.by_cell(MEMBERS, rates, start, 0))
    assert np.concatenate(some).tolist() == [0, 1]
    flow, dwell = np.concatenate(flow, 1), np.concatenate(dwell, 1)
    np.testing.assert_allclose(flow.sum((0, 4)), total.flow, atol=1e-10)
    np.testing.assert_allclose(dwell.sum((0, 3)), total.dwell, atol=1e-10)
    np.testing.assert_allclose(dwell.sum(2), np.broadcast_to(evidence.spans[0][:, None], dwell.sum(2).shape), atol=1e-8)


def test_batches_agree_with_loops_on_many_trajectories():
    network = cl.random_network(7, max_parents=2, rng=8)
    obs = cl.observe(
        cl.simulate(network, 300, horizon=6.0, rng=9), n_times=5, noise=cl.GaussianNoise(variance=0.3), rng=10
    )
    rng = np.random.default_rng(11)
    members = np.array([rng.permutation(7)[:4] for _ in range(20)])
    rates, start = rng.uniform(0.05, 3.0, (20, 4, 16)), rng.dirichlet(np.ones(16), 20)
    rates[3, 2] = 0.0  # a variable that stays as it is
    one, other = (laid_out(obs, how) for how in ("loops", "batches"))
    for a, b in zip(one.totals(members, rates, start), other.totals(members, rates, start)):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-6)
    a, b = (e.score_products(members, rates, start) for e in (one, other))
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-5)


def test_long_cells_need_many_terms(data, evidence):
    """Rates far above those the grid was made for."""
    rng = np.random.default_rng(3)
    rates, start = rng.uniform(20.0, 40.0, (1, 4, 12)), np.full((1, 12), 1 / 12)
    found = evidence.totals(MEMBERS[:1], rates, start)
    np.testing.assert_allclose(found.log_evidence[0], by_hand(data, rates[0], rates[0].sum(0), start[0]), atol=1e-7)


@pytest.mark.parametrize("fast", [600.0, 3000.0])
def test_cells_of_very_many_moves(data, fast):
    """A variable that moves thousands of times within a gap beside two that hardly do."""
    rng = np.random.default_rng(4)
    rates, start = rng.uniform(0.2, 1.0, (1, 4, 12)), rng.dirichlet(np.ones(12))[None]
    rates[:, 0] *= fast
    evidence = laid_out(data[0], "loops")
    found = evidence.totals(MEMBERS[:1], rates, start)
    assert max(span.max() for span in evidence.spans) * rates.sum(1).max() > 1.2 * MOST_LOAD
    np.testing.assert_allclose(found.log_evidence[0], by_hand(data, rates[0], rates[0].sum(0), start[0]), atol=1e-7)
    gradient = rates * (found.flow - found.dwell[:, None])
    for k, x in [(0, 0), (1, 5), (3, 11)]:
        ends = []
        for sign in (1, -1):
            moved = rates[0].copy()
            moved[k, x] *= np.exp(sign * 1e-4)
            ends.append(by_hand(data, moved, moved.sum(0), start[0]).sum())
        assert gradient[0, k, x] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=1e-5)


def test_one_block_of_all_variables_is_the_exact_engine():
    network = cl.random_network(4, max_parents=2, rng=5)
    obs = cl.observe(
        cl.simulate(network, 20, horizon=5.0, rng=6),
        n_times=5,
        noise=cl.GaussianNoise(variance=0.3),
        missing=0.3,
        rng=7,
    )
    found = ExactPaths(obs, 2.0, Device.find("cpu", "float64")).expect(PathRates.of_network(network), Effort(0.0, 0))
    statistics, values = exact.expect(network, obs)
    np.testing.assert_allclose(found.values, values, atol=1e-7)
    for name in ("dwell", "transitions", "initial"):
        for a, b in zip(getattr(found.statistics, name), getattr(statistics, name)):
            np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("how", ["loops", "batches"])
def test_all_variables_may_change_in_no_time(how):
    network = cl.random_network(9, max_parents=2, rng=3)
    seen = [np.eye(2)[[0, 1]]] * 9  # states seen exactly, all of them others a moment later
    obs = cl.Observations.from_likelihoods([[0.0, 1e-3]], [seen], network.variables)
    paths = ExactPaths(obs, 2.0, Device.find("cpu", "float64"))
    if how == "batches":
        paths.evidence.chains = Batches(paths.evidence.cards, paths.evidence.chains.pieces, paths.device)
    found = paths.expect(PathRates.of_network(network), Effort(0.0, 0))
    np.testing.assert_allclose(found.values, exact.log_evidence(network, obs), rtol=1e-6)


def test_trajectories_that_look_the_same_are_evaluated_once(data):
    """Visits at the same times, and copies of units, as bags have them; batches evaluate every trajectory."""
    network = cl.random_network(4, max_parents=2, rng=12)
    paths = cl.simulate(network, 400, horizon=4.0, rng=13)
    visits = cl.observe(paths, times=np.arange(1.0, 5.0), noise=cl.LabelNoise(0.05), rng=14)
    drawn = data[0].select([0, 1, 1, 3, 2, 3, 3])
    for obs, sets, fewer in [(visits, [(0, 1), (2, 3), (0, 1)], 257), (drawn, [(0, 2), (2, 0), (0, 2)], 5)]:
        one, other = (laid_out(obs, how) for how in ("loops", "batches"))
        assert len(one.chains.looks[0].alike(sets[0]).bounds) <= fewer
        rng, members = np.random.default_rng(15), np.array(sets)
        rates, start = rng.uniform(0.1, 2.0, (3, 2, 4)), rng.dirichlet(np.ones(4), 3)
        for a, b in zip(one.totals(members, rates, start), other.totals(members, rates, start)):
            np.testing.assert_allclose(a, b, atol=1e-9)
        for a, b in zip(one.score_sums(members, rates, start), other.score_sums(members, rates, start)):
            np.testing.assert_allclose(a, b, atol=1e-8)


def test_threads_do_not_change_a_bit(monkeypatch):
    """However often, and wherever arrays happen to lie."""
    network = cl.random_network(6, max_parents=2, rng=3)
    obs = cl.observe(cl.simulate(network, 40, horizon=4.0, rng=1), n_times=6, noise=cl.LabelNoise(0.1), rng=2)
    rng = np.random.default_rng(0)
    members = np.array([rng.permutation(6)[:3] for _ in range(20)])
    rates, start = rng.uniform(0.05, 2.0, (20, 3, 8)), rng.dirichlet(np.ones(8), 20)
    evidence = laid_out(obs, "loops")
    monkeypatch.setattr(block_loops, "usable_cores", lambda: 1)
    expected = evidence.totals(members, rates, start)
    monkeypatch.setattr(block_loops, "usable_cores", lambda: 2)
    for _ in range(200):
        for a, b in zip(evidence.totals(members, rates, start), expected):
            np.testing.assert_array_equal(a, b)
