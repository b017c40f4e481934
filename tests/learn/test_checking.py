"""Checks of a model: scores written out by hand, calibration under the true model, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.data.history import history
from ctbnlearn.errors import ParameterError
from ctbnlearn.learn import checking, folds, risk_check
from oracles import dense

EM = cl.Exact(max_iter=8, tol=0.05)


def study(n=60, coupling=0.9, seed=1, **how):
    net = cl.random_network(3, 1, coupling=coupling, rng=3)
    return net, cl.observe(cl.simulate(net, n, horizon=6.0, rng=seed), n_times=10, rng=2, **how)


@pytest.fixture(scope="module")
def checked():
    _, obs = study()
    return obs, cl.check_model(cl.StructureLearner(max_parents=1, inference=EM), obs, n_folds=2)


def test_edges_that_are_there_help(checked):
    _, check = checked
    assert check.gain > 2 * check.gain_error > 0
    assert check.words[0].startswith("The edges improve prediction of new units by ")
    assert "nats per value (one standard error)" in check.words[0]
    assert check.engine == "joint chain"
    assert str(check) == "\n".join(check.words)
    json.dumps(check.to_dict(), allow_nan=False)


def test_a_result_takes_the_check_along(checked, tmp_path):
    obs, check = checked
    result = cl.StructureLearner(max_parents=1, inference=EM).fit(obs).result_
    result.with_check(check).save(tmp_path / "result")
    assert cl.load_result(tmp_path / "result").manifest["check"] == check.to_dict()
    assert check.words[0] in (tmp_path / "result" / "report.html").read_text()


def test_scores_are_those_of_networks_learned_without_the_units(checked):
    """Both folds done by hand: fit to the others, filter up to each time, look up the value seen."""
    obs, check = checked
    total, count = np.zeros(3), np.zeros(3, int)
    for held in folds.unit_folds(60, 2, 0):
        others = np.setdiff1d(np.arange(60), held)
        net = cl.StructureLearner(max_parents=1, inference=EM).fit(obs.select(others)).network_
        for k in held:
            times = obs.series[0].times[10 * k : 10 * k + 10]
            for m in range(1, 10):  # all variables share their times
                known = history(obs.select([k]), times[m - 1 : m])
                ahead = cl.exact.filter(net, known, times[m : m + 1])
                for i, name in enumerate(obs.names):
                    total[i] += np.log(ahead[name][0, 0, obs.series[i].values[10 * k + m]])
                    count[i] += 1
    assert [row["values"] for row in check.variables] == count.tolist()
    np.testing.assert_allclose([row["score"] for row in check.variables], total / count, atol=1e-9)


def test_one_variable_scores_its_evidence():
    """With a single variable the predictions multiply to the evidence, which dense exponentials give."""
    net = cl.random_network(1, 0, dynamics="random", n_states=3, rng=1)
    obs = cl.observe(cl.simulate(net, 6, horizon=3.0, rng=1), n_times=6, noise=cl.LabelNoise(0.2), rng=2)
    learner = cl.StructureLearner(inference=EM).fit(obs)
    found = folds.forecast(learner, obs, np.arange(6))[0]
    for k in range(6):
        evidence = dense.forward_backward(learner.network_, obs, k)[3]
        assert found.log_probability[found.unit == k].sum() == pytest.approx(np.log(evidence), abs=1e-9)
    np.testing.assert_allclose(found.labels.sum(1), 1.0, atol=1e-12)


def test_moves_and_calibration_are_right_under_the_truth():
    """Predictions of the network that made the data: moves within three standard deviations, shares near."""
    net, obs = study(200, missing=0.3)
    learner = cl.StructureLearner(inference=EM).fit(obs)
    learner.network_ = net
    found = folds.forecast(learner, obs, np.arange(200))
    for i, name in enumerate(obs.names):
        row = checking._moves(name, [found[i]])
        s = obs.series[i]
        pairs = [np.diff(s.values[a:b]) for a, b in zip(s.offsets, s.offsets[1:])]
        assert row["pairs"] == sum(map(len, pairs))
        assert row["seen"] == sum(int((p != 0).sum()) for p in pairs)
        assert abs(row["seen"] - row["predicted"]) < 3 * row["error"]
    bins, error = checking._calibration(found)
    assert error < 0.03
    assert sum(b["values"] for b in bins) == 2 * sum(int(f.later.sum()) for f in found)
    wrong = [replace(f, labels=f.labels[:, ::-1]) for f in found]
    assert checking._calibration(wrong)[1] > 0.1


def test_standard_error_is_that_of_units():
    """Two units: the ratio estimate and its error, by hand."""

    def made(values):
        return folds.Forecast(np.array([0, 0, 1]), np.ones(3, bool), np.array(values), None, np.zeros(3))

    row = checking._scored("a", [made([1.0, 2.0, 3.0])], [made([0.0, 0.0, 0.0])], 2)
    assert (row["values"], row["gain"]) == (3, 2.0)
    assert row["gain_error"] == pytest.approx(np.sqrt(((3 - 4) ** 2 + (3 - 2) ** 2) * 2) / 3)


def test_curves_of_simulated_units_hold_the_real_ones(checked):
    _, check = checked
    assert {row["what"] for row in check.curves} == {"share of 1"}
    inside = [row["low"] - 0.05 <= row["seen"] <= row["high"] + 0.05 for row in check.curves]
    assert np.mean(inside) > 0.8
    assert all(0 <= row["simulated"] <= 1 for row in check.curves)


def test_measured_values_are_scored_by_density_and_drawn_as_means():
    _, obs = study(30, noise={"x0": cl.GaussianNoise(0.2)})
    check = cl.check_model(cl.StructureLearner(max_parents=1, inference=EM), obs, n_folds=2)
    assert {row["variable"] for row in check.moves} == {"x1", "x2"}
    assert {row["what"] for row in check.curves if row["variable"] == "x0"} == {"mean"}


@pytest.mark.parametrize(
    ("gain", "words"), [(0.1, "improve prediction"), (-0.1, "worse"), (0.001, "no clear difference")]
)
def test_words_follow_the_numbers(checked, gain, words):
    _, check = checked
    assert words in replace(check, gain=gain, gain_error=0.01).words[0]
    rows = [{"variable": n, "gain": g, "gain_error": 1e-7} for n, g in (("tiny", -1e-6), ("bad", -0.2), ("good", 0.3))]
    said = replace(check, variables=rows).words
    assert said[1:3] == ["They help most with good (0.3).", "They make prediction worse of bad (-0.2)."]
    off = [{"variable": "z", "pairs": 90, "seen": 40, "predicted": 10.0, "error": 3.0}]
    assert "Of z, fewer were predicted than seen: 10 for 40." in replace(check, moves=off).words


def test_what_cannot_be_checked_is_refused():
    net, obs = study(6)
    learner = cl.StructureLearner(inference=EM)
    with pytest.raises(ParameterError, match="complete paths have no values"):
        cl.check_model(learner, cl.simulate(net, 5, n_transitions=3, rng=1))
    with pytest.raises(ParameterError, match="7 folds of 6 units"):
        cl.check_model(learner, obs, n_folds=7)
    with pytest.raises(ParameterError, match="n_folds must be"):
        cl.check_model(learner, obs, n_folds=1)
    with pytest.raises(ParameterError, match="needs a StructureLearner"):
        cl.check_model(net, obs)


def test_risks_of_units_held_out():
    """A variable that another drives hard: risks rank units well, and units and outcomes are those counted by hand."""
    net, obs = study(150)
    name = net.edges[0][1]
    rows = cl.check_risk(cl.StructureLearner(max_parents=1, inference=EM), obs, {name: 1}, [1.0, 2.0], n_folds=2)
    for row in rows:
        s, units, reached = obs.series[obs.names.index(name)], 0, 0
        for k in range(150):
            cut = obs.end[k] - row["within"]
            times, values = (a[s.offsets[k] : s.offsets[k + 1]] for a in (s.times, s.values))
            before, after = values[times <= cut], values[times > cut]
            if len(before) and before[-1] == 0 and len(after):
                units += 1
                reached += int((after == 1).any())
        assert (row["units"], row["reached"]) == (units, reached)
        assert row["brier"] < row["brier_reference"]
        assert row["auc"] > 0.5
    with pytest.raises(ParameterError, match="one variable"):
        cl.check_risk(cl.StructureLearner(inference=EM), obs, {"x1": 1, "x0": 1}, 1.0)


def test_auc_and_brier_by_hand():
    row = risk_check._row(1.0, np.array([0.9, 0.2, 0.6, 0.1]), np.array([True, False, False, True]))
    assert row["auc"] == pytest.approx(0.5)
    assert row["brier"] == pytest.approx((0.01 + 0.04 + 0.36 + 0.81) / 4)
    assert row["brier_reference"] == pytest.approx((2 * (1 / 3 - 1) ** 2 + 2 * (2 / 3) ** 2) / 4)
    assert risk_check._row(1.0, np.array([0.9]), np.array([True]))["auc"] is None
