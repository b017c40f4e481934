"""Factors: how many times as fast each transition is, against rate tables whose answer is known by hand."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.result.factors import edge_factors, in_words
from ctbnlearn.result.rate_table import RateTable

SMOKER = cl.Variable("smoker", ("no", "yes"))
SITE = cl.Variable("site", ("a", "b", "c"))
ILL = cl.Variable("ill", ("well", "ill"))


def table(parents, rates, events):
    """A table whose posterior means of log rates are those of `rates`, as surely as from that many events."""
    shape = events * (np.array(rates, float) > 0)
    exposure = np.where(shape > 0, shape / np.where(np.array(rates) > 0, rates, 1.0), np.nan)
    return RateTable(parents, shape, np.nanmean(exposure, -1))


def test_each_transition_has_its_own_factor():
    rates = [[[0, 0.1], [1.0, 0]], [[0, 0.4], [0.5, 0]]]  # smoking: falls ill 4 times as fast, recovers half as fast
    found = edge_factors(table((0,), rates, 10_000), 0, (SMOKER, ILL), 1)
    assert [f[:4] for f in found] == [("yes", "no", "well", "ill"), ("yes", "no", "ill", "well")]
    np.testing.assert_allclose([f.factor for f in found], [4.0, 0.5], rtol=1e-6)
    width = 1.96 * np.sqrt(2 / 10_000)
    np.testing.assert_allclose([np.log(f.high / f.factor) for f in found], width, rtol=1e-3)
    assert all(f.sure for f in found)
    assert in_words("smoker", found) == [
        "When smoker = yes rather than no: well → ill 4 times as fast (3.9 to 4.1), "
        "ill → well 0.5 times as fast (0.49 to 0.51)."
    ]


def test_states_of_the_source_are_compared_with_its_first_one():
    rates = [[[0, r], [1.0, 0]] for r in (0.2, 0.4, 0.1)]
    found = edge_factors(table((0,), rates, 1e6), 0, (SITE, ILL), 1)
    up = {f.state: f.factor for f in found if f.end == "ill"}
    assert up == pytest.approx({"b": 2.0, "c": 0.5}, rel=1e-3)


def test_draws_give_the_interval():
    rng = np.random.default_rng(1)
    draws = np.zeros((4000, 2, 2, 2))
    draws[:, 0, 0, 1] = draws[:, 1, 1, 0] = draws[:, 0, 1, 0] = 1.0
    draws[:, 1, 0, 1] = np.exp(rng.normal(np.log(3), 0.1, 4000))
    shape = draws.mean(0) * 50
    found = edge_factors(RateTable((0,), shape, np.full((2, 2), 50.0), draws=draws), 0, (SMOKER, ILL), 1)
    np.testing.assert_allclose(found[0][4:], [3.0, 3 * np.exp(-0.196), 3 * np.exp(0.196)], rtol=0.03)


def test_what_cannot_happen_has_no_factor():
    rates = [[[0, 0.1], [0, 0]], [[0, 0.2], [0, 0]]]
    never_back = RateTable((0,), 5.0 * (np.array(rates) > 0), np.array([[50.0, 1.0], [25.0, 1.0]]))
    assert [(f.start, f.end) for f in edge_factors(never_back, 0, (SMOKER, ILL), 1)] == [("well", "ill")]


def test_a_result_explains_its_edges(result):
    source, target = (
        result.edges.slice(0, 1).to_pylist()[0]["source"],
        result.edges.slice(0, 1).to_pylist()[0]["target"],
    )
    (sentence,) = result.explain(source, target)
    assert sentence.startswith(f"When {source} = 1 rather than -1:")
    assert sentence.count("times as fast") == 2
    assert result.explain(source, source) == []


def test_dwell_times_are_those_of_the_rates(result):
    name = result.names[0]
    leave = {}
    for row in result.rates(name):
        key = (*row["parents"].values(), row["from"])
        leave[key] = leave.get(key, 0) + row["mean"]
    found = {(*d["parents"].values(), d["state"]): d["mean"] for d in result.dwell_times(name)}
    assert found == pytest.approx({key: 1 / rate for key, rate in leave.items()})


def test_edge_table_names_rows_and_columns(result):
    assert result.edge_table.column_names == ["source", *result.names]
    j, i = 1, 2
    assert result.edge_table.to_pylist()[j][result.names[i]] == result.edge_probabilities[j, i]


def test_notebooks_show_labels_as_text(result, truth):
    obs = cl.observe(cl.simulate(truth, 3, n_transitions=5, rng=2), n_times=4, rng=3)
    hostile = cl.CTBN({"<script>": ("a", "b")}, None, {"<script>": [[-1, 1], [1, -1]]})
    for page in (result._repr_html_(), obs._repr_html_(), truth._repr_html_(), hostile._repr_html_()):
        assert page.startswith("<p><strong>")
        assert "<script>" not in page
    assert "times as fast" in result._repr_html_()
