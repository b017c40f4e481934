"""The frame of the experiments: what is finished is kept, what is asked for is written, wrong use is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ctbnlearn.cli import experimenting, main
from ctbnlearn.errors import CtbnlearnError
from ctbnlearn.experiments import catalogue
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options, Store, run_plan
from ctbnlearn.experiments.output import conduct
from ctbnlearn.experiments.rows import paired, plain, quartiles, to_csv


@pytest.fixture
def counting(monkeypatch):
    """An experiment of three cells that keeps count of the cells it ran; `fail_at` stops it at one of them."""

    class Counting:
        ran: list[int] = []  # noqa: RUF012
        fail_at = None

        def run(self, cell, options):
            if cell["k"] == self.fail_at:
                raise KeyboardInterrupt
            self.ran.append(cell["k"])
            return {"scores": [{"k": cell["k"], "square": cell["k"] ** 2}], "more": [{"k": cell["k"]}]}

    count = Counting()
    count.ran = []
    experiment = Experiment(
        "counting",
        "Counting",
        lambda options: [{"k": k, "quick": options.quick} for k in (3, 1, 2)],
        count.run,
        lambda tables: Figure(figsize=(1, 1)),
        lambda tables: Comparison(("k",), [(row["k"],) for row in tables["scores"]], [Claim("a", True, "b")]),
    )
    monkeypatch.setattr(catalogue, "load", lambda name: experiment)
    return experiment, count


def test_a_stopped_run_goes_on_where_it_was(counting, tmp_path):
    experiment, count = counting
    count.fail_at = 2
    with pytest.raises(KeyboardInterrupt):
        conduct(experiment, Options(), tmp_path)
    assert count.ran == [3, 1]
    count.fail_at = None
    said = []
    conduct(experiment, Options(), tmp_path, say=lambda *args: said.append(args[:2]))
    assert count.ran == [3, 1, 2]
    assert said == [(2, 3), (3, 3)]
    conduct(experiment, Options(), tmp_path)
    assert count.ran == [3, 1, 2]
    assert (tmp_path / "counting.csv").read_text() == "k,square\n3,9\n1,1\n2,4\n"
    for name in ("counting-more.csv", "counting.png", "counting.svg", "counting.md"):
        assert (tmp_path / name).stat().st_size > 0


def test_other_settings_and_damaged_cells_are_run_anew(counting, tmp_path):
    experiment, count = counting
    store = Store(tmp_path, "counting")
    run_plan(experiment, Options(), store)
    run_plan(experiment, Options(quick=True), store)
    assert count.ran == [3, 1, 2] * 2
    victim = store.path({"k": 1, "quick": False})
    victim.write_text(victim.read_text()[:-5])
    assert run_plan(experiment, Options(), store)["scores"][1] == {"k": 1, "square": 1}
    assert count.ran == [3, 1, 2, 3, 1, 2, 1]
    json.loads(victim.read_text())


def test_an_interrupted_command_says_what_is_kept(counting, tmp_path, capsys, monkeypatch):
    _, count = counting
    monkeypatch.setattr(experimenting, "use_cache", lambda: None)
    count.fail_at = 1
    assert main(["experiment", "counting", "--out", str(tmp_path / "o"), "--quiet"]) == 130
    assert "1 finished cells are kept" in capsys.readouterr().err


def test_processes_give_the_rows_of_one_process(tmp_path):
    experiment = catalogue.load("concentration")
    cells = [{"draw": d, "trajectories": [1, 5], "concentrations": [0.0, 2.0]} for d in range(2)]
    small = Experiment("concentration", "", lambda options: cells, experiment.run, experiment.draw, experiment.compare)
    one = run_plan(small, Options(), Store(tmp_path / "one", "concentration"))
    two = run_plan(small, Options(), Store(tmp_path / "two", "concentration"), jobs=2)
    assert one == two


def test_a_cell_that_fails_costs_no_other(tmp_path):
    experiment = catalogue.load("concentration")
    bad, good = {"draw": 0}, {"draw": 1, "trajectories": [1, 5], "concentrations": [0.0, 2.0]}
    small = Experiment("concentration", "", lambda options: [bad, good], experiment.run, experiment.draw, print)
    store = Store(tmp_path, "concentration")
    with pytest.raises(KeyError, match=r"concentrations|trajectories"):
        run_plan(small, Options(), store, jobs=2)
    assert store.read(bad) is None
    assert store.read(good) is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], ["nonsense", *catalogue.NAMES]),
        (["irma"], ["--data", "switch_on.csv"]),
        (["panel"], ["--data", "CSV file"]),
        (["panel", "--data", "nowhere.csv"], ["nowhere.csv", "nothing there"]),
        (["irma", "--data", "."], ["switch_on.csv", "no such file"]),
        (["bound", "--data", "."], ["leave --data out"]),
        (["bound", "--peers"], ["leave --peers out"]),
        (["complete", "--peers"], ["setup.sh", "CTBNLEARN_PEERS"]),
        (["bound", "--jobs", "100000"], ["--jobs", "cores"]),
    ],
)
def test_wrong_use_is_one_line_and_code_2(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTBNLEARN_PEERS", str(tmp_path))
    assert main(["experiment", *arguments]) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert all(word in err for word in words), err
    assert out == "" or "cells" not in out


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(CtbnlearnError, match="choose another --out"):
        conduct(catalogue.load("concentration"), Options(quick=True), tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_every_name_has_an_experiment():
    assert set(catalogue.NAMES) == {
        p.stem
        for p in Path(catalogue.__file__).parent.glob("*.py")
        if "EXPERIMENT = Experiment(" in p.read_text(encoding="utf-8")
    }
    for name in catalogue.NAMES:
        assert catalogue.load(name).name == name


def test_rows():
    rows = [{"graph": g, "m": m, "v": v} for g, m, v in [(0, "a", 1.0), (1, "a", 3.0), (0, "b", 0.5), (1, "b", 1.0)]]
    assert paired(rows, "v", {"m": "a"}, {"m": "b"}) == pytest.approx((1.25, 0.75))
    assert quartiles(rows, "v") == (0.875, 1.0, 1.5)
    assert plain({"a": float("nan"), "b": (1, 2.5)}) == {"a": None, "b": [1, 2.5]}
    assert to_csv([{"a": 1}, {"b": "x,y"}]) == 'a,b\n1,\n,"x,y"\n'


def test_a_claim_that_fails_says_why():
    assert Claim("X holds", False, "1 < 2", "Because.").line() == "- X holds — **differs**: 1 < 2. Because."
    assert "Because" not in Claim("X holds", True, "2 > 1", "Because.").line()


def test_the_same_rows_give_the_same_files(tmp_path):
    experiment = catalogue.load("concentration")
    cells = [{"draw": 0, "trajectories": [1, 5, 9], "concentrations": [0.0, 2.0]}]
    small = Experiment("concentration", "", lambda options: cells, experiment.run, experiment.draw, experiment.compare)
    for place in ("a", "b"):
        conduct(small, Options(), tmp_path / place)
    for name in ("concentration.csv", "concentration.svg", "concentration-profiles.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
