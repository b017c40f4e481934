"""Averages over resampled units: what they are made of, that they are less sure, and that they can be resumed."""

from __future__ import annotations

import json
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import CheckpointError, ParameterError
from ctbnlearn.execute.local import Processes
from ctbnlearn.learn import bagging
from ctbnlearn.learn.rebuild import learner_of
from ctbnlearn.learn.repeats import BRIEF, brief_method, side_by_side
from ctbnlearn.result.bags import Bags

NET = cl.random_network(3, 1, coupling=0.9, rng=3)


@pytest.fixture(scope="module")
def paths():
    return cl.simulate(NET, 40, n_transitions=10, rng=1)


@pytest.fixture(scope="module")
def bagged(paths):
    return cl.Bagged(cl.StructureLearner(max_parents=2), n_bags=6, random_state=4).fit(paths)


def test_bags_are_fits_to_units_drawn_with_replacement(paths, bagged):
    """The same average from numpy's draws and plain fits, written out."""
    each = []
    for k in range(6):
        seed = np.random.SeedSequence([4, k]).generate_state(1)[0]
        chosen = np.random.default_rng(int(seed)).integers(0, 40, 40)
        each.append(cl.StructureLearner(max_parents=2).fit(paths.select(chosen)).edge_probabilities_)
    np.testing.assert_allclose(bagged.edge_probabilities_, np.mean(each, 0), atol=1e-12)
    np.testing.assert_allclose(bagged.bags_.spread, np.std(each, 0), atol=1e-12)
    plain = cl.StructureLearner(max_parents=2).fit(paths)
    np.testing.assert_array_equal(bagged.bags_.all_data, plain.edge_probabilities_)
    assert bagged.network_.edges == plain.network_.edges
    assert bagged.score(paths) == plain.score(paths)


def test_agreement_of_signs_counts_the_more_frequent_one():
    signs = [np.array([[0, s], [0, 0]]) for s in (1, 1, -1, 0)]
    found = Bags.of([np.full((2, 2), p) for p in (0.2, 0.4, 0.6, 0.8)], signs, np.zeros((2, 2)))
    assert found.sign_agreement[0, 1] == pytest.approx(2 / 3)
    assert np.isnan(found.sign_agreement[1, 0])
    assert found.mean[0, 0] == pytest.approx(0.5)
    assert found.spread[0, 0] == pytest.approx(np.std([0.2, 0.4, 0.6, 0.8]))


def test_averages_of_two_halves_do_not_contradict_each_other():
    """Edges above 0.9 in one half of the units and below 0.1 in the other: fewer from averages than from plain fits."""
    against = {"plain": 0, "bagged": 0}
    for seed in range(12):
        net = cl.random_network(4, 2, coupling=0.4, rng=seed)
        paths = cl.simulate(net, 60, n_transitions=10, rng=seed)
        fits = [cl.Bagged(cl.StructureLearner(max_parents=2), n_bags=10).fit(half) for half in (paths[:30], paths[30:])]
        for name, (a, b) in {
            "plain": [f.bags_.all_data for f in fits],
            "bagged": [f.edge_probabilities_ for f in fits],
        }.items():
            against[name] += int(((np.maximum(a, b) > 0.9) & (np.minimum(a, b) < 0.1)).sum())
    assert against["bagged"] < against["plain"]


def test_the_result_holds_the_bags(bagged, tmp_path):
    result = bagged.result_
    table = result.edges.to_pylist()
    assert {"spread", "sign_agreement", "all_data"} <= set(table[0])
    result.save(tmp_path / "result")
    again = cl.load_result(tmp_path / "result")
    np.testing.assert_array_equal(again.bags.spread, bagged.bags_.spread)
    np.testing.assert_array_equal(again.bags.sign_agreement, bagged.bags_.sign_agreement)
    assert again.bags.n_bags == again.manifest["bags"]["n_bags"] == 6
    assert again.edges.to_pylist() == table
    page = (tmp_path / "result" / "report.html").read_text()
    assert "averages over 6 draws" in page
    assert (tmp_path / "result" / "edges.csv").read_text().splitlines()[0].endswith("spread,sign_agreement,all_data")


def test_finished_bags_are_not_fitted_again(paths, bagged, tmp_path, monkeypatch):
    learner = cl.StructureLearner(max_parents=2)
    cl.Bagged(learner, n_bags=4, random_state=4, checkpoint=tmp_path).fit(paths)
    (tmp_path / "bag-0001.json").unlink()
    fitted = []
    real = bagging.fit_bag
    monkeypatch.setattr(bagging, "fit_bag", lambda *task: fitted.append(task[2]) or real(*task))
    again = cl.Bagged(learner, n_bags=6, random_state=4, checkpoint=tmp_path, resume=True).fit(paths)
    assert fitted == [bagging._seed(4, k) for k in (1, 4, 5)]
    np.testing.assert_array_equal(again.edge_probabilities_, bagged.edge_probabilities_)


def test_processes_side_by_side_give_the_same(paths, bagged):
    learner = cl.StructureLearner(max_parents=2, progress=lambda event: None)
    both = cl.Bagged(learner, n_bags=6, random_state=4, jobs=Processes(2)).fit(paths)
    np.testing.assert_array_equal(both.edge_probabilities_, bagged.edge_probabilities_)


def who(learner, data, number):
    return os.getpid(), learner.executor, learner.memory, data.n_trajectories, number


def test_fits_are_shared_out_by_the_executor_of_the_learner(paths):
    """Each worker fits alone, with its share of the memory; without an executor fits run here, one by one."""
    tasks = [(k,) for k in range(4)]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for learner, jobs in [
            (cl.StructureLearner(executor=pool, memory="1GB"), None),
            (cl.StructureLearner(memory="1GB"), pool),
        ]:
            found = dict(side_by_side(who, learner, paths, tasks, jobs, "fit"))
            assert [found[k][1:] for k in range(4)] == [(None, 500_000_000, 40, k) for k in range(4)]
            assert os.getpid() not in {row[0] for row in found.values()}
    here = dict(side_by_side(who, cl.StructureLearner(memory="1GB"), paths, tasks, None, "fit"))
    assert here == {k: (os.getpid(), None, "1GB", 40, k) for k in range(4)}


def test_bags_of_other_data_are_refused(paths, tmp_path):
    learner = cl.StructureLearner(max_parents=2)
    cl.Bagged(learner, n_bags=2, checkpoint=tmp_path).fit(paths)
    with pytest.raises(CheckpointError, match="other data or settings"):
        cl.Bagged(learner, n_bags=2, checkpoint=tmp_path, resume=True).fit(paths[:30])
    with pytest.raises(CheckpointError, match="other data or settings"):
        cl.Bagged(cl.StructureLearner(max_parents=1), n_bags=2, checkpoint=tmp_path, resume=True).fit(paths)
    (tmp_path / "bag-0000.json").write_text("{")
    with pytest.raises(CheckpointError, match="damaged"):
        cl.Bagged(learner, n_bags=2, checkpoint=tmp_path, resume=True).fit(paths)


def test_observations_are_resampled_with_ids_of_their_own():
    obs = cl.observe(cl.simulate(NET, 20, horizon=2.0, rng=1), n_times=5, rng=2)
    drawn = bagging.resampled(obs, np.random.default_rng(0))
    assert list(drawn.ids) == list(range(20))
    chosen = np.sort(np.random.default_rng(0).integers(0, 20, 20))
    np.testing.assert_array_equal(drawn.end, obs.end[chosen])
    quick = cl.StructureLearner(max_parents=1, inference=cl.Sampling(chains=2, sweeps=30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty sweeps may be too few
        found = cl.Bagged(quick, n_bags=2).fit(obs)
    assert ((found.edge_probabilities_ >= 0) & (found.edge_probabilities_ <= 1)).all()
    assert found.smooth(obs, [0.5])["x0"].shape == (20, 1, 2)
    json.dumps(found.result_.manifest)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, BRIEF),
        ({"inference": "auto"}, BRIEF),
        ({"inference": "sampling"}, BRIEF),
        ({"inference": cl.Sampling(sweeps=50)}, cl.Sampling(sweeps=50)),
        ({"inference": "blocks"}, cl.Blocks()),
        ({"inference": "exact"}, "exact"),
        ({"weights": "mixture"}, "auto"),
    ],
)
def test_one_of_many_fits_samples_briefly(settings, expected):
    obs = cl.observe(cl.simulate(NET, 12, horizon=2.0, rng=1), n_times=5, rng=2)
    assert brief_method(cl.StructureLearner(max_parents=1, **settings), obs) == expected


def test_interventions_go_with_their_units():
    obs = cl.observe(cl.simulate(NET, 12, horizon=2.0, rng=1), n_times=5, rng=2)
    table = pa.table({"unit": [0, 5], "start": [0.5, 0.2], "end": [1.0, 1.4], "variable": ["x1", "x0"]})
    drawn = bagging.resampled(obs.with_interventions(table), np.random.default_rng(0))
    chosen = np.random.default_rng(0).integers(0, 12, 12)
    assert len(drawn.interventions) == np.isin(chosen, [0, 5]).sum() > 0
    quick = cl.StructureLearner(max_parents=1, inference=cl.Sampling(chains=2, sweeps=30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty sweeps may be too few
        found = cl.Bagged(quick, n_bags=2).fit(obs, interventions=table)
    assert found.bags_.n_bags == 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_bags": 1}, "n_bags must be a whole number"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": "two"}, "jobs must be None, a number of processes"),
        ({"random_state": "x"}, "random_state must be"),
        ({"resume": True}, "needs `checkpoint`"),
        ({"learner": "me"}, "needs a StructureLearner"),
    ],
)
def test_bad_settings_are_refused(paths, settings, words):
    with pytest.raises(ParameterError, match=words):
        cl.Bagged(**settings).fit(paths)


def test_one_unit_cannot_be_resampled(paths):
    with pytest.raises(ParameterError, match="several units"):
        cl.Bagged().fit(paths[:1])


def test_what_is_not_fitted_says_so():
    with pytest.raises(AttributeError, match="fit it first"):
        _ = cl.Bagged().network_


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_parents": 1, "candidates": [("x0", "x1"), ("x1", "x2")], "random_state": 3},
        {"rate_prior": (2.0, 3.0), "structure_prior": 0.5, "adjust_for": ["x2"]},
        {"weights": cl.Mixture(), "rate_prior": cl.ProjectedPrior(5.0, 10.0)},
        {"inference": cl.Star(max_iter=3), "transitions": {"x0": [(-1, 1)]}, "forbidden": np.diag([1, 0], 1)},
    ],
)
def test_a_learner_is_rebuilt_from_its_result(paths, settings, tmp_path):
    if "transitions" in settings:
        paths = cl.simulate(cl.random_network(3, 0, rng=0), 5, n_transitions=3, rng=0)
        paths = paths[np.flatnonzero([not ((paths.nodes[a:b] == 0) & (paths.targets[a:b] == 0)).any()
                                      for a, b in zip(paths.offsets, paths.offsets[1:])])]  # fmt: skip
    learner = cl.StructureLearner(**settings).fit(paths)
    learner.result_.save(tmp_path / "result")
    again = learner_of(cl.load_result(tmp_path / "result")).fit(paths)
    np.testing.assert_array_equal(again.edge_probabilities_, learner.edge_probabilities_)
    assert again.inference == learner.inference
