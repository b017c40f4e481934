"""Tasks that could not be finished are refused before anything is computed, with names and a remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import ctbnlearn as cl
from ctbnlearn.learn import sampling


def table(states):
    rng = np.random.default_rng(0)
    rows = {"id": np.repeat(np.arange(8), 40), "t": np.tile(np.arange(40.0), 8)}
    for name, n in states.items():
        rows[name] = [f"s{k:02d}" for k in np.r_[np.arange(n), rng.integers(0, n, 320 - n)]]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("method", ["auto", "sampling", "star", "blocks"])
def test_two_variables_of_forty_states_are_refused_at_once(method):
    obs = cl.read_table(table({"ward": 40, "drug": 40}), trajectory="id", time="t")
    with pytest.raises(cl.CtbnlearnError, match=r"'ward' has 40 states.*'drug'.*62,400 rates.*merge states"):
        cl.StructureLearner(max_parents=2, inference=method).fit(obs)


def test_pairs_of_parents_are_counted_only_where_they_are_allowed(monkeypatch):
    monkeypatch.setattr(sampling, "SETTLE_SECONDS", 0.0)
    obs = cl.read_table(table({"a": 16, "b": 16, "c": 16}), trajectory="id", time="t")
    with pytest.raises(cl.CtbnlearnError, match="max_parents=1"):
        cl.StructureLearner(max_parents=2).fit(obs)
    learner = cl.StructureLearner(max_parents=2, candidates=[("a", "b")], inference=cl.Sampling(sweeps=1, chains=1))
    with pytest.warns(ConvergenceWarning):
        assert learner.fit(obs).network_.names == ("a", "b", "c")
