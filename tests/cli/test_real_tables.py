"""Raw tables through the command line: dates, text, a lab value, a count, an ordered stage, a treatment, holes."""

from __future__ import annotations

import csv
import datetime as dt
import json

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.cli import learning, main


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Inflammation (seen as a lab value) drives the stage and attacks (a count); the stage drives treatment."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.csv"
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["patient_id", "visit_date", "sex", "crp", "attacks", "stage", "drug"])
        for k in range(120):
            state, t = [0, 0, 0, 0], 0.0  # inflamed, attacks, stage, drug
            day, sex = dt.date(2015, 1, 1) + dt.timedelta(days=int(rng.integers(1000))), "fm"[k % 2]
            visits, v = np.unique(np.round(np.sort(rng.uniform(0, 4, 12)) * 365)), 0
            while v < len(visits):
                inflamed, attacks, stage, drug = state
                moves = [
                    (0, 1 - inflamed, 0.7),
                    (1, 1 - attacks, 3.0 if attacks != inflamed else 0.2),
                    (2, stage + 1, 2.0 * inflamed + 0.1) if stage < 2 else (2, 2, 0.0),
                    (2, stage - 1, 0.1 + 1.5 * (1 - inflamed)) if stage > 0 else (2, 0, 0.0),
                    (3, 1 - drug, (0.2, 1.0, 3.0)[stage] if drug == 0 else (3.0, 1.0, 0.2)[stage]),
                ]
                rates = np.array([m[2] for m in moves])
                then = t + rng.exponential(365 / rates.sum())
                while v < len(visits) and visits[v] < then:
                    cells = [
                        sex,
                        f"{np.exp(rng.normal((0.5, 2.5)[inflamed], 0.5)):.2f}",
                        rng.poisson((0.3, 5.0)[attacks]),
                        ("mild", "moderate", "severe")[stage],
                        ("no", "yes")[drug],
                    ]
                    seen = ["" if rng.random() < 0.2 else c for c in cells]
                    out.writerow([f"P{k}", (day + dt.timedelta(days=int(visits[v]))).isoformat(), *seen])
                    v += 1
                t = then
                which = rng.choice(len(moves), p=rates / rates.sum())
                state[moves[which][0]] = moves[which][1]
    return path


HOW = ["--levels", "crp=2", "--levels", "attacks=2", "--ordered", "stage=mild,moderate,severe", "--adjacent", "stage"]


def test_from_a_raw_table_to_a_network(clinic, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(learning, "use_cache", lambda: None)
    out = tmp_path / "r"
    code = main(["learn", str(clinic), *HOW, "--adjust-for", "sex", "--sweeps", "300", "--out", str(out)])
    said = capsys.readouterr().out
    assert code in (0, 3)
    assert "counted in years" in said
    assert "adjusted for: sex" in said
    result = cl.load_result(out)
    p = {(e["source"], e["target"]): e["probability"] for e in result.edges.to_pylist()}
    true = {("crp", "attacks"), ("crp", "stage"), ("stage", "drug")}
    assert all(p[edge] > 0.9 for edge in true)
    assert all(p[edge] < 0.9 for edge in p if edge not in true and edge[0] != "sex")
    assert all(p["sex", name] == 1.0 for name in ("crp", "attacks", "stage", "drug"))
    sign = {(e["source"], e["target"]): e["sign"] for e in result.edges.to_pylist()}
    assert all(sign[edge] == "+" for edge in true)
    assert result.time_unit == "years"
    page = (out / "report.html").read_text()
    assert "per year" in page
    assert "How states were measured" in page
    assert result.noise["crp"].log
    assert result.noise["crp"].values == pytest.approx((0.5, 2.5), abs=0.2)
    assert result.noise["attacks"].rates == pytest.approx((0.3, 5.0), rel=0.3)
    assert main(["smooth", str(out), str(clinic), "--times", "0,1", "--out", str(tmp_path / "s.csv"), "--quiet"]) == 0
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert {r["state"] for r in rows if r["variable"] == "crp"} == {"low", "high"}


def test_check_describes_and_refuses(clinic, capsys):
    assert main(["learn", str(clinic), "--check"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--levels crp=3" in said
    assert "--cut crp=" in said
    assert main(["learn", str(clinic), "--check", *HOW]) == 0
    said = capsys.readouterr().out
    for words in ("in years", "moves in a gap", "never changes", "--adjust-for", "gaps:", "visits:"):
        assert words in said
    assert main(["learn", str(clinic), "--check", "--json", *HOW, "--time-unit", "days"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["time_unit"] == "days"
    assert set(found["description"]["variables"]) == {"sex", "crp", "attacks", "stage", "drug"}


def test_settings_of_a_file_are_those_of_options(clinic, tmp_path, capsys):
    config = tmp_path / "study.toml"
    config.write_text(
        'time_unit = "days"\nadjacent = ["stage"]\nadjust_for = ["sex"]\n'
        '[levels]\nattacks = 2\n[cut]\ncrp = [3, 7]\n[ordered]\nstage = ["mild", "moderate", "severe"]\n'
    )
    assert main(["learn", str(clinic), "--check", "--json", "--config", str(config)]) == 0
    states = {v["name"]: v["states"] for v in json.loads(capsys.readouterr().out)["variables"]}
    assert states["crp"] == ["under 3", "3 to 7", "7 and over"]


GOOD = "id,time,a,b\n1,0,0,0\n1,1,1,0\n1,2,0,1\n2,0,1,1\n2,1,1,0\n"
SET = "id,start,end,variable\n1,0,1,a\n"
BAD = {
    "levels of nobody": (["--levels", "zz=2"], "unknown variables 'zz'"),
    "levels of nothing": (["--levels", "a"], "--levels 'a': write the variable"),
    "levels in words": (["--levels", "a=two"], "--levels 'a=two': give a whole number of levels"),
    "one level": (["--levels", "a=1"], "n_states must be a whole number from 2"),
    "levels twice": (["--levels", "a=2", "--levels", "a=3"], "--levels names 'a' twice"),
    "levels and noise": (["--levels", "a=2", "--noise", "a=labels:0.1"], "--noise and --levels both speak of 'a'"),
    "more levels than numbers": (["--levels", "a=3"], "2 different numbers for 3 levels"),
    "cut of nobody": (["--cut", "zz=2"], "--cut names unknown variables 'zz'"),
    "cut in words": (["--cut", "a=low"], "--cut: give 'a' one or more rising numbers, as in --cut a=3,7"),
    "cut downwards": (["--cut", "a=2,1"], "rising numbers"),
    "cut and levels": (["--cut", "a=0.5", "--levels", "a=2"], "--cut and --levels or --noise say different things"),
    "cut and ordered": (["--cut", "a=0.5", "--ordered", "a=0,1"], "--ordered and --cut say different things"),
    "order of nobody": (["--ordered", "zz=x,y"], "--ordered names unknown variables 'zz'"),
    "order without a state": (["--ordered", "a=0,2"], "is not a state of 'a'"),
    "adjacent to nobody": (["--adjacent", "zz"], "--adjacent: unknown variable 'zz'"),
    "adjust for nobody": (["--adjust-for", "zz"], "--adjust-for: unknown variable 'zz'"),
    "unknown unit": (["--time-unit", "eons"], "--time-unit must be one of"),
    "no interventions": (["--interventions", "{d}/none.csv"], "none.csv: there is no such file"),
    "interventions of nobody": (["--interventions", "{d}/who.csv"], "who.csv, line 2, column 'id': the data have no"),
    "interventions without an end": (["--interventions", "{d}/lacks.csv"], "--interventions needs the columns"),
    "interventions for star": (
        ["--interventions", "{d}/set.csv", "--inference", "star"],
        "set --inference to sampling",
    ),
    "end of another kind": (["--end", "2020-01-01"], "end and the time column 'time' must both be dates"),
    "complete and levels": (["--complete", "--levels", "a=2"], "complete data have no levels"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options(name, tmp_path, capsys):
    arguments, words = BAD[name]
    (tmp_path / "d.csv").write_text(GOOD)
    (tmp_path / "set.csv").write_text(SET)
    (tmp_path / "who.csv").write_text(SET.replace("1,0,1", "9,0,1"))
    (tmp_path / "lacks.csv").write_text("id,start,variable\n1,0,a\n")
    arguments = [a.replace("{d}", str(tmp_path)) for a in arguments]
    assert main(["learn", str(tmp_path / "d.csv"), *arguments, "--out", str(tmp_path / "r")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert words in said
    assert not (tmp_path / "r").exists()
