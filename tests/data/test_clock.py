"""Dates as times: each trajectory from its own zero, in a unit that suits the span."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.data.clock import choose_unit, parse_dates, per_unit

DAYS = [0.0, 10.0, 400.0, 0.0, 731.0]
IDS = ["p", "p", "p", "q", "q"]
STATES = ["x", "y", "x", "y", "x"]
STARTS = {"p": dt.datetime(2020, 2, 29), "q": dt.datetime(1999, 12, 31)}
DATES = [STARTS[who] + dt.timedelta(days=day) for who, day in zip(IDS, DAYS)]


def forms(tmp_path):
    """The same table in every form dates come in."""
    columns = {"id": IDS, "when": DATES, "a": STATES}
    path = tmp_path / "d.csv"
    for text in ("{:%Y-%m-%d}", "{:%Y-%m-%dT%H:%M}", "{:%Y/%m/%d}", "{:%Y-%m-%d %H:%M:%S+00:00}"):
        lines = [f"{i},{text.format(d)},{a}" for i, d, a in zip(IDS, DATES, STATES)]
        path.write_text("\n".join(["id,when,a", *lines]) + "\n")
        yield path
        yield pd.read_csv(path)  # dates as text
    yield pd.DataFrame(columns)
    yield pd.DataFrame({**columns, "when": pd.to_datetime(DATES).tz_localize("Europe/Paris").tz_convert("UTC")})
    yield pl.DataFrame(columns)
    yield pl.DataFrame({**columns, "when": [d.date() for d in DATES]})
    yield pa.table({**columns, "when": pa.array(DATES, pa.timestamp("ns"))})
    pl.DataFrame(columns).write_parquet(tmp_path / "d.parquet")
    yield tmp_path / "d.parquet"


def test_dates_in_every_form_are_the_same_times(tmp_path):
    for source in forms(tmp_path):
        obs = cl.read_table(source, trajectory="id", time="when", time_unit="days")
        paris = isinstance(source, pd.DataFrame) and getattr(source["when"].dtype, "tz", None) is not None
        np.testing.assert_allclose(obs.series[0].times, DAYS, atol=1.1 / 24 if paris else 1e-12)
        assert (obs.clock.unit, obs.start.tolist()) == ("days", [0.0, 0.0])
        chosen = cl.read_table(source, trajectory="id", time="when")
        assert chosen.clock.unit == "years"
        np.testing.assert_allclose(chosen.series[0].times * 365.25, obs.series[0].times, rtol=1e-12)


def test_windows_may_be_dates(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("id,time,from,a\n1,2020-01-03,2020-01-01,x\n1,2020-01-05,,y\n2,2021-05-02,2021-05-01,y\n")
    obs = cl.read_table(path, trajectory="id", start="from", end="2021-06-01", time_unit="day")
    assert obs.start.tolist() == [0.0, 0.0]
    assert obs.series[0].times.tolist() == [2.0, 4.0, 1.0]
    assert obs.end.tolist() == [517.0, 31.0]
    late = cl.read_table(path, trajectory="id", variables=["a"], end=dt.date(2021, 6, 1), time_unit="day")
    assert late.end.tolist() == [515.0, 30.0]
    assert late[[1]].clock.zero.astype(str).tolist() == ["2021-05-02T00:00:00.000000"]


def test_complete_data_may_have_dates(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("id,time,a\n1,2020-01-01,x\n1,2020-01-11,y\n1,2020-01-31,x\n")
    paths = cl.read_paths(path, trajectory="id")
    assert (paths.clock.unit, paths.times.tolist(), paths.end.tolist()) == ("days", [10.0, 30.0], [30.0])


def test_the_unit_suits_the_span():
    spans = {"years": 800, "days": 700, "hours": 0.5, "minutes": 0.01, "seconds": 1e-4}
    assert [choose_unit(np.timedelta64(round(86400e6 * d), "us")) for d in spans.values()] == list(spans)
    assert per_unit("years") == "per year"
    assert per_unit(None) == "per unit of time"
    assert parse_dates(["2024-03"])[0][0] == np.datetime64("2024-03-01")
    assert [parse_dates(["2024-01-01", bad])[1] for bad in ("31.12.2024", "12:30", "7", "2024-13-01")] == [1] * 4


def test_numbers_may_name_their_unit():
    rows = pa.table({"time": [0.0, 2.0], "a": ["x", "y"]})
    assert cl.read_table(rows, time_unit="week").clock.unit == "weeks"
    assert cl.read_table(rows).clock.unit is None


@pytest.mark.parametrize("inference", [cl.Sampling(sweeps=64, chains=2), "exact", "star"])
def test_edges_do_not_depend_on_the_unit_of_time(inference, recwarn):
    """The same visits in minutes, days, years and dates."""
    net = cl.random_network(3, max_parents=2, rng=4)
    obs = cl.observe(cl.simulate(net, n_trajectories=60, horizon=4.0, rng=1), n_times=6, rng=2)
    minutes = np.round(obs.series[0].times * 525960)
    who = np.repeat(np.arange(60), 6)
    first = np.repeat(minutes.reshape(60, 6)[:, 0], 6)
    values = {n: s.values for n, s in zip(net.names, obs.series)}
    zero = np.datetime64("2001-03-04T05:06", "m")
    times = {
        "minutes": minutes - first,
        "days": (minutes - first) / 1440,
        "years": (minutes - first) / 525960,
        "dates": zero + minutes.astype("timedelta64[m]"),
    }
    found = {}
    for unit, column in times.items():
        rows = pd.DataFrame({"id": who, "time": column, **values})
        read = cl.read_table(rows, trajectory="id")
        assert read.clock.unit == ("years" if unit == "dates" else None)
        found[unit] = cl.StructureLearner(max_parents=2, inference=inference).fit(read).edge_probabilities_
    for unit in times:
        np.testing.assert_allclose(found[unit], found["years"], atol=1e-6, err_msg=unit)
