"""Which method "auto" takes."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.learn import choice


@pytest.fixture(scope="module")
def obs():
    network = cl.random_network(4, rng=1)
    return cl.observe(cl.simulate(network, 120, horizon=2.0, rng=2), n_times=4, rng=3)


def test_sampling_while_it_is_cheap_then_blocks(obs, monkeypatch):
    assert isinstance(choice.choose_method(obs), cl.Sampling)
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    assert isinstance(choice.choose_method(obs), cl.Blocks)


def test_few_trajectories_may_take_longer(obs, monkeypatch):
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    assert isinstance(choice.choose_method(obs.select(range(choice.FEW - 1))), cl.Sampling)


def test_sampling_where_only_it_can_answer(obs, monkeypatch):
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    measured = cl.GaussianNoise(n_states=2)
    values = cl.observe(
        cl.simulate(cl.random_network(4, rng=1), 120, horizon=2.0, rng=2),
        n_times=4,
        noise=cl.GaussianNoise(variance=0.2),
    )
    assert isinstance(choice.choose_method(values.with_noise({"x0": measured})), cl.Sampling)
    table = pa.table({"trajectory": [0], "start": [0.5], "end": [1.0], "variable": ["x1"]})
    held = obs.with_interventions(table, "trajectory")
    assert isinstance(choice.choose_method(held), cl.Sampling)


def test_blocks_for_very_many_variables(obs, monkeypatch):
    monkeypatch.setattr(choice, "MOST_VARIABLES", 3)
    assert isinstance(choice.choose_method(obs), cl.Blocks)
