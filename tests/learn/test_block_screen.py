"""What blocks screen candidates by, against fits of the networks of pairs, and tests of one number by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.inference.device import Device
from ctbnlearn.learn.block_fit import BlockFitter, Network
from ctbnlearn.learn.block_screen import pair_gains, product_scores
from ctbnlearn.structure.problem import EdgeRules, Scoring

LOW, HIGH = 0.4, 1.2


def ladder(up, down):
    return [[-up, up, 0.0], [down, -up - down, up], [0.0, down, -down]]


def pair_of_two_and_three(prior):
    """X of two states drives y of three, which moves one step at a time; and a fitter of them."""
    rates = {"x": np.array([[-0.6, 0.6], [0.5, -0.5]]), "y": np.array([ladder(LOW, HIGH), ladder(HIGH, LOW)])}
    net = cl.CTBN({"x": (0, 1), "y": (0, 1, 2)}, {"y": ["x"]}, rates)
    obs = cl.observe(cl.simulate(net, 60, horizon=5.0, rng=1), n_times=10, noise=cl.LabelNoise(0.02), rng=2)
    possible = [~np.eye(2, dtype=bool), np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)]
    alone = [np.array([[0, 0.6], [0.5, 0]]), np.where(possible[1], 0.8, 0.0)]
    start = [np.full(2, 1 / 2), np.full(3, 1 / 3)]
    evidence = BlockEvidence(obs, 6.0, Device.find("cpu", "float64"))
    rules = EdgeRules.build(obs.names, None, None, None, None)
    return BlockFitter(evidence, [2, 3], alone, start, False, possible, rules, Scoring(prior, "flat"))


@pytest.mark.parametrize("prior", ["independent", "pushed"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pairs_are_screened_as_their_networks_are_fitted(prior, order):
    fitter = pair_of_two_and_three(prior)
    found = pair_gains(fitter, [order])
    edge, back, none = Network((1, 0), ((1,), ())), Network((0, 1), ((1,), ())), Network((1, 0), ((), ()))
    fits = fitter.networks([edge, back, none], [np.zeros(0)] * 3)
    assert found[0, 1] == pytest.approx(fits[0].log_evidence - fits[2].log_evidence, abs=2.5)
    assert found[0, 1] > 5.0 > found[1, 0]
    # given that x drives y, which it surely does
    both = Network((0, 1), ((1,), (0,)))
    given = fitter.networks([both, Network((0, 1), ((), (0,)))], [np.zeros(0)] * 2)
    assert found[1, 0] == pytest.approx(given[0].log_evidence - given[1].log_evidence, abs=2.5)


def test_pushes_are_screened_by_one_number():
    """With two states: moves up less moves down, against the state of the other, and two less for the one number."""
    net = cl.random_network(4, 1, coupling=0.8, rng=1)
    obs = cl.observe(cl.simulate(net, 30, horizon=5.0, rng=2), n_times=8, rng=3)
    off, alone = ~np.eye(2, dtype=bool), [np.array([[0, 0.5], [0.4, 0]])] * 4
    evidence, rules = BlockEvidence(obs, 6.0, Device.find("cpu", "float64")), EdgeRules.build(obs.names, *[None] * 4)
    made = [
        BlockFitter(evidence, [2] * 4, alone, [np.full(2, 0.5)] * 4, False, [off] * 4, rules, Scoring(prior, "size"))
        for prior in ("independent", "pushed")
    ]
    free, pushed = map(product_scores, made)
    excess, share = [], []
    for i in range(4):
        flow, dwell, ends = [], [], []
        for piece, span in enumerate(evidence.spans):
            real = span.reshape(-1) > 0
            start = np.full((1, 2), 0.5)
            for _, f, d in evidence.chains.by_cell(np.array([[i]]), made[0].alone_rates([i]), start, piece):
                flow.append(np.moveaxis(f, 0, 3).reshape(2, -1)[:, real])
                dwell.append(np.moveaxis(d, 0, 2).reshape(2, -1)[:, real])
                ends.append(span.reshape(-1)[real])
        f, d, t = (np.concatenate(parts, -1) for parts in (flow, dwell, ends))
        up, down = 0.5 * (f[0] - d[0]), 0.4 * (f[1] - d[1])
        excess.append((up, down))
        share.append(d[1] / t)
    for j, i in np.argwhere(~np.eye(4, dtype=bool)):
        centred = share[j] - share[j].mean()
        up, down = excess[i]
        one = (centred @ (up - down)) ** 2 / (centred**2 @ (up - down) ** 2)
        two = sum((centred @ e) ** 2 / (centred**2 @ e**2) for e in (up, down))
        assert free[j, i] == pytest.approx(two - 4.0, rel=1e-3, abs=1e-3)
        assert pushed[j, i] == pytest.approx(max(two - 4.0, one - 2.0), rel=1e-3, abs=1e-3)


def test_variables_that_never_move_do_not_crowd_out_those_that_do():
    """Sex, arm or centre of a unit: more of them than candidates are looked at."""
    net = cl.random_network(4, 1, coupling=1.0, rng=1)
    obs = cl.observe(cl.simulate(net, 200, horizon=6.0, rng=2), n_times=12, rng=3)
    rng = np.random.default_rng(5)
    rows = {"id": np.repeat(np.arange(200), 12), "time": obs.series[0].times}
    rows |= {name: s.values for name, s in zip(net.names, obs.series)}
    rows |= {f"fixed{k}": np.repeat(rng.integers(2, size=200), 12) for k in range(16)}
    data = cl.read_table(pa.table(rows), trajectory="id", time="time", start=0.0, end=6.0)
    found = cl.StructureLearner(2, inference="blocks").fit(data).edge_probabilities_
    truth = np.zeros(found.shape, bool)
    truth[:4, :4] = net.adjacency > 0
    assert truth.sum() == 2
    assert found[truth].min() > 0.99
    assert found[~truth].max() < 0.2


def test_a_variable_in_one_state_throughout_scores_nothing():
    """Its share of time is constant, and what is left of sums about the mean is rounding."""
    net = cl.CTBN(
        {"a": (0, 1), "b": (0, 1), "c": (0, 1)},
        {"b": ["a"]},
        {
            "a": np.array([[-0.5, 0.5], [0.5, -0.5]]),
            "b": np.array([[[-0.2, 0.2], [0.9, -0.9]], [[-0.9, 0.9], [0.2, -0.2]]]),
            "c": np.zeros((2, 2)),
        },
        initial={"c": [0.0, 1.0]},
    )
    obs = cl.observe(cl.simulate(net, 200, horizon=6.0, rng=2), n_times=12, noise=cl.LabelNoise(0.02), rng=3)
    off, alone = ~np.eye(2, dtype=bool), [np.array([[0, 0.5], [0.5, 0]])] * 2 + [np.array([[0, 20.0], [0.01, 0]])]
    start = [np.full(2, 0.5)] * 2 + [np.array([0.1, 0.9])]
    rules, evidence = EdgeRules.build(obs.names, *[None] * 4), BlockEvidence(obs, 20.0, Device.find("cpu", "float64"))
    found = product_scores(
        BlockFitter(evidence, [2] * 3, alone, start, False, [off] * 3, rules, Scoring("auto", "size"))
    )
    assert found[0, 1] > 100.0
    assert found[2, :2].max() < 1.0
