"""Scans of partitioned Parquet against `read_table` on the same rows; tables brought into shape by `prepare_table`."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ctbnlearn as cl
from ctbnlearn.data.constant import never_changing
from ctbnlearn.data.prepare import prepare_table
from ctbnlearn.errors import DataError, ParameterError


def wide(n=40, seed=0, text=False):
    """Trajectories of different lengths with labels, numbers, truth values, blanks and windows."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, n)
    who = np.repeat(np.arange(n), lengths)
    time = np.concatenate([np.sort(rng.uniform(0, 5, k)) for k in lengths])
    m = len(who)
    blank = rng.random((m, 4)) < 0.2
    blank[:, 0] &= ~np.append(True, who[1:] != who[:-1])  # something is seen of all
    names = np.array([f"p{k:03d}" for k in range(n)]) if text else np.arange(n) * 3
    return pa.table(
        {
            "id": names[who].tolist(),
            "time": time,
            "pain": pa.array(rng.choice(["mild", "none", "strong"], m), mask=blank[:, 0]),
            "level": pa.array(rng.integers(0, 3, m), mask=blank[:, 1]),
            "signal": pa.array(rng.normal(size=m), mask=blank[:, 2]),
            "flag": pa.array(rng.random(m) < 0.5, mask=blank[:, 3]),
            "end": np.repeat(6.0 + np.arange(n), lengths),
        }
    )


OPTIONS = {"trajectory": "id", "end": "end", "noise": {"signal": cl.GaussianNoise(variance=0.5, values=(-1, 1))}}


def same(a, b):
    assert a.variables == b.variables
    assert list(a.ids) == list(b.ids)
    np.testing.assert_array_equal(a.start, b.start)
    np.testing.assert_array_equal(a.end, b.end)
    for one, other in zip(a.series, b.series):
        np.testing.assert_array_equal(one.offsets, other.offsets)
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_array_equal(one.values, other.values)
        assert repr(one.noise) == repr(other.noise)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("row_group_size", [1, 3, 1000])
def test_a_scan_reads_what_read_table_reads(tmp_path, text, row_group_size):
    table = wide(text=text)
    expected = cl.read_table(table, **OPTIONS)
    who = np.unique(np.array(table["id"].to_pylist()), return_inverse=True)[1]
    for k in range(3):
        pq.write_table(table.filter(pa.array(who % 3 == k)), tmp_path / f"{k}.parquet", row_group_size=row_group_size)
    scan = cl.scan_table(tmp_path, **OPTIONS)
    same(scan.read(), expected)
    same(scan.part(5, 17).observations(), expected.select(np.arange(5, 17)))
    same(scan.select([7, 2]), expected.select([7, 2]))
    assert (scan.n_values, scan.n_rows, len(scan)) == (expected.n_values, len(table), 40)
    np.testing.assert_array_equal(scan.end, expected.end)
    np.testing.assert_array_equal(scan.start, expected.start)
    assert scan.sha256 != cl.scan_table(tmp_path / "[01].parquet", **OPTIONS).sha256


@pytest.mark.parametrize("row_group_size", [1, 2, 3, 100])
def test_a_scan_sees_what_never_changes(tmp_path, row_group_size):
    """Constants, seen now and then; and what differs only between two row groups, or beside blanks."""
    table = pa.table(
        {
            "id": [1, 1, 1, 2, 2, 2],
            "time": [0.0, 1.0, 2.0] * 2,
            "sex": ["f", None, "f", "m", "m", None],
            "arm": ["a", "a", "a", "b", "b", "b"],
            "late": ["x", "x", "y", "y", "y", "y"],
            "beside": ["x", None, "y", "y", None, "y"],
            "measured": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=row_group_size)
    noise = {"measured": cl.GaussianNoise(variance=0.5, values=(-1, 1))}
    scan = cl.scan_table(tmp_path, trajectory="id", noise=noise)
    assert never_changing(scan) == never_changing(cl.read_table(table, trajectory="id", noise=noise)) == [0, 1]


def test_scattered_trajectories_are_refused_then_repaired(tmp_path):
    table = wide()
    expected = cl.read_table(table, **OPTIONS)
    mixed = table.take(np.random.default_rng(1).permutation(len(table)))
    (tmp_path / "raw").mkdir()
    pq.write_table(mixed.slice(0, 70), tmp_path / "raw" / "a.parquet", row_group_size=20)
    pq.write_table(mixed.slice(70), tmp_path / "raw" / "b.parquet")
    with pytest.raises(DataError, match=r"trajectory \d+ stands in several places \(.*and so do \d+ others.*prepare"):
        cl.scan_table(tmp_path / "raw", **OPTIONS)
    files = prepare_table(tmp_path / "raw", tmp_path / "new", trajectory="id", rows=50)
    assert 3 <= len(files) <= 5
    same(cl.scan_table(tmp_path / "new", **OPTIONS).read(), expected)
    assert sum(pq.read_metadata(file).num_rows for file in files) == len(table)
    with pytest.raises(DataError, match="there is something already"):
        prepare_table(tmp_path / "raw", tmp_path / "new", trajectory="id")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "raw"]


@pytest.mark.parametrize("packed", [False, True])
def test_csv_is_prepared_with_the_types_that_read_table_finds(tmp_path, packed):
    lines = ["id;time;a;b;c;d;e"]
    rng = np.random.default_rng(0)
    for k in (10, 9, 100):
        for t in (0, 2, 1):
            lines.append(
                f"{k};{t};{rng.integers(2)};0{rng.integers(2)};{rng.choice(['true', 'false', ' NA '])};{t / 2};on"
            )
    lines[1] = lines[1].replace(";on", ";off")
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    expected = cl.read_table(path, trajectory="id", sort=True)
    prepare_table(path, tmp_path / "new", trajectory="id", rows=4)
    got = cl.scan_table(tmp_path / "new", trajectory="id").read()
    order = np.argsort(expected.ids)
    same(got, expected.select(order))
    assert [v.states for v in got.variables][1] == ("00", "01")


def test_bad_tables(tmp_path):
    def scan(table, **more):
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
        return cl.scan_table(tmp_path / "t.parquet", **{"trajectory": "id", **more})

    good = {"id": [1, 1, 2, 2], "time": [0.0, 1.0, 0.0, 1.0], "a": ["x", "y", "x", "y"]}
    assert scan(pa.table(good)).n_trajectories == 2
    with pytest.raises(DataError, match=r"t.parquet, row 3, column 'a': 'y' is not a state of 'a'"):
        scan(pa.table({**good, "a": ["x", "x", "x", "y"]}), states={"a": ["x", "z"]})
    with pytest.raises(DataError, match=r"column 'a' has only one state, 'x'"):
        scan(pa.table({**good, "a": ["x"] * 4}))
    with pytest.raises(DataError, match=r"row 2: empty trajectory 2: not one value"):
        scan(pa.table({**good, "a": ["x", "y", None, "NA"]}))
    with pytest.raises(DataError, match=r"row 1, column 'time': the time -1 must be"):
        scan(pa.table({**good, "time": [0.0, -1.0, 0.0, 1.0]}))
    with pytest.raises(DataError, match=r"row 3, column 'time': time 0 comes after time 1 in trajectory 2"):
        scan(pa.table({**good, "time": [0.0, 1.0, 1.0, 0.0]})).read()
    with pytest.raises(DataError, match=r"no file has such a name"):
        cl.scan_table(tmp_path / "no*.parquet", trajectory="id")
    with pytest.raises(DataError, match=r"no such file"):
        cl.scan_table(tmp_path / "none.parquet", trajectory="id")
    with pytest.raises(ParameterError, match="a scan cannot take the threshold from the data"):
        scan(pa.table({**good, "a": [1.0, 2.0, 3.0, 4.0]}), noise=cl.ThresholdNoise())
    pq.write_table(pa.table({"id": [3], "time": [0.0]}), tmp_path / "u.parquet")
    with pytest.raises(DataError, match=r"u.parquet: there is no column 'a', which other files have"):
        cl.scan_table(tmp_path, trajectory="id", variables=["a"])
    for bad, what in ((pa.table({**good, "id": [1, None, 2, 2]}), "row 1, column 'id': the cell is blank"),):
        pq.write_table(bad, tmp_path / "v.parquet")
        with pytest.raises(DataError, match=what):
            prepare_table(tmp_path / "v.parquet", tmp_path / "w", trajectory="id")
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(("name", "other"), [("id", ["q", "q"]), ("a", [1, 2])])
def test_files_whose_types_differ_are_refused(tmp_path, name, other):
    good = {"id": [1, 1, 2, 2], "time": [0.0, 1.0, 0.0, 1.0], "a": ["x", "y", "x", "y"]}
    pq.write_table(pa.table(good), tmp_path / "t.parquet")
    odd = {"id": [3, 3], "time": [0.0, 1.0], "a": ["x", "y"], name: other}
    pq.write_table(pa.table(odd), tmp_path / "u.parquet")
    with pytest.raises(DataError, match=rf"'{name}'.*text.*numbers"):
        cl.scan_table(tmp_path, trajectory="id")
