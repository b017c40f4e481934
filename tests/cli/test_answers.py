"""Commands that stand behind an answer: --bags, check, risk; and no data of single units unless asked for."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.cli import learning, main, model_check, risks
from ctbnlearn.data.history import last_seen
from ctbnlearn.result.unit import simulated_units

IDS = [f"patient-{k:03d}-secret" for k in range(50)]
METHOD = ["--inference", "exact", "--max-iter", "30"]


@pytest.fixture(autouse=True)
def _no_cache_either(monkeypatch):
    for module in (model_check, risks):
        monkeypatch.setattr(module, "use_cache", lambda: None)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A table of labelled units with odd times, and a result learned from it."""
    folder = tmp_path_factory.mktemp("clinic")
    net = cl.random_network(2, 1, coupling=0.9, rng=3)
    obs = cl.observe(cl.simulate(net, 50, horizon=6.0, rng=1), n_times=9, rng=2)
    rows = [["patient", "time", *obs.names]]
    for k, name in enumerate(IDS):
        for r in range(obs.series[0].offsets[k], obs.series[0].offsets[k + 1]):
            seen = ["no" if s.values[r] == 0 else "yes" for s in obs.series]
            rows.append([name, repr(float(obs.series[0].times[r])), *seen])
    with (folder / "clinic.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "use_cache", lambda: None)
        data = str(folder / "clinic.csv")
        assert main(["learn", data, *METHOD, "--out", str(folder / "result"), "-q"]) == 0
        shown = [*METHOD, "--show", IDS[4], "--out", str(folder / "shown"), "-q"]
        assert main(["learn", data, *shown]) == 0
    return folder


def test_a_result_holds_no_unit_unless_asked(clinic):
    table = (clinic / "clinic.csv").read_text().splitlines()[1:]
    times = {row.split(",")[1] for row in table}
    assert len(times) == 450
    times -= {min(times, key=float), max(times, key=float)}  # from when to when the data are is said
    for path in (clinic / "result").iterdir():
        text = path.read_bytes().decode("latin-1")
        assert not any(name in text for name in IDS), path
        assert not any(time in text for time in times), path
    page = (clinic / "result" / "report.html").read_text()
    assert "simulated from the network: they are nobody" in page
    units = cl.load_result(clinic / "result").units
    assert [u.id for u in units] == ["simulated 1", "simulated 2", "simulated 3"]
    assert all(u.simulated for u in units)
    assert IDS[4] in (clinic / "shown" / "manifest.json").read_text()
    assert "nobody" not in (clinic / "shown" / "report.html").read_text()
    assert not any(u.simulated for u in cl.load_result(clinic / "shown").units)


def test_units_are_simulated_whatever_the_data():
    net = cl.random_network(2, 1, rng=0)
    paths = cl.simulate(net, 5, horizon=2.0, rng=1)
    noisy = cl.observe(paths, n_times=4, noise={"x0": cl.GaussianNoise(0.2), "x1": cl.LabelNoise(0.1)}, rng=2)
    units = simulated_units(net, noisy)
    assert len(units[0].observations["x0"]) == 4
    assert {label for _, label in units[0].observations["x1"]} <= {-1, 1}
    raw = cl.Observations.from_likelihoods([[0.0, 1.0]], [[[[1, 0], [0.3, 0.7]]] * 2], ["x0", "x1"])
    assert len(simulated_units(cl.CTBN(raw.variables, {}, {n: [[-1, 1], [1, -1]] for n in raw.names}), raw)) == 3


def test_check_says_whether_edges_help_and_adds_to_the_report(run, clinic):
    code, out, _ = run("check", clinic / "result", clinic / "clinic.csv", "--folds", 2)
    assert code == 0
    words = next(line for line in out.splitlines() if line.startswith("The edges "))
    assert "nats per value" in out
    result = cl.load_result(clinic / "result")
    assert result.manifest["check"]["words"][0] == words
    page = (clinic / "result" / "report.html").read_text()
    assert "Does the model fit?" in page
    assert result.manifest["check"]["words"][0] in page
    assert "<polyline" in page
    code, out, _ = run("check", clinic / "result", clinic / "clinic.csv", "--folds", 2, "--json")
    assert json.loads(out) == cl.load_result(clinic / "result").manifest["check"]
    assert not any(name in (clinic / "result" / "manifest.json").read_text() for name in IDS)


def test_risk_is_that_of_the_network(run, clinic, tmp_path):
    code, out, _ = run("risk", clinic / "result", clinic / "clinic.csv", "--state", "x1=yes", "--within", "0.5,2")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 100
    assert [row["trajectory"] for row in rows[::2]] == IDS
    risk = np.array([float(row["risk"]) for row in rows]).reshape(50, 2)
    assert (risk[:, 1] >= risk[:, 0]).all()
    obs = cl.read_table(clinic / "clinic.csv", trajectory="patient", time="time")
    here = cl.load_result(clinic / "result").network
    now = cl.exact.filter(here, obs, last_seen(obs)[:, None])["x1"][:, 0, 1]
    np.testing.assert_array_equal(risk[now > 0.5], 1.0)
    assert (risk[now < 0.5] < 1.0).all()
    code, _, _ = run(
        "risk", clinic / "result", clinic / "clinic.csv", "--state", "x1=yes", "--within", 1, "--folds", 2,
        "--out", tmp_path / "quality.csv",
    )  # fmt: skip
    assert code == 0
    row = next(csv.DictReader((tmp_path / "quality.csv").read_text().splitlines()))
    assert {"auc", "brier", "brier_reference", "units", "reached"} <= set(row)


def test_bags_are_averaged_and_resumed(run, clinic, tmp_path):
    learn = ["learn", clinic / "clinic.csv", *METHOD, "--bags", 3, "--checkpoint", tmp_path / "kept"]
    code, _, _ = run(*learn, "--out", tmp_path / "result")
    assert code == 0
    assert sorted(p.name for p in (tmp_path / "kept").glob("bag-*")) == [f"bag-{k:04d}.json" for k in range(3)]
    first = cl.load_result(tmp_path / "result")
    assert first.bags.n_bags == 3
    header = (tmp_path / "result" / "edges.csv").read_text().splitlines()[0]
    assert header.endswith("spread,sign_agreement,all_data")
    code, _, _ = run(*learn, "--resume", "--out", tmp_path / "again")
    assert code == 0
    np.testing.assert_array_equal(cl.load_result(tmp_path / "again").bags.mean, first.bags.mean)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["risk", "--state", "x1", "--within", "1"], "as in relapse=yes"),
        (["risk", "--state", "x1=maybe", "--within", "1"], "no state 'maybe'"),
        (["risk", "--state", "nobody=yes", "--within", "1"], "no variable 'nobody'"),
        (["risk", "--state", "x1=yes", "--state", "x1=no", "--within", "1"], "names 'x1' twice"),
        (["risk", "--state", "x1=yes,no", "--within", "1"], "some must count and some not"),
        (["risk", "--state", "x1=yes", "--within", "soon"], "--within must be a time"),
        (["risk", "--state", "x1=yes", "--within", "0"], "--within must be a positive time"),
        (["risk", "--state", "x1=yes", "--within", "1", "--folds", "99"], "--folds: 99 folds of 50 units"),
        (["risk", "--state", "x1=yes", "--within", "1", "--out", "risks.txt"], "must end in .csv"),
        (["check", "--folds", "1"], "--folds"),
        (["check", "--folds", "51"], "--folds: 51 folds of 50 units"),
    ],
)
def test_bad_questions_are_one_line(run, clinic, arguments, words):
    command, *rest = arguments
    code, out, err = run(command, clinic / "result", clinic / "clinic.csv", *rest, "--quiet")
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]


def test_too_few_bags_are_refused(run, clinic, tmp_path):
    code, _, err = run("learn", clinic / "clinic.csv", "--bags", 1, "--out", tmp_path / "result")
    assert code == 2
    assert "--bags" in err
    assert not (tmp_path / "result").exists()
