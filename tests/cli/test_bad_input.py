"""Bad input through the command line: exit code 2, one line that says where, and nothing written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctbnlearn as cl
from ctbnlearn.cli import main
from ctbnlearn.cli.reading import read_noise

GOOD = "id,time,a,b\n1,0,0,0\n1,1,1,0\n1,2,0,1\n2,0,1,1\n2,1,1,0\n"
EDGES = "source,target\na,b\n"

# name: (content of d.csv, further arguments, what the message must hold); {d} is the folder
TABLES = {
    "no such file": (None, [], "d.csv: there is no such file"),
    "empty file": ("", [], "d.csv"),
    "no rows": ("id,time,a,b\n", [], "d.csv: there are no rows"),
    "time is no number": (GOOD.replace("1,1,1,0", "1,zzz,1,0"), [], "d.csv, line 3, column 'time': 'zzz' is not a num"),
    "time is a date": (GOOD.replace("1,1,1,0", "1,2020-01-01,1,0"), [], "column 'time': '2020-01-01' is a date"),
    "time is blank": (GOOD.replace("1,1,1,0", "1,,1,0"), [], "line 3, column 'time'"),
    "time is negative": (GOOD.replace("1,0,0,0", "1,-1,0,0"), [], "line 2, column 'time'"),
    "time is infinite": (GOOD.replace("1,2,0,1", "1,inf,0,1"), [], "line 4, column 'time'"),
    "times out of order": (GOOD.replace("1,2,0,1", "1,0.5,0,1"), [], "line 4"),
    "time stands twice": (GOOD.replace("1,2,0,1", "1,1,0,1"), [], "line 4"),
    "too many cells": (GOOD.replace("1,1,1,0", "1,1,1,0,9"), [], "line 3"),
    "a column name stands twice": (GOOD.replace("id,time,a,b", "id,time,a,a"), [], "'a' stands twice"),
    "one state only": (GOOD.replace(",1\n", ",0\n"), [], "column 'b' has only one state, 0"),
    "never seen": (GOOD.replace(",1\n", ",\n").replace(",0\n", ",\n"), [], "column 'b' was never observed"),
    "a measurement without a model": (
        "id,time,a\n" + "".join(f"1,{k},{k / 7}\n" for k in range(50)), [], "column 'a' has 50 different numbers"),
    "blank trajectory": (GOOD.replace("2,0,1,1", ",0,1,1"), [], "line 5, column 'id'"),
    "nothing but keys": ("id,time\n1,0\n1,1\n", [], "no column is left for the variables"),
    "no time column": (GOOD.replace("time", "when"), [], "no column looks like a time"),
    "two time columns": (GOOD.replace("time,a", "time,t"), [], "'time', 't' could be the time"),
    "two trajectory columns": (GOOD.replace("id,time,a", "id,time,unit"), [], "could be the trajectory"),
    "unknown trajectory": (GOOD, ["--trajectory", "who"], "there is no column 'who'"),
    "unknown time": (GOOD, ["--time", "when"], "there is no column 'when'"),
    "unknown variable": (GOOD, ["--variables", "a,zz"], "there is no column 'zz'"),
    "a variable that is the time": (GOOD, ["--time", "time", "--variables", "a,time"], "cannot be a variable and time"),
    "unknown format": (GOOD, ["--format", "excel"], "format must be one of"),
    "events without their columns": (GOOD, ["--format", "events"], "there is no column 'variable'"),
    "not pyctbn": (GOOD, ["--format", "pyctbn"], "d.csv"),
    "pyctbn with columns": (GOOD, ["--format", "pyctbn", "--time", "t"], "leave out 'time'"),
    "unknown noise": (GOOD, ["--noise", "a=gamma:1"], "'gamma:1' is not an observation model"),
    "noise without a number": (GOOD, ["--noise", "a=gaussian"], "'gaussian' is not an observation model"),
    "noise without values": (GOOD, ["--noise", "a=gaussian:0.2"], "--noise gaussian:0.2:-1,1"),
    "negative variance": (GOOD, ["--noise", "a=gaussian:-1:0,1"], "variance must be positive"),
    "threshold without its spread": (GOOD, ["--noise", "a=threshold:1"], "'threshold:1' is not an observation model"),
    "threshold of no number": (GOOD, ["--noise", "a=threshold:1:-2"], "sd must be a positive"),
    "noise for nobody": (GOOD, ["--noise", "zz=labels:0.1"], "unknown variables 'zz'"),
    "noise twice": (GOOD, ["--noise", "a=labels:0.1", "--noise", "a=labels:0.2"], "'a' twice"),
    "noise for all and one": (GOOD, ["--noise", "labels:0.1", "--noise", "a=labels:0.2"], "name a variable in each"),
    "complete with noise": (GOOD, ["--complete", "--noise", "labels:0.1"], "complete data have no noise"),
    "complete with a hole": (GOOD.replace("2,0,1,1", "2,0,,1"), ["--complete"], "line 5, column 'a': the first row"),
    "end before the last row": (GOOD, ["--end", "0.5"], "end"),
    "parents below zero": (GOOD, ["--max-parents", "-1"], "'--max-parents'"),
    "parents in words": (GOOD, ["--max-parents", "two"], "'--max-parents'"),
    "no rounds": (GOOD, ["--inference", "star", "--max-iter", "0"], "'--max-iter'"),
    "no sweeps": (GOOD, ["--sweeps", "0"], "'--sweeps'"),
    "unknown inference": (GOOD, ["--inference", "guess"], "inference must be one of"),
    "rounds of sampling": (GOOD, ["--max-iter", "3"], "set --inference star or exact, or give --sweeps"),
    "sweeps of EM": (GOOD, ["--inference", "star", "--sweeps", "9"], "(--sweeps) are those of sampling"),
    "sweeps and rounds": (GOOD, ["--sweeps", "9", "--max-iter", "3"], "(--sweeps) are those of sampling"),
    "seed below zero": (GOOD, ["--seed", "-1"], "'--seed'"),
    "unknown option": (GOOD, ["--fast"], "--fast"),
    "no edge list": (GOOD, ["--candidates", "{d}/none.csv"], "none.csv: there is no such file"),
    "edge list without target": (GOOD, ["--candidates", "{d}/d.csv"], "d.csv: there is no column 'source'"),
    "edges of strangers": (
        GOOD, ["--required", "{d}/strangers.csv"], "strangers.csv, line 3, column 'target': the data have no"),
    "edge to itself": (GOOD, ["--forbidden", "{d}/self.csv"], "self.csv, line 2: 'a' points to itself"),
    "blank edge": (GOOD, ["--forbidden", "{d}/blank.csv"], "blank.csv, line 2, column 'target': the cell is blank"),
    "required and forbidden": (
        GOOD, ["--required", "{d}/edges.csv", "--forbidden", "{d}/edges.csv"], "both required and forbidden"),
    "required, not a candidate": (
        GOOD, ["--required", "{d}/edges.csv", "--candidates", "{d}/back.csv"], "not among `candidates`"),
    "exogenous stranger": (GOOD, ["--exogenous", "a,zz"], "exogenous: unknown variable 'zz'"),
    "exogenous stranger, checked": (GOOD, ["--exogenous", "zz", "--check"], "exogenous: unknown variable 'zz'"),
    "required into exogenous": (
        GOOD, ["--exogenous", "b", "--required", "{d}/edges.csv"], "'b' is exogenous: it has no parents"),
    "no settings file": (GOOD, ["--config", "{d}/none.toml"], "none.toml: there is no such file"),
    "settings that are no TOML": (GOOD, ["--config", "{d}/d.csv"], "d.csv: not a TOML file"),
    "unknown setting": (GOOD, ["--config", "{d}/unknown.toml"], "unknown.toml: unknown setting 'maximum'"),
    "names that are none": (GOOD, ["--config", "{d}/names.toml"], "names.toml: variables must be a list of names in"),
    "sweeps of a wrong kind": (GOOD, ["--config", "{d}/sweeps.toml"], "sweeps.toml: sweeps must be a whole number"),
    "setting of a wrong kind": (GOOD, ["--config", "{d}/kind.toml"], "kind.toml: max_parents must be a whole number"),
    "unknown learner setting": (GOOD, ["--config", "{d}/learner.toml"], "learner.toml, [learner]: unknown setting"),
    "learner setting out of range": (GOOD, ["--config", "{d}/range.toml"], "structure_prior must be"),
    "undeclared state": (GOOD, ["--config", "{d}/states.toml"], "is not a state of 'a'"),
    "no such unit": (GOOD, ["--show", "99"], "no trajectory '99'"),
    "output is a file": (GOOD, ["--out", "{d}/d.csv"], "d.csv: this is a file"),
    "output is another folder": (GOOD, ["--out", "{d}/full"], "full: this folder holds 'thesis.txt'"),
    "output cannot be made": (GOOD, ["--out", "/proc/none/r"], "/proc/none/r: cannot write there"),
}  # fmt: skip


def prepare(folder: Path, content: str | None) -> Path:
    if content is not None:
        (folder / "d.csv").write_text(content)
    for name, text in {
        "edges.csv": EDGES,
        "back.csv": "source,target\nb,a\n",
        "strangers.csv": EDGES + "a,zz\n",
        "self.csv": "source,target\na,a\n",
        "blank.csv": "source,target\na,\n",
        "unknown.toml": "maximum = 1\n",
        "sweeps.toml": 'sweeps = "many"\n',
        "kind.toml": "max_parents = true\n",
        "names.toml": 'variables = [["a"]]\n',
        "learner.toml": "[learner]\nspeed = 1\n",
        "range.toml": '[learner]\nstructure_prior = "dense"\n',
        "states.toml": '[states]\na = ["yes", "no"]\n',
    }.items():
        (folder / name).write_text(text)
    (folder / "full").mkdir()
    (folder / "full" / "thesis.txt").write_text("mine")
    return folder


@pytest.mark.parametrize("case", TABLES, ids=lambda c: c.replace(" ", "-"))
def test_bad_input_to_learn(run, tmp_path, case):
    content, extra, message = TABLES[case]
    folder = prepare(tmp_path, content)
    before = sorted(os.listdir(folder))
    arguments = [a.replace("{d}", str(folder)) for a in extra]
    out = [] if "--out" in arguments else ["--out", folder / "r"]
    code, _, err = run("learn", folder / "d.csv", *arguments, *out)
    assert code == 2
    assert err.startswith("ctbnlearn: ")
    assert err.count("\n") == 1
    assert message in err
    assert "Traceback" not in err
    assert sorted(os.listdir(folder)) == before


OTHERS = {
    "no command": (["lern"], "No such command"),
    "no data": (["learn"], "DATA"),
    "no place for the result": (["learn", "{d}/d.csv"], "--out"),
    "a spreadsheet": (["learn", "{d}/book.csv", "-o", "{d}/r"], "spreadsheet or archive"),
    "a folder as data": (["learn", "{d}/full", "-o", "{d}/r"], "full: there is no Parquet file in this folder"),
    "smooth without a result": (["smooth", "{d}/full", "{d}/d.csv"], "full: this folder holds no manifest.json"),
    "smooth at no times": (["smooth", "{d}/result", "{d}/d.csv", "--times", "a,b"], "--times must be numbers"),
    "smooth at endless times": (["smooth", "{d}/result", "{d}/d.csv", "--times", "inf"], "--times must be finite"),
    "smooth other variables": (["smooth", "{d}/result", "{d}/d.csv"], "d.csv: there is no column 'x0'"),
    "smooth into a picture": (["smooth", "{d}/result", "{d}/d.csv", "-o", "{d}/s.png"], "s.png: the file's name must"),
    "smooth complete paths": (["smooth", "{d}/result", "{d}/p.json"], "p.json: complete paths hold every state"),
    "info of no result": (["info", "{d}/none"], "none: there is no such folder"),
    "report of no result": (["report", "{d}/none"], "none: there is no such folder"),
    "report of a damaged result": (["report", "{d}/damaged"], "arrays.safetensors: this file is not as it was saved"),
    "report of a newer result": (["report", "{d}/newer"], "manifest.json: this result was saved in version 7"),
    "simulate to no table": (["simulate", "-o", "{d}/s.txt"], "s.txt: the file's name must end in"),
    "simulate no network": (["simulate", "-o", "{d}/s.csv", "--network", "{d}/none.json"], "none.json: there is no"),
    "simulate a table": (["simulate", "-o", "{d}/s.csv", "--network", "{d}/d.csv"], "d.csv: not a readable JSON file"),
    "simulate twice as long": (
        ["simulate", "-o", "{d}/s.csv", "--transitions", "5", "--horizon", "2"], "either n_transitions or horizon"),
    "simulate for no time": (["simulate", "-o", "{d}/s.csv", "--horizon", "0"], "horizon must be positive"),
    "simulate noisy jumps": (
        ["simulate", "-o", "{d}/s.csv", "--observations", "0", "--missing", "0.1"], "neither noise nor missing"),
    "simulate into nowhere": (["simulate", "-o", "{d}/no/where/s.csv"], "s.csv: cannot write there"),
    "demo over a thesis": (["demo", "-o", "{d}/full"], "full: this folder holds 'thesis.txt'"),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS, ids=lambda c: c.replace(" ", "-"))
def test_bad_use_of_other_commands(run, tmp_path, case):
    folder = prepare(tmp_path, GOOD)
    (folder / "book.csv").write_bytes(b"PK\x03\x04rest")
    result = cl.StructureLearner().fit(cl.simulate(cl.random_network(2, rng=0), 3, n_transitions=3, rng=0)).result_
    for name in ("result", "damaged", "newer"):
        result.save(folder / name)
    path = folder / "damaged" / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    path = folder / "newer" / "manifest.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 7'))
    before = sorted(os.listdir(folder))
    arguments, message = OTHERS[case]
    code, _, err = run(*[a.replace("{d}", str(folder)) for a in arguments])
    assert code == 2
    assert err.startswith("ctbnlearn: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(os.listdir(folder)) == before


def test_the_table_is_long_enough():
    assert len(TABLES) + len(OTHERS) >= 25


@given(
    st.binary(max_size=200) | st.text("idtme,ab01.\n\"'é\t-", max_size=200).map(lambda t: ("id,time,a\n" + t).encode())
)
@settings(max_examples=150, deadline=None)
def test_no_file_brings_it_down(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "d.csv")
        path.write_bytes(content)
        assert main(["learn", str(path), "--check", "--quiet"]) in (0, 2)


@given(st.binary(max_size=60) | st.text("abdemnorst_= [].\"'0123\n", max_size=60).map(str.encode))
@settings(max_examples=100, deadline=None)
def test_no_settings_file_brings_it_down(content):
    with tempfile.TemporaryDirectory() as folder:
        data, config = Path(folder, "d.csv"), Path(folder, "c.toml")
        data.write_text(GOOD)
        config.write_bytes(content)
        assert main(["learn", str(data), "--config", str(config), "--check", "--quiet"]) in (0, 2)


@given(st.text("galbes:=,.-0123 nuix", max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_noise_model_or_an_error(text):
    with contextlib.suppress(cl.CtbnlearnError):
        read_noise([text])


def test_a_pipe_or_deep_settings_are_refused(run, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    code, _, err = run("learn", tmp_path / "pipe.csv", "--check")
    assert code == 2
    assert "pipe" in err
    (tmp_path / "deep.toml").write_text("a = " + "[" * 50_000)
    (tmp_path / "t.csv").write_text("id,time,x\n1,0,a\n1,1,b\n")
    code, _, err = run("learn", tmp_path / "t.csv", "--config", tmp_path / "deep.toml", "--check")
    assert code == 2
    assert "not a TOML file" in err


@pytest.mark.parametrize("line", ["ordered = {x = 1}", "[learner]\nrate_prior = [1, 10000000000000000000000]"])
def test_settings_of_wrong_types_are_refused(run, tmp_path, line):
    (tmp_path / "s.toml").write_text(line)
    (tmp_path / "t.csv").write_text("id,time,x\n1,0,a\n1,1,b\n")
    code, _, err = run("learn", tmp_path / "t.csv", "--config", tmp_path / "s.toml", "--out", tmp_path / "r")
    assert (code, err.count("\n")) in ((2, 1), (0, 0), (3, 1))
    assert "something went wrong" not in err
