"""Columns as people have them: orders, cuts, levels, counts, and words that look alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.data.noise import PoissonNoise
from ctbnlearn.errors import DataWarning
from ctbnlearn.interface import command_line

STAGES = ["mild", "severe", "moderate", "mild"]
TIMES = [0.0, 1.0, 2.0, 3.0]


def variable(source, **others):
    return cl.read_table(source, **others).variables[0]


def test_ordered_categories_keep_their_order():
    order = ["mild", "moderate", "severe"]
    ranked = pd.DataFrame({"time": TIMES, "s": pd.Categorical(STAGES, order, ordered=True)})
    loose = pd.DataFrame({"time": TIMES, "s": pd.Categorical(STAGES, order)})
    enum = pl.DataFrame({"time": TIMES, "s": STAGES}, schema_overrides={"s": pl.Enum(order)})
    arrow = pa.table({"time": TIMES, "s": pa.DictionaryArray.from_arrays([0, 2, 1, 0], order, ordered=True)})
    words = pd.DataFrame({"time": TIMES, "s": STAGES})
    for source, ordered in ((ranked, True), (loose, False), (enum, True), (arrow, True), (words, False)):
        found = variable(source)
        assert found.states == tuple(order)
        assert found.ordered is ordered
    given = variable(words, ordered={"s": ["severe", "moderate", "mild"]})
    assert (given.states, given.ordered) == (("severe", "moderate", "mild"), True)


@pytest.mark.parametrize(
    ("cells", "states", "ordered"),
    [
        ([10, 9, 11, 9], (9, 10, 11), True),
        ([True, False, True, True], (False, True), True),
        (["Yes", "no", "no", "Yes"], ("no", "Yes"), True),
        (["b", "a", "a", "b"], ("a", "b"), False),
    ],
)
def test_which_states_have_an_order(cells, states, ordered):
    found = variable(pd.DataFrame({"time": TIMES, "s": cells}))
    assert (found.states, found.ordered) == (states, ordered)


def test_a_state_of_an_order_may_be_missing():
    with pytest.warns(DataWarning, match="'none' never occurs"):
        found = variable(
            pd.DataFrame({"time": TIMES, "s": STAGES}), ordered={"s": ["none", "mild", "moderate", "severe"]}
        )
    assert found.n_states == 4


def test_words_that_look_alike_are_remarked_on():
    with pytest.warns(DataWarning, match="'No' and 'no' look like one"):
        variable(pd.DataFrame({"time": TIMES, "s": ["no", "No", "yes", "no"]}))


def test_cuts_make_ordered_states():
    rows = pd.DataFrame({"time": TIMES, "crp": [2.9, 3.0, 6.99, 7.0]})
    obs = cl.read_table(rows, cut={"crp": [3, 7]})
    assert obs.variables[0].states == ("under 3", "3 to 7", "7 and over")
    assert obs.variables[0].ordered
    assert obs.series[0].values.tolist() == [0, 1, 1, 2]
    assert np.isfinite(obs.log_likelihood("crp")).sum() == 4


def test_measured_columns_are_refused_with_what_to_add():
    n = 40
    rows = pd.DataFrame(
        {"time": range(n), "crp": np.linspace(0.1, 12, n), "visits": np.arange(n) % 9, "a": ["x", "y"] * 20}
    )
    with pytest.raises(cl.CtbnlearnError) as python:
        cl.read_table(rows)
    with command_line(), pytest.raises(cl.CtbnlearnError) as shell:
        cl.read_table(rows)
    assert "'crp' has 40 different numbers" in str(python.value)
    assert "noise={'crp': Levels(3)}" in str(python.value)
    assert "cut={'crp': [4.1, 8]}" in str(python.value)
    assert "'visits' (noise={'visits': Levels(3)})" in str(python.value)
    for option in ("--levels crp=3", "--cut crp=4.1,8", "--levels visits=3"):
        assert option in str(shell.value)
    asked = {"crp": cl.Levels(3), "visits": cl.Levels(2)}
    obs = cl.read_table(rows, noise=asked)  # and then it is read
    assert [v.n_states for v in obs.variables] == [3, 2, 2]
    assert obs.variables[0].states == ("low", "medium", "high")


def test_levels_choose_how_a_column_is_measured():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 500)
    columns = {
        "normal": 10 + 4 * x + rng.standard_normal(500),
        "skewed": np.exp(1 + 2 * x + 0.5 * rng.standard_normal(500)),
        "count": rng.poisson(np.array([0.5, 6.0])[x]).astype(float),
    }
    found = {name: cl.Levels(2).begin(y, name) for name, y in columns.items()}
    assert not found["normal"].log
    assert found["skewed"].log
    assert isinstance(found["count"], PoissonNoise)


def test_describe_tells_fast_from_slow():
    rng = np.random.default_rng(1)
    n, times = 300, np.arange(10.0)
    slow = rng.integers(0, 2, n)[:, None] ^ (np.cumsum(rng.random((n, 10)) < 0.05, axis=1) % 2)
    fast = rng.integers(0, 2, (n, 10))
    rows = pa.table(
        {
            "id": np.repeat(np.arange(n), 10),
            "time": np.tile(times, n),
            "slow": slow.reshape(-1),
            "fast": fast.reshape(-1),
            "sex": np.repeat(rng.integers(0, 2, n), 10),
        }
    )
    found = cl.describe(cl.read_table(rows, trajectory="id", time_unit="days"))
    by_name = {v.name: v for v in found.variables}
    assert (found.visits, found.gaps, found.visits_per_trajectory) == (3000, (1.0, 1.0, 1.0), (10.0, 10.0, 10.0))
    assert by_name["slow"].moves_per_gap == pytest.approx(0.05, rel=0.2)  # a flip in twenty gaps, seldom two
    assert by_name["slow"].dwell == pytest.approx(20, rel=0.2)
    assert found.too_fast == ["fast"]
    assert by_name["sex"].changes == 0
    assert "never changes" in str(found)
    assert "too fast:      fast" in str(found)
    ax = cl.plot.plot_description(found)
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"{n} (0% missing)" for n in ("slow", "fast", "sex")]
    assert "days" in ax.get_xlabel()


def test_the_rate_of_moves_is_found_behind_gaps():
    """Panel data of a two-state chain whose rate is known."""
    net = cl.random_network(1, rng=0)  # both rates are one half
    for n_times in (3, 10, 40):
        obs = cl.observe(cl.simulate(net, n_trajectories=400, horizon=8.0, rng=1), n_times=n_times, rng=2)
        (found,) = cl.describe(obs).variables
        assert 1 / found.dwell == pytest.approx(-net.cims[0][0, 0, 0], rel=0.15)
