"""Garbage gives one of our errors, never another; what is written reads back the same."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctbnlearn.data.complete import read_paths
from ctbnlearn.data.noise import ExactStates, GaussianNoise, LabelNoise
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.pyagrum import read_pyagrum
from ctbnlearn.data.pyctbn import read_pyctbn
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.data.series import Series
from ctbnlearn.data.source import MISSING
from ctbnlearn.data.tables import read_table
from ctbnlearn.data.variables import Variable
from ctbnlearn.data.writers import write_paths, write_table
from ctbnlearn.errors import CtbnlearnError

quick = settings(deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def never_crashes(read, kind, *args, **options) -> None:
    message = ""
    try:
        assert isinstance(read(*args, **options), kind)
    except CtbnlearnError as error:
        message = str(error)
    assert "\n" not in message


cell = st.one_of(
    st.sampled_from(["0", "1", "2.5", "x", "", " ", "NA", "nan", "inf", "-1", "1e400", "01", "True", '"', "a", "b"]),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=4),
)
mark = st.sampled_from([",", ",", ",", ";", "\t", '"', "\n", "\r\n", "\r"])
garbage = st.lists(st.one_of(cell, mark), max_size=40).map("".join)
header = st.sampled_from(["", "id,time,a\n", "id,time,variable,value\n", "IdSample,time,var,state\n", "time;a\n"])
options = st.fixed_dictionaries(
    {},
    optional={
        "trajectory": st.sampled_from([None, "id", "time"]),
        "noise": st.sampled_from([None, GaussianNoise(1.0, (0, 1)), LabelNoise(0.1)]),
        "states": st.sampled_from([None, {"a": [0, 1]}, {"a": ["x", "NA"]}]),
        "format": st.sampled_from(["auto", "wide", "events"]),
        "start": st.sampled_from([None, 0, "a"]),
        "sort": st.booleans(),
        "allow_unseen": st.booleans(),
    },
)


@quick
@given(st.binary(max_size=200), st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet", ".json", ""]))
def test_random_bytes(content, suffix):
    with folder() as place:
        file = place / f"a{suffix}"
        file.write_bytes(content)
        never_crashes(read_table, Observations, file)
        never_crashes(read_paths, Paths, file)
        never_crashes(read_pyctbn, Paths, file)
        never_crashes(read_pyagrum, Paths, file)


@settings(quick, max_examples=300)
@given(header, garbage, options)
def test_random_text(first, rest, chosen):
    with folder() as place:
        file = place / "a.csv"
        file.write_bytes((first + rest).encode())
        never_crashes(read_table, Observations, file, **chosen)
        never_crashes(read_pyagrum, Paths, file)
        chosen = {k: v for k, v in chosen.items() if k in ("trajectory", "states", "format", "sort")}
        never_crashes(read_paths, Paths, file, **chosen)


small = st.sampled_from(["0", "1", "2", "x", "y", "", "NA", "0.5"])
small_time = st.sampled_from(["0", "1", "2", "3", "4.5", "", "x"])


@settings(quick, max_examples=300)
@given(
    st.lists(st.tuples(st.sampled_from("12"), small_time, st.sampled_from(["a", "b"]), small), max_size=8),
    st.sampled_from(["id,time,a,b", "id,time,variable,value", "IdSample,time,var,state"]),
    options,
)
def test_random_small_tables(rows, names, chosen):
    with folder() as place:
        file = place / "a.csv"
        file.write_text("\n".join([names, *(",".join(r) for r in rows)]))
        never_crashes(read_table, Observations, file, **{"trajectory": "id"} | chosen)
        never_crashes(read_pyagrum, Paths, file)
        chosen = {k: v for k, v in chosen.items() if k in ("trajectory", "states", "format", "sort")}
        never_crashes(read_paths, Paths, file, **{"trajectory": "id"} | chosen)


json_leaf = st.one_of(st.none(), st.booleans(), st.integers(-2, 4), st.floats(), st.text(max_size=3), st.just(10**400))
json_row = st.dictionaries(st.sampled_from(["Time", "X", "Y"]), json_leaf, max_size=3)
full_row = st.fixed_dictionaries({k: st.one_of(st.integers(-1, 3), json_leaf) for k in ("Time", "X", "Y")})
json_data = st.fixed_dictionaries(
    {},
    optional={
        "variables": st.one_of(
            json_leaf,
            st.just([{"Name": "X", "Value": 2}, {"Name": "Y", "Value": 3}]),
            st.lists(st.fixed_dictionaries({"Name": json_leaf, "Value": json_leaf}), max_size=2),
        ),
        "samples": st.one_of(
            json_leaf,
            st.lists(st.one_of(json_leaf, st.lists(st.one_of(json_row, full_row), max_size=4)), max_size=2),
        ),
    },
)


@settings(quick, max_examples=300)
@given(st.one_of(json_data, st.lists(json_data, max_size=2), st.recursive(json_leaf, st.lists, max_leaves=5)))
def test_random_json(content):
    with folder() as place:
        file = place / "a.json"
        file.write_text(json.dumps(content))
        never_crashes(read_pyctbn, Paths, file)
        never_crashes(read_paths, Paths, file)


# --- round trips ------------------------------------------------------------------------------------------

word = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4).filter(
    lambda t: t.strip() == t
)
label = st.one_of(word, st.integers(-5, 10**12), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
names = st.lists(word.filter(lambda t: t not in MISSING), min_size=1, max_size=3, unique=True)


def distinct(labels: list[object]) -> bool:
    return len({str(s).strip() for s in labels}) == len(labels) == len(set(labels))


state_lists = st.lists(label, min_size=2, max_size=4).filter(distinct)
time = st.floats(0, 1e6).map(lambda t: t + 0.0)
ids = st.one_of(
    st.lists(st.integers(-9, 10**12), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(["p", "q r", "é,", 'a"b', "x\ny", "01"]), min_size=1, max_size=3, unique=True),
)


@st.composite
def variable_lists(draw) -> list[Variable]:
    reserved = {"trajectory", "time", "start", "end", "variable", "value", "Time"}
    return [Variable(n, tuple(draw(state_lists))) for n in draw(names) if n not in reserved] or [Variable("v", (0, 1))]


@st.composite
def random_observations(draw) -> Observations:
    variables, called = draw(variable_lists()), draw(ids)
    series: list[Series] = []
    low, high = np.full(len(called), np.inf), np.full(len(called), -np.inf)
    for k, v in enumerate(variables):
        at = [
            sorted(draw(st.sets(time, min_size=1 if k == 0 else 0, max_size=4)))  # no trajectory is empty
            for _ in called
        ]
        n = sum(map(len, at))
        kind = draw(st.sampled_from(["exact", "gauss", "label"]))
        if kind == "gauss":
            numbers = st.floats(allow_nan=False, allow_infinity=False)
            values = np.array(draw(st.lists(numbers, min_size=n, max_size=n)), float)
            noise = GaussianNoise(0.5, tuple(range(v.n_states))).bind(v)
        else:
            codes = st.integers(0, v.n_states - 1)
            values = np.array(draw(st.lists(codes, min_size=n, max_size=n)), np.uint8)
            noise = ExactStates().bind(v) if kind == "exact" else LabelNoise(0.25).bind(v)
        flat = np.array([t for ts in at for t in ts], float)
        series.append(Series(offsets_from_counts(np.array([len(t) for t in at])), flat, values, noise))
        for j, ts in enumerate(at):
            low[j], high[j] = min([low[j], *ts]), max([high[j], *ts])
    if draw(st.booleans()):
        low, high = low * draw(st.floats(0, 1)), high + draw(st.floats(0, 9))
    return Observations(tuple(variables), tuple(series), low, high, called)


def frames_of(file: Path) -> list[object]:
    table = pq.read_table(file)
    return [file, table, pl.from_arrow(table), table.to_pandas()]


def same_observations(a: Observations, b: Observations) -> None:
    assert a.variables == b.variables
    assert [tuple(map(type, v.states)) for v in a.variables] == [tuple(map(type, v.states)) for v in b.variables]
    assert list(a.ids) == list(b.ids)
    for x, y in [(a.start, b.start), (a.end, b.end)]:
        assert np.array_equal(x, y)
    for s, t in zip(a.series, b.series):
        assert np.array_equal(s.offsets, t.offsets)
        assert np.array_equal(s.times, t.times)
        assert np.array_equal(s.values, t.values)
        assert s.noise == t.noise


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("layout", ["wide", "events"])
@settings(quick, max_examples=60)
@given(obs=random_observations())
def test_observations_round_trip(obs, layout, suffix):
    with folder() as place:
        file = place / f"a{suffix}"
        write_table(obs, file, format=layout)
        for source in frames_of(file) if suffix == ".parquet" else [file]:
            columns = pq.read_schema(file).names if suffix == ".parquet" else read_names(file)
            back = read_table(
                source,
                trajectory="trajectory",
                variables=list(obs.names),
                format=layout,
                start="start" if "start" in columns else None,
                end="end" if "end" in columns else None,
                states={v.name: v.states for v in obs.variables},
                noise={v.name: s.noise for v, s in zip(obs.variables, obs.series)},
                allow_unseen=True,
            )
            same_observations(obs, back)


def read_names(file: Path) -> list[str]:
    return list(open_source(file).columns)


@st.composite
def random_paths(draw, zero: bool = False) -> Paths:
    variables, called = draw(variable_lists()), draw(ids)
    trajectories = []
    for _ in called:
        start = 0.0 if zero else draw(time)
        codes = [draw(st.integers(0, v.n_states - 1)) for v in variables]
        first = [v.states[c] for v, c in zip(variables, codes)]
        when = sorted(start + d for d in draw(st.sets(st.floats(0.001, 50), max_size=5)))
        jumps = []
        for t in dict.fromkeys(when):
            movers = st.sets(st.integers(0, len(variables) - 1), min_size=1, max_size=2)
            for i in sorted(draw(movers)):
                codes[i] = (codes[i] + draw(st.integers(1, variables[i].n_states - 1))) % variables[i].n_states
                jumps.append((t, variables[i].name, variables[i].states[codes[i]]))
        last = (jumps[-1][0] if jumps else start) + draw(st.sampled_from([0.0, 0.5]))
        trajectories.append((first, jumps, last, start))
    return Paths.from_trajectories(variables, trajectories, called)


def same_paths(a: Paths, b: Paths, named: bool = True) -> None:
    assert a.variables == b.variables
    assert list(a.ids if named else range(len(a))) == list(b.ids)
    for name in ("initial", "offsets", "times", "nodes", "targets", "start", "end"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("layout", ["wide", "events"])
@settings(quick, max_examples=60)
@given(paths=random_paths())
def test_paths_round_trip(paths, layout, suffix):
    with folder() as place:
        file = place / f"a{suffix}"
        write_paths(paths, file, format=layout)
        states = {v.name: v.states for v in paths.variables}
        for source in frames_of(file) if suffix == ".parquet" else [file]:
            back = read_paths(
                source, trajectory="trajectory", variables=list(paths.names), format=layout, states=states
            )
            same_paths(paths, back)


@settings(quick, max_examples=60)
@given(paths=random_paths(zero=True))
def test_foreign_round_trip(paths):
    states = {v.name: v.states for v in paths.variables}
    with folder() as place:
        write_paths(paths, place / "a.json", format="pyctbn")
        same_paths(paths, read_paths(place / "a.json", states=states), named=False)
        write_paths(paths, place / "a.csv", format="pyagrum")
        same_paths(paths, read_paths(place / "a.csv", format="pyagrum", states=states))


@settings(quick, max_examples=60)
@given(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=6), st.booleans())
def test_kinds_of_frames_agree(codes, text):
    labels = [None if c is None else "wxyz"[c] if text else c for c in codes]
    table = pa.table({"time": np.arange(len(labels)), "a": pa.array(labels, pa.string() if text else pa.int64())})
    results = []
    for frame in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        try:
            results.append(read_table(frame))
        except CtbnlearnError as error:
            results.append(str(error))
    for other in results[1:]:
        if isinstance(results[0], str):
            assert other == results[0]
        else:
            same_observations(results[0], other)
