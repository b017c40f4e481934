"""Files of other programs, from small examples written by hand."""

from __future__ import annotations

import json

import pytest

from ctbnlearn.data.complete import read_paths
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.pyagrum import read_pyagrum, write_pyagrum
from ctbnlearn.data.pyctbn import read_pyctbn, write_pyctbn
from ctbnlearn.errors import DataError, ParameterError

DATASET = {
    "variables": [{"Name": "X", "Value": 3}, {"Name": "Y", "Value": 2}],
    "dyn.str": [{"From": "X", "To": "Y"}],
    "dyn.cims": {},
    "samples": [
        [{"Time": 0, "X": 0, "Y": 1}, {"Time": 0.5, "X": 2, "Y": 1}, {"Time": 2.0, "X": -1, "Y": -1}],
        [{"Time": 0.0, "X": 1, "Y": 0}, {"Time": 1, "X": 0, "Y": 1}, {"Time": 3, "X": -1, "Y": -1}],
    ],
}
SAMPLES = (
    "IdSample,time,var,state\n"
    "0,0.0,X,a\n0,0.0,Y,1\n0,0.5,X,a\n0,1.5,Y,1\n0,1.7,X,b\n0,2.0,X,c\n0,2.0,Y,0\n"
    "1,0.0,X,c\n1,0.0,Y,0\n1,2.0,X,c\n1,2.0,Y,0\n"
)


@pytest.mark.parametrize("several", [False, True])
def test_pyctbn(tmp_path, several):
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{}, DATASET] if several else DATASET))
    paths = read_pyctbn(file, dataset=1 if several else 0)
    assert [(v.name, v.states) for v in paths.variables] == [("X", (0, 1, 2)), ("Y", (0, 1))]
    assert paths.initial.tolist() == [[0, 1], [1, 0]]
    assert paths.offsets.tolist() == [0, 1, 3]
    assert paths.times.tolist() == [0.5, 1.0, 1.0]
    assert paths.nodes.tolist() == [0, 0, 1]
    assert paths.targets.tolist() == [2, 0, 1]
    assert paths.end.tolist() == [2.0, 3.0]


def test_pyctbn_labels_and_dispatch(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(DATASET))
    paths = read_paths(file, states={"X": ["low", "mid", "high"]})
    assert paths.variables[0].states == ("low", "mid", "high")
    assert read_paths(file, format="pyctbn").variables[0].states == (0, 1, 2)


def test_pyagrum(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(SAMPLES)
    for paths in (read_pyagrum(file), read_paths(file), read_paths(file, format="pyagrum")):
        assert [(v.name, v.states) for v in paths.variables] == [("X", ("a", "b", "c")), ("Y", (0, 1))]
        assert paths.initial.tolist() == [[0, 1], [2, 0]]
        assert paths.offsets.tolist() == [0, 3, 3]
        assert paths.times.tolist() == [0.5, 1.5, 1.7]
        assert paths.nodes.tolist() == [0, 1, 0]
        assert paths.targets.tolist() == [1, 0, 2]
        assert paths.end.tolist() == [2.0, 2.0]


def test_pyagrum_text_is_kept(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(SAMPLES)
    write_pyagrum(read_pyagrum(file), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == SAMPLES


def test_pyctbn_content_is_kept(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps([DATASET]))
    write_pyctbn(read_pyctbn(file), tmp_path / "b.json", network_edges=[("X", "Y")])
    assert json.loads((tmp_path / "b.json").read_text()) == [DATASET]


def test_what_the_formats_cannot_hold(tmp_path):
    late = Paths.from_trajectories({"a": (0, 1)}, [([0], [(2.0, "a", 1)], 3.0, 1.0)])
    with pytest.raises(DataError, match="shift the clock"):
        write_pyagrum(late, tmp_path / "a.csv")
    at_once = Paths.from_trajectories({"a": (0, 1)}, [([0], [(0.0, "a", 1)], 3.0)])
    with pytest.raises(DataError, match="very start"):
        write_pyctbn(at_once, tmp_path / "a.json")
    write_pyagrum(at_once, tmp_path / "a.csv")  # a jump has a row of its own there
    assert read_pyagrum(tmp_path / "a.csv").times.tolist() == [0.0]
    clash = Paths.from_trajectories({"Time": (0, 1)}, [([0], [], 3.0)])
    with pytest.raises(DataError, match="rename"):
        write_pyctbn(clash, tmp_path / "b.json")
    for edges in ([("a", "z")], [("a",)]):
        with pytest.raises(ParameterError, match="network_edges"):
            write_pyctbn(late, tmp_path / "b.json", edges)
    same = Paths.from_trajectories({"a": ("1", 1)}, [(["1"], [], 3.0)])
    with pytest.raises(DataError, match="look the same"):
        write_pyagrum(same, tmp_path / "b.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv"]
