"""The command line as a person uses it: what is written, said and returned."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import ctbnlearn as cl
from ctbnlearn.cli import learning, main
from ctbnlearn.cli.progress import ProgressLines
from ctbnlearn.learn.progress import ProgressEvent
from ctbnlearn.result.archive import FILES, REPORT

HEAVY = ("numpy", "scipy", "sklearn", "jax", "numba", "pyarrow", "narwhals", "networkx", "matplotlib", "plotly", "rich")


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """A table with holes, a truth, and the result learned from it, made by the commands themselves."""
    folder = tmp_path_factory.mktemp("panel")
    make = ["simulate", "--nodes", "3", "--max-parents", "1", "--trajectories", "40", "--seed", "2", "--missing", "0.1"]
    assert main([*make, "--truth", str(folder / "truth.json"), "--out", str(folder / "panel.csv"), "-q"]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "use_cache", lambda: None)
        learn = ["learn", str(folder / "panel.csv"), "--max-parents", "1", "--seed", "5", "--show", "3,7"]
        assert main([*learn, "--out", str(folder / "result"), "--quiet"]) == 0
    return folder


@pytest.fixture
def complete(tmp_path):
    """Complete paths, which are learned from in milliseconds."""
    net = cl.random_network(3, coupling=-0.8, rng=3)
    cl.write_paths(cl.simulate(net, 50, n_transitions=10, rng=1), tmp_path / "paths.csv")
    return tmp_path / "paths.csv"


def test_learn_writes_the_whole_result(panel):
    names = set(os.listdir(panel / "result"))
    assert names - {REPORT} == FILES - {REPORT}
    result = cl.load_result(panel / "result")
    truth = cl.CTBN.load(panel / "truth.json")
    assert truth.edges
    assert cl.edge_scores(truth, result.edge_probabilities)["auroc"] == 1.0
    manifest = json.loads((panel / "result" / "manifest.json").read_text())
    assert manifest["seed"] == 5
    assert manifest["settings"]["learner"]["max_parents"] == 1
    roles = {role: role for role in ("trajectory", "time", "start", "end")}  # as guessed
    assert manifest["settings"]["reading"] == {"data": "panel.csv", "format": "auto", **roles}
    assert manifest["data"]["missing"] == pytest.approx(0.1, abs=0.05)
    assert set(manifest["timings"]) == {"read", "fit"}
    assert [unit.id for unit in result.units] == ["3", "7"]


def test_learning_from_python_gives_the_same(panel):
    obs = cl.read_table(panel / "panel.csv", trajectory="trajectory", start="start", end="end")
    learner = cl.StructureLearner(max_parents=1, random_state=5).fit(obs)
    result = cl.load_result(panel / "result")
    np.testing.assert_array_equal(result.edge_probabilities, learner.edge_probabilities_)
    assert result.manifest["data"] == learner.result_.manifest["data"]


@pytest.mark.parametrize("method", ["star", "sampling"])
def test_not_converged_is_written_with_code_3(run, panel, tmp_path, method):
    less = {"star": ["--inference", "star", "--max-iter", "1"], "sampling": ["--sweeps", "4"]}[method]
    code, out, err = run("learn", panel / "panel.csv", "--max-parents", "1", *less, "--out", tmp_path / "r")
    assert code == 3
    assert err.count("\n") <= 1 + err.count("no report.html")
    assert ("EM has not converged" if method == "star" else "chains do not agree") in err
    assert ("--max-iter" if method == "star" else "--sweeps") in err
    result = cl.load_result(tmp_path / "r")
    assert result.converged is False
    doubt = "EM has not converged" if method == "star" else "chains have not come to agree"
    assert any(doubt in w for w in result.manifest["warnings"])
    assert "taking column 'trajectory' as the trajectory" in out
    assert f"; open {tmp_path / 'r' / 'report.html'} in a browser" in out
    assert ("round 1: objective" if method == "star" else "learning: sweep 4 of at most 4: chains differ") in out


def test_json_is_one_object_on_stdout(run, complete, tmp_path):
    code, out, _ = run("learn", complete, "--complete", "--json", "--out", tmp_path / "r")
    assert code == 0
    found = json.loads(out)
    assert out.count("\n") == 1
    assert found["converged"] is True
    assert found["edges"][0]["probability"] > 0.9
    assert found["out"] == str(tmp_path / "r")


def test_quiet_says_nothing(run, complete, tmp_path):
    code, out, _ = run("learn", complete, "--complete", "--quiet", "--out", tmp_path / "r")
    assert (code, out) == (0, "")


def test_people_get_a_table_of_edges(run, complete, tmp_path):
    code, out, _ = run("learn", complete, "--complete", "--out", tmp_path / "r")
    assert code == 0
    best = cl.load_result(tmp_path / "r").edges.to_pylist()[0]
    assert f"{best['source']:>6} -> {best['target']:<6}  {best['probability']:11.3f}\n" in out
    assert f"When {best['source']} = 1 rather than -1: -1 → 1 " in out


@pytest.mark.parametrize("format", ["events", "wide", "pyctbn", "pyagrum"])
def test_every_format_is_learned_from(run, tmp_path, format):
    paths = cl.simulate(cl.random_network(3, coupling=-0.8, rng=3), 50, n_transitions=10, rng=1)
    file = tmp_path / ("data.json" if format == "pyctbn" else "data.csv")
    cl.write_paths(paths, file, format=format)
    extra = ["--complete"] if format in ("events", "wide") else []
    assert run("learn", file, *extra, "--quiet", "--out", tmp_path / "auto")[0] == 0
    assert run("learn", file, *extra, "--format", format, "-q", "--out", tmp_path / "said")[0] == 0
    expected = cl.StructureLearner().fit(paths).edge_probabilities_
    for name in ("auto", "said"):
        np.testing.assert_allclose(cl.load_result(tmp_path / name).edge_probabilities, expected, atol=1e-6)


def test_edge_lists_and_the_settings_file(run, complete, tmp_path):
    (tmp_path / "required.csv").write_text("source,target\nx0,x1\n")
    (tmp_path / "forbidden.csv").write_text("source,target\nx2,x1\nx1,x2\n")
    (tmp_path / "study.toml").write_text(
        'complete = true\nmax_parents = 2\nseed = 3\nrequired = "required.csv"\n[learner]\nstructure_prior = "flat"\n'
    )
    code, _, _ = run(
        "learn", complete, "--config", tmp_path / "study.toml", "--max-parents", "1",
        "--forbidden", tmp_path / "forbidden.csv", "--out", tmp_path / "r", "-q",
    )  # fmt: skip
    assert code == 0
    result = cl.load_result(tmp_path / "r")
    told = result.manifest["settings"]
    assert told["learner"]["max_parents"] == 1  # the command line wins
    assert told["learner"]["structure_prior"] == "flat"
    assert result.manifest["seed"] == 3
    assert told["learner"]["required"] == [["x0", "x1"]]
    assert told["reading"]["complete"] is True
    assert result.edge_probabilities[0, 1] == 1
    assert result.edge_probabilities[2, 1] == result.edge_probabilities[1, 2] == 0
    for k, extra in enumerate((["--exogenous", "x1, x2"], ["--config", tmp_path / "exogenous.toml"])):
        (tmp_path / "exogenous.toml").write_text('exogenous = ["x1", "x2"]\n')
        assert run("learn", complete, "--complete", *extra, "-q", "--out", tmp_path / f"e{k}")[0] == 0
        found = cl.load_result(tmp_path / f"e{k}")
        assert not found.edge_probabilities[:, 1:].any()
        assert found.edge_probabilities[1:, 0].any()
        assert found.manifest["settings"]["learner"]["exogenous"] == ["x1", "x2"]
    allowed = [("x0", "x1"), ("x0", "x2"), ("x1", "x0"), ("x2", "x0")]
    (tmp_path / "candidates.csv").write_text("source,target\n" + "".join(f"{s},{t}\n" for s, t in allowed))
    assert run("learn", complete, "--complete", "--candidates", tmp_path / "candidates.csv", "-q",
               "--out", tmp_path / "c")[0] == 0  # fmt: skip
    expected = cl.StructureLearner(candidates=allowed).fit(cl.read_paths(complete, trajectory="trajectory"))
    np.testing.assert_array_equal(cl.load_result(tmp_path / "c").edge_probabilities, expected.edge_probabilities_)


def test_check_says_what_was_understood(run, tmp_path):
    (tmp_path / "d.csv").write_text(
        "unit,t,pain,job\n1,0,none,0\n1,1,mild,\n1,2,none,1\n2,0,mild,1\n2,4,,0\n", encoding="utf-8"
    )
    code, out, err = run("learn", tmp_path / "d.csv", "--check")
    assert (code, err) == (0, "")
    assert "taking column 'unit' as the trajectory" in out
    assert "trajectories:  2" in out
    assert "from 0 to 4, 6 in all" in out
    assert "8 of 10 cells in 5 rows (20.0% missing)" in out
    assert "pain      2 states: 'mild', 'none'; 2 changes\n" in out
    assert "visits:        5, 2.5 in a typical trajectory" in out
    assert "pain      20.0% missing; " in out
    found = json.loads(run("learn", tmp_path / "d.csv", "--check", "--json")[1])
    assert found["variables"][1] == {
        "name": "job", "states": [0, 1], "seen": 4, "missing": pytest.approx(0.2), "changes": 2,
    }  # fmt: skip
    assert found["memory_bytes"] > 0
    assert found["seconds"] > 0
    assert os.listdir(tmp_path) == ["d.csv"]


def test_check_chooses_the_method_that_the_edge_rules_leave(run, tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, (300, 4))  # neighbours are unrelated: chains would be stuck, blocks are taken
    lines = [f"{k // 6},{k % 6}," + ",".join(map(str, row)) for k, row in enumerate(cells)]
    (tmp_path / "d.csv").write_text("id,time,a,b,c,d\n" + "\n".join(lines) + "\n")
    (tmp_path / "must.csv").write_text("source,target\na,d\nb,d\nc,d\n")  # 81 joint states: too many for a block
    free = json.loads(run("learn", tmp_path / "d.csv", "--check", "--json")[1])
    bound = ["--required", tmp_path / "must.csv", "--max-parents", 3]
    held = json.loads(run("learn", tmp_path / "d.csv", "--check", "--json", *bound)[1])
    assert (free["inference"], held["inference"]) == ("blocks", "sampling")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["small", "complete", "complete, forty states"])
def test_check_estimates_memory(shape):
    folder = Path(__file__).parents[2] / "benchmarks"
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import memory; print(memory.measure({shape!r})['ratio'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.7 < float(done.stdout.splitlines()[-1]) < 1.3


def test_check_points_at_what_never_changes(run, tmp_path):
    (tmp_path / "d.csv").write_text("id,time,sex,job\n1,0,f,0\n1,1,f,1\n2,0,m,1\n2,4,m,0\n")
    _, out, _ = run("learn", tmp_path / "d.csv", "--check")
    assert "sex       2 states: 'f', 'm'; never changes within a trajectory" in out
    assert "job       2 states: 0, 1; 2 changes" in out


def test_check_of_complete_paths(run, complete):
    code, out, _ = run("learn", complete, "--complete", "--check")
    assert code == 0
    assert "complete: every transition is there" in out


def test_smooth_reads_the_data_as_learn_did(run, panel, tmp_path):
    out_file = tmp_path / "states.csv"
    code, _, err = run("smooth", panel / "result", panel / "panel.csv", "--times", "0.5,1", "--out", out_file)
    assert (code, err) == (0, "")
    with open(out_file, newline="") as file:
        rows = list(csv.DictReader(file))
    result = cl.load_result(panel / "result")
    obs = cl.read_table(panel / "panel.csv", trajectory="trajectory", start="start", end="end")
    expected = cl.exact.smooth(result.network, obs, [0.5, 1.0])  # as sampling does for few variables
    assert len(rows) == 40 * 2 * 3 * 2
    found = [r for r in rows if (r["trajectory"], r["time"], r["variable"], r["state"]) == ("7", "1", "x2", "-1")]
    assert len(found) == 1
    assert float(found[0]["probability"]) == pytest.approx(expected["x2"][7, 1, 0])
    out_file = tmp_path / "states.parquet"
    assert run("smooth", panel / "result", panel / "panel.csv", "--times", "0.5,1", "-q", "-o", out_file)[0] == 0
    assert pyarrow.parquet.read_table(out_file).column("probability").to_pylist() == pytest.approx(
        [float(row["probability"]) for row in rows]
    )


def test_smooth_keeps_the_thresholds_of_learn(run, tmp_path):
    """A unit by itself is read as it was among the others, whose values the threshold was taken from."""
    rng = np.random.default_rng(3)
    rows = [f"{i},{t},{10 * (i % 2) + rng.normal():.4f},{rng.integers(2)}" for i in range(12) for t in range(4)]
    for name, some in (("all", rows), ("one", rows[4:8])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,time,signal,b", *some]) + "\n")
    noise = ["--noise", "signal=threshold"]
    assert run("learn", tmp_path / "all.csv", *noise, "--max-parents", 0, "-q", "--out", tmp_path / "r")[0] == 0
    found = {}
    for name in ("all", "one"):
        out = tmp_path / f"{name}-states.csv"
        assert run("smooth", tmp_path / "r", tmp_path / f"{name}.csv", "--times", "1", "-q", "-o", out)[0] == 0
        with open(out, newline="") as file:
            found[name] = {
                (r["variable"], r["state"]): float(r["probability"])
                for r in csv.DictReader(file)
                if r["trajectory"] == "1"
            }
    assert found["one"] == pytest.approx(found["all"], abs=1e-6)


def test_simulate_is_reproducible_and_reads_back(run, tmp_path):
    common = ["simulate", "--nodes", "4", "--trajectories", "5", "--seed", "1", "-q", "--out"]
    for name in ("a.csv", "b.csv"):
        assert run(*common, tmp_path / name, "--truth", tmp_path / "net.json", "--noise", "gaussian:0.2")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    again = [*common, tmp_path / "c.csv", "--network", tmp_path / "net.json", "--observations", "0", "--horizon", "3"]
    code, out, _ = run(*[a for a in again if a != "-q"])
    assert code == 0
    assert "Paths(5 trajectories, 4 variables" in out
    assert cl.read_paths(tmp_path / "c.csv", trajectory="trajectory").end.tolist() == [3.0] * 5


def test_info_and_its_cache(run, panel, tmp_path, monkeypatch):
    cache = tmp_path / "cache-home" / "ctbnlearn"
    cache.mkdir(parents=True)
    (cache / "program").write_bytes(b"12345")
    found = json.loads(run("info", "--json")[1])
    assert found["ctbnlearn"] == cl.__version__
    assert (found["cache"], found["cache_files"], found["cache_bytes"]) == (str(cache), 1, 5)
    code, out, _ = run("info", "--clear-cache")
    assert code == 0
    assert "cache bytes removed:  5" in out
    assert not cache.exists()
    code, out, _ = run("info", panel / "result")
    assert code == 0
    assert "Converged:        yes" in out
    assert "x1" in out


def test_the_compiled_programs_are_kept_between_runs(tmp_path):
    code = (
        "from ctbnlearn.cli.cache import use_cache, cache_size; use_cache(); import jax;"
        "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0);"
        "jax.jit(lambda x: x + 1)(1.0); print(cache_size()[0])"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    assert any((tmp_path / "ctbnlearn").iterdir())


def test_demo_learns_its_truth_back(run, tmp_path, monkeypatch):
    monkeypatch.setattr(cl, "observe", lambda paths, **options: paths)  # nothing hidden: done in no time
    code, out, _ = run("demo", "--out", tmp_path / "d")
    assert code == 0
    assert "against the truth: AUROC 1.000, wrong edges at 0.5: 0" in out
    result = cl.load_result(tmp_path / "d")
    found = {(e["source"], e["target"]) for e in result.edges.to_pylist() if e["probability"] > 0.5}
    assert found == {tuple(edge) for edge in result.manifest["settings"]["reading"]["truth"]}


def test_help_is_quick_and_light():
    code = (
        "import sys\nfrom ctbnlearn.cli import main\nassert main(sys.argv[1:]) == 0\n"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    for arguments in (["--help"], ["learn", "--help"], ["--version"]):
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
            seconds.append(time.perf_counter() - began)
        assert done.stderr.strip() == "[]"
        assert min(seconds) < 2.0  # half a second where nothing else runs


def test_every_command_has_help_with_its_options(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in ("demo", "simulate", "learn", "smooth", "report", "info"):
        assert command in out
        code, shown, _ = run(command, "--help")
        assert code == 0
        assert "--help" in shown
    assert run() == run("--help")
    assert "ctbnlearn learn panel.csv --trajectory id --time year --out result\n" in run("learn", "--help")[1]
    assert run("--version")[1] == f"ctbnlearn {cl.__version__}\n"


def test_python_dash_m_runs_and_passes_the_code_on():
    done = subprocess.run(
        [sys.executable, "-m", "ctbnlearn", "learn", "none.csv", "-o", "x"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "ctbnlearn: none.csv: there is no such file; check the path\n"


def test_an_interrupt_gives_130_and_leaves_nothing(run, complete, tmp_path, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "fit", stop)
    code, _, err = run("learn", complete, "--complete", "--out", tmp_path / "r")
    assert code == 130
    assert err == "ctbnlearn: interrupted; nothing was written\n"
    assert not (tmp_path / "r").exists()


def test_a_fault_of_ours_is_one_line_and_debug_shows_it(run, complete, tmp_path, monkeypatch):
    def fault(*arguments):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(learning, "fit", fault)
    code, _, err = run("learn", complete, "--complete", "--out", tmp_path / "r")
    assert code == 1
    assert err.count("\n") == 1
    assert "RuntimeError: first line second line" in err
    with pytest.raises(RuntimeError):
        main(["learn", str(complete), "--complete", "--out", str(tmp_path / "r"), "--debug"])


def test_a_terminal_gets_a_live_line(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressLines(silent=False) as progress:
        progress.note("bell \x07 [red]")
        progress.event(ProgressEvent("rounds", "round 3", 1.0, 3, 50, 40.0))
        progress.live.refresh()
    out = capsys.readouterr().out
    assert "bell \\x07 [red]" in out
    assert "round 3; about 40 s left" in out
    assert not progress.live.live.is_started


def test_steps_get_a_line_every_other_second_and_the_last_one_always(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    with ProgressLines(silent=False) as progress:
        for clock[0], k in ((1.0, 1), (1.5, 2), (2.0, 3), (3.5, 4), (3.6, 9)):
            progress.event(ProgressEvent("bags", f"bag {k}", 0.0, k, 9))
        progress.event(ProgressEvent("done", "done", 0.0))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("learning: ")[2] for line in lines] == ["bag 1", "bag 4", "bag 9", "done"]


def test_rounds_of_blocks_are_told(run, tmp_path):
    run("simulate", "--nodes", 3, "--trajectories", 30, "--seed", 1, "--out", tmp_path / "data.csv")
    _, out, _ = run("learn", tmp_path / "data.csv", "--inference", "blocks", "--out", tmp_path / "r")
    assert "learning: round 1 of at most 8" in out


def test_help_states_defaults(run):
    code, out, _ = run("learn", "--help")
    words = " ".join(out.split())
    assert code == 0
    assert "Largest number of parents. Default: 2." in words
    options = re.split(r"\n  (?=-)", out[out.index("Options:") :])[1:]
    silent = {re.search(r"--([a-z-]+)", option)[1] for option in options if "efault" not in option}
    assert silent == {"out", "cut", "levels", "resume", "check", "quiet", "json", "help"}, "nothing unless given"


def test_two_parents_at_most_unless_told_otherwise(run, complete, tmp_path):
    assert run("learn", complete, "--complete", "--quiet", "--out", tmp_path / "r")[0] == 0
    assert cl.load_result(tmp_path / "r").manifest["settings"]["learner"]["max_parents"] == 2
    assert run("learn", complete, "--complete", "--quiet", "--max-parents", 1, "--out", tmp_path / "r")[0] == 0
    assert cl.load_result(tmp_path / "r").manifest["settings"]["learner"]["max_parents"] == 1


def test_what_cannot_be_saved_is_kept_elsewhere(run, complete, tmp_path, monkeypatch):
    from ctbnlearn.result.result import Result

    save = Result.save

    def full(result, folder):
        if str(folder).endswith("/r/out"):
            raise cl.CtbnlearnError(f"{folder}: cannot write there (No space left on device); make room")
        save(result, folder)

    monkeypatch.setattr(Result, "save", full)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code, _, err = run("learn", complete, "--complete", "--quiet", "--out", tmp_path / "r" / "out")
    assert code == 2
    assert "No space left on device" in err
    (kept,) = tmp_path.glob("ctbnlearn-*-out")
    assert str(kept) in err
    assert cl.load_result(kept).names
