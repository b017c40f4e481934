"""Tables larger than memory: partitioned Parquet that is read where and when it is needed."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa

from ctbnlearn.arrays import IntArray
from ctbnlearn.data.columns import read_specs
from ctbnlearn.data.files import FilePath
from ctbnlearn.data.frames import FrameSource
from ctbnlearn.data.messages import shown
from ctbnlearn.data.noise.choice import NoiseSpec
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.data.roles import check_flag, read_roles
from ctbnlearn.data.row_groups import build_index, open_parquet, read_groups
from ctbnlearn.data.source import MISSING, as_words
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.data.tables import read_table
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import DataError, ParameterError

PARQUET = (".parquet", ".pq")


class ScanPart(NamedTuple):
    """Some trajectories of a scan: where they stand, and how they are read. Small, so that it can travel.

    Attributes
    ----------
    paths
        Files.
    file, first, length
        Per trajectory the number of its file, its first row there, and how many it has.
    reading
        Further arguments of `read_table`.
    """

    paths: tuple[str, ...]
    file: IntArray
    first: IntArray
    length: IntArray
    reading: dict[str, Any]

    def observations(self) -> Observations:
        """Read them, in this order."""
        reading = self.reading
        columns = [reading["trajectory"], reading["time"], *reading["variables"]]
        columns += [c for c in (reading["start"], reading["end"]) if isinstance(c, str)]
        tables, places = [], np.empty(len(self.file), np.int64)
        at = 0
        for number in np.unique(self.file):
            mine = np.flatnonzero(self.file == number)
            rows = _rows(self.first[mine], self.length[mine])
            tables.append(_read_rows(self.paths[number], rows, columns))
            places[mine] = at + offsets_from_counts(self.length[mine])[:-1]
            at += len(rows)
        table = pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]
        if len(tables) > 1:
            table = table.take(pa.array(_rows(places, self.length)))
        return read_table(_PartSource(self, as_words(reading["missing"]), table), **reading)


class _PartSource(FrameSource):
    """Rows of a part, which knows their places in the files."""

    def __init__(self, part: ScanPart, missing: frozenset[str], table: pa.Table) -> None:
        super().__init__(part.paths[0], missing, nw.from_native(table), table.column_names)
        self._part = part

    def place(self, row: int, column: str | None = None) -> str:
        """File and row."""
        ends = np.cumsum(self._part.length)
        k = int(np.searchsorted(ends, row, side="right"))
        at = int(self._part.first[k] + row - (ends[k] - self._part.length[k]))
        name = f"{self._part.paths[self._part.file[k]]}, row {at}"
        return name + (f", column {column!r}" if column is not None else "")


def _rows(first: IntArray, length: IntArray) -> IntArray:
    """Numbers of the rows of blocks."""
    offsets = offsets_from_counts(length)
    return np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], length)


def _read_rows(path: str, rows: IntArray, columns: Sequence[str]) -> pa.Table:
    """Some rows of a file, in the order given; only row groups that hold some are read."""
    file = open_parquet(path)
    sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
    starts = offsets_from_counts(np.array(sizes))
    group = np.searchsorted(starts, rows, side="right") - 1
    needed = np.unique(group)
    local = np.zeros(len(sizes), np.int64)
    local[needed] = offsets_from_counts(np.array(sizes)[needed])[:-1]
    table = read_groups(path, file, needed.tolist(), columns)
    at = rows - starts[group] + local[group]
    if len(at) and (np.diff(at) == 1).all():
        return table.slice(int(at[0]), len(at))
    return table.take(pa.array(at))


def scan_table(
    source: FilePath | Sequence[FilePath],
    *,
    trajectory: str,
    time: str = "time",
    variables: Sequence[str] | None = None,
    noise: NoiseSpec = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    start: str | float | None = None,
    end: str | float | None = None,
    sort: bool = False,
    allow_unseen: bool = False,
    missing: Sequence[str] = MISSING,
) -> TableScan:
    """Look through Parquet files of wide rows that need not fit into memory, and note where every trajectory stands.

    What is learned from a scan is what `read_table` gives on the same rows. The rows of a trajectory must follow each
    other in one file, whatever its row groups; `ctbnlearn prepare` (`prepare_table`) brings them together, from CSV,
    too.

    Parameters
    ----------
    source
        A pattern such as "folder/*.parquet", a folder, a file, or a list of these.
    trajectory
        Column that names the trajectory of a row.
    time, variables, noise, states, start, end, sort, allow_unseen, missing
        As in `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = tempfile.mkdtemp()
    >>> table = pa.table({"id": [7, 7, 8], "time": [0.0, 1.5, 0.0], "pain": ["mild", "none", "mild"]})
    >>> pq.write_table(table, f"{folder}/a.parquet", row_group_size=1)
    >>> scan_table(folder, trajectory="id")
    TableScan(2 trajectories, 1 variables, 3 values seen, 1 files)
    """
    paths = parquet_files(source)
    words = as_words(missing)
    if trajectory is None:
        raise ParameterError("scan_table needs trajectory=, the column that names the trajectory of a row")
    check_flag("sort", sort)
    check_flag("allow_unseen", allow_unseen)
    roles = read_roles(
        open_source(paths[0], missing), trajectory, time, variables, "wide", "variable", "value", start, end
    )
    specs = read_specs(roles.variables or (), noise, states, allow_unseen)
    index = build_index(paths, roles, specs, words)
    reading = {
        "trajectory": roles.trajectory,
        "time": roles.time,
        "variables": list(roles.variables or ()),
        "noise": {spec.name: spec.model for spec in specs},
        "states": {column.variable.name: column.variable.states for column in index.columns},
        "format": "wide",
        "start": roles.start,
        "end": roles.end,
        "sort": sort,
        "allow_unseen": True,
        "missing": tuple(words),
    }
    return TableScan(paths, index, reading)


def parquet_files(source: FilePath | Sequence[FilePath]) -> list[str]:
    """Files that a pattern, a folder, a file or a list of these names, in the order of their names."""
    if isinstance(source, (list, tuple)):
        found = [path for one in source for path in parquet_files(one)]
        if not found:
            raise ParameterError("a scan needs at least one file; the list is empty")
        return list(dict.fromkeys(found))
    if not isinstance(source, (str, os.PathLike)):
        raise ParameterError(f"a scan needs a pattern, a folder or files, not {type(source).__name__}")
    text = os.fspath(source)
    if not isinstance(text, str):
        raise ParameterError(f"the path must be text, not {shown(text)}")
    if os.path.isdir(text):
        found = sorted(str(p) for p in Path(text).rglob("*") if p.suffix.lower() in PARQUET)
        if not found:
            raise DataError(f"{text}: there is no Parquet file in this folder; make some with `ctbnlearn prepare`")
        return found
    if os.path.exists(text) or not glob.has_magic(text):
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise DataError(f"{text}: no file has such a name; check the pattern")
    return found
