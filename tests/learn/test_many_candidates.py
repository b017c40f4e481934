"""The engine for many candidates: the same answers as the one for few, choice of device."""

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
from ctbnlearn.learn.sparse_belief import SparseBelief
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring


def example(n, n_trajectories, seed, max_parents=2, **more):
    net = cl.random_network(n, max_parents, rng=seed, **more)
    paths = cl.simulate(net, n_trajectories, horizon=4.0, rng=seed + 1)
    noise = cl.GaussianNoise(variance=0.2) if not more else cl.LabelNoise(0.1)
    return net, cl.observe(paths, n_times=10, noise=noise, rng=seed + 2)


def run(obs, kind, max_parents, schedule):
    """EM from uniform weights over all sets, with either belief."""
    cards = [v.n_states for v in obs.variables]
    n = len(cards)
    rules = EdgeRules.build(obs.names, max_parents, None, None, None)
    rates = fit_decoupled(obs, [None] * n)
    engine = PathEngine(obs, default_step([float(r.sum(1).max()) for r in rates]), device="cpu")
    problems = [NodeProblem.build(i, rules.sets(i), rules, cards, Scoring(), rates[i]) for i in range(n)]
    belief = start = DenseBelief.start(
        problems, cards, rules.allowed, [np.full(len(p.sets), 1 / len(p.sets)) for p in problems]
    )
    if kind == "sparse":
        belief = replace(
            SparseBelief.start(problems, rules, engine), weights=start.weights, active=start.active, nodes=start.nodes
        )
    em = EM(obs, engine, schedule, learn_initial=True)
    state = em.begin(belief, [np.full(c, 1 / c) for c in cards], rates)
    while not em.ended(state):
        state = em.round(state)
    return state


SCHEDULE = Schedule(max_iter=5, tol=1e-12, max_sweeps=4)
MIXED = {"dynamics": "random", "n_states": [2, 3, 2, 3]}


@pytest.mark.parametrize(("n", "more", "max_parents"), [(6, {}, 2), (6, {}, 3), (4, MIXED, 2), (4, MIXED, 3)])
def test_same_answers_as_the_joint_table(monkeypatch, n, more, max_parents):
    """To 1e-6 with every set driving the paths."""
    monkeypatch.setattr(sparse_belief, "SMALLEST_WEIGHT", 0.0)
    _, obs = example(n, 30, 3, **more)
    dense, sparse = (run(obs, kind, max_parents, SCHEDULE) for kind in ("dense", "sparse"))
    np.testing.assert_allclose(sparse.belief.edges(), dense.belief.edges(), atol=1e-6)
    np.testing.assert_allclose(sparse.history.objective, dense.history.objective, rtol=1e-8)


@pytest.mark.parametrize(("n", "more"), [(6, {}), (4, MIXED)])
def test_nearly_the_same_answers_with_the_usual_truncation(n, more):
    """To 1e-3."""
    _, obs = example(n, 30, 3, **more)
    dense, sparse = (run(obs, kind, 2, SCHEDULE) for kind in ("dense", "sparse"))
    np.testing.assert_allclose(sparse.belief.edges(), dense.belief.edges(), atol=1e-3)


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


def test_too_many_sets_are_refused(monkeypatch):
    """With the way out in the words of the settings: mixture weights have no other method."""
    _, obs = example(12, 5, 5)
    monkeypatch.setattr(incomplete, "MOST_SETS", 200)
    with pytest.raises(ParameterError, match=r'232 sets of up to 3.*200.*"star".*use inference="blocks" or "sampling"'):
        cl.StructureLearner(3, inference="star").fit(obs)
    with pytest.raises(ParameterError, match="use posterior weights, a smaller max_parents"):
        cl.StructureLearner(3, weights="mixture").fit(obs)


def test_sets_of_three():
    """No worse than pairs where nodes have three parents."""
    net, obs = example(12, 100, 5, max_parents=3)
    two, three = (cl.StructureLearner(k, inference="star").fit(obs) for k in (2, 3))
    aupr = [cl.edge_scores(net, learner.edge_probabilities_)["aupr"] for learner in (two, three)]
    assert aupr[1] >= aupr[0]
    assert [weights.sum() for weights in three.parent_set_weights_] == pytest.approx([1] * 12)


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
