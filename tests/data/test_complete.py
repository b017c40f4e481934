"""Reading complete data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl

from ctbnlearn.data.complete import read_paths

WIDE = "id,time,a,b\n1,0,x,0\n1,1,y,\n1,2.5,,1\n1,4,,\n2,1,y,1\n2,2,x,0\n2,3,x,0\n"
EVENTS = (
    "id,time,variable,value\n1,0,a,x\n1,0,b,0\n1,1,a,y\n1,2.5,b,1\n1,4,b,1\n"
    "2,1,b,1\n2,1,a,y\n2,2,a,x\n2,2,b,0\n2,3,a,x\n"
)


def check(paths):
    assert [v.states for v in paths.variables] == [("x", "y"), (0, 1)]
    assert list(paths.ids) == [1, 2]
    assert paths.initial.tolist() == [[0, 0], [1, 1]]
    assert paths.offsets.tolist() == [0, 2, 4]
    assert paths.times.tolist() == [1.0, 2.5, 2.0, 2.0]
    assert paths.nodes.tolist() == [0, 1, 0, 1]
    assert paths.targets.tolist() == [1, 1, 0, 0]
    assert paths.start.tolist() == [0, 1]
    assert paths.end.tolist() == [4, 3]


def test_wide_and_events(tmp_path):
    for k, text in enumerate((WIDE, EVENTS)):
        file = tmp_path / f"{k}.csv"
        file.write_text(text)
        check(read_paths(file, trajectory="id"))
        check(read_paths(pl.read_csv(file), trajectory="id"))
        shuffled = pd.read_csv(file, dtype={"b": "Int64"}).sample(frac=1, random_state=0)
        paths = read_paths(shuffled, trajectory="id", sort=True)
        check(paths.select([list(paths.ids).index(1), list(paths.ids).index(2)]))


def test_end(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,time,a,e\n1,0,x,9\n1,1,y,9\n2,0,x,\n2,1,y,\n")
    assert read_paths(file, trajectory="id", variables=["a"], end=10).end.tolist() == [10, 10]
    assert read_paths(file, trajectory="id", end="e").end.tolist() == [9, 1]


def test_a_jump_at_the_end_counts(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("time,a\n0,x\n1,y\n")
    paths = read_paths(file)
    assert paths.times.tolist() == paths.end.tolist() == [1.0]


def test_declared_states_need_not_occur():
    paths = read_paths(pl.DataFrame({"time": [0, 1], "a": [1, 1]}), states={"a": [0, 1, 2]})
    assert paths.variables[0].states == (0, 1, 2)
    assert paths.n_transitions == 0
    assert paths.end.tolist() == [1.0]


def test_interleaved():
    frame = pl.DataFrame({"id": ["p", "q", "p", "q"], "time": [0, 0, 1, 2], "a": [0, 1, None, 0]})
    paths = read_paths(frame, trajectory="id")
    assert list(paths.ids) == ["p", "q"]
    assert paths.offsets.tolist() == [0, 0, 1]
    assert np.array_equal(paths.end, [1, 2])
