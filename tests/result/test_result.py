"""The result object: agreement with the learner, tables, graphs, rates, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import networkx
import numpy as np
import pytest
from scipy.stats import gamma

import ctbnlearn as cl
from ctbnlearn.result.manifest import describe, fingerprint, plain
from ctbnlearn.result.page import report_values
from ctbnlearn.result.unit import smooth_units


def test_it_holds_what_the_learner_found(learner, result):
    np.testing.assert_array_equal(result.edge_probabilities, learner.edge_probabilities_)
    assert [list(s) for s in result.parent_sets] == [list(s) for s in learner.parent_sets_]
    assert result.network is learner.network_
    assert result.objective == learner.objective_
    assert result.history.phase == learner.history_.phase
    assert result.names == learner.network_.names
    with pytest.raises(AttributeError):
        result.objective = 0.0
    with pytest.raises(ValueError, match="read-only"):
        result.edge_probabilities[0, 1] = 0.5


def test_an_unfitted_learner_has_no_result():
    assert not hasattr(cl.StructureLearner(), "result_")


def test_rate_tables_have_the_mean_rates_of_the_network(result):
    for i, (table, *_) in enumerate(result.rate_tables):
        off = ~np.eye(2, dtype=bool)
        assert table.parents == result.network.parents[i]
        np.testing.assert_allclose(table.mean[:, off], result.network.cims[i][:, off])


def test_edges_are_all_pairs_most_probable_first(result, truth):
    table = result.edges
    rows = table.to_pylist()
    assert table.column_names[:7] == ["source", "target", "probability", "effect", "effect_low", "effect_high", "sign"]
    assert len(rows) == 12
    assert all(a["probability"] >= b["probability"] for a, b in zip(rows, rows[1:]))
    place = {name: i for i, name in enumerate(result.names)}
    for row in rows:
        assert row["probability"] == result.edge_probabilities[place[row["source"]], place[row["target"]]]
        known = (row["source"], row["target"]) in result.network.edges
        assert (row["effect"] is not None) == known
        if (row["source"], row["target"]) in truth.edges:
            assert row["sign"] == "+"
            assert row["effect_low"] < row["effect"] < row["effect_high"]
    assert {(r["source"], r["target"]) for r in rows[: len(truth.edges)]} == set(truth.edges)


def test_graphs_by_threshold(result, truth):
    np.testing.assert_array_equal(result.graph(), truth.adjacency)
    assert result.graph(0.0).sum() == (result.edge_probabilities > 0).sum()
    assert not result.graph(1.0).any()
    graph = result.to_networkx(0.5)
    assert isinstance(graph, networkx.DiGraph)
    assert list(graph.nodes) == list(result.names)
    assert set(graph.edges) == set(truth.edges)
    source, target = truth.edges[0]
    marks = graph.edges[source, target]
    assert marks["effect"] == result.effect(source, target).effect
    assert graph.nodes[source]["states"] == (-1, 1)
    for bad in (-0.1, 1.1, float("nan"), "0.5", True):
        with pytest.raises(cl.CtbnlearnError, match="threshold must be"):
            result.graph(bad)


def test_rates_have_gamma_quantiles(result, truth):
    child = truth.edges[0][1]
    i = result.names.index(child)
    table = result.rate_tables[i][0]
    rows = result.rates(child, level=0.8)
    assert len(rows) == table.possible.sum()
    row = rows[-1]  # last joint state of the parents, from the last state to the first
    a, b = table.shape[-1, 1, 0], table.rate[-1, 1]
    assert (row["from"], row["to"]) == (1, -1)
    assert row["parents"] == {result.names[j]: 1 for j in table.parents}
    low, high = gamma.ppf([0.1, 0.9], a, scale=1 / b)
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((a / b, low, high))
    with pytest.raises(cl.CtbnlearnError, match="level must be"):
        result.rates(child, level=1.0)
    with pytest.raises(cl.CtbnlearnError, match="unknown variable 'nobody'"):
        result.rates("nobody")


def test_impossible_transitions_have_no_rate():
    net = cl.random_network(2, max_parents=0, dynamics="random", n_states=3, rng=0)
    ring = {"x0": [(0, 1), (1, 2), (2, 0)]}
    obs = cl.simulate(cl.CTBN(net.variables, None, {
        "x0": [[-1, 1, 0], [0, -1, 1], [1, 0, -1]], "x1": net.rates("x1")}), 20, n_transitions=10, rng=1)  # fmt: skip
    result = cl.StructureLearner(transitions=ring).fit(obs).result_
    assert {(r["from"], r["to"]) for r in result.rates("x0")} == set(ring["x0"])


def test_the_manifest_says_where_it_comes_from(learner, result):
    manifest = result.manifest
    assert manifest["version"] == cl.__version__
    assert manifest["settings"]["learner"]["max_parents"] == 2
    assert "callback" not in manifest["settings"]["learner"]
    assert manifest["seed"] == 3
    assert manifest["data"]["transitions"] == 2000
    assert manifest["timings"]["fit"] > 0
    assert manifest["convergence"]["converged"] is True
    assert manifest["warnings"] == []
    learner.set_params(max_parents=1)
    assert learner.result_.manifest["settings"]["learner"]["max_parents"] == 2  # as it was in the fit
    learner.set_params(max_parents=2)


def test_a_fit_on_hardly_any_data_says_that_the_prior_dominates(truth):
    result = cl.StructureLearner(exogenous=[]).fit(cl.simulate(truth, 1, n_transitions=2, rng=0)).result_
    assert any("prior dominates" in w for w in result.manifest["warnings"])


def test_settings_become_plain_values(truth):
    graph = truth.to_networkx()
    assert plain(truth) == [list(edge) for edge in truth.edges]
    assert sorted(plain(graph)) == sorted(plain(truth))
    assert plain(np.eye(2)) == [[1.0, 0.0], [0.0, 1.0]]
    assert plain({"a": (np.int64(1), float("inf"), None)}) == {"a": [1, "inf", None]}
    assert plain(cl.ProjectedPrior()) == {"projected": [5.0, 10.0]}


def test_the_fingerprint_sees_every_change(truth):
    paths = cl.simulate(truth, 5, n_transitions=5, rng=0)
    obs = cl.observe(paths, n_times=4, rng=1)
    assert fingerprint(obs) == fingerprint(obs.select(np.arange(5)))
    others = [
        paths,
        cl.observe(paths, n_times=4, rng=2),
        replace(obs, series=[replace(s, noise=cl.LabelNoise(0.1).bind(v)) for s, v in zip(obs.series, obs.variables)]),
        obs.select([1, 0, 2, 3, 4]),
        replace(obs, end=obs.end + 1),
        replace(obs, variables=[cl.Variable(f"y{i}", (-1, 1)) for i in range(4)]),
    ]
    prints = [fingerprint(data) for data in [obs, *others]]
    assert len(set(prints)) == len(prints)


def test_the_missing_share_counts_blank_cells(truth):
    paths = cl.simulate(truth, 30, n_transitions=5, rng=0)
    assert describe(cl.observe(paths, n_times=6, rng=1))["missing"] == 0
    obs = cl.observe(paths, n_times=6, missing=0.3, rng=1)
    rows = {(k, t) for s in obs.series for k in range(30) for t in s.times[s.offsets[k] : s.offsets[k + 1]].tolist()}
    assert describe(obs)["missing"] == pytest.approx(1 - obs.n_values / (4 * len(rows)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_probabilities": np.full((4, 4), 0.5)}, "zero diagonal"),
        ({"edge_probabilities": np.zeros((3, 3))}, "4 x 4"),
        ({"edge_probabilities": np.full((4, 4), np.nan)}, "from 0 to 1"),
        ({"parent_set_weights": [np.array([1.0])] * 4}, "needs a weight"),
        ({"remaining": np.full(4, 0.1)}, "sum to 1"),
        ({"parent_sets": []}, r"not \[0, 4, 4, 4\]"),
    ],
)
def test_it_refuses_parts_that_do_not_fit(result, change, message):
    with pytest.raises(cl.CtbnlearnError, match=message):
        replace(result, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parents": (0, 0)}, "each once"),
        ({"parents": (9,)}, "other nodes"),
        ({"shape": np.ones((1, 3, 3))}, "shape and rate must be"),
        ({"rate": np.zeros((1, 2))}, "positive"),
        ({"shape": np.ones((1, 2, 2))}, "diagonal"),
    ],
)
def test_it_refuses_rate_tables_that_do_not_fit(result, change, message):
    table = cl.RateTable((), np.array([[[0, 1.0], [1, 0]]]), np.ones((1, 2)))
    with pytest.raises(cl.CtbnlearnError, match=message):
        replace(result, rate_tables=[[replace(table, **change)], [], [], []])


def test_the_report_gets_plain_values(result):
    values = report_values(result)
    n = len(result.names)
    assert [len(values[key]) for key in ("names", "states", "parent_sets", "rates")] == [n] * 4
    assert values["states"][0] == ["-1", "1"]
    assert values["parent_sets"][0][0] == (result.parent_sets[0][0], result.parent_set_weights[0][0])
    assert all(isinstance(state, str) for rows in values["rates"] for row in rows for state in row["parents"].values())
    assert values["settings"]["max_parents"] == 2
    assert values["summary"]["Converged"].startswith("yes")
    assert "Linzner" in values["citation"]


def test_units_to_show_are_smoothed_and_checked(truth):
    obs = cl.observe(cl.simulate(truth, 5, horizon=2.0, rng=0), n_times=4, noise=cl.GaussianNoise(0.1), rng=1)
    _, unit = smooth_units(truth, obs, ["1", "3"])
    assert unit.id == "3"
    assert (unit.times[0], unit.times[-1]) == (0.0, 2.0)
    expected = cl.exact.smooth(truth, obs, unit.times)["x1"][3]  # few variables: on the joint chain
    np.testing.assert_allclose(unit.probabilities["x1"], expected, atol=1e-9)
    _, by_star = smooth_units(truth, obs, ["1", "3"], cl.Star())
    expected = cl.variational.smooth(truth, obs, unit.times)["x1"][3]
    np.testing.assert_allclose(by_star.probabilities["x1"], expected, atol=1e-4)
    series = obs.series[2]
    rows = slice(series.offsets[3], series.offsets[4])
    assert unit.observations["x2"] == list(zip(series.times[rows], series.values[rows]))
    with pytest.raises(cl.CtbnlearnError, match="no trajectory '77'"):
        smooth_units(truth, obs, ["77"])


def test_the_report_is_one_page(result, tmp_path):
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in result.names)
