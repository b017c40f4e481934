"""Writing tables: the exact text, and what cannot be written."""

from __future__ import annotations

import pytest

from ctbnlearn.data.complete import read_paths
from ctbnlearn.data.noise import GaussianNoise, LabelNoise
from ctbnlearn.data.observations import Observations, observe
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.tables import read_table
from ctbnlearn.data.writers import write_paths, write_table
from ctbnlearn.errors import DataError, ParameterError

PATHS = Paths.from_trajectories(
    {"a": ("off", "on"), "b": (0, 1)},
    [(["off", 0], [(0.1, "a", "on"), (0.1, "b", 1), (2.5, "a", "off")], 3.0), (["on", 1], [], 1.0)],
    ids=["p", "q"],
)


def test_wide_text(tmp_path):
    obs = observe(PATHS.select([0]), times=[0.0, 1 / 3, 3.0], noise={"b": GaussianNoise(1e-30)}, rng=0)
    write_table(obs, tmp_path / "a.csv", trajectory="who", time="t")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "who,t,a,b"
    assert lines[1].startswith("p,0.0,off,")
    assert lines[2].startswith("p,0.3333333333333333,on,0.9999999999999")
    back = read_table(tmp_path / "a.csv", trajectory="who", time="t", noise={"b": GaussianNoise(1e-30, (0, 1))})
    assert back.series[1].values.tolist() == obs.series[1].values.tolist()


def test_event_text_and_window(tmp_path):
    obs = observe(PATHS, times=[0.5], noise={"b": LabelNoise(0.0, ("no", "yes"))})
    write_table(obs, tmp_path / "a.csv", format="events")
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "trajectory,time,start,end,variable,value",
        "p,0.5,0.0,3.0,a,on",
        "p,0.5,0.0,3.0,b,yes",
        "q,0.5,0.0,1.0,a,on",
        "q,0.5,0.0,1.0,b,yes",
    ]


def test_paths_text(tmp_path):
    write_paths(PATHS, tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text().splitlines() == [
        "trajectory,time,variable,value",
        "p,0.0,a,off",
        "p,0.0,b,0",
        "p,0.1,a,on",
        "p,0.1,b,1",
        "p,2.5,a,off",
        "p,3.0,a,off",
        "q,0.0,a,on",
        "q,0.0,b,1",
        "q,1.0,a,on",
    ]
    write_paths(PATHS, tmp_path / "w.tsv", format="wide")
    assert (tmp_path / "w.tsv").read_text().splitlines() == [
        "trajectory\ttime\ta\tb",
        "p\t0.0\toff\t0",
        "p\t0.1\ton\t1",
        "p\t2.5\toff\t1",
        "p\t3.0\toff\t1",
        "q\t0.0\ton\t1",
        "q\t1.0\ton\t1",
    ]
    assert read_paths(tmp_path / "w.tsv", trajectory="trajectory").n_transitions == 3


def test_refusals_leave_nothing_behind(tmp_path):
    obs = observe(PATHS, times=[0.5])
    raw = Observations.from_likelihoods([[0.0]], [[[[1, 0]]]], ["a"])
    empty = Observations(obs.variables, obs.series, [0, 0], [3, 3]).select([0, 1])
    start = Paths.from_trajectories({"start": (0, 1), "time": (0, 1)}, [([0, 1], [], 3.0)])
    odd = Paths.from_trajectories({"a": ("", "x")}, [(["x"], [], 3.0)])
    lone = Paths.from_trajectories({"a": ("\ud800", "x")}, [(["\ud800"], [], 3.0)])
    twice = Paths.from_trajectories({"a": (0, 1)}, [([0], [], 3.0)] * 2, ids=["p", "p "])
    nameless = Paths.from_trajectories({"a": (0, 1)}, [([0], [], 3.0)], ids=["NA"])
    gone = observe(PATHS, times=[[0.5], []])
    for problem, refused in [
        ("raw likelihoods", lambda p: write_table(raw, p)),
        ("holds no value", lambda p: write_table(gone, p)),
        ("'start'", lambda p: write_table(observe(start, times=[1.0]), p, time="t")),
        ("two columns", lambda p: write_paths(start, p, format="wide")),
        ("blank state", lambda p: write_paths(odd, p)),
        ("UTF-8", lambda p: write_paths(lone, p)),
        ("stands twice", lambda p: write_paths(twice, p)),
        ("blank", lambda p: write_paths(nameless, p)),
        ("format must", lambda p: write_table(obs, p, format="long")),
        ("format must", lambda p: write_paths(PATHS, p, format="long")),
        ("needs Observations", lambda p: write_table(PATHS, p)),
        ("needs Paths", lambda p: write_paths(obs, p)),
        ("end in one of", lambda p: write_table(obs, p.with_suffix(".xlsx"))),
        ("trajectory must", lambda p: write_table(obs, p, trajectory=" ")),
        ("path", lambda p: write_table(obs, 3)),
        ("cannot write", lambda p: write_table(obs, p.parent / "no" / "a.csv")),
    ]:
        with pytest.raises((DataError, ParameterError), match=problem) as error:
            refused(tmp_path / "a.csv")
        assert "\n" not in str(error.value)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="folder"):
        write_table(empty, tmp_path / "d.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


def test_an_older_file_survives_a_refusal(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("old")
    lone = Paths.from_trajectories({"a": ("\ud800", "x")}, [(["\ud800"], [], 3.0)])
    with pytest.raises(DataError):
        write_paths(lone, file)
    assert file.read_text() == "old"
