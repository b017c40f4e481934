"""Which method "auto" takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.inference.device import PROCESSOR, Device
from ctbnlearn.learn import choice
from ctbnlearn.model.ctbn import with_diagonal
from ctbnlearn.structure.problem import EdgeRules


def chosen(obs):
    return choice.choose_method(obs, EdgeRules.build(obs.names, None, None, None, None))


@pytest.fixture(scope="module")
def obs():
    network = cl.random_network(4, rng=1)
    return cl.observe(cl.simulate(network, 120, horizon=2.0, rng=2), n_times=4, rng=3)


def test_sampling_while_it_is_cheap_then_blocks(obs, monkeypatch):
    assert isinstance(chosen(obs), cl.Sampling)
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    assert isinstance(chosen(obs), cl.Blocks)


def test_blocks_where_gaps_are_long():
    """Chains would take minutes to agree; with few trajectories they are let."""
    network = cl.random_network(4, rng=1)
    obs = cl.observe(cl.simulate(network, 120, horizon=20.0, rng=2), n_times=10, rng=3)
    assert isinstance(chosen(obs), cl.Blocks)
    assert isinstance(chosen(obs.select(range(choice.FEW - 1))), cl.Sampling)


def test_blocks_where_gaps_are_long_and_levels_are_to_be_learned():
    """Models that are given after reading start from the values, so that moves can be counted."""
    paths = cl.simulate(cl.random_network(3, rng=1), 120, horizon=20.0, rng=2)
    obs = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), rng=3)
    learned = obs.with_noise({name: cl.GaussianNoise(n_states=2) for name in obs.names})
    assert all(len(s.noise.values) == 2 and s.noise.learned for s in learned.series)
    assert isinstance(chosen(learned), cl.Blocks)


def test_few_trajectories_may_take_longer(obs, monkeypatch):
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    assert isinstance(chosen(obs.select(range(choice.FEW - 1))), cl.Sampling)


def test_blocks_for_many_variables_where_they_can_answer(obs, monkeypatch):
    assert isinstance(chosen(obs), cl.Sampling)
    monkeypatch.setattr(choice, "MOST_SAMPLED", len(obs.variables) - 1)
    assert isinstance(chosen(obs), cl.Blocks)
    assert isinstance(chosen(obs.select(range(choice.FEW - 1))), cl.Blocks)
    table = pa.table({"trajectory": [0], "start": [0.5], "end": [1.0], "variable": ["x1"]})
    assert isinstance(chosen(obs.with_interventions(table, "trajectory")), cl.Sampling)


def test_sampling_where_only_it_can_answer(obs, monkeypatch):
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    measured = cl.GaussianNoise(n_states=2)  # starts from the values
    values = cl.observe(
        cl.simulate(cl.random_network(4, rng=1), 120, horizon=2.0, rng=2),
        n_times=4,
        noise=cl.GaussianNoise(variance=0.2),
    )
    assert isinstance(chosen(values.with_noise({"x0": measured})), cl.Sampling)
    table = pa.table({"trajectory": [0], "start": [0.5], "end": [1.0], "variable": ["x1"]})
    held = obs.with_interventions(table, "trajectory")
    assert isinstance(chosen(held), cl.Sampling)


def test_blocks_for_very_many_variables(obs, monkeypatch):
    monkeypatch.setattr(choice, "MOST_VARIABLES", 3)
    assert isinstance(chosen(obs), cl.Blocks)


def restless(horizon):
    """Two variables, the second of which runs after the first: rates around two, ten looks."""
    follow = [[[0.0 if y == x else (3.0 if y == u else 0.3) for y in range(3)] for x in range(3)] for u in range(3)]
    flip = [[0.0, 0.7, 0.7], [0.7, 0.0, 0.7], [0.7, 0.7, 0.0]]
    rates = {"a": with_diagonal(np.array([flip])), "b": with_diagonal(np.array(follow))}
    net = cl.CTBN({"a": (0, 1, 2), "b": (0, 1, 2)}, {"b": ["a"]}, rates)
    return cl.observe(cl.simulate(net, 120, horizon=horizon, rng=1), n_times=10, noise=cl.LabelNoise(0.02), rng=2)


def test_blocks_where_chains_would_get_stuck():
    """Three states, and many moves between looks; not with few moves."""
    assert isinstance(chosen(restless(6.0)), cl.Blocks)
    assert isinstance(chosen(restless(0.5)), cl.Sampling)


def test_sampling_where_blocks_would_be_too_large():
    """Two required parents of four states make a block of 64 joint states."""
    names = [f"v{i}" for i in range(4)]
    unseen = cl.Observations.from_likelihoods([[0.0, 1.0]], [[np.ones((2, 4))] * 4], names)
    required = EdgeRules.build(names, None, None, None, [("v1", "v0"), ("v2", "v0")])
    assert choice.blocks_can(unseen)
    assert not choice.blocks_can(unseen, required)


@pytest.mark.filterwarnings("ignore:after 60 sweeps")
def test_stuck_chains_are_doubted_and_some_start_elsewhere():
    """Sampling asked for by name: half of the chains start from a network with the edge, and the result says why."""
    said = []
    learner = cl.StructureLearner(inference=cl.Sampling(chains=2, sweeps=60, agreement=1.0), progress=said.append)
    learner.fit(restless(6.0))
    assert any("1 of the chains go on from it" in event.message for event in said)
    assert any("Chains may be stuck" in doubt for doubt in learner.result_.manifest["warnings"])
    assert learner.edge_probabilities_[0, 1] > 0.9


def test_an_accelerator_is_for_many_variables_per_core(monkeypatch):
    monkeypatch.setattr(choice, "usable_cores", lambda: 4)
    found = Device("gpu", "float32", object())
    monkeypatch.setattr(Device, "find", lambda *_: found)
    here = [choice.block_device("auto", "auto", n, True) for n in (12, 127, 128, 1000)]
    assert here == [PROCESSOR, PROCESSOR, found, found]
    assert [choice.block_device(device, "auto", 12, True) for device in ("cpu", "gpu")] == [PROCESSOR, found]
    elsewhere = [choice.block_device(device, "auto", 1000, False) for device in ("auto", "cpu", "gpu")]
    assert elsewhere == [PROCESSOR, PROCESSOR, Device("gpu", "float32", None)]


@pytest.mark.filterwarnings("ignore:after .* sweeps")
def test_chains_that_copy_within_a_gap_are_not_surely_wrong():
    """A variable follows another within a twelfth of a gap: chains agreed on the reverse, with x driving both."""
    slow = [[[-0.05, 0.05], [1.5, -1.5]], [[-1.5, 1.5], [0.05, -0.05]]]
    quick = [[[-0.02, 0.02], [20.0, -20.0]], [[-20.0, 20.0], [0.02, -0.02]]]
    rates = {"x": [[-0.4, 0.4], [0.4, -0.4]], "y": slow, "z": quick, "w": [[-0.3, 0.3], [0.6, -0.6]]}
    net = cl.CTBN(dict.fromkeys(rates, (0, 1)), {"y": ["x"], "z": ["y"]}, {k: np.array(v) for k, v in rates.items()})
    paths = cl.simulate(net, 60, horizon=8.0, rng=15)
    obs = cl.observe(paths, n_times=12, noise=cl.LabelNoise(0.01), rng=16)
    learner = cl.StructureLearner(2, inference=cl.Sampling(chains=2, sweeps=400))
    learner.fit(obs)
    there, off = net.adjacency.astype(bool), ~np.eye(4, dtype=bool)
    assert learner.edge_probabilities_[off & ~there].max() < 0.5
    assert learner.edge_probabilities_[there].min() > 0.9
    held = []
    for table, true in zip(learner.rate_tables_, net.cims):
        moves = true > 0
        held += ((table.quantile(0.025) <= true) & (true <= table.quantile(0.975)))[moves].tolist()
    assert len(held) == 12
    assert sum(held) >= 9
