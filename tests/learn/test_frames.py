"""Data frames given to `fit` directly."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import ctbnlearn as cl

FEW = {"inference": cl.Sampling(chains=2, sweeps=10)}


@pytest.fixture(scope="module")
def table():
    obs = cl.observe(cl.simulate(cl.random_network(3, rng=1), 8, horizon=3.0, rng=2), n_times=6, rng=3)
    rows = [
        {"patient": b, "t": float(t), **{v.name: int(s.values[k]) for v, s in zip(obs.variables, obs.series)}}
        for b in range(8)
        for k in range(obs.series[0].offsets[b], obs.series[0].offsets[b + 1])
        for t in [obs.series[0].times[k]]
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow"])
def test_a_frame_is_read_as_read_table_reads_it(table, kind):
    frame = {"pandas": table.to_pandas(), "polars": pl.from_arrow(table), "lazy": pl.from_arrow(table).lazy()}
    learner = cl.StructureLearner(1, trajectory="patient", time="t", **FEW)
    found = clone(learner).fit(frame.get(kind, table))
    expected = cl.StructureLearner(1, **FEW).fit(cl.read_table(table, trajectory="patient", time="t"))
    assert np.array_equal(found.edge_probabilities_, expected.edge_probabilities_)
    assert found.n_features_in_ == 3
    assert "trajectory" not in found.result_.manifest["settings"]


def test_a_frame_without_names_of_columns_is_refused(table):
    with pytest.raises(cl.CtbnlearnError, match=r"fit needs Paths or Observations, not Table; .*trajectory="):
        cl.StructureLearner(1).fit(table)
    with pytest.raises(cl.CtbnlearnError, match="there is no column 'when'"):
        cl.StructureLearner(1, trajectory="patient", time="when").fit(table)
    with pytest.raises(cl.CtbnlearnError, match="not ndarray"):
        cl.StructureLearner(1, time="t").fit(np.ones((3, 3)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_time_has_its_usual_name(table):
    frame = table.rename_columns(["patient", "time", *table.column_names[2:]])
    assert cl.StructureLearner(1, trajectory="patient", **FEW).fit(frame).n_features_in_ == 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_takes_observations_after_a_fit_takes_a_frame(table):
    since = pl.duration(seconds=(pl.col("t") * 30 * 86_400).round().cast(pl.Int64))
    frame = pl.from_arrow(table).with_columns((pl.datetime(2024, 1, 1) + since).alias("t"))
    learner = cl.StructureLearner(1, trajectory="patient", time="t", **FEW).fit(frame)
    obs = cl.read_table(frame, trajectory="patient", time="t")
    assert learner.score(frame) == learner.score(obs)
    first = frame.filter(pl.col("patient") == 0)[:2]  # of few states, and of a short span
    with pytest.raises(cl.CtbnlearnError, match="has only one state"):
        cl.read_table(first, trajectory="patient", time="t")
    read = learner._observed(first)
    assert read.clock.unit == obs.clock.unit
    assert read.variables == obs.variables
    assert learner.smooth(first, [0.01])["x0"].shape == (1, 1, 2)
    assert learner.risk(frame, {"x0": obs.variables[0].states[1]}, within=0.1).shape == (8,)
    assert learner.predict(frame, obs.end[:, None])["x0"].shape == (8, 1, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bags_and_checks_take_a_frame(table):
    learner = cl.StructureLearner(1, trajectory="patient", time="t", **FEW)
    obs = cl.read_table(table, trajectory="patient", time="t")
    one, other = (cl.Bagged(learner, n_bags=2).fit(data) for data in (table, obs))
    assert np.array_equal(one.edge_probabilities_, other.edge_probabilities_)
    assert one.score(table) == one.score(obs)
    assert cl.check_model(learner, table, n_folds=2).n_units == 8
    with pytest.raises(cl.CtbnlearnError, match="Bagged needs Paths or Observations, not Table"):
        cl.Bagged(cl.StructureLearner(1), n_bags=2).fit(table)
