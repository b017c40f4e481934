"""Reading tables with holes."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ctbnlearn as cl
from ctbnlearn.data.noise import ExactStates, GaussianNoise, LabelNoise, ThresholdNoise
from ctbnlearn.data.series import HoledSeries
from ctbnlearn.data.tables import read_table

WIDE = "id,time,a,b\n1,0,x,0\n1,1.5,,1\n2,0.25,y,\n2,3,x,0\n"
EVENTS = "id,time,variable,value\n1,0,a,x\n1,0,b,0\n1,1.5,b,1\n2,0.25,a,y\n2,3,a,x\n2,3,b,0\n"


def write(folder, text, name="data.csv"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def states(obs):
    return {v.name: v.states for v in obs.variables}


def rows(obs, name):
    """(id, time, label or number) of everything seen of a variable."""
    i = obs.names.index(name)
    s, v = obs.series[i], obs.variables[i]
    who = np.repeat(np.arange(len(obs)), np.diff(s.offsets))
    values = [v.states[c] for c in s.values] if isinstance(s.noise, ExactStates) else s.values.tolist()
    return list(zip([obs.ids[k] for k in who], s.times.tolist(), values))


@pytest.mark.parametrize("text", [WIDE, EVENTS], ids=["wide", "events"])
def test_layouts_agree(tmp_path, text):
    obs = read_table(write(tmp_path, text), trajectory="id")
    assert list(obs.ids) == [1, 2]
    assert states(obs) == {"a": ("x", "y"), "b": (0, 1)}
    assert rows(obs, "a") == [(1, 0.0, "x"), (2, 0.25, "y"), (2, 3.0, "x")]
    assert rows(obs, "b") == [(1, 0.0, 0), (1, 1.5, 1), (2, 3.0, 0)]
    assert obs.start.tolist() == [0, 0.25]
    assert obs.end.tolist() == [1.5, 3]
    assert obs.series[0].values.dtype == np.uint8


def test_every_kind_of_source_gives_the_same(tmp_path):
    plain = write(tmp_path, WIDE)
    frame = pd.read_csv(plain)
    polars = pl.read_csv(plain)
    frame.to_parquet(tmp_path / "data.parquet")
    sources = [
        plain,
        str(plain),
        write(tmp_path, gzip.compress(WIDE.encode()), "data.csv.gz"),
        write(tmp_path, WIDE.replace(",", "\t"), "data.tsv"),
        write(tmp_path, WIDE.replace(",", ";"), "semicolons.csv"),
        write(tmp_path, "\ufeff" + WIDE.replace("\n", "\r\n\r\n"), "bom.csv"),
        write(
            tmp_path,
            WIDE.replace("1.5,,", "1.5,  ,").replace(",x", ", x ").replace("a,b", " a ,b"),
            "messy.csv",
        ),
        write(tmp_path, WIDE.replace("time", '"time"').replace(",\n", ",NA\n"), "quoted.csv"),
        tmp_path / "data.parquet",
        polars,
        polars.lazy(),
        polars.to_arrow(),
    ]
    for source in sources:
        obs = read_table(source, trajectory="id")
        assert list(obs.ids) == [1, 2], source
        assert rows(obs, "a") == [(1, 0.0, "x"), (2, 0.25, "y"), (2, 3.0, "x")], source
        assert rows(obs, "b") == [(1, 0.0, 0), (1, 1.5, 1), (2, 3.0, 0)], source
    obs = read_table(frame, trajectory="id")  # a hole makes pandas' integers floats
    assert rows(obs, "b") == [(1, 0.0, 0.0), (1, 1.5, 1.0), (2, 3.0, 0.0)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["10", "9", "-1"], (-1, 9, 10)),
        (["1.0", "0.5", "1"], (0.5, 1.0)),
        (["1e1", "+2", "-0"], (0.0, 2.0, 10.0)),
        (["True", "False", "True"], (False, True)),
        (["true", "false", "true"], (False, True)),
        (["TRUE", "FALSE", "FALSE"], (False, True)),
        (["True", "false", "true"], ("True", "false", "true")),
        (["01", "02", "1"], ("01", "02", "1")),
        (["1", "2", "x"], ("1", "2", "x")),
        (["1_0", "2", "3"], ("1_0", "2", "3")),
        (["b", "B", "a"], ("B", "a", "b")),
        (["99999999999999999999999", "1", "2"], (1.0, 2.0, 1e23)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*different ways")
def test_types_of_labels(tmp_path, cells, expected):
    text = "time,a\n" + "".join(f"{k},{c}\n" for k, c in enumerate(cells))
    found = states(read_table(write(tmp_path, text)))["a"]
    assert found == expected
    assert [type(s) for s in found] == [type(s) for s in expected]


def test_types_of_ids(tmp_path):
    text = "id,time,a\n{},0,x\n{},0,y\n{},0,x\n"
    assert list(read_table(write(tmp_path, text.format(3, 1, -2)), trajectory="id").ids) == [3, 1, -2]
    assert list(read_table(write(tmp_path, text.format("03", 1, 2)), trajectory="id").ids) == ["03", "1", "2"]
    frame = pd.DataFrame({"id": pd.Categorical(["b", "a"], ["z", "a", "b"]), "time": [0, 0], "a": [0, 1]})
    assert list(read_table(frame, trajectory="id").ids) == ["b", "a"]
    assert list(read_table(frame.drop(columns="id")[["time", "a"]].assign(time=[0, 1])).ids) == [0]


def test_categories_keep_their_order():
    labels, order = ["low", "high", None, "mid"], ["low", "mid", "high", "absurd"]
    for frame in (
        pd.DataFrame({"time": range(4), "a": pd.Categorical(labels, order)}),
        pl.DataFrame({"time": range(4), "a": pl.Series(labels, dtype=pl.Enum(order))}),
    ):
        obs = read_table(frame)
        assert states(obs) == {"a": ("low", "mid", "high")}
        assert rows(obs, "a") == [(0, 0.0, "low"), (0, 1.0, "high"), (0, 3.0, "mid")]


def test_frames_keep_types():
    frame = pl.DataFrame({"time": [0, 1], "t": ["1", "2"], "f": [0.5, 1.0], "b": [True, False], "i": [3, 4]})
    assert states(read_table(frame)) == {"t": ("1", "2"), "f": (0.5, 1.0), "b": (False, True), "i": (3, 4)}


def test_parquet_leaves_out_the_row_labels_of_pandas(tmp_path):
    frame = pd.DataFrame({"time": [0, 1], "a": ["x", "y"]}, index=["r", "s"])
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").names == ("a",)
    frame.to_csv(tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").names == ("a",)


def test_several_row_groups(tmp_path):
    table = pa.table({"time": np.arange(100.0), "a": pa.array(list("xyzw") * 25).dictionary_encode()})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    assert read_table(tmp_path / "a.parquet").series[0].values[:4].tolist() == [0, 1, 2, 3]


def test_interleaved_trajectories_and_sorting(tmp_path):
    text = "id,time,a\n2,0,x\n1,5,x\n2,1,y\n1,6,y\n"
    obs = read_table(write(tmp_path, text), trajectory="id")
    assert rows(obs, "a") == [(2, 0.0, "x"), (2, 1.0, "y"), (1, 5.0, "x"), (1, 6.0, "y")]
    text = "id,time,a\n2,3,x\n1,5,x\n2,1,y\n1,6,y\n"
    obs = read_table(write(tmp_path, text), trajectory="id", sort=True)
    assert rows(obs, "a") == [(2, 1.0, "y"), (2, 3.0, "x"), (1, 5.0, "x"), (1, 6.0, "y")]


def test_events_may_stand_variable_by_variable(tmp_path):
    wide = pd.DataFrame({"id": [1, 1], "time": [0.0, 1.0], "a": ["x", "y"], "b": ["0", "1"]})
    obs = read_table(wide.melt(["id", "time"]), trajectory="id")
    assert rows(obs, "a") == [(1, 0.0, "x"), (1, 1.0, "y")]
    assert rows(obs, "b") == [(1, 0.0, 0), (1, 1.0, 1)]
    text = "time,variable,value\n1,a,x\n0,a,y\n"
    assert rows(read_table(write(tmp_path, text), sort=True), "a") == [(0, 0.0, "y"), (0, 1.0, "x")]


def test_shared_times_and_blank_rows(tmp_path):
    text = "id,time,a,b,c\n1,0,x,0,\n1,1,y,1,u\n1,2,x,0,v\n2,0,,,\n2,1,x,1,u\n2,3,,,\n"
    obs = read_table(write(tmp_path, text), trajectory="id")
    assert obs.end.tolist() == [2, 3]
    assert obs.start.tolist() == [0, 0]
    assert len(obs.series[0].times) == 4
    obs = read_table(write(tmp_path, text.replace("2,0,,,\n", "").replace("2,3,,,\n", "")), trajectory="id")
    a, b, c = obs.series
    assert a.times is b.times
    assert a.offsets is b.offsets
    assert c.offsets.tolist() == [0, 2, 3]


def test_window(tmp_path):
    text = "id,time,a,s,e\n1,1,x,0,5\n1,2,y,,5\n2,3,x,,\n"
    obs = read_table(write(tmp_path, text), trajectory="id", start="s", end="e")
    assert obs.names == ("a",)
    assert obs.start.tolist() == [0, 3]
    assert obs.end.tolist() == [5, 3]
    obs = read_table(write(tmp_path, text), trajectory="id", variables=["a"], start=0, end=np.float64(9))
    assert obs.start.tolist() == [0, 0]
    assert obs.end.tolist() == [9, 9]


def test_chosen_variables_decide_the_layout(tmp_path):
    text = "time,variable,value\n0,a,x\n1,b,y\n"
    assert read_table(write(tmp_path, text), variables=["variable"]).names == ("variable",)
    assert read_table(write(tmp_path, text), format="wide").names == ("variable", "value")
    text = "time,variable,value\n0,a,x\n1,b,y\n2,b,z\n"
    assert read_table(write(tmp_path, text), variables=["b"]).names == ("b",)
    text = text.replace("variable,value", "name,v")
    assert read_table(write(tmp_path, text), variables=["b"], variable="name", value="v").names == ("b",)


def test_declared_states(tmp_path):
    file = write(tmp_path, WIDE)
    obs = read_table(file, trajectory="id", states={"a": ["y", "x"], "b": ["1", "0"]})
    assert states(obs) == {"a": ("y", "x"), "b": ("1", "0")}
    assert rows(obs, "a") == [(1, 0.0, "x"), (2, 0.25, "y"), (2, 3.0, "x")]
    obs = read_table(file, trajectory="id", states={"b": [0.0, 1.0, 2.0]}, allow_unseen=True)
    assert states(obs)["b"] == (0.0, 1.0, 2.0)
    text = "time,a,b\n0,NA,yes\n1,x,yes\n2,,yes\n"
    obs = read_table(
        write(tmp_path, text), states={"a": ["NA", "x"], "b": ["yes", "no"]}, allow_unseen=True
    )  # a declared state goes before the list of missing words
    assert rows(obs, "a") == [(0, 0.0, "NA"), (0, 1.0, "x")]
    blank = "time,a,b\n0,x,\n1,y,\n"
    obs = read_table(write(tmp_path, blank), states={"b": [0, 1]}, allow_unseen=True)
    assert len(obs.series[1].times) == 0


def test_own_missing_words(tmp_path):
    text = "time,a\n0,x\n1,-9\n2,y\n3,NA\n"
    obs = read_table(write(tmp_path, text), missing=("-9",))
    assert states(obs) == {"a": ("NA", "x", "y")}
    assert states(read_table(write(tmp_path, text), missing="-9")) == {"a": ("NA", "x", "y")}


def test_gaussian_columns(tmp_path):
    text = "id,time,a,b\n1,0,0.25,x\n1,1,NA,y\n1,2,-1e-3,y\n"
    noise = {"a": GaussianNoise(0.2, (-1, 1))}
    obs = read_table(write(tmp_path, text), trajectory="id", noise=noise)
    assert states(obs) == {"a": (-1, 1), "b": ("x", "y")}
    assert all(type(s) is int for s in obs.variables[0].states)
    assert rows(obs, "a") == [(1, 0.0, 0.25), (1, 2.0, -0.001)]
    obs = read_table(write(tmp_path, text), trajectory="id", noise=noise, states={"a": ["off", "on"]})
    assert states(obs)["a"] == ("off", "on")
    only = read_table(write(tmp_path, text), trajectory="id", variables=["a"], noise=GaussianNoise(1, (0.5, 2)))
    assert states(only) == {"a": (0.5, 2.0)}
    events = "id,time,variable,value\n1,0,a,0.25\n1,1,a,\n1,2,a,-1e-3\n1,0,b,x\n1,1,b,y\n"
    obs = read_table(write(tmp_path, events), trajectory="id", noise=noise)
    assert rows(obs, "a") == [(1, 0.0, 0.25), (1, 2.0, -0.001)]
    padded = text.replace("0.25", " 0.25 ").replace("NA", " NA ")
    assert rows(read_table(write(tmp_path, padded), trajectory="id", noise=noise), "a")[0] == (1, 0.0, 0.25)


def test_threshold_columns(tmp_path):
    from scipy.stats import norm

    file = write(tmp_path, "time,a,b\n0,1,3\n1,10,\n2,100,5\n")
    noise = {"a": ThresholdNoise(log=True), "b": ThresholdNoise(sd=2.0)}
    obs = read_table(file, noise=noise)
    assert states(obs) == {"a": (0, 1), "b": (0, 1)}
    spread = np.sqrt(2 / 3)  # in decades
    expected = norm.cdf(np.array([-1, 0, 1]) / spread)
    np.testing.assert_allclose(np.exp(obs.log_likelihood("a")), np.stack([1 - expected, expected], 1))
    np.testing.assert_allclose(np.exp(obs.log_likelihood("b"))[:, 1], norm.cdf([-0.5, 0.5]))
    obs = read_table(file, noise=noise, states={"a": ["low", "high"]})
    assert states(obs)["a"] == ("low", "high")
    given = read_table(file, noise={**noise, "b": ThresholdNoise(4.0, 1.0)})
    np.testing.assert_allclose(np.exp(given.log_likelihood("b"))[:, 1], norm.cdf([-1, 1]))


def test_label_noise_columns(tmp_path):
    text = "time,a\n0,x\n1,y\n2,?\n"
    file = write(tmp_path, text.replace("?", "x"), "plain.csv")
    obs = read_table(file, noise=LabelNoise(0.1))
    assert states(obs) == {"a": ("x", "y")}
    assert np.exp(obs.log_likelihood("a")[0]).round(6).tolist() == [0.9, 0.1]
    model = LabelNoise([[0.8, 0.0, 0.2], [0.0, 0.8, 0.2]], ("x", "y", "?"))
    obs = read_table(write(tmp_path, text), noise=model, states={"a": ["x", "y"]})
    assert np.exp(obs.log_likelihood("a")).round(6).tolist() == [[0.8, 0.0], [0.0, 0.8], [0.2, 0.2]]
    assert states(read_table(file, noise=LabelNoise(0.1, ("y", "x")))) == {"a": ("y", "x")}


def test_many_states_take_the_smallest_type():
    frame = pl.DataFrame({"time": range(600), "a": [k % 300 for k in range(600)]})
    obs = read_table(frame, states={"a": range(300)})
    assert obs.series[0].values.dtype == np.uint16
    assert obs.series[0].values[299] == 299
    frame = pl.DataFrame({"time": range(600), "a": [k % 256 for k in range(600)]})
    assert read_table(frame, states={"a": range(256)}).series[0].values.dtype == np.uint8


def test_long_lines_and_many_blocks(tmp_path):
    n = 60_000
    text = "id,time,a,note\n" + "".join(f"{k // 10},{k % 10},{'xy'[k % 2]},{'z' * 20}\n" for k in range(n))
    obs = read_table(write(tmp_path, text), trajectory="id", variables=["a"])
    assert len(obs) == n // 10
    assert obs.series[0].values.tolist() == [0, 1] * (n // 2)
    text = "time,a,u,v,w\n0,x,,,\n1,y" + ("," + "z" * 100_000) * 3 + "\n"  # a line longer than a block
    assert read_table(write(tmp_path, text), variables=["a"]).n_values == 2


def test_real_panel(shared_data):
    obs = read_table(shared_data / "panel" / "gsoep_health_wide.csv", trajectory="id", time="t")
    assert obs.n_trajectories == 7293
    assert max(len(s.times) for s in obs.series) == 27326
    assert len(obs.series[obs.names.index("female")].times) == 27326
    assert states(obs)["health"] == (0.0, 1.0, 2.0)


PEAK = """
import resource, sys
import ctbnlearn as cl
peaks = []
for path in sys.argv[1:]:
    obs = cl.read_table(path, trajectory="id")
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
print(peaks[1] - peaks[0], obs.n_values, "pandas" in sys.modules)
"""


def test_reading_takes_less_than_three_times_the_file_in_memory(tmp_path):
    """Peak of a process of its own, after a small file has loaded the libraries; a tenth of the cells is blank."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (997, 15)).astype(str)
    cells[rng.random(cells.shape) < 0.1] = ""
    tails = [",".join(row) for row in cells]
    head = "id,time," + ",".join(f"v{k}" for k in range(15))
    for name, count in (("small", 1000), ("big", 300_000)):
        rows = (f"{k // 50},{k % 50 / 10:g},{tails[k % 997]}" for k in range(count))
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows]))
    files = [str(tmp_path / f"{name}.csv") for name in ("small", "big")]
    done = subprocess.run([sys.executable, "-c", PEAK, *files], capture_output=True, text=True, check=True)
    grown, n_values, pandas = done.stdout.split()
    seen = (cells != "").sum(1)
    assert int(n_values) == sum(seen[k % 997] for k in range(300_000))
    assert int(grown) < 3 * (tmp_path / "big.csv").stat().st_size
    assert pandas == "False"  # where it is installed, pyarrow would load it without need


def test_series_with_holes_share_the_times_of_the_table(tmp_path):
    """The same observations whether a series keeps its times or a mask on the common ones."""
    paths = cl.simulate(cl.random_network(3, rng=1), 6, n_transitions=20, rng=2)
    obs = cl.observe(paths, n_times=9, missing=0.3, rng=3)
    cl.write_table(obs, tmp_path / "t.csv")
    read = cl.read_table(tmp_path / "t.csv", trajectory="trajectory", start="start", end="end")
    assert any(isinstance(s, HoledSeries) for s in read.series)
    for one, other in ((read, obs), (read[[4, 1, 1]], obs[[4, 1, 1]])):
        for a, b in zip(one.series, other.series):
            np.testing.assert_array_equal(a.offsets, b.offsets)
            np.testing.assert_allclose(a.times, b.times)
            np.testing.assert_array_equal(a.values, b.values)


@pytest.mark.parametrize("columns", ["a,b", "b,a"])
def test_columns_with_and_without_holes_side_by_side(tmp_path, columns):
    rows = ["id,time,a,b"] + [
        f"{i},{t},{(i + t) % 2},{'' if t == 2 else (i * t) % 2}" for i in range(4) for t in range(4)
    ]
    order = [2, 3] if columns == "a,b" else [3, 2]
    text = "\n".join(",".join(row.split(",")[k] for k in (0, 1, *order)) for row in rows)
    obs = read_table(write(tmp_path, text), trajectory="id")[[3, 0]]
    for i, k in enumerate((3, 0)):
        seen = {name: s.values[s.offsets[i] : s.offsets[i + 1]].tolist() for name, s in zip(obs.names, obs.series)}
        assert seen["a"] == [(k + t) % 2 for t in range(4)]
        assert seen["b"] == [(k * t) % 2 for t in (0, 1, 3)]
