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
