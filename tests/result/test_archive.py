"""Saving and loading: nothing is lost, damage is noticed, and a folder is whole or absent."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

import ctbnlearn as cl
from ctbnlearn.result import archive
from ctbnlearn.result.history import History
from ctbnlearn.result.rate_table import RateTable
from ctbnlearn.result.unit import Unit
from ctbnlearn.structure.parent_sets import ParentSets

WRITTEN = archive.FILES - {archive.REPORT}  # the report is not read back


@pytest.fixture(autouse=True, scope="module")
def _quick_report():
    """Any text for a report: its page has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "render_report", lambda result: "report")
        yield


def assert_same(a: cl.Result, b: cl.Result) -> None:
    """Two results agree bit for bit, labels with their types."""
    assert a.variables == b.variables
    assert [[type(s) for s in v.states] for v in a.variables] == [[type(s) for s in v.states] for v in b.variables]
    assert a.network.to_dict() == b.network.to_dict()
    np.testing.assert_array_equal(a.edge_probabilities, b.edge_probabilities)
    np.testing.assert_array_equal(a.remaining, b.remaining)
    for left, right in zip(a.parent_sets, b.parent_sets, strict=True):
        assert list(left) == list(right)
    for left, right in zip(a.parent_set_weights, b.parent_set_weights, strict=True):
        np.testing.assert_array_equal(left, right)
    for mine, other in zip(a.rate_tables, b.rate_tables, strict=True):
        for left, right in zip(mine, other, strict=True):
            assert (left.parents, left.prior) == (right.parents, right.prior)
            np.testing.assert_array_equal(left.shape, right.shape)
            np.testing.assert_array_equal(left.rate, right.rate)
    for left, right in zip(a.units, b.units, strict=True):
        assert (left.id, left.observations) == (right.id, right.observations)
        np.testing.assert_array_equal(left.times, right.times)
        assert left.probabilities.keys() == right.probabilities.keys()
        for name in left.probabilities:
            np.testing.assert_array_equal(left.probabilities[name], right.probabilities[name])
    assert a.history == b.history
    assert a.converged is b.converged
    assert a.manifest == b.manifest
    np.testing.assert_equal(a.objective, b.objective)


LABELS = st.one_of(
    st.text(max_size=4), st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)


@st.composite
def results(draw):
    """Any result: names and labels of any kind, some rates kept, some weight not listed."""
    texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    labels = st.lists(LABELS.filter(_writable), min_size=2, max_size=3, unique=True)
    variables = [cl.Variable(name, tuple(draw(labels))) for name in names]
    n, cards = len(names), [v.n_states for v in variables]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rates, sets, weights, remaining, tables = {}, [], [], [], []
    for i, name in enumerate(names):
        off = ~np.eye(cards[i], dtype=bool)
        cim = rng.gamma(1, 1, (1, cards[i], cards[i])) * off
        rates[name] = cim - cim.sum(-1)[..., None] * np.eye(cards[i])
        others = [j for j in range(n) if j != i]
        members = np.array([[-1], *([j] for j in others)])
        sets.append(ParentSets(members, names))
        share = rng.dirichlet(np.ones(len(members) + 1))
        weights.append(share[:-1])
        remaining.append(share[-1])
        mine = [RateTable((), rng.gamma(2, 1, (1, *off.shape)) * off, rng.gamma(2, 1, (1, cards[i])), 1.5)]
        if others:
            j = others[0]
            mine.append(RateTable((j,), rng.gamma(2, 1, (cards[j], *off.shape)) * off,
                                  rng.gamma(2, 1, (cards[j], cards[i]))))  # fmt: skip
        tables.append(mine[: draw(st.integers(0, 2))])
    unit = Unit("u", np.array([0.0, 1.0]), {v.name: rng.random((2, v.n_states)) for v in variables},
                {v.name: [(0.5, v.states[0])] for v in variables})  # fmt: skip
    return cl.Result(
        cl.CTBN(variables, None, rates),
        rng.random((n, n)) * ~np.eye(n, dtype=bool),
        sets,
        weights,
        np.array(remaining),
        tables,
        History((1.0, float("-inf")), ("rates", "weights")),
        draw(st.sampled_from([float("nan"), -3.5])),
        draw(st.booleans()),
        draw(st.sampled_from([(), (unit,)])),
        {"title": names[0], "settings": {"learner": {"tol": 0.1}}},
    )


def _writable(label):
    return not isinstance(label, str) or label.isprintable() or label.encode("utf-8", "ignore").decode() == label


@given(results())
@settings(max_examples=40, deadline=None)
def test_any_result_survives(made):
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder, "r"))
        assert_same(cl.load_result(Path(folder, "r")), made)
        assert networkx.read_graphml(Path(folder, "r", "network.graphml")).number_of_nodes() == len(made.names)


def test_a_learned_result_survives_and_moves(result, tmp_path):
    result.save(tmp_path / "deep" / "r")
    assert {p.name for p in (tmp_path / "deep" / "r").iterdir()} == archive.FILES
    os.rename(tmp_path / "deep" / "r", tmp_path / "elsewhere")
    loaded = cl.load_result(tmp_path / "elsewhere")
    assert_same(loaded, result)
    assert loaded.edges.equals(result.edges)


def test_a_report_that_cannot_be_drawn_does_not_cost_the_result(result, tmp_path, monkeypatch, caplog):
    def fail(*_):
        raise ImportError("No module named 'plotly'")

    monkeypatch.setattr(archive, "render_report", fail)
    result.save(tmp_path / "r")
    assert_same(cl.load_result(tmp_path / "r"), result)
    assert "no report.html was written (No module named 'plotly')" in caplog.text


def test_a_complete_result_is_not_replaced_by_one_without_its_report(result, tmp_path, monkeypatch):
    result.save(tmp_path / "r")

    def fail(*_):
        raise ModuleNotFoundError("No module named 'plotly'")

    monkeypatch.setattr(archive, "render_report", fail)
    with pytest.raises(cl.CtbnlearnError, match="the complete result that is there is kept"):
        result.save(tmp_path / "r")
    assert (tmp_path / "r" / archive.REPORT).read_text() == "report"


def test_a_full_disk_at_the_report_is_an_error_and_the_old_result_stays(result, tmp_path, monkeypatch):
    result.save(tmp_path / "r")
    write = Path.write_text

    def full(path, content, **how):
        if path.name == archive.REPORT:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content, **how)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(cl.CtbnlearnError, match="No space left on device"):
        result.save(tmp_path / "r")
    with pytest.raises(cl.CtbnlearnError, match="No space left on device"):
        result.save(tmp_path / "fresh")
    assert (tmp_path / "r" / archive.REPORT).read_text() == "report"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r"]


def test_the_report_may_be_written_anew(result, tmp_path):
    result.save(tmp_path / "r")
    (tmp_path / "r" / archive.REPORT).write_text("another")
    assert_same(cl.load_result(tmp_path / "r"), result)


def test_a_manifest_that_is_no_json_is_refused(result, tmp_path):
    for odd in (object(), float("nan")):
        with pytest.raises(cl.CtbnlearnError, match="JSON values only"):
            replace(result, manifest={"odd": odd}).save(tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_no_letter_without_utf8_is_half_written(tmp_path):
    net = cl.CTBN({"a\ud800": (0, 1)}, None, {"a\ud800": [[-1, 1], [1, -1]]})
    sets = [ParentSets(np.array([[-1]]), net.names)]
    with pytest.raises(cl.CtbnlearnError, match="cannot be written as UTF-8"):
        cl.Result(net, np.zeros((1, 1)), sets, [np.ones(1)]).save(tmp_path / "r")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(WRITTEN))
@pytest.mark.parametrize("harm", ["flip", "cut", "empty"])
def test_damage_is_noticed(result, tmp_path, name, harm):
    result.save(tmp_path / "r")
    path = tmp_path / "r" / name
    content = bytearray(path.read_bytes())
    if harm == "flip":
        content[len(content) // 2] ^= 1
    path.write_bytes(content[: {"flip": len(content), "cut": len(content) - 3, "empty": 0}[harm]])
    with pytest.raises(cl.CtbnlearnError, match=name):
        cl.load_result(tmp_path / "r")


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_files_that_are_needed_must_be_there(result, tmp_path, name):
    result.save(tmp_path / "r")
    (tmp_path / "r" / name).unlink()
    if name in archive.EXPORTS:
        assert_same(cl.load_result(tmp_path / "r"), result)
    else:
        with pytest.raises(cl.CtbnlearnError, match=name):
            cl.load_result(tmp_path / "r")


def test_a_newer_format_is_refused_whatever_it_holds(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "manifest.json").write_text(json.dumps({"format": archive.FORMAT, "format_version": 2}))
    with pytest.raises(cl.CtbnlearnError, match=r"version 2 of the format.*up to 1; update ctbnlearn"):
        cl.load_result(tmp_path / "r")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other"}', "[" * 100_000, "\0"])
def test_foreign_manifests_are_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(cl.CtbnlearnError, match=r"manifest\.json"):
        cl.load_result(tmp_path)


@pytest.mark.parametrize("harm", ["missing array", "wrong shape", "wrong weights", "no units"])
def test_a_consistent_looking_but_wrong_folder_is_refused(result, tmp_path, harm):
    result.save(tmp_path / "r")
    arrays = load((tmp_path / "r" / archive.ARRAYS).read_bytes())
    manifest = json.loads((tmp_path / "r" / archive.MANIFEST).read_text())
    if harm == "missing array":
        del arrays["sets/2"]
    elif harm == "wrong shape":
        arrays["edge_probabilities"] = np.zeros((2, 2))
    elif harm == "wrong weights":
        arrays["weights/0"] = arrays["weights/0"] * 2
    else:
        del manifest["units"]
    content = save(arrays)
    (tmp_path / "r" / archive.ARRAYS).write_bytes(content)
    manifest["files"][archive.ARRAYS] = hashlib.sha256(content).hexdigest()
    manifest["checksum"] = archive._checksum(manifest)
    (tmp_path / "r" / archive.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(cl.CtbnlearnError, match="the result is damaged"):
        cl.load_result(tmp_path / "r")


def test_what_is_no_result_is_named(tmp_path):
    with pytest.raises(cl.CtbnlearnError, match="no such folder"):
        cl.load_result(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(cl.CtbnlearnError, match="this is a file"):
        cl.load_result(tmp_path / "file")
    with pytest.raises(cl.CtbnlearnError, match=r"holds no manifest\.json"):
        cl.load_result(tmp_path)
    with pytest.raises(cl.CtbnlearnError, match="a path to"):
        cl.load_result(7)


def test_a_result_is_replaced_and_other_folders_are_not(result, tmp_path):
    result.save(tmp_path / "r")
    other = replace(result, objective=1.5)
    other.save(tmp_path / "r")
    assert cl.load_result(tmp_path / "r").objective == 1.5
    (tmp_path / "r" / "notes.txt").write_text("mine")
    with pytest.raises(cl.CtbnlearnError, match=r"holds 'notes\.txt'"):
        result.save(tmp_path / "r")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "edges.csv").write_text("mine")  # a file of that name does not make it a result
    with pytest.raises(cl.CtbnlearnError, match=r"holds 'edges\.csv'"):
        result.save(tmp_path / "half")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(cl.CtbnlearnError, match="this is a file"):
        result.save(tmp_path / "file")
    assert (tmp_path / "r" / "notes.txt").read_text() == (tmp_path / "half" / "edges.csv").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    result.save(tmp_path / "empty")
    assert_same(cl.load_result(tmp_path / "empty"), result)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "file", "half", "r"]


def test_a_link_to_a_result_stays_a_link(result, tmp_path):
    result.save(tmp_path / "r1")
    (tmp_path / "latest").symlink_to("r1")
    replace(result, objective=2.5).save(tmp_path / "latest")
    assert (tmp_path / "latest").is_symlink()
    assert cl.load_result(tmp_path / "r1").objective == 2.5


@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", [True, False])
def test_a_save_that_stops_half_way_leaves_what_was_there(result, tmp_path, monkeypatch, problem, before):
    if before:
        result.save(tmp_path / "r")

    def stop(*arguments):
        raise problem

    monkeypatch.setattr(archive, "_checksum", stop)  # late: the other files are written by then
    kind = cl.CtbnlearnError if isinstance(problem, OSError) else KeyboardInterrupt
    with pytest.raises(kind):
        replace(result, objective=9.0).save(tmp_path / "r")
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == (["r"] if before else [])
    if before:
        assert_same(cl.load_result(tmp_path / "r"), result)


def test_a_move_that_fails_brings_the_old_result_back(result, tmp_path, monkeypatch):
    result.save(tmp_path / "r")
    real = os.rename

    def rename(source, target):
        if ".new-" in str(source):
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(cl.CtbnlearnError, match="Input/output error"):
        result.save(tmp_path / "r")
    monkeypatch.undo()
    assert_same(cl.load_result(tmp_path / "r"), result)
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_place_that_cannot_be_written_is_named(result):
    with pytest.raises(cl.CtbnlearnError, match="/proc/none/r: cannot write there"):
        result.save("/proc/none/r")


def test_folders_have_the_usual_permissions(result, tmp_path):
    result.save(tmp_path / "r")
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "r").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("name", [archive.MANIFEST, archive.ARRAYS, archive.NETWORK, "edges.csv"])
@pytest.mark.parametrize("kind", ["pipe", "device", "loop"])
def test_what_is_not_a_file_in_a_result_is_refused_at_once(result, tmp_path, name, kind):
    result.save(tmp_path / "r")
    place = tmp_path / "r" / name
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero" if kind == "device" else place)
    if kind == "loop" and name == "edges.csv":  # an export may be missing
        assert cl.load_result(tmp_path / "r").names == result.names
        return
    with pytest.raises(cl.CtbnlearnError):
        cl.load_result(tmp_path / "r")


@pytest.mark.parametrize("key", ["data", "settings", "warnings", "noise", "adjusted_for"])
def test_a_manifest_of_wrong_types_is_damaged(result, tmp_path, key):
    result.save(tmp_path / "r")
    path = tmp_path / "r" / archive.MANIFEST
    content = {**json.loads(path.read_text()), key: 5}
    path.write_text(json.dumps({**content, "checksum": archive._checksum(content)}))
    with pytest.raises(cl.CtbnlearnError, match=key):
        cl.load_result(tmp_path / "r")
