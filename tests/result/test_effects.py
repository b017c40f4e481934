"""Effects of edges: exact on Glauber networks, against sampled posteriors, and under relabelling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctbnlearn as cl
from ctbnlearn.model.random_network import glauber_rates
from ctbnlearn.result.effects import edge_effect
from ctbnlearn.result.rate_table import RateTable


def sharp(rates, parents=(0,), certainty=1e9):
    """A posterior that leaves no doubt about given rates, (U, S, S) off the diagonal."""
    rates = np.asarray(rates, float)
    off = np.where(np.eye(rates.shape[-1], dtype=bool), 0.0, rates)
    return RateTable(parents, off * certainty, np.full(rates.shape[:2], certainty))


def sampled_push(table, n_states, source, rng, draws=4000):
    """Oracle: draw rates, take push and its inverse-variance mean over pairs and other parents, cell by cell."""
    cards = [n_states[j] for j in table.parents]
    shape = (*cards, *table.shape.shape[1:])
    safe = np.where(table.shape > 0, table.shape, 1.0)
    logs = np.log(rng.gamma(safe, 1.0, (draws, *safe.shape)) / table.rate[..., None]).reshape(draws, *shape)
    logs = np.moveaxis(logs, 1 + table.parents.index(source), 1).reshape(draws, cards[table.parents.index(source)], -1,
                                                                          *table.shape.shape[1:])  # fmt: skip
    pushes = []
    s = logs.shape[-1]
    for v in range(logs.shape[2]):
        for x in range(s):
            for y in range(x + 1, s):
                ratio = logs[:, 1, v] - logs[:, 0, v]
                pushes.append((ratio[:, x, y] - ratio[:, y, x]) / 2)
    pushes = np.array(pushes)
    weights = 1 / pushes.var(1)
    return (weights[:, None] * pushes).sum(0) / weights.sum()


@pytest.mark.parametrize("coupling", [-1.1, -0.6, 0.3, 0.9])
@pytest.mark.parametrize("n_parents", [1, 2, 3])
def test_every_parent_of_a_glauber_spin_pushes_by_minus_twice_the_coupling(coupling, n_parents):
    # up and down rates are sigmoid(-/+ 2 c sum(u)): half the change of their log ratio is -2 c whatever the others do
    parents = tuple(range(n_parents))
    table = sharp(glauber_rates(n_parents, coupling).reshape(-1, 2, 2), parents)
    for j in parents:
        found = edge_effect(table, j, [2] * (n_parents + 1))
        assert found.effect == pytest.approx(-2 * coupling, abs=1e-4)
        assert found.sign == ("-" if coupling > 0 else "+")


def test_each_parent_has_its_own_effect():
    up = np.exp(np.array([[0.0, 0.7], [-1.2, -0.5]]).reshape(-1))  # first parent -1.2, second +0.7
    table = sharp([[[0, r], [1.0, 0]] for r in up], parents=(2, 0))
    assert edge_effect(table, 2, [2, 2, 2]).effect == pytest.approx(-0.6, abs=1e-6)
    assert edge_effect(table, 0, [2, 2, 2]).effect == pytest.approx(0.35, abs=1e-6)


def test_a_parent_that_only_sets_the_pace_has_no_push():
    table = sharp([[[0, 0.5], [0.2, 0]], [[0, 2.0], [0.8, 0]]])
    found = edge_effect(table, 0, [2, 2])
    assert found.effect == pytest.approx(0, abs=1e-6)
    assert found.sign == ""
    assert found.speed == pytest.approx(np.log(4), abs=1e-6)


@pytest.mark.parametrize(("rates", "sign"), [([[0, 1.0], [0, 0]], 1), ([[0, 0], [1.0, 0]], -1)])
def test_one_way_transitions_push_by_their_log_rate_ratio(rates, sign):
    table = sharp([rates, np.multiply(rates, 3.0)])
    found = edge_effect(table, 0, [2, 2])
    assert found.effect == pytest.approx(sign * np.log(3), abs=1e-6)
    assert found.speed == pytest.approx(np.log(3), abs=1e-6)


def test_no_possible_transition_gives_no_number():
    assert np.isnan(edge_effect(sharp(np.zeros((2, 2, 2))), 0, [2, 2]).effect)


def test_of_many_source_states_the_strongest_contrast_with_the_first_counts():
    ups = [1.0, 2.0, 0.1]
    table = sharp([[[0, up], [1.0, 0]] for up in ups])
    assert edge_effect(table, 0, [3, 2]).effect == pytest.approx(np.log(0.1) / 2, abs=1e-6)


def test_the_interval_is_that_of_sampled_rates():
    rng = np.random.default_rng(0)
    n_states = [2, 3, 3]
    off = ~np.eye(3, dtype=bool)
    table = RateTable((0, 1), rng.gamma(20, 1.0, (6, 3, 3)) * off, rng.gamma(20, 1.0, (6, 3)))
    found = edge_effect(table, 0, n_states)
    sample = sampled_push(table, n_states, 0, rng)
    error = sample.std() / np.sqrt(len(sample))
    assert found.effect == pytest.approx(sample.mean(), abs=5 * error)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(sample.std(), rel=0.05)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_turning_the_states_around_turns_the_sign(seed, size):
    rng = np.random.default_rng(seed)
    off = ~np.eye(size, dtype=bool)
    table = RateTable((0,), rng.gamma(3, 1.0, (2, size, size)) * off, rng.gamma(3, 1.0, (2, size)))
    found = edge_effect(table, 0, [2, size])
    source_turned = edge_effect(RateTable((0,), table.shape[::-1], table.rate[::-1]), 0, [2, size])
    target_turned = edge_effect(RateTable((0,), table.shape[:, ::-1, ::-1], table.rate[:, ::-1]), 0, [2, size])
    assert source_turned.effect == pytest.approx(-found.effect)
    assert target_turned.effect == pytest.approx(-found.effect)
    assert source_turned.speed == pytest.approx(-found.speed)
    assert target_turned.low == pytest.approx(-found.high)


def test_signs_and_intervals_of_simulated_networks():
    right, covered, total = 0, 0, 0
    for seed in range(20):
        coupling = 0.6 if seed % 2 else -0.6
        net = cl.random_network(4, coupling=coupling, rng=seed)
        paths = cl.simulate(net, 100, n_transitions=20, rng=seed)
        result = cl.StructureLearner(max_parents=2, required=net).fit(paths).result_
        for source, target in net.edges:
            effect = result.effect(source, target)
            total += 1
            right += effect.sign == ("-" if coupling > 0 else "+")
            covered += effect.low < -2 * coupling < effect.high
    assert total > 50
    assert right == total
    assert 0.85 < covered / total < 1


def test_without_an_order_there_is_no_sign():
    """Words have no order, unless one is declared or they stand for no and yes; of several states nothing is told."""

    def signs(a_states, b_states, ordered=None):
        variables = [cl.Variable("a", a_states, ordered), cl.Variable("b", b_states, ordered)]
        rates = {"a": [[-1.0, 1.0], [1.0, -1.0]]}
        up = np.full((len(b_states),) * 2, 1.0)
        rates["b"] = np.stack([np.triu(up, 1) * 0.2 + np.tril(up, -1) * 2, np.triu(up, 1) * 2 + np.tril(up, -1) * 0.2])
        for m in rates["b"]:
            np.fill_diagonal(m, -m.sum(1))
        net = cl.CTBN(variables, {"b": ["a"]}, rates)
        result = cl.StructureLearner().fit(cl.simulate(net, 200, horizon=5.0, rng=1)).result_
        edge = next(e for e in result.edges.to_pylist() if (e["source"], e["target"]) == ("a", "b"))
        assert edge["sign"] == result.effect("a", "b").sign == result.to_networkx()["a"]["b"].get("sign", "")
        return edge["sign"], edge["effect"] is not None

    assert signs((0, 1), (0, 1)) == ("+", True)
    assert signs(("no", "yes"), (1, 2, 3)) == ("+", True)
    assert signs((0, 1), ("x", "y")) == ("", True)
    assert signs(("x", "y"), (0, 1)) == ("", True)
    assert signs((0, 1), ("x", "y", "z")) == ("", False)
    assert signs((0, 1), ("x", "y", "z"), ordered=True) == ("+", True)
