"""Every bad table gives one clear line: what is wrong, where, and what to do."""

from __future__ import annotations

import datetime
import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ctbnlearn.data.complete import read_paths
from ctbnlearn.data.noise import GaussianNoise, LabelNoise, RawLikelihoods, ThresholdNoise
from ctbnlearn.data.pyagrum import read_pyagrum
from ctbnlearn.data.pyctbn import read_pyctbn
from ctbnlearn.data.tables import read_table
from ctbnlearn.errors import DataError, ParameterError

WIDE = "id,time,a,b\n1,0,x,0\n1,1.5,y,1\n"

GOOD = "id,time,a,b\n1,0,x,0\n1,1,y,1\n"
GAUSS = GaussianNoise(0.2, (-1, 1))
MANY = "id,time,a\n" + "".join(f"1,{k},{k / 7}\n" for k in range(40))
WORDS = "id,time,a\n" + "".join(f"1,{k},w{k}\n" for k in range(300))
EVENTS = "id,time,variable,value\n1,0,a,x\n1,1,a,y\n"

# content of the file, options of read_table, class, what the message must hold
CASES = {
    "empty": ("", {}, DataError, ["bad.csv", "empty", "needs"]),
    "blank lines only": ("\n\n", {}, DataError, ["bad.csv", "empty", "needs"]),
    "header only": ("id,time,a\n", {}, DataError, ["bad.csv", "no rows", "give"]),
    "no names": (",,\n1,2,3\n", {}, DataError, ["bad.csv", "no column names", "must"]),
    "short line": ("id,time,a\n1,0,x\n\n1,1\n", {}, DataError, ["line 4", "2 cells", "3 columns", "correct"]),
    "long line": ("id,time,a\n1,0,x\n1,1,x,y,z\n", {}, DataError, ["line 3", "5 cells", "correct"]),
    "bad encoding": (
        b"id,time,a\n1,0,x\n1,1,\xff\xfe\n",
        {},
        DataError,
        ["bad.csv", "line", "UTF-8", "save"],
    ),
    "utf16": ("id,time,a\n1,0,x\n".encode("utf-16"), {}, DataError, ["line 1", "UTF-16", "save"]),
    "binary": (bytes(range(256)), {}, DataError, ["bad.csv", "not a text file", "save"]),
    "spreadsheet": (b"PK\x03\x04" + b"0" * 50, {}, DataError, ["bad.csv", "spreadsheet", "save"]),
    "broken gzip": (gzip.compress(b"id,time,a\n" * 999)[:40], {}, DataError, ["bad.csv", "check"]),
    "broken Parquet": (b"PAR1 and then nothing", {}, DataError, ["bad.csv", "not a Parquet file", "again"]),
    "open quote": (
        'id,time,a\n1,0,x\n1,1,"y\n1,2,x\n',
        {},
        DataError,
        ["after line 2", "double quote", "close"],
    ),
    "duplicate column": ("id,time,a,a\n1,0,x,y\n", {}, DataError, ["bad.csv", "'a'", "twice", "rename"]),
    "no trajectory column": (
        GOOD,
        {"trajectory": "who"},
        DataError,
        ["'who'", "'id', 'time', 'a', 'b'", "name"],
    ),
    "no time column": (GOOD, {"time": "t"}, DataError, ["'t'", "'id', 'time', 'a', 'b'", "time="]),
    "no variable column": (GOOD, {"variables": ["a", "c"]}, DataError, ["'c'", "'b'", "variables="]),
    "no events column": (GOOD, {"format": "events"}, DataError, ["'variable'", "'b'", "variable="]),
    "no column left": ("id,time\n1,0\n", {}, DataError, ["bad.csv", "no column is left", "add"]),
    "time is text": (
        "id,time,a\n1,0,x\n1,soon,y\n",
        {},
        DataError,
        ["line 3", "'time'", "'soon'", "number", "correct"],
    ),
    "decimal comma": ("id;time;a\n1;0,5;x\n1;1;y\n", {}, DataError, ["line 2", "'0,5'", "decimal point"]),
    "time is no ISO date": ("id,time,a\n1,31.1.2020,x\n", {}, DataError, ["line 2", "'31.1.2020'", "2024-03-31"]),
    "time is a clock": ("id,time,a\n1,12:30,x\n", {}, DataError, ["line 2", "'12:30'", "date", "2024-03-31"]),
    "dates and numbers": (
        "id,time,a\n1,2020-01-31,x\n1,17,y\n",
        {},
        DataError,
        ["line 3", "'17'", "beside the others", "2024-03-31"],
    ),
    "numbers and dates": ("id,time,a\n1,17,y\n1,2020-01-31,x\n", {}, DataError, ["line 3", "date", "number"]),
    "offset here, none there": (
        "id,time,a\n1,2020-01-31T00:00,x\n1,2020-02-01T00:00+01:00,y\n",
        {},
        DataError,
        ["line 3", "offset", "all or in none"],
    ),
    "dates out of order": (
        "id,time,a\n1,2020-01-31,x\n1,2020-01-30,y\n",
        {},
        DataError,
        ["line 3", "2020-01-30", "2020-01-31", "sort"],
    ),
    "end is no date": ("id,time,a,e\n1,2020-01-31,x,5\n", {"end": "e"}, DataError, ["end", "both be dates"]),
    "bad unit": (WIDE, {"time_unit": "fortnights"}, ParameterError, ["time_unit", "weeks", "'fortnights'"]),
    "cut unknown": (WIDE, {"cut": {"z": [1]}}, ParameterError, ["cut", "'z'", "known"]),
    "cut not rising": (WIDE, {"cut": {"b": [3, 1]}}, ParameterError, ["cut", "'b'", "rising"]),
    "cut words": (WIDE, {"cut": {"a": [1]}}, DataError, ["'a'", "not a number"]),
    "cut and states": (WIDE, {"cut": {"b": [1]}, "states": {"b": [0, 1]}}, ParameterError, ["'b'", "cut", "states"]),
    "ordered unknown": (WIDE, {"ordered": {"z": [1]}}, ParameterError, ["ordered", "'z'", "known"]),
    "ordered misses one": (WIDE, {"ordered": {"b": [1, 2]}}, DataError, ["line 2", "'0'", "not a state"]),
    "time is blank": (
        "id,time,a\n1,0,x\n\n1,,y\n",
        {},
        DataError,
        ["line 4", "'time'", "blank", "fill it in"],
    ),
    "time is NA": ("id,time,a\n1,0,x\n1,NA,y\n", {}, DataError, ["line 3", "'time'", "blank", "fill it in"]),
    "time is infinite": ("id,time,a\n1,0,x\n1,inf,y\n", {}, DataError, ["line 3", "finite", "shift"]),
    "time is negative": (
        "id,time,a\n1,-1,x\n1,0,y\n",
        {},
        DataError,
        ["line 2", "'time'", "negative", "shift"],
    ),
    "out of order": (
        "id,time,a\n1,0,x\n2,5,x\n1,2,y\n2,3,y\n",
        {},
        DataError,
        ["line 5", "'time'", "trajectory 2", "sort=True"],
    ),
    "quoted line breaks shift lines": (
        'id,time,a\n1,0,"x\nz"\n\n1,2,y\n1,1,y\n',
        {},
        DataError,
        ["line 6", "trajectory 1", "sort"],
    ),
    "same time twice": (
        "id,time,a\n1,0,x\n1,1,y\n1,1,y\n",
        {},
        DataError,
        ["line 4", "line 3", "twice", "keep one"],
    ),
    "same time, contradiction": (
        "id,time,a,b\n1,1,x,\n1,1,x,0\n1,2,y,0\n1,2,x,0\n".replace("1,1,x,0\n", "", 1),
        {},
        DataError,
        ["line 4", "line 3", "contradict", "'a'", "'y' against 'x'", "keep one"],
    ),
    "blank trajectory": (
        "id,time,a\n1,0,x\n ,1,y\n",
        {},
        DataError,
        ["line 3", "'id'", "blank", "fill it in"],
    ),
    "unknown state": (
        GOOD,
        {"states": {"a": ["x", "z"]}},
        DataError,
        ["line 3", "'a'", "'y'", "'z'", "correct"],
    ),
    "one state": ("id,time,a\n1,0,x\n1,1,x\n", {}, DataError, ["'a'", "one state", "'x'", "leave it out"]),
    "never seen": ("id,time,a,b\n1,0,x,\n1,1,y,\n", {}, DataError, ["'b'", "never observed", "leave it out"]),
    "never seen, allowed without states": (
        "id,time,a,b\n1,0,x,\n1,1,y,\n",
        {"allow_unseen": True},
        DataError,
        ["'b'", "never observed", "declare"],
    ),
    "declared, never seen": (
        "id,time,a,b\n1,0,x,\n1,1,y,\n",
        {"states": {"b": [0, 1]}},
        DataError,
        ["'b'", "never observed", "allow_unseen"],
    ),
    "state never seen": (
        GOOD,
        {"states": {"a": ["x", "y", "z"]}},
        DataError,
        ["'a'", "'z'", "never", "allow_unseen"],
    ),
    "a measurement": (MANY, {}, DataError, ["'a'", "40 different numbers", "noise=", "cut="]),
    "free text": (WORDS, {}, DataError, ["'a'", "300 different words", "leave"]),
    "infinite label": ("id,time,a\n1,0,1\n1,1,inf\n", {}, DataError, ["line 3", "'a'", "finite", "correct"]),
    "text in a measurement": (
        "id,time,a\n1,0,0.3\n1,1,n.d.\n",
        {"noise": GAUSS},
        DataError,
        ["line 3", "'a'", "'n.d.'", "number", "blank"],
    ),
    "infinite measurement": (
        "id,time,a\n1,0,0.3\n1,1,-inf\n",
        {"noise": GAUSS},
        DataError,
        ["line 3", "'a'", "finite", "correct"],
    ),
    "no logarithm": (
        "id,time,a\n1,0,0.3\n1,1,0\n",
        {"noise": ThresholdNoise(log=True)},
        DataError,
        ["line 3", "'a'", "above zero", "correct"],
    ),
    "no spread": ("id,time,a\n1,0,3\n1,1,3\n", {"noise": ThresholdNoise()}, DataError, ["'a'", "equal", "give"]),
    "three states at a threshold": (
        "id,time,a\n1,0,3\n1,1,4\n",
        {"noise": ThresholdNoise(), "states": {"a": [1, 2, 3]}},
        ParameterError,
        ["'a'", "3 states", "two"],
    ),
    "measurement without states": (
        "id,time,a\n1,0,0.3\n",
        {"noise": GaussianNoise(1.0)},
        ParameterError,
        ["'a'", "values=", "states="],
    ),
    "never measured": (
        "id,time,a,b\n1,0,,1\n1,1,,0\n",
        {"noise": {"a": GAUSS}},
        DataError,
        ["'a'", "never", "leave"],
    ),
    "unknown reported label": (
        GOOD,
        {"noise": {"a": LabelNoise(0.1, ("x", "z"))}},
        DataError,
        ["line 3", "'y'", "'z'", "correct"],
    ),
    "labels are not states": (
        GOOD,
        {"noise": {"a": LabelNoise([[1, 0], [0, 1], [0.5, 0.5]])}},
        ParameterError,
        ["'a'", "states", "declare"],
    ),
    "empty trajectory": (
        "id,time,a\n1,0,x\n1,1,y\n2,0,\n2,1,\n",
        {},
        DataError,
        ["line 4", "empty trajectory 2", "leave"],
    ),
    "start differs": (
        "id,time,a,s\n1,1,x,0\n1,2,y,1\n",
        {"start": "s"},
        DataError,
        ["line 2", "'s'", "start", "one start per"],
    ),
    "row before start": (
        GOOD,
        {"start": 0.5},
        DataError,
        ["line 2", "'time'", "outside", "start is 0.5", "widen"],
    ),
    "row after end": (GOOD, {"end": 0.5}, DataError, ["line 3", "'time'", "outside", "end is 0.5", "widen"]),
    "end is text": (
        "id,time,a,e\n1,0,x,z\n",
        {"end": "e"},
        DataError,
        ["line 2", "'e'", "number", "correct"],
    ),
    "event twice": (
        EVENTS + "1,1,a,x\n",
        {},
        DataError,
        ["line 4", "line 3", "twice", "variable 'a'", "contradict", "keep"],
    ),
    "event without variable": (
        EVENTS + "1,2,,x\n",
        {},
        DataError,
        ["line 4", "'variable'", "blank", "fill it in"],
    ),
    "events out of order": (EVENTS + "1,0.5,a,x\n", {}, DataError, ["line 4", "'time'", "sort=True"]),
    "event variable absent": (
        EVENTS,
        {"variables": ["a", "z"]},
        DataError,
        ["'z'", "never observed", "leave"],
    ),
    "event of unknown state": (
        EVENTS,
        {"states": {"a": ["x", "w"]}},
        DataError,
        ["line 3", "'value'", "'y'", "correct"],
    ),
    "empty event trajectory": (
        EVENTS + "2,1,a,NA\n",
        {},
        DataError,
        ["line 4", "empty trajectory 2", "leave"],
    ),
    "time is also trajectory": (
        GOOD,
        {"trajectory": "time"},
        ParameterError,
        ["'time'", "both", "name another"],
    ),
    "variable is also time": (
        GOOD,
        {"variables": ["a", "time"]},
        ParameterError,
        ["'time'", "at once", "take it out"],
    ),
    "unknown in noise": (GOOD, {"noise": {"z": GAUSS}}, ParameterError, ["noise", "'z'", "known: 'a', 'b'"]),
    "unknown in states": (
        GOOD,
        {"states": {"z": [0, 1]}},
        ParameterError,
        ["states", "'z'", "known: 'a', 'b'"],
    ),
    "noise is a class": (
        GOOD,
        {"noise": GaussianNoise},
        ParameterError,
        ["'a'", "noise must be", "GaussianNoise("],
    ),
    "noise is text": (GOOD, {"noise": "gauss"}, ParameterError, ["'a'", "noise must be"]),
    "noise is likelihoods": (GOOD, {"noise": RawLikelihoods()}, ParameterError, ["likelihoods", "use"]),
    "states is a list": (GOOD, {"states": ["x"]}, ParameterError, ["states must"]),
    "states are one word": (GOOD, {"states": {"a": "xy"}}, ParameterError, ["'a'", "must be a list"]),
    "one declared state": (GOOD, {"states": {"a": ["x"]}}, DataError, ["'a'", "two or more"]),
    "variables is a word": (GOOD, {"variables": "a"}, ParameterError, ["variables must be a list"]),
    "variables hold a number": (GOOD, {"variables": ["a", 3]}, ParameterError, ["variables", "text", "3"]),
    "variables twice": (GOOD, {"variables": ["a", "a"]}, ParameterError, ["variables", "different"]),
    "format unknown": (GOOD, {"format": "long"}, ParameterError, ["format must", "'long'"]),
    "time is a number": (GOOD, {"time": 3}, ParameterError, ["time must", "3"]),
    "start is a list": (GOOD, {"start": [0]}, ParameterError, ["start must"]),
    "end is negative": (GOOD, {"end": -1}, ParameterError, ["end must", "negative"]),
    "sort is text": (GOOD, {"sort": "yes"}, ParameterError, ["sort must be True or False"]),
    "allow_unseen is text": (
        GOOD,
        {"allow_unseen": 1},
        ParameterError,
        ["allow_unseen must be True or False"],
    ),
    "missing is a number": (GOOD, {"missing": 9}, ParameterError, ["missing must"]),
    "missing holds a number": (GOOD, {"missing": ("", -9)}, ParameterError, ["missing must", "quotes"]),
}


def one_line(error: pytest.ExceptionInfo[ValueError], parts: list[str]) -> None:
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize("case", CASES)
def test_bad_table(tmp_path, case):
    content, options, kind, parts = CASES[case]
    file = tmp_path / "bad.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(kind) as error:
        read_table(file, **{"trajectory": "id"} | options)
    one_line(error, parts)
    if kind is DataError and "needs two or more" not in str(error.value) and case != "one declared state":
        assert str(file) in str(error.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError) as error:
        read_table(tmp_path / "no.csv")
    one_line(error, ["no.csv", "no such file", "check"])
    with pytest.raises(DataError) as error:
        read_table(str(tmp_path))
    one_line(error, ["folder", "name a CSV"])
    with pytest.raises(DataError) as error:
        read_table("with\0nul.csv")
    one_line(error, ["cannot be opened"])
    (tmp_path / "fake.parquet").write_text(GOOD)
    with pytest.raises(DataError) as error:
        read_table(tmp_path / "fake.parquet")
    one_line(error, ["fake.parquet", "not a Parquet file"])


DAY = datetime.date(2020, 1, 1)
FRAMES = {
    "not a table": ([1, 2], {}, ParameterError, ["path", "data frame", "list"]),
    "a series": (pd.Series([1]), {}, ParameterError, ["data frame", "Series"]),
    "nothing": (None, {}, ParameterError, ["data frame", "NoneType"]),
    "pandas names twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, DataError, ["twice", "rename"]),
    "mixed column": (pd.DataFrame({"time": [0, 1], "a": [1, "x"]}), {}, DataError, ["'a'", "one type"]),
    "empty frame": (pl.DataFrame({"time": [], "a": []}), {}, DataError, ["table", "no rows"]),
    "date states": (pl.DataFrame({"time": [0], "a": [DAY]}), {}, DataError, ["'a'", "date"]),
    "spans of time": (
        pd.DataFrame({"time": pd.to_timedelta([1, 2], "D"), "a": ["x", "y"]}),
        {},
        DataError,
        ["'time'", "days since start"],
    ),
    "boolean times": (pa.table({"time": [True], "a": ["x"]}), {}, DataError, ["'time'", "bool", "convert"]),
    "nested": (pa.table({"time": [0], "a": [[1]]}), {}, DataError, ["'a'", "list", "leave"]),
    "nanoseconds": (
        pa.table({"time": [2**60, 2**60 + 1], "a": [0, 1]}),
        {},
        DataError,
        ["row 0", "exact", "subtract"],
    ),
    "null time": (pa.table({"time": [0, None], "a": [0, 1]}), {}, DataError, ["row 1", "'time'", "blank"]),
    "infinite label": (
        pa.table({"time": [0, 1], "a": [0.0, np.inf]}),
        {},
        DataError,
        ["row 1", "'a'", "finite"],
    ),
    "unsorted": (pa.table({"time": [1, 0], "a": [0, 1]}), {}, DataError, ["row 1", "'time'", "sort=True"]),
    "failing query": (
        pl.DataFrame({"time": [0]}).lazy().select(pl.col("nothing")),
        {},
        DataError,
        ["table", "check"],
    ),
}


@pytest.mark.parametrize("case", FRAMES)
def test_bad_frame(case):
    frame, options, kind, parts = FRAMES[case]
    with pytest.raises(kind) as error:
        read_table(frame, **options)
    one_line(error, parts)


PATHS = {
    "first row incomplete": (
        "id,time,a\n1,0,\n1,1,x\n1,2,y\n",
        {},
        DataError,
        ["line 2", "'a'", "first row", "fill"],
    ),
    "no initial event": (
        "id,time,variable,value\n1,0,a,x\n1,1,b,y\n1,2,a,y\n1,3,b,x\n",
        {},
        DataError,
        ["line 2", "'b'", "initial state"],
    ),
    "ends too early": (GOOD, {"end": 0.5}, DataError, ["line 3", "end is 0.5", "widen"]),
    "format": (GOOD, {"format": "json"}, ParameterError, ["format must", "'json'"]),
    "foreign with columns": (GOOD, {"format": "pyagrum"}, ParameterError, ["'pyagrum'", "leave out"]),
    "sort": (GOOD, {"sort": None}, ParameterError, ["sort must be"]),
}


@pytest.mark.parametrize("case", PATHS)
def test_bad_paths(tmp_path, case):
    content, options, kind, parts = PATHS[case]
    file = tmp_path / "bad.csv"
    file.write_text(content)
    with pytest.raises(kind) as error:
        read_paths(file, **{"trajectory": "id"} | options)
    one_line(error, parts)


VARS = [{"Name": "X", "Value": 2}]


def row(time: object, x: object = 0) -> dict[str, object]:
    return {"Time": time, "X": x}


PYCTBN = {
    "not JSON": ("{", ["bad.json", "not a JSON", "check"]),
    "number": ("3", ["bad.json", "object", "check"]),
    "deep": ("[" * 100_000, ["bad.json", "check"]),
    "no variables": ({"samples": []}, ["'variables'", "check"]),
    "odd variable": ({"variables": [3]}, ["variable 0", "'Name'"]),
    "one state": ({"variables": [{"Name": "X", "Value": 1}]}, ["'X'", "2 or more"]),
    "name twice": ({"variables": VARS * 2}, ["variable 1", "'X'", "rename"]),
    "no samples": ({"variables": VARS, "samples": []}, ["'samples'", "check"]),
    "odd trajectory": ({"variables": VARS, "samples": [5]}, ["trajectory 0", "list", "check"]),
    "odd row": ({"variables": VARS, "samples": [[5]]}, ["trajectory 0, row 0", "check"]),
    "lacking": ({"variables": VARS, "samples": [[{"Time": 0}]]}, ["trajectory 0, row 0", "'X'", "needs"]),
    "odd time": ({"variables": VARS, "samples": [[row("x")]]}, ["row 0", "'Time'", "number"]),
    "negative": ({"variables": VARS, "samples": [[row(-1)]]}, ["row 0", "'Time'", "negative"]),
    "huge": ({"variables": VARS, "samples": [[row(10**400)]]}, ["row 0", "'Time'", "finite"]),
    "back": ({"variables": VARS, "samples": [[row(1), row(0, 1)]]}, ["row 1", "sort"]),
    "odd state": ({"variables": VARS, "samples": [[row(0, "a")]]}, ["row 0", "'X'", "'a'", "correct"]),
    "state range": (
        {"variables": VARS, "samples": [[row(0), row(1, 7), row(2, -1)]]},
        ["row 1", "'X'", "7", "correct"],
    ),
    "only the end": ({"variables": VARS, "samples": [[row(0, -1)]]}, ["trajectory 0", "add"]),
}


@pytest.mark.parametrize("case", PYCTBN)
def test_bad_pyctbn(tmp_path, case):
    content, parts = PYCTBN[case]
    file = tmp_path / "bad.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataError) as error:
        read_pyctbn(file)
    one_line(error, [str(file), *parts])


def test_bad_pyctbn_options(tmp_path):
    file = tmp_path / "two.json"
    file.write_text(json.dumps([{"variables": VARS, "samples": [[row(0), row(1, 1)]]}]))
    assert read_pyctbn(file).n_transitions == 1
    for options in (
        {"dataset": 1},
        {"dataset": "0"},
        {"states": {"X": [1, 2, 3]}},
        {"states": {"Y": [1, 2]}},
    ):
        with pytest.raises(ParameterError):
            read_pyctbn(file, **options)


HEAD = "IdSample,time,var,state\n"
PYAGRUM = {
    "columns": ("id,time,var,state\n0,0,X,a\n", ["'IdSample'", "columns", "check"]),
    "not closed": (HEAD + "0,0,X,a\n1,0,X,b\n1,1,X,b\n", ["sample 0", "'X'", "add"]),
    "late start": (HEAD + "0,1,X,a\n0,2,X,a\n1,0,X,b\n1,1,X,b\n", ["line 2", "sample 0", "initial"]),
    "early end": (
        HEAD + "0,0,X,a\n0,1,X,a\n0,0,Y,a\n0,2,Y,a\n1,0,X,b\n1,0,Y,b\n1,1,X,b\n1,1,Y,b\n",
        ["line 3", "close"],
    ),
    "contradiction": (HEAD + "0,0,X,a\n0,1,X,b\n0,2,X,a\n", ["line 3", "correct"]),
    "blank": (HEAD + "0,0,X,a\n0,1,X,\n0,2,X,b\n", ["line 3", "'state'", "fill"]),
    "blank name": (HEAD + "0,0,X,a\n0,1,,b\n", ["'var'", "blank", "fill"]),
}


@pytest.mark.parametrize("case", PYAGRUM)
def test_bad_pyagrum(tmp_path, case):
    content, parts = PYAGRUM[case]
    file = tmp_path / "bad.csv"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        read_pyagrum(file)
    one_line(error, [str(file), *parts])


def test_paths_of_wrong_type():
    for read in (read_pyctbn, read_pyagrum):
        with pytest.raises(ParameterError):
            read(7)
