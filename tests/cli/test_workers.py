"""`learn` with workers and from folders, `prepare`, and folders that another run has."""

from __future__ import annotations

import json

import pytest

import ctbnlearn as cl
from ctbnlearn.locks import FolderLock

MAKE = ["simulate", "--nodes", "3", "--max-parents", "1", "--trajectories", "40", "--seed", "2", "--missing", "0.1"]


@pytest.fixture
def table(run, tmp_path):
    path = tmp_path / "d.csv"
    assert run(*MAKE, "-q", "--out", path)[0] == 0
    return path


def edges(folder):
    return (folder / "edges.csv").read_text()


def test_a_folder_gives_the_result_of_the_file_it_was_prepared_from(run, table, tmp_path):
    code, out, _ = run("prepare", table, "--out", tmp_path / "parts", "--rows", 60)
    assert code == 0
    assert len(list((tmp_path / "parts").iterdir())) > 3
    assert "files written to" in out
    settings = ["--max-parents", 1, "--sweeps", 32, "-q"]
    for name, given in (
        ("file", [table]),
        ("folder", [tmp_path / "parts"]),
        ("pattern", [tmp_path / "parts" / "*.parquet", "--memory", "200MB"]),
        ("processes", [tmp_path / "parts", "--workers", 2]),
    ):
        assert run("learn", *given, *settings, "--out", tmp_path / name)[0] in (0, 3)
        assert edges(tmp_path / name) == edges(tmp_path / "file")
    found = cl.load_result(tmp_path / "folder")
    assert found.manifest["data"]["trajectories"] == 40
    assert len(found.units) == 3


def test_check_of_a_folder(run, table, tmp_path):
    run("prepare", table, "--out", tmp_path / "parts", "-q")
    one, many = (json.loads(run("learn", path, "--check", "--json")[1]) for path in (table, tmp_path / "parts"))
    for key in ("trajectories", "rows", "start", "end", "variables", "inference"):
        assert one[key] == many[key]
    more = json.loads(run("learn", tmp_path / "parts", "--check", "--json", "--workers", 4)[1])
    assert more["memory_bytes"] > many["memory_bytes"] + 4 * 200_000_000


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--workers", "2", "--dask", "tcp://127.0.0.1:1"], "both say who works"),
        (["--dask", "tcp://127.0.0.1:1"], "no Dask scheduler answers at tcp://127.0.0.1:1"),
        (["--memory", "lots"], "memory must be a number of bytes"),
        (["--device", "tpu"], "--device must be"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_wrong_use(run, table, tmp_path, given, told):
    code, _, err = run("learn", table, *given, "--out", tmp_path / "r")
    assert code == 2
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_a_result_folder_that_another_run_has(run, table, tmp_path):
    command = ["learn", table, "--max-parents", 1, "--sweeps", 16, "-q", "--out", tmp_path / "r"]
    with FolderLock(tmp_path / "r", "a result"):
        code, _, err = run(*command)
        assert code == 2
        assert "another run (process" in err
        assert "keeps a result there; wait for it to end, or choose another folder" in err
    assert run(*command)[0] in (0, 3)
    assert not list(tmp_path.glob(".*.lock"))
    with FolderLock(tmp_path / "e", "cells"):
        code, _, err = run("experiment", "bound", "--quick", "--out", tmp_path / "e")
    assert (code, "another run (process" in err) == (2, True)


def test_folders_are_wide_rows_with_holes(run, tmp_path):
    (tmp_path / "empty").mkdir()
    code, _, err = run("learn", tmp_path / "empty", "--out", tmp_path / "r")
    assert code == 2
    assert "there is no Parquet file in this folder" in err
    code, _, err = run("learn", tmp_path / "empty", "--complete", "--out", tmp_path / "r")
    assert code == 2
    assert "leave out --format and --complete" in err
