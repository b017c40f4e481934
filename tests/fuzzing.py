"""Inputs that nobody should give, of every kind the package takes, each made anew from its number.

What comes out must be sound, or one of our errors (on the command line: exit code 2, one line, nothing written). Of
inputs that are surely wrong it must be the error. `python tests/fuzzing.py 20000` tries that many, dealt out over the
targets, and `python tests/fuzzing.py toml 17` one of them again.
"""

# ruff: noqa: E501
from __future__ import annotations

import contextlib
import copy
import datetime as dt
import decimal
import functools
import hashlib
import io
import json
import math
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import ctbnlearn as cl
from ctbnlearn.cli import main

LONGEST = 120  # seconds that an input may take; all end within a few
ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 1.5, 1e308, 1e-308, -0.0, math.nan, math.inf, -math.inf, 10**400, -(2**63), 2**64,
    "", " ", "0", "auto", "x0", "a\0b", "\ud800", "é", "x" * 3000, b"", b"x0", [], {}, (), [[]], [None], ["x0"], ["x0", "x0"],
    {"x0": 1}, {"x0": None}, {1: 2}, [("x0", "x1")], [("x0", "x0")], [("x0",)], [(0, 1)], [(0, 9)], [("x0", "zz")],
    object(), int, 1j, float, np.nan, np.zeros(0), np.ones((2, 2)), np.ones((3, 3)), np.full((3, 3), np.nan), np.array("x0"),
    np.int64(1), np.float32(0.5), np.array([["a"]]), decimal.Decimal("NaN"), dt.date(2020, 1, 1), range(3), {0, 1},
    frozenset(), lambda *a: 1 / 0, Path("nowhere"), Ellipsis, slice(2), memoryview(b"a"), iter([1]),
]  # fmt: skip


class Unsound(AssertionError):
    """What should not have come out."""


def must(holds: Any, words: str) -> None:
    if not holds:
        raise Unsound(words)


# --- what came out is sound -------------------------------------------------------------------------------


def sound(found: Any) -> None:
    """Raise where what came out has numbers that cannot be."""
    if isinstance(found, cl.Observations):
        window(found)
        for v, s in zip(found.variables, found.series):
            must(v.n_states >= 2 and len(set(v.states)) == v.n_states, "states")
            must(np.isfinite(s.times).all() and np.isfinite(np.asarray(s.values, float)).all(), "an infinite value")
            within(found, s.offsets, s.times, strictly=True)
            if np.asarray(s.values).dtype.kind == "u":
                must((s.values < v.n_states).all(), "a state that is none")
            must(not np.isnan(s.log_likelihood()).any(), "a likelihood that is none") if not s.noise.learned else None
    elif isinstance(found, cl.Paths):
        window(found)
        within(found, found.offsets, found.times, strictly=False)
        cards = np.array([v.n_states for v in found.variables])
        must((found.initial < cards).all() and (found.targets < cards[found.nodes]).all(), "a state that is none")
    elif isinstance(found, cl.TableScan):
        ask(found.read)  # rows are looked at one by one only then
    elif isinstance(found, cl.Result):
        probabilities(found.edge_probabilities)
        for weights in found.parent_set_weights:
            probabilities(weights)
            must(weights.sum() < 1 + 1e-6, "weights above one")
        sound(found.network)
    elif isinstance(found, cl.CTBN):
        for name in found.names:
            rates = np.asarray(found.rates(name))
            must(np.isfinite(rates).all(), "an infinite rate")
            must(np.allclose(rates.sum(-1), 0, atol=1e-6 * (1 + np.abs(rates).max())), "rates that do not balance")
    elif isinstance(found, dict):  # of smoothing
        for p in found.values():
            probabilities(p)
            must(np.allclose(p.sum(-1), 1, atol=1e-6), "probabilities that do not sum to one")
    elif hasattr(found, "edge_probabilities_"):
        sound(found.result_)
    else:
        must(isinstance(found, (float, list, np.ndarray)), f"a {type(found).__name__}")


def probabilities(p: Any) -> None:
    p = np.asarray(p)
    must(np.isfinite(p).all() and (p > -1e-9).all() and (p < 1 + 1e-6).all(), "a probability that is none")


def window(data: Any) -> None:
    must(np.isfinite(data.start).all() and np.isfinite(data.end).all(), "an infinite window")
    must((data.start <= data.end).all() and data.n_trajectories > 0, "an empty window")


def within(data: Any, offsets: Any, times: Any, strictly: bool) -> None:
    must(offsets[-1] == len(times), "lost times")
    for k, (low, high) in enumerate(zip(offsets, offsets[1:])):
        own = times[low:high]
        must((np.diff(own) > 0).all() if strictly else (np.diff(own) >= 0).all(), "times out of order")
        must(not own.size or (data.start[k] <= own[0] and own[-1] <= data.end[k]), "a time outside the window")


# --- trying ------------------------------------------------------------------------------------------------


def ask(what: Callable[..., Any], *arguments: Any, wrong: bool = False, **settings: Any) -> Any:
    """Call it: what came out, sound, or None where it was refused; what is surely wrong must be."""
    try:
        found = what(*arguments, **settings)
    except cl.CtbnlearnError as problem:
        must(str(problem) and "\n" not in str(problem), f"a message of several lines: {problem}")
        return None
    must(not wrong, "wrong input was taken")
    sound(found)
    return found


def command(folder: Path, *arguments: Any, wrong: bool = False) -> int:
    """Run a command: its exit code; where it is 2, with one line and nothing written."""
    before = inventory(folder)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(a) for a in arguments])
    said = err.getvalue()
    if code == 2:
        last = said.splitlines()[-1] if said else ""
        must(last.startswith("ctbnlearn: "), f"said {said!r}")
        must(inventory(folder) == before, "files were written, or changed, and then it failed")
    else:
        must(not wrong, "wrong input was taken")
        must(code in (0, 3), f"exit code {code}: {said}")
        must(not [p for p in folder.rglob("*") if p.name.startswith(".")], "something unfinished was left")
    return code


def inventory(folder: Path) -> dict[str, str]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def damaged(rng: random.Random, content: bytes, times: int = 0) -> bytes:
    """Bytes turned, lost, doubled, put in or cut off."""
    for _ in range(times or rng.choice([1, 1, 1, 2, 5, 20])):
        at = rng.randrange(len(content) + 1)
        how = rng.randrange(6)
        size = rng.choice([1, 1, 2, 8, 64])
        if how == 0 and content:
            at = rng.randrange(len(content))
            content = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
        elif how == 1:
            content = content[:at] + content[at + size :]
        elif how == 2:
            content = content[:at] + content[at : at + size] + content[at:]
        elif how == 3:
            content = content[:at] + rng.randbytes(size) + content[at:]
        elif how == 4 and rng.random() < 0.3:
            content = content[:at]
        else:
            content = (
                content[:at] + bytes(rng.choices(b'0,"\n\r\t;-.eE{}[]:=#nNaiIfF\x00\xff\xc3', k=size)) + content[at:]
            )
    return content


# --- tables ------------------------------------------------------------------------------------------------

WORDS = ["0", "1", "2", "x", "y", "", " ", "NA", "nan", "inf", "-inf", "-1", "1e400", "01", "1.0", "+1", "1_000", "1,5",
         "True", "false", '"', "'", "é", "\u200b", "2020-01-01", "2020-13-01", "2020-01-01T25:00", "0x1", "1e-320", "９",
         "null", "None", "=1+1", "\ufeff", "\u2028"]  # fmt: skip


def grid(rng: random.Random) -> list[list[str]]:
    """A table that reads well: id, time, a, b; two and more rows each of a few trajectories."""
    rows = [["id", "time", "a", "b"]]
    for k in range(rng.randint(1, 3)):
        for t in range(rng.randint(2, 4)):
            rows.append([str(k), str(t + rng.choice([0, 0.5])), rng.choice("01"), rng.choice(["x", "y", ""])])
    rows += [["9", "0", "0", "x"], ["9", "1", "1", "y"]]
    return rows


def spoilt(rng: random.Random) -> tuple[bytes, bool]:
    """A table with something wrong, and whether it surely is."""
    rows = grid(rng)
    some = rng.randrange(1, len(rows))
    how = rng.randrange(15)
    if how == 0:
        rows[some][1] = rng.choice(["zzz", "-1", "nan", "inf", "1e400", "0x1", "1_0", "2020-13-01", "--1", "1..2"])
    elif how == 1:
        rows[some][0] = rng.choice(["", " ", "NA"])
    elif how == 2:
        rows[some].append("1")
    elif how == 3:
        rows[0][3] = "a"
    elif how == 4:
        rows[-1], rows[-2] = rows[-2], rows[-1]
    elif how == 5:
        rows[-1][1] = rows[-2][1]
    elif how == 6:
        rows[0][1] = "when"
    elif how == 7:
        rows[some][2] = rng.choice(["\0", "a\0b"])
    elif how == 8:
        rows = rows[:1]
    if how == 9:
        return text_of(rows).replace(b"x", b"\xff\xfe", 1), True
    if how == 10:  # any cells anywhere
        for _ in range(rng.randint(1, 6)):
            row = rng.choice(rows)
            row[rng.randrange(len(row))] = rng.choice(WORDS)
        return text_of(rows, rng.choice([",", ",", ";", "\t", "|"])), False
    if how == 11:
        return rng.randbytes(rng.randint(0, 300)), False
    if how == 12:
        return damaged(rng, text_of(rows)), False
    if how == 13:
        names = rng.choice(["id,time,variable,value", "IdSample,time,var,state", "time", "", "id;time;a"])
        return "\n".join(
            [names, *(",".join(rng.choices(WORDS, k=4)) for _ in range(rng.randint(0, 6)))]
        ).encode(), False
    if how == 14:
        return text_of(rows), False
    return text_of(rows), True


def text_of(rows: list[list[str]], mark: str = ",") -> bytes:
    return ("\n".join(mark.join(row) for row in rows) + "\n").encode("utf-8", "surrogatepass")


def choices(rng: random.Random) -> dict[str, Any]:
    """Settings of a reader, some of them odd."""
    pool: dict[str, list[Any]] = {
        "variables": [None, ["a"], ["a", "b"], ["a", "a"], ["zz"], ["time"], "a", 3],
        "noise": [None, cl.GaussianNoise(1.0, (0, 1)), cl.LabelNoise(0.1), cl.LabelNoise(), cl.Levels(2), {"a": cl.Levels(2)},
                  {"a": cl.PoissonNoise(n_states=2)}, cl.ThresholdNoise(), {"zz": None}, "labels", 3, {"a": 3}],
        "states": [None, {"a": [0, 1]}, {"a": ["0", "1"]}, {"b": ["x", "NA"]}, {"a": []}, {"a": [0, 0]}, {"a": 3}, 3, {"zz": [0, 1]}],
        "ordered": [None, {"b": ["y", "x"]}, {"b": ["y"]}, {"b": "xy"}, {"a": None}, []],
        "cut": [None, {"a": [0.5]}, {"a": [0.5, 0.5]}, {"a": ["x"]}, {"a": []}, {"a": math.nan}, {"b": [1]}],
        "time_unit": [None, "days", "parsecs", 3],
        "format": ["auto", "wide", "events", "excel", None],
        "start": [None, 0, -1, "a", "zz", math.nan, math.inf, 1e308, dt.date(2020, 1, 1), True],
        "end": [None, 0, 9, "b", "zz", math.nan, -math.inf, 1e308, dt.datetime(2020, 1, 1), []],
        "sort": [True, False, 1, None],
        "allow_unseen": [True, False, "yes"],
        "missing": [(), ("x",), "x", None, (1,)],
        "variable": ["variable", "a", 3], "value": ["value", "b", None], "trajectory": [None, "id", "time", "zz", 3],
        "time": ["time", "a", "zz", None],
    }  # fmt: skip
    picked = {key: rng.choice(values) for key, values in pool.items() if rng.random() < 0.12}
    return {"trajectory": "id", **picked}


def complete_only(told: dict[str, Any]) -> dict[str, Any]:
    return {
        k: v for k, v in told.items() if k in ("trajectory", "time", "variables", "states", "format", "end", "sort")
    }


def try_csv(rng: random.Random, folder: Path) -> None:
    """Files of text through the readers of Python."""
    content, wrong = spoilt(rng)
    file = folder / f"a{rng.choice(['.csv', '.csv', '.csv', '.tsv', '.csv.gz', '.txt', '.parquet', '.json'])}"
    file.write_bytes(content)
    told = {"trajectory": "id"} if wrong else choices(rng)
    if wrong and file.suffix != ".csv":
        file = file.rename(folder / "a.csv")
    reader = rng.randrange(5)
    if reader < 2 or wrong:
        ask(cl.read_table, file, wrong=wrong, **told)
    elif reader == 2:
        ask(cl.read_paths, file, **complete_only(told))
    elif reader == 3:
        ask(cl.read_pyagrum, file)
    else:
        out = folder / "new"
        if ask(cl.prepare_table, file, out, trajectory="id", rows=rng.choice([1, 2, 1000])) is not None:
            ask(cl.scan_table, out, trajectory="id")
        else:
            must(not out.exists() or not list(out.iterdir()), "a refused table was prepared")


def try_command(rng: random.Random, folder: Path) -> None:
    """Files of text and options through the command line."""
    content, wrong = spoilt(rng)
    (folder / "d.csv").write_bytes(content)
    (folder / "e.csv").write_bytes(damaged(rng, b"source,target\na,b\nb,a\n"))
    (folder / "i.csv").write_bytes(damaged(rng, b"id,start,end,variable,value\n9,0,0.5,a,1\n"))
    odd = ["", "a", "a,b", "zz", "-1", "0", "1", "nan", "inf", "a=0.5", "a=2", "a=", "=", "b=x,y", "b=y,x,zz", "9", "x" * 300,
           "labels", "a=labels:0.1", "a=gaussian:1:0,1", "a=levels:2", "b=poisson:2", "threshold", "1e400", "days", "\udcff",
           "wide", "events", "sampling", "100MB", "1KB", folder / "e.csv", folder / "none"]  # fmt: skip
    names = ["--trajectory", "--time", "--variables", "--format", "--noise", "--levels", "--cut", "--ordered", "--adjacent",
             "--time-unit", "--max-parents", "--candidates", "--forbidden", "--required", "--exogenous", "--adjust-for",
             "--interventions", "--inference", "--start", "--end", "--seed", "--memory", "--bags", "--show"]  # fmt: skip
    more: list[Any] = ["--time", "time", "--trajectory", "id"] if wrong else []
    if not wrong:
        for name in rng.sample(names, rng.choice([0, 1, 1, 2, 3])):
            more += [name, folder / "i.csv" if name == "--interventions" else rng.choice(odd)]
        more += [flag for flag in ("--sort", "--complete", "--json", "--quiet") if rng.random() < 0.15]
    if wrong or rng.random() < 0.75:
        command(folder, "learn", folder / "d.csv", *more, "--check", wrong=wrong)
    else:
        (folder / "home").mkdir()
        limit = [] if "--inference" in more or "--complete" in more else ["--sweeps", "3"]
        if "--bags" not in more:
            command(folder, "learn", folder / "d.csv", *more, *limit, "--out", folder / "home" / "r")


# --- frames ------------------------------------------------------------------------------------------------


def arrow_column(rng: random.Random, n: int) -> pa.Array:
    """A column of any type, with holes."""

    def holed(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.1 else v for v in values]

    numbers = [rng.choice([0, 1, 1, 2]) for _ in range(n)]
    kinds: list[Callable[[], pa.Array]] = [
        lambda: pa.array(holed(numbers), rng.choice([pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.float64()])),
        lambda: pa.array(holed([str(v) for v in numbers]), rng.choice([pa.string(), pa.large_string()])),
        lambda: pa.array(holed([v > 0 for v in numbers]), pa.bool_()),
        lambda: pa.array(holed([rng.choice([0.0, -0.0, math.nan, math.inf, 1e308, 5e-324]) for _ in range(n)])),
        lambda: pa.array([rng.choice([2**63 - 1, -(2**63), 0]) for _ in range(n)], pa.int64()),
        lambda: pa.array(holed([str(v) for v in numbers])).dictionary_encode(),
        lambda: pa.array(holed(numbers)).dictionary_encode(),
        lambda: pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int8()), pa.array(["x", "x", None])),
        lambda: pa.array([decimal.Decimal(v) for v in numbers], pa.decimal128(5, 2)),
        lambda: pa.array([decimal.Decimal(v) for v in numbers], pa.decimal256(60, 2)),
        lambda: pa.array([dt.date(2020, 1, 1 + v) for v in numbers]),
        lambda: pa.array([dt.datetime(2020, 1, 1, v) for v in range(min(n, 20))] + [None] * max(0, n - 20), pa.timestamp(rng.choice(["s", "ms", "us", "ns"]))),
        lambda: pa.array([-(2**62) + v for v in range(n)], pa.int64()).view(pa.timestamp("s")),
        lambda: pa.array([dt.timedelta(v) for v in numbers]),
        lambda: pa.array([dt.time(v) for v in numbers]),
        lambda: pa.array([b"x"] * n), lambda: pa.array([[v] for v in numbers]), lambda: pa.array([{"k": v} for v in numbers]),
        lambda: pa.nulls(n), lambda: pa.array(numbers, pa.float64()).cast(pa.float16()),
        lambda: pa.array(["", " ", "NA", "\0", "é", "\u200b"] * n)[:n],
        lambda: pa.array(list(range(n)), pa.int64()), lambda: pa.array([v / 2 for v in range(n)]),
        lambda: pa.array([("x", v) for v in numbers], pa.map_(pa.string(), pa.int64())) if False else pa.nulls(n, pa.bool_()),
        lambda: pa.array([str(v) for v in numbers], pa.string_view()) if hasattr(pa, "string_view") else pa.nulls(n),
    ]  # fmt: skip
    return rng.choice(kinds)()


def arrow_table(rng: random.Random) -> pa.Table:
    n = rng.choice([0, 1, 2, 4, 6])
    k = n // 2
    good = {
        "id": pa.array([0] * k + [1] * (n - k)),
        "time": pa.array([float(t) for t in [*range(k), *range(n - k)]]),
        "a": pa.array([t % 2 for t in range(n)]),
        "b": pa.array(["x" if t % 3 else "y" for t in range(n)]),
    }
    for name in good:
        if rng.random() < 0.35:
            good[name] = arrow_column(rng, n)
    names = list(good)
    if rng.random() < 0.1:
        names[rng.randrange(4)] = rng.choice(
            ["", "a", "time", "*", "^a$", "\ud7ff", "x" * 500, "__index_level_0__", "a.b"]
        )
    table = pa.table(list(good.values()), names=names)
    if n > 1 and rng.random() < 0.2:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    return table


def try_frame(rng: random.Random, folder: Path) -> None:
    """Data frames of three kinds."""
    table, told = arrow_table(rng), choices(rng)
    frame: Any = table
    kind = rng.randrange(6)
    try:
        if kind in (1, 2):
            frame = table.to_pandas() if kind == 1 else table.to_pandas(types_mapper=pd.ArrowDtype)
            if rng.random() < 0.3:
                frame["a"] = pd.Series(
                    rng.choices([0, 1, "x", None, 1.5, b"y", (1,), [1], math.nan, pd.NA, pd.NaT, 1j], k=len(frame)),
                    dtype=object,
                )
            if rng.random() < 0.1:
                frame = frame.set_index(["id"]) if rng.random() < 0.5 else frame.T
            if rng.random() < 0.05:
                frame.columns = pd.MultiIndex.from_arrays([range(frame.shape[1]), range(frame.shape[1])])
        elif kind in (3, 4):
            frame = pl.from_arrow(table) if kind == 3 else pl.from_arrow(table).lazy()
            if rng.random() < 0.1:
                frame = frame.with_columns(
                    pl.Series("a", [object()] * table.num_rows, dtype=pl.Object) if kind == 3 else pl.col("zz")
                )
    except BaseException:  # the other package does not take it, or panics
        frame = table
    if kind == 5:
        frame = rng.choice([*ODD, {"a": [1]}, [{"a": 1}], table.schema, table.columns])
        if isinstance(frame, str) and not frame.strip():
            frame = "no such file"
    if rng.random() < 0.7:
        ask(cl.read_table, frame, **told)
    else:
        ask(cl.read_paths, frame, **complete_only(told))


def try_parquet(rng: random.Random, folder: Path) -> None:
    """Parquet files: odd types, damaged bytes, several that do not agree."""
    for k in range(rng.choice([1, 1, 2])):
        sink = io.BytesIO()
        table = arrow_table(rng)
        with contextlib.suppress(pa.ArrowException):
            pq.write_table(
                table, sink, row_group_size=rng.choice([1, 3, 100]), compression=rng.choice(["NONE", "SNAPPY", "ZSTD"])
            )
        content = sink.getvalue()
        if rng.random() < 0.5:
            content = damaged(rng, content)
        (folder / f"part-{k}.parquet").write_bytes(content)
    told = choices(rng)
    how = rng.randrange(5)
    if how < 2:
        ask(cl.read_table, folder / "part-0.parquet", **told)
    elif how == 2:
        ask(cl.read_paths, folder / "part-0.parquet", **complete_only(told))
    elif how == 3:
        keys = ("trajectory", "time", "variables", "noise", "states", "start", "end", "sort", "allow_unseen", "missing")
        ask(cl.scan_table, rng.choice([folder, folder / "*.parquet"]), **{k: v for k, v in told.items() if k in keys})
    else:
        command(folder, "learn", rng.choice([folder, folder / "part-0.parquet"]), "--trajectory", "id", "--check")


# --- settings and JSON -------------------------------------------------------------------------------------


def toml_value(rng: random.Random, depth: int = 0) -> str:
    plain = ["0", "1", "-1", "2", "1.5", "nan", "inf", "-inf", "true", "false", '""', '"a"', '"b"', '"time"', '"id"', '"auto"',
             '"events"', '"star"', '"mixture"', '"posterior"', '"shared"', '"size"', '"adjacent"', '"float32"', '"gpu"', '"days"',
             "2020-01-01", "2020-01-01T00:00:00Z", "10:00:00", "99999999999999999999999", "1e400", '"\\u0000"', '"labels:0.1"',
             "[]", "{}", '"x=2"', '"learn"', '"uniform"', '"/proc/self"', '"d.csv"', '"e.csv"']  # fmt: skip
    how = rng.random()
    if depth > 2 or how < 0.6:
        return rng.choice(plain)
    inner = [toml_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if how < 0.8:
        return f"[{', '.join(inner)}]"
    names = rng.sample(["a", "b", "zz", '"*"', '""', "0"], len(inner))
    return "{" + ", ".join(f"{name} = {value}" for name, value in zip(names, inner)) + "}"


@functools.cache
def setting_names() -> tuple[list[str], list[str]]:
    from ctbnlearn.cli.settings import LEARNING, READING

    outside = [k for k in (*READING, *LEARNING) if k not in ("workers", "dask")]  # these start processes
    return outside, [*cl.StructureLearner().get_params(), "zz"]


def try_toml(rng: random.Random, folder: Path) -> None:
    """Files of settings."""
    rows = grid(rng)
    (folder / "d.csv").write_bytes(text_of(rows))
    (folder / "e.csv").write_text("source,target\na,b\n")
    outside, inside = setting_names()
    lines = [f"{k} = {toml_value(rng)}" for k in rng.sample(outside, rng.choice([0, 1, 1, 2, 3]))]
    if rng.random() < 0.5:
        lines += ["[learner]", *(f"{k} = {toml_value(rng)}" for k in rng.sample(inside, rng.choice([1, 1, 2, 3])))]
    content, wrong = "\n".join(lines).encode(), False
    how = rng.random()
    if how < 0.2:
        content = damaged(rng, content)
    elif how < 0.35:
        content += rng.choice(
            [b"\nzz = 1", b"\nmax_parents = ", b"\n[learner", b"\nsort = 1", b'\nmax_parents = "two"']
        )
        wrong = b"[learner]" not in content
    elif how < 0.4:
        content = rng.randbytes(50)
    (folder / "c.toml").write_bytes(content)
    more: list[Any] = ["--config", folder / "c.toml", *rng.choice([[], ["--complete"]])]
    if wrong or rng.random() < 0.6:
        command(folder, "learn", folder / "d.csv", *more, "--check", wrong=wrong)
    else:
        limit = [] if "--complete" in more else ["--inference", "sampling", "--sweeps", "3"]
        if b"bags" not in content and b"checkpoint" not in content:
            command(folder, "learn", folder / "d.csv", *more, *limit, "--out", folder / "r")


def warped(rng: random.Random, content: Any, times: int) -> Any:
    """JSON with some of what is in it put in place of by something odd."""
    content = json.loads(json.dumps(content))
    leaves = [None, True, -1, 0, 1, 2, 3, 1.5, 1e308, -1e308, 10**400, math.nan, math.inf, "", "x0", "zz", "\ud800", [], {}, [[]],
              [0, 1], {"x0": 0}, "0", [None], [1e308, -1e308]]  # fmt: skip
    for _ in range(times):
        here, spots = content, []
        while isinstance(here, (dict, list)) and here:
            key = rng.choice(list(here) if isinstance(here, dict) else range(len(here)))
            spots.append((here, key))
            here = here[key]
        if not spots:
            break
        holder, key = rng.choice(spots)
        how = rng.randrange(4)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, list):
            holder.append(copy.deepcopy(rng.choice([*holder, *leaves])))
        elif how == 2 and isinstance(holder, dict):
            holder[rng.choice(["zz", "", "x0", "Time"])] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(rng.choice(leaves))
    return content


def try_json(rng: random.Random, folder: Path) -> None:
    """Networks and paths in JSON."""
    kept = store()
    network = rng.random() < 0.5
    good = json.loads((kept / ("network.json" if network else "paths.json")).read_text())
    file = folder / "a.json"
    how = rng.random()
    if how < 0.65:
        content = json.dumps(warped(rng, good, rng.choice([1, 1, 2, 4]))).encode()
    elif how < 0.9:
        content = damaged(rng, json.dumps(good).encode())
    elif how < 0.95:
        content = rng.choice(
            [b"[" * 100_000, b'{"a":' * 50_000, b"1" * 10_000, b"NaN", b"\xff\xfe{}", b"", b'"\\ud800"', b"{}" * 3]
        )
    else:
        content = rng.randbytes(60)
    file.write_bytes(content)
    if network:
        if rng.random() < 0.6:
            ask(cl.CTBN.load, file)
        else:
            command(
                folder,
                "simulate",
                "--network",
                file,
                "--trajectories",
                2,
                "--transitions",
                3,
                "--seed",
                1,
                "-o",
                folder / "s.csv",
            )
    elif rng.random() < 0.6:
        ask(cl.read_paths if rng.random() < 0.5 else cl.read_pyctbn, file)
    else:
        command(folder, "learn", file, *rng.choice([["--check"], ["-o", folder / "r"]]))


# --- what was saved ----------------------------------------------------------------------------------------


@functools.cache
def sample() -> tuple[cl.CTBN, cl.Paths, cl.Observations]:
    net = cl.random_network(3, max_parents=1, rng=1)
    paths = cl.simulate(net, 6, n_transitions=6, rng=2)
    return net, paths, cl.observe(paths, n_times=5, rng=3)


class Stop(Exception):
    """Ends a fit."""


METHODS = {"sampling": lambda: cl.Sampling(chains=2, sweeps=6), "exact": lambda: cl.Exact(max_iter=3, tol=1e-9)}


def checkpointed(name: str, folder: Path, resume: bool, callback: Any = None) -> Any:
    _, _, obs = sample()
    learner = cl.StructureLearner(1, inference=METHODS[name](), checkpoint=folder, resume=resume, callback=callback)
    return learner.fit(obs)


def stop_at_once(k: int, value: float) -> None:
    raise Stop


@functools.cache
def store() -> Path:
    """A folder of good results, networks, paths and checkpoints, made once."""
    import atexit

    kept = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    net, paths, obs = sample()
    net.save(kept / "network.json")
    cl.write_paths(paths, kept / "paths.json", format="pyctbn")
    cl.write_table(obs, kept / "obs.csv")
    bagged = cl.Bagged(cl.StructureLearner(1), 2, random_state=0).fit(paths)
    bagged.result_.save(kept / "bagged")
    command(kept, "learn", kept / "obs.csv", "--trajectory", "trajectory", "--sweeps", "6", "-o", kept / "result")
    for name in METHODS:
        with contextlib.suppress(Stop):
            checkpointed(name, kept / f"c-{name}", False, stop_at_once)
        shutil.copytree(kept / f"c-{name}", kept / f"d-{name}")
        checkpointed(name, kept / f"d-{name}", True).result_.save(kept / f"end-{name}")
    return kept


def try_checkpoint(rng: random.Random, folder: Path) -> None:
    """Checkpoints that were damaged, mixed up, or made by somebody else."""
    from ctbnlearn.learn.tensor_file import read_tensors, write_tensors

    name = rng.choice(list(METHODS))
    home = folder / "c"
    shutil.copytree(store() / f"c-{name}", home)
    file = home / "checkpoint.safetensors"
    how, crafted = rng.randrange(10), False
    if how < 5:
        content = damaged(rng, file.read_bytes())
        file.write_bytes(content)
    elif how == 5:
        file.unlink()
        rng.choice([file.mkdir, file.touch, lambda: file.symlink_to(file), lambda: shutil.rmtree(home)])()
    elif how == 6:
        other = "exact" if name == "sampling" else "sampling"
        shutil.copy(store() / f"c-{other}" / file.name, file)
    elif how == 7:
        (home / rng.choice(["best.safetensors", "lock", ".lock", f".{file.name}.x.unfinished"])).write_bytes(
            rng.randbytes(9)
        )
    else:  # checksums are right, but not what they are of
        crafted = True
        arrays, note = read_tensors(file)
        if rng.random() < 0.5:
            note = warped(rng, note, 1)
        else:
            key = rng.choice(list(arrays))
            a = arrays[key]
            spoil = [lambda: a[:0], lambda: a.reshape(-1), lambda: a.astype(float) * np.nan, lambda: a[None],
                     lambda: a.astype(np.int64), lambda: -a.astype(float), lambda: a.astype(float) + 1e300]  # fmt: skip
            with contextlib.suppress(Exception):
                arrays[key] = np.ascontiguousarray(rng.choice(spoil)())
            if rng.random() < 0.3:
                del arrays[key]
        with contextlib.suppress(Exception):
            write_tensors(file, arrays, note)
    found = ask(checkpointed, name, home, True)
    if found is not None and not crafted:
        expected = cl.load_result(store() / f"end-{name}").edge_probabilities
        must(np.array_equal(found.edge_probabilities_, expected), "a damaged checkpoint gave another answer")


def try_result(rng: random.Random, folder: Path) -> None:
    """Results that were damaged, or made by somebody else."""
    name = rng.choice(["result", "bagged", "end-exact"])
    home = folder / "r"
    shutil.copytree(store() / name, home)
    files = sorted(p for p in home.iterdir() if p.name != "report.html")
    file, how, crafted = rng.choice(files), rng.randrange(8), False
    if how < 4:
        file.write_bytes(damaged(rng, file.read_bytes()))
    elif how == 4:
        file.unlink()
        rng.choice([file.mkdir, file.touch, lambda: None, lambda: file.symlink_to(file)])()
    elif how == 5:
        shutil.copy(rng.choice(files), home / "manifest.json.x")
        shutil.copy(home / "manifest.json.x", file)
        (home / "manifest.json.x").unlink()
    else:
        crafted = True
        craft(rng, home)
    use = rng.randrange(6)
    if use < 3:
        found = ask(cl.load_result, home)
        if found is not None and not crafted:
            good = cl.load_result(store() / name)
            must(np.array_equal(found.edge_probabilities, good.edge_probabilities), "a damaged result was taken")
        if found is not None:
            must(found.edges is not None and found.edge_table is not None, "no edges")
    elif use == 3:
        command(folder, "info", home, *rng.choice([[], ["--json"]]))
    elif use == 4:
        command(folder, "report", home, *rng.choice([[], ["-o", folder / "x.html"]]))
    else:
        command(folder, "smooth", home, store() / "obs.csv", "--points", 3, "-o", folder / "s.csv")


def craft(rng: random.Random, home: Path) -> None:
    """Change a result and set its checksums right."""
    from safetensors.numpy import load, save

    from ctbnlearn.result.archive import _checksum

    manifest = json.loads((home / "manifest.json").read_text())
    part = rng.randrange(3)
    with contextlib.suppress(Exception):
        if part == 0:
            manifest = warped(rng, manifest, rng.choice([1, 2]))
        elif part == 1:
            network = warped(rng, json.loads((home / "network.json").read_text()), 1)
            (home / "network.json").write_text(json.dumps(network))
        else:
            arrays = load((home / "arrays.safetensors").read_bytes())
            key = rng.choice(list(arrays))
            a = arrays[key]
            spoil = [lambda: a[:0], lambda: a.reshape(-1), lambda: a.astype(float) * np.nan, lambda: a[None], lambda: -a - 1,
                     lambda: a * 1e300, lambda: a.astype(bool)]  # fmt: skip
            arrays[key] = np.ascontiguousarray(rng.choice(spoil)())
            (home / "arrays.safetensors").write_bytes(save(arrays))
    with contextlib.suppress(Exception):
        for name in manifest["files"]:
            manifest["files"][name] = hashlib.sha256((home / name).read_bytes()).hexdigest()
        manifest.pop("checksum", None)
        manifest["checksum"] = _checksum(manifest)
    (home / "manifest.json").write_text(json.dumps(manifest))


# --- estimators --------------------------------------------------------------------------------------------


def few(rng: random.Random) -> Any:
    return rng.choice([0, -1, 1, 2, 3, 1.5, True, None, "2", math.nan, math.inf, 10**30, [], np.int8(1)])


def method(rng: random.Random) -> Any:
    own: dict[str, Any] = {}
    kind = rng.choice([cl.Sampling, cl.Exact, cl.Blocks, cl.Star, cl.MeanField])
    if kind is cl.Sampling:
        own = {"sweeps": 3, "chains": 2}
        if rng.random() < 0.5:
            own[rng.choice(["sweeps", "agreement"])] = rng.choice([0, -1, 2, 1.5, "2", math.nan, [], True])
        if rng.random() < 0.2:
            own["chains"] = rng.choice([0, -1, 1, 1.5, "2", None])
    elif kind is cl.Blocks:
        own = {rng.choice(["members", "states", "rounds"]): few(rng)} if rng.random() < 0.7 else {}
    else:
        own = {"max_iter": 2}
        if rng.random() < 0.7:
            key = rng.choice(["rates", "initial", "n_init", "tol", "max_iter"])
            own[key] = rng.choice(
                ["geometric", "arithmetic", "full", "random", 0, -1, 2, 1.5, None, math.nan, [], "zz"]
            )
    return kind(**own)


def try_setting(rng: random.Random, folder: Path) -> None:
    """Parameters of estimators, and what they are fitted to."""
    _, paths, obs = sample()
    kind = rng.choice([cl.StructureLearner] * 4 + [cl.StructuralEM, cl.CTPC, cl.HillClimb, cl.Tabu, cl.Bagged])
    names = [k for k in kind._get_param_names() if k not in ("executor", "jobs")]
    edges = [
        None,
        [("x0", "x1")],
        [("x1", "x1")],
        [("x0", "zz")],
        np.ones((3, 3)),
        np.zeros((2, 2)),
        [],
        "x0",
        sample()[0],
        3,
    ]
    pools: dict[str, list[Any]] = {
        "max_parents": [None, 0, 1, 2, 9, -1, 1.5, True, "1", math.nan, 10**30],
        "candidates": edges, "forbidden": edges, "required": edges,
        "exogenous": [None, [], ["x0"], ["zz"], [0], [9], "x0", [True], 3, ["x0", "x0"]],
        "adjust_for": [None, [], ["x0"], ["zz"], [0], [-1], "x0", ["x0", "x1", "x2"]],
        "transitions": [None, {}, {"x0": []}, {"x0": "adjacent"}, {"x0": [(0, 1)]}, {"x0": [(0, 9)]}, {"x0": np.ones((2, 2))},
                        {"x0": np.ones((3, 3))}, {"zz": []}, {"x0": [(0,)]}, [], "adjacent"],
        "weights": ["posterior", "mixture", cl.Mixture(), cl.Mixture(concentration=-1), cl.Mixture(concentration="x"), "zz", None],
        "rate_prior": ["auto", "shared", (1, 1), (0, 1), (-1, 1), (1, math.nan), (1,), (1, 10**30), ("a", "b"), cl.ProjectedPrior(5.0, 10.0),
                       cl.ProjectedPrior(-1, math.nan), (1e-300, 1e300), 3],
        "structure_prior": ["auto", "size", "sparse", "flat", 0.0, -1e9, 1e308, math.nan, np.zeros((3, 3)), np.zeros((2, 2)), "zz",
                            np.full((3, 3), math.inf), [[0]]],
        "initial_distribution": ["learn", "uniform", {"x0": [0.5, 0.5]}, {"x0": [1, 1]}, {"x0": [math.nan, 1]}, {"zz": [1]}, {}, 3,
                                 {"x0": [0, 1], "x1": [1, 0], "x2": [0.5, 0.5]}],
        "precision": ["auto", "float64", "float16", None], "device": ["auto", "cpu", "tpu", 3],
        "random_state": [None, 0, -1, 1.5, "a", np.random.default_rng(0), 2**40, [1]],
        "progress": [False, 3, "yes", None], "callback": [None, 3, "x"], "resume": [False, True, 1, None],
        "checkpoint": [None, folder / "c", 3, "", folder / "\0", b"x"], "memory": [None, "1GB", "zz", -1, 10**30, math.nan, "1"],
        "max_iter": [1, 2, 0, -1, 1.5, None, "x"], "tol": [1e-3, -1, math.nan, "x"], "n_bags": [2, 1, 0, 1.5, None, "x"],
        "estimator": [cl.StructureLearner(1), None, 3, cl.CTPC()], "learner": [cl.StructureLearner(1), cl.HillClimb(1), None, 3],
    }  # fmt: skip
    told = {}
    for name in rng.sample(names, min(len(names), rng.choice([1, 1, 2, 3]))):
        odd = [v for v in ODD if not callable(v) or name != "callback"]
        told[name] = rng.choice(pools[name]) if name in pools and rng.random() < 0.75 else rng.choice(odd)
    if "inference" in names:
        told["inference"] = method(rng) if rng.random() < 0.95 else rng.choice([*ODD[:3], "zz", cl.Sampling])
    data: Any = rng.choice([paths, paths, obs])
    if kind is cl.Bagged:
        inner = told.get("learner", told.get("estimator", cl.StructureLearner(1)))
        data = paths if rng.random() < 0.9 else rng.choice(ODD)
        told.setdefault("n_bags", 2)
        told["learner" if "learner" in names else "estimator"] = inner
    if rng.random() < 0.05:
        data = rng.choice(ODD)
    if isinstance(told.get("checkpoint"), str) and not told["checkpoint"]:
        told["checkpoint"] = None
    ask(lambda: kind(**told).fit(data))


@functools.cache
def fitted() -> list[Any]:
    _, paths, obs = sample()
    return [cl.StructureLearner(1, inference=METHODS[name]()).fit(obs) for name in METHODS] + [
        cl.StructureLearner(1).fit(paths)
    ]


def try_smooth(rng: random.Random, folder: Path) -> None:
    """Times and tables to smooth, and what else a fitted learner answers."""
    learner = rng.choice(fitted())
    _, paths, obs = sample()
    last = float(obs.end.max())
    good = [0.1, last / 2]
    times: Any = rng.choice([
        good, [], [math.nan], [math.inf], [-1.0], [0.1, math.nan], [last * 2], [1e308], ["a"], "0", None, 0.5, [[0.1]], [[0.1]] * 6,
        np.zeros((6, 0)), np.zeros((2, 2, 2)), [0.2, 0.1], [0.1, 0.1], np.array([0.1], object), np.array(["0.1"]), [1j], [True],
        [None], {"t": 1}, [0.1] * 40, np.full((6, 2), 0.2), np.full((7, 2), 0.2), [10**400], [-1e-300], [5e-324], *ODD,
    ])  # fmt: skip
    how = rng.randrange(10)
    other: Any = obs
    if rng.random() < 0.35:
        other = rng.choice([paths, *ODD, cl.observe(cl.simulate(cl.random_network(2, rng=0), 2, horizon=1.0, rng=0), n_times=2, rng=0)])  # fmt: skip
    if how < 3:
        ask(learner.smooth, other, times)
    elif how == 3:
        ask(learner.predict, other, times)
    elif how == 4:
        target = rng.choice(
            [{"x0": 1}, {"x0": [0, 1]}, {"zz": 1}, {"x0": 9}, {}, {"x0": []}, 3, None, {"x0": None}, {"x0": {1: 2}}]
        )
        found = ask(learner.risk, other, target, times)
        if found is not None:
            probabilities(found)
    elif how == 5:
        found = ask(learner.score, other)
        must(found is None or math.isfinite(found), "a score that is none")
    elif how == 6:
        ask(
            rng.choice([cl.exact.smooth, cl.variational.smooth]),
            rng.choice([learner.network_, learner.network_, *ODD]),
            other,
            good,
        )
    else:
        content, wrong = damaged(rng, (store() / "obs.csv").read_bytes()), False
        if rng.random() < 0.5:
            content = (store() / "obs.csv").read_bytes()
        if rng.random() < 0.2:
            content, wrong = spoilt(rng)[0], True
        (folder / "d.csv").write_bytes(content)
        text = rng.choice(
            [
                "0",
                "0,0.1",
                "",
                ",",
                "nan",
                "inf",
                "-1",
                "1e400",
                "a",
                "0;1",
                "1e308",
                " 0.1 ",
                "0,,1",
                "١",
                "0x1",
                "1_0",
            ]
        )
        more = ["--times", text] if rng.random() < 0.6 else ["--points", rng.choice(["2", "1", "x", "-1", "3"])]
        name = rng.choice(["s.csv", "s.parquet", "s.txt", "no/s.csv"])
        command(folder, "smooth", store() / "result", folder / "d.csv", *more, "-o", folder / name, wrong=wrong)


# --- all of them -------------------------------------------------------------------------------------------

TARGETS: dict[str, tuple[float, Callable[[random.Random, Path], None]]] = {
    "csv": (0.2, try_csv),
    "command": (0.1, try_command),
    "frame": (0.15, try_frame),
    "parquet": (0.1, try_parquet),
    "toml": (0.1, try_toml),
    "json": (0.1, try_json),
    "checkpoint": (0.05, try_checkpoint),
    "result": (0.05, try_result),
    "setting": (0.1, try_setting),
    "smooth": (0.05, try_smooth),
}


def attempt(target: str, number: int) -> str | None:
    """Try one input: what is wrong with how it was met, or None."""

    def too_long(*_: Any) -> None:
        raise Unsound(f"no end after {LONGEST} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LONGEST)
    try:
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")
            TARGETS[target][1](random.Random(f"{target} {number}"), Path(name))
    except BaseException as problem:  # polars panics with one
        if isinstance(problem, KeyboardInterrupt):
            raise
        return "".join(traceback.format_exception(problem)[-8:])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing is said, and numpy keeps its warnings."""
    with np.errstate(all="ignore"), contextlib.redirect_stderr(io.StringIO()):
        yield


def numbers(total: int) -> Iterator[tuple[str, int]]:
    """Inputs dealt out over the targets."""
    for target, (share, _) in TARGETS.items():
        for number in range(round(share * total)):
            yield target, number


def run(total: int, *only: str) -> int:
    """Try so many, print what failed and how many there were of each target."""
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    began = time.perf_counter()
    for target, number in numbers(total):
        if only and target not in only:
            continue
        problem = attempt(target, number)
        tried[target] += 1
        if problem is not None:
            failed[target] += 1
            print(f"{target} {number}: {problem}", flush=True)
    for target, count in tried.items():
        print(f"{target}: {count} tried, {failed[target]} failed")
    print(f"in all: {sum(tried.values())} tried, {sum(failed.values())} failed, {time.perf_counter() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    if not sys.argv[1].isdecimal():
        print(attempt(sys.argv[1], int(sys.argv[2])) or "met as it should be")
    else:
        sys.exit(run(int(sys.argv[1]), *sys.argv[2:]))
