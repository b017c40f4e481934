"""The engine for many candidates: the same answers as the one for few, pools for larger sets, choice of device."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.engine import PathEngine, default_step
from ctbnlearn.learn import incomplete, sparse_belief
from ctbnlearn.learn.decoupled import fit_decoupled
from ctbnlearn.learn.dense_belief import DenseBelief
from ctbnlearn.learn.em import EM, Schedule
from ctbnlearn.learn.sparse_belief import SetSearch, SparseBelief
from ctbnlearn.structure.all_pairs import AllPairs, pool_sizes
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring


def example(n, n_trajectories, seed, max_parents=2, **more):
    net = cl.random_network(n, max_parents, rng=seed, **more)
    paths = cl.simulate(net, n_trajectories, horizon=4.0, rng=seed + 1)
    noise = cl.GaussianNoise(variance=0.2) if not more else cl.LabelNoise(0.1)
    return net, cl.observe(paths, n_times=10, noise=noise, rng=seed + 2)


def run(obs, kind, max_parents, schedule, pool_size=None):
    """EM from uniform weights over all sets, with either belief; "pairs" or "pools" for the sparse one."""
    cards = [v.n_states for v in obs.variables]
    n = len(cards)
    rules = EdgeRules.build(obs.names, max_parents, None, None, None)
    rates, mean = fit_decoupled(obs, [None] * n)
    engine = PathEngine(obs, default_step([float(r.sum(1).max()) for r in rates]), device="cpu")

    def build(i, sets):
        return NodeProblem.build(i, sets, rules, cards, Scoring(), mean[i])

    problems = [build(i, rules.sets(i)) for i in range(n)]
    belief = start = DenseBelief.start(
        problems, cards, rules.allowed, [np.full(len(p.sets), 1 / len(p.sets)) for p in problems]
    )
    if kind != "dense":
        pairs = AllPairs(cards, rules, Scoring(), mean, [None] * n, "float64", engine.device)
        sizes = pool_sizes(rules, pool_size or (n if kind == "pools" else 1))
        belief = replace(
            SparseBelief.start(SetSearch(build, rules, cards, engine, pairs, sizes)),
            problems=start.problems,
            weights=start.weights,
            active=start.active,
            nodes=start.nodes,
            candidates=rules.allowed if kind == "pools" else None,
        )
    em = EM(obs, engine, schedule, learn_initial=True)
    state = em.begin(belief, [np.full(c, 1 / c) for c in cards], rates)
    while not em.ended(state):
        state = em.round(state)
    return state


@pytest.mark.parametrize("case", [(6, {}), (5, {"dynamics": "random", "n_states": [2, 3, 2, 3, 2]})])
def test_same_answers_as_the_joint_table(monkeypatch, case):
    """To 1e-6 with every set driving the paths, to 1e-3 with the usual truncation."""
    n, more = case
    _, obs = example(n, 30, 3, **more)
    schedule = Schedule(max_iter=5, tol=1e-12, max_sweeps=4)
    dense = run(obs, "dense", 2, schedule)
    cut = run(obs, "pairs", 2, schedule)
    monkeypatch.setattr(sparse_belief, "SMALLEST_WEIGHT", 0.0)
    for kind, max_parents in (("pairs", 2), ("pools", 2), ("pools", 3)):
        reference = dense if max_parents == 2 else run(obs, "dense", 3, schedule)
        found = run(obs, kind, max_parents, schedule)
        np.testing.assert_allclose(found.belief.edges(), reference.belief.edges(), atol=1e-6)
        np.testing.assert_allclose(found.history.objective, reference.history.objective, rtol=1e-8)
    np.testing.assert_allclose(cut.belief.edges(), dense.belief.edges(), atol=1e-3)


def test_the_learner_agrees_with_itself(monkeypatch):
    """Other starts and truncations, all defaults: the same picture from either engine.

    EM starts from uniform weights over all sets, or, with many candidates, from variables that do not drive each other.
    With a quarter of these data the two end in different optima, whose objectives differ by some nats also with a tiny
    `tol`, and differ by up to 0.3 on an edge; with these there is one optimum, and both find it.
    """
    _, obs = example(6, 240, 4)
    dense = cl.StructureLearner(max_parents=2, inference="star").fit(obs).edge_probabilities_
    monkeypatch.setattr(incomplete, "MOST_JOINT_STATES", 1)
    sparse = cl.StructureLearner(max_parents=2, inference="star").fit(obs).edge_probabilities_
    np.testing.assert_allclose(sparse, dense, atol=0.05)
    with pytest.raises(ParameterError, match="max_parents=2"):
        cl.StructureLearner(max_parents=3, weights="mixture").fit(obs)


def test_pools():
    """Sets of three inside pools: no worse than pairs, the pools are told, and a pool of all is no pool."""
    net, obs = example(12, 100, 5, max_parents=3)
    two = cl.StructureLearner(max_parents=2, inference="star").fit(obs)
    three = cl.StructureLearner(max_parents=3, pool_size=8, inference="star").fit(obs)
    assert two.pools_ is None
    assert "pools" not in two.result_.manifest
    assert three.result_.manifest["pools"]["x3"] == list(three.pools_[3])
    assert [len(pool) for pool in three.pools_] == [8] * 12
    aupr = [cl.edge_scores(net, learner.edge_probabilities_)["aupr"] for learner in (two, three)]
    assert aupr[1] >= aupr[0]
    for i, pool in enumerate(three.pools_):
        outside = [j for j, name in enumerate(obs.names) if name not in pool]
        assert (three.edge_probabilities_[outside, i] == 0).all()
        assert three.parent_set_weights_[i].sum() == pytest.approx(1)
    assert cl.StructureLearner(max_parents=3, pool_size=11, inference="star").fit(obs).pools_ is None
    rules = [EdgeRules.build("abcdef", k, None, None, [("a", "b")]) for k in (2, 3, 4)]
    assert [pool_sizes(r)[0] for r in rules] == [34, 15, 11]
    assert pool_sizes(rules[0], 1) == [1] * 6


def test_a_costly_pass_is_made_twice(monkeypatch):
    """Where all pairs take long, pools serve in between; the last word is that of all pairs."""
    net, obs = example(40, 60, 6)
    every = cl.StructureLearner(max_parents=2, inference=cl.Star(refine=False)).fit(obs)
    monkeypatch.setitem(sparse_belief.COSTLY, "cpu", 0.0)
    passes = []
    honest = AllPairs.run
    monkeypatch.setattr(AllPairs, "run", lambda *a, **k: (passes.append(1), honest(*a, **k))[1])
    seldom = cl.StructureLearner(max_parents=2, inference=cl.Star(refine=False)).fit(obs)
    assert len(passes) == 2 < seldom.n_iter_
    assert seldom.pools_ is None
    assert cl.edge_scores(net, seldom.edge_probabilities_)["aupr"] >= (
        cl.edge_scores(net, every.edge_probabilities_)["aupr"] - 0.01
    )


def test_effects_of_edges_outside_the_active_parents(monkeypatch):
    """With one active set a node; as all pairs have the last word, tables are those of the paths as they stand."""
    _, obs = example(6, 60, 4)
    monkeypatch.setattr(incomplete, "MOST_JOINT_STATES", 1)
    monkeypatch.setattr(sparse_belief, "ACTIVE_STATES", (2, 2, 2))
    monkeypatch.setitem(sparse_belief.COSTLY, "cpu", 0.0)
    monkeypatch.setattr(sparse_belief, "MISSED", 1.0)
    fits = []
    honest = incomplete.fit_incomplete
    monkeypatch.setattr(incomplete, "fit_incomplete", lambda *given: fits.append(honest(*given)) or fits[-1])
    learner = cl.StructureLearner(max_parents=2, pool_size=3, inference=cl.Star(refine=False)).fit(obs)
    (state, _) = fits[0]
    belief, found = state.belief, state.found.statistics
    assert learner.converged_
    compared = 0

    def collapsed(table, parents, kept):
        """Sum over the states of all parents (two each) but those kept."""
        away = tuple(k for k, j in enumerate(parents) if j not in kept)
        return table.reshape(*[2] * len(parents), *table.shape[1:]).sum(away)

    for i, extra in enumerate(belief.extra_tables):
        for parents, tables in extra.items():
            kept = set(parents) & set(belief.active_parents[i])
            for table, joint in zip(tables, (found.dwell[i], found.transitions[i])):
                expected = collapsed(joint, belief.active_parents[i], kept)
                np.testing.assert_allclose(collapsed(table, parents, kept), expected, rtol=1e-6)
            compared += len(kept) > 0
    assert compared > 0
    for edge in learner.result_.edges.to_pylist():
        listed = any(edge["source"] in s for s in learner.parent_sets_[obs.names.index(edge["target"])])
        if edge["probability"] > 0.05 and listed:
            assert edge["effect_low"] < edge["effect"] < edge["effect_high"]


def test_rules_hold_with_many_candidates():
    _, obs = example(12, 20, 7)
    required = [("x2", "x1"), ("x3", "x5"), ("x4", "x5")]
    learner = cl.StructureLearner(2, forbidden=[("x0", "x1")], required=required, inference="star")
    edges = learner.fit(obs).edge_probabilities_
    assert edges[0, 1] == 0
    assert (edges[[2, 3, 4], [1, 5, 5]] == 1).all()
    assert edges[:, 5].sum() == pytest.approx(2)
    assert (np.diag(edges) == 0).all()
    assert set(learner.network_.parents[5]) == {3, 4}


def test_devices(monkeypatch):
    assert Device.find("cpu").precision == "float64"
    assert Device.find("cpu", "float32").precision == "float32"

    def none(kind):
        if kind == "gpu":
            raise RuntimeError("no such backend")
        return [kind]

    monkeypatch.setattr(jax, "devices", none)
    assert Device.find().kind == "cpu"
    with pytest.raises(ParameterError, match="jax finds none"):
        Device.find("gpu")
    for bad in ("tpu", None, 1):
        with pytest.raises(ParameterError, match="device"):
            Device.find(bad)


def test_work_side_by_side_comes_back_in_order():
    device = Device.find("cpu")
    assert list(device.each(lambda k: k * k, 9)) == [k * k for k in range(9)]
    assert list(device.each(lambda k: k, 0)) == []

    def fail(k):
        if k == 2:
            raise ValueError("two")
        return k

    with pytest.raises(ValueError, match="two"):
        list(device.each(fail, 5))


def test_learning_needs_few_packages():
    """On a bare accelerator machine there is numpy, scipy, scikit-learn and jax, and what these need."""
    code = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyarrow", "networkx", "pandas", "polars", "matplotlib", "plotly", "typer", "rich",
                                  "jinja2", "safetensors"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import ctbnlearn as cl
net = cl.random_network(3, 2, rng=1)
obs = cl.observe(cl.simulate(net, 5, horizon=2.0, rng=1), n_times=4, rng=1)
learner = cl.StructureLearner(inference=cl.Star(max_iter=1, tol=10.0)).fit(obs)
print(learner.edge_probabilities_.shape, learner.score(obs) < 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["(3,", "3)", "True"], done.stderr


@pytest.mark.gpu
def test_processor_and_accelerator_agree():
    try:
        jax.devices("gpu")
    except RuntimeError:
        pytest.skip("no accelerator")
    _, obs = example(40, 60, 8)
    cpu = cl.StructureLearner(2, inference="star", device="cpu").fit(obs).edge_probabilities_
    for precision, close in (("float64", 1e-3), ("float32", 1e-2)):
        gpu = cl.StructureLearner(2, inference="star", device="gpu", precision=precision).fit(obs).edge_probabilities_
        np.testing.assert_allclose(cpu, gpu, atol=close)
    _, few = example(5, 40, 9)
    a, b = (cl.StructureLearner(inference="star", device=d).fit(few).edge_probabilities_ for d in ("cpu", "gpu"))
    np.testing.assert_allclose(a, b, atol=1e-2)
