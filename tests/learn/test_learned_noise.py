"""Observation models learned with the network: by sampling and by EM, saved, resumed, used again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kstest

import ctbnlearn as cl
from ctbnlearn.data.noise import noise_from_dict
from ctbnlearn.inference.path_state import gather
from ctbnlearn.learn.chain import Chain
from ctbnlearn.learn.noise_draws import LearnedValues, NoiseDraws
from ctbnlearn.learn.sampling import make_task
from ctbnlearn.structure.problem import EdgeRules, Scoring

NAMES = ("x0", "x1", "x2")


def table(n=120, seed=0, levels=(10.0, 13.0), missing=0.0):
    """A measured network of three variables as people would have it, and the network."""
    net = cl.random_network(3, max_parents=1, coupling=0.8, rng=6)
    paths = cl.simulate(net, n_trajectories=n, horizon=5.0, rng=seed)
    noise = cl.GaussianNoise(variance=1.0, values=levels)
    obs = cl.observe(paths, n_times=8, noise=noise, missing=missing, rng=seed + 1)
    who = np.repeat(np.arange(n), 8)
    columns = {"id": who, "time": obs.series[0].times if not missing else None}
    for name, s in zip(net.names, obs.series):
        columns[name] = s.values
    return net, pa.table(columns)


def read(rows, model, **others):
    return cl.read_table(rows, trajectory="id", noise=model, start=0.0, end=5.0, **others)


@pytest.mark.parametrize("inference", [cl.Sampling(sweeps=150, chains=2), "exact", "star"])
def test_levels_are_found(inference, recwarn):
    _, rows = table(n=400)
    learner = cl.StructureLearner(max_parents=1, inference=inference).fit(read(rows, cl.GaussianNoise(n_states=2)))
    for name in NAMES:
        assert learner.noise_[name].values == pytest.approx((10.0, 13.0), abs=0.3)
        assert learner.noise_[name].variance == pytest.approx(1.0, abs=0.25)
        assert not learner.noise_[name].learned
    rows_ = learner.noise_parameters_
    assert [r["state"] for r in rows_[:3]] == ["low", "high", ""]
    assert all(r["low"] < r["estimate"] < r["high"] for r in rows_)
    known = cl.StructureLearner(max_parents=1, inference=inference).fit(read(rows, cl.GaussianNoise(1.0, (10.0, 13.0))))
    np.testing.assert_allclose(learner.edge_probabilities_, known.edge_probabilities_, atol=0.1)


def test_a_learned_model_is_saved_and_used_for_new_data(tmp_path, recwarn):
    _, rows = table()
    obs = read(rows, cl.GaussianNoise(n_states=2))
    learner = cl.StructureLearner(max_parents=1, inference=cl.Sampling(sweeps=100, chains=2)).fit(obs)
    learner.result_.save(tmp_path / "r")
    loaded = cl.load_result(tmp_path / "r")
    assert loaded.noise == learner.noise_
    assert loaded.noise_parameters == learner.noise_parameters_
    assert "How states were measured" in (tmp_path / "r" / "report.html").read_text()
    _, new = table(n=5, seed=9)
    other = read(new, cl.GaussianNoise(n_states=2))  # its own start would differ
    fixed = read(
        new, {n: dataclasses.replace(loaded.noise[n]) for n in NAMES}, states={n: ["low", "high"] for n in NAMES}
    )
    grid = np.linspace(0, 5, 7)
    for name in NAMES:
        np.testing.assert_array_equal(learner.smooth(other, grid)[name], learner.smooth(fixed, grid)[name])
    assert learner.score(other) == learner.score(fixed)


@pytest.mark.parametrize("inference", [cl.Sampling(sweeps=64, chains=2), cl.Exact(max_iter=4), cl.Star(max_iter=4)])
def test_a_run_with_learned_models_resumes_bit_for_bit(inference, tmp_path, recwarn):
    _, rows = table(n=40)
    obs = read(rows, cl.GaussianNoise(n_states=2))
    whole = cl.StructureLearner(max_parents=1, inference=inference).fit(obs)

    class Stop(Exception):
        pass

    def stop(k, value):
        raise Stop

    folder = tmp_path / "state"
    for _ in range(2):
        with pytest.raises(Stop):
            cl.StructureLearner(
                max_parents=1, inference=inference, checkpoint=folder, resume=folder.exists(), callback=stop
            ).fit(obs)
    again = cl.StructureLearner(max_parents=1, inference=inference, checkpoint=folder, resume=True).fit(obs)
    np.testing.assert_array_equal(again.edge_probabilities_, whole.edge_probabilities_)
    assert again.noise_parameters_ == whole.noise_parameters_


def test_draws_of_levels_have_the_right_distribution():
    """One level far from its neighbours: a conjugate normal, whatever draws it."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(0, 1, 30), rng.normal(50, 1, 30)])
    weights = np.repeat(np.eye(2), 30, axis=0)
    model = cl.GaussianNoise(variance=1.0, n_states=2).begin(y, "here")
    mean, sd = model.column
    sums = model.sums(y, weights)
    drawn = np.array([model.draw(sums, rng).values for _ in range(4000)])
    for x, part in enumerate((y[:30], y[30:])):
        precision = 30 / 1.0 + 1 / (9 * sd**2)
        centre = (part.sum() + mean / (9 * sd**2)) / precision
        assert kstest(drawn[:, x], "norm", (centre, precision**-0.5)).pvalue > 1e-3


def test_the_spread_drawn_has_the_right_distribution():
    y = np.random.default_rng(1).normal(0, 2, 50)
    model = cl.GaussianNoise(values=(0.0, 100.0)).begin(y, "here")
    sd = model.column[1]
    sums = model.sums(y, np.repeat([[1.0, 0.0]], 50, axis=0))
    rng = np.random.default_rng(2)
    drawn = np.array([model.draw(sums, rng).variance for _ in range(4000)])
    rate = 0.1 * sd**2 + (y**2).sum() / 2
    assert kstest(drawn, "invgamma", (1 + 25, 0, rate)).pvalue > 1e-3


def test_counts_and_labels_are_learned(recwarn):
    net = cl.random_network(3, max_parents=1, coupling=0.8, rng=6)
    paths = cl.simulate(net, n_trajectories=150, horizon=5.0, rng=0)
    models = {
        "x0": cl.PoissonNoise((0.5, 6.0)),
        "x1": cl.LabelNoise([[0.9, 0.1], [0.2, 0.8]]),
        "x2": cl.GaussianNoise(0.2),
    }
    obs = cl.observe(paths, n_times=10, noise=models, rng=1)
    open_ = {"x0": cl.PoissonNoise(n_states=2), "x1": cl.LabelNoise()}
    series = [
        s.through(open_[v.name].begin(s.values, "").bind(v)) if v.name in open_ else s
        for v, s in zip(obs.variables, obs.series)
    ]
    obs = dataclasses.replace(obs, series=tuple(series))
    for inference in (cl.Sampling(sweeps=200, chains=2), "exact"):
        learner = cl.StructureLearner(max_parents=1, inference=inference).fit(obs)
        assert learner.noise_["x0"].rates == pytest.approx((0.5, 6.0), rel=0.15)
        assert np.diag(learner.noise_["x1"].confusion) == pytest.approx((0.9, 0.8), abs=0.08)
        assert sorted(e for e in learner.network_.edges) == sorted(net.edges)


def test_the_number_of_levels_is_chosen():
    rng = np.random.default_rng(3)
    for n in (2, 3, 4):
        y = 5.0 * rng.integers(0, n, 600) + rng.normal(0, 1, 600)
        assert cl.GaussianNoise(n_states="auto").begin(y, "").n_states == n
        counts = rng.poisson(np.array([0.5, 6.0, 25.0, 80.0])[rng.integers(0, n, 600)])
        assert cl.PoissonNoise(n_states="auto").begin(counts, "").n_states == n
    skewed = np.exp(np.repeat([0.0, 3.0], [550, 50]) + 0.3 * rng.standard_normal(600))  # a rare high level
    found = cl.GaussianNoise(n_states=2, log=True).begin(skewed, "")
    assert found.values == pytest.approx((0.0, 3.0), abs=0.2)


def test_models_are_saved_whole():
    models = [
        cl.GaussianNoise(0.3, (1.0, 2.5), log=True),
        cl.LabelNoise([[0.9, 0.1], [0.3, 0.7]], labels=("a", "b")),
        cl.PoissonNoise((0.1, 7.0)),
        cl.ThresholdNoise(1.0, 2.0, True),
    ]
    for model in models:
        assert noise_from_dict(model.to_dict()) == model


def test_chains_keep_models_of_their_own():
    _, rows = table(n=10)
    obs = read(rows, cl.GaussianNoise(n_states=2))
    seen = gather(obs)
    one, two = (NoiseDraws(LearnedValues.of(obs), seen) for _ in range(2))
    one.restore({f"noise/{i}": np.array([0.0, 1.0, 2.0]) for i in range(3)})
    assert one.models[0].values == (0.0, 1.0)
    assert two.models[0].values != (0.0, 1.0)
    assert not np.array_equal(one.seen.log_likelihood, two.seen.log_likelihood)
    np.testing.assert_array_equal(two.seen.log_likelihood, seen.log_likelihood)


def test_a_chain_that_takes_over_another_takes_its_models():
    obs = read(table(30)[1], cl.GaussianNoise(n_states=2))
    rules = EdgeRules.build(obs.names, None, None, None, None)
    task = make_task(obs, rules, Scoring("auto", "sparse"), [None] * 3, "learn")
    one, other = (Chain(task, np.random.SeedSequence(k)) for k in (1, 2))
    one.sweep()
    assert (one.noise.parameters(0) != other.noise.parameters(0)).any()
    other.take_over(one)
    for i in range(3):
        np.testing.assert_array_equal(other.noise.parameters(i), one.noise.parameters(i))
    np.testing.assert_array_equal(other.noise.seen.log_likelihood, one.noise.seen.log_likelihood)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cl.GaussianNoise(), ["variance=", "n_states="]),
        (lambda: cl.GaussianNoise(n_states=1), ["n_states", "2 to 16"]),
        (lambda: cl.GaussianNoise(n_states="many"), ["n_states", '"auto"']),
        (lambda: cl.GaussianNoise(values=(1, 2), n_states=3), ["n_states=3", "2 values"]),
        (lambda: cl.GaussianNoise(n_states=2, log="yes"), ["log", "True or False"]),
        (lambda: cl.PoissonNoise(), ["rates=", "n_states="]),
        (lambda: cl.PoissonNoise((2.0, 1.0)), ["rates", "rising"]),
        (lambda: cl.GaussianNoise(n_states=2).begin(np.ones(5), "here"), ["here", "equal"]),
        (lambda: cl.GaussianNoise(n_states=3).begin(np.array([1.0, 2.0, 1.0]), "here"), ["here", "2 different", "3"]),
        (lambda: cl.GaussianNoise(n_states=2).log_likelihood(np.ones(2)), ["not known yet", "learn"]),
        (lambda: cl.observe(cl.simulate(cl.random_network(2, rng=0), 1, horizon=1.0, rng=0), n_times=2,
                            noise=cl.GaussianNoise(n_states=2)), ["not known yet"]),
        (lambda: read(table(3)[1], cl.PoissonNoise(n_states=2)), ["row 0", "count", "whole number"]),
        (lambda: cl.StructuralEM().fit(read(table(3)[1], cl.GaussianNoise(n_states=2))), ["'x0'", "StructureLearner"]),
    ],
)  # fmt: skip
def test_bad_models(make, words):
    with pytest.raises(cl.CtbnlearnError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
