"""One pass over partitioned Parquet, row group by row group: which trajectory stands where, and which labels occur.

Only the index stays in memory: some sixty bytes per trajectory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.columns import Column, Spec, decode
from ctbnlearn.data.frames import FrameSource
from ctbnlearn.data.messages import first_line, shown
from ctbnlearn.data.noise import ExactStates, ThresholdNoise
from ctbnlearn.data.roles import Roles
from ctbnlearn.data.rows import Rows, read_rows
from ctbnlearn.data.source import ALL, Cells, Source, is_blank
from ctbnlearn.data.variables import Ids
from ctbnlearn.errors import DataError, ParameterError


def open_parquet(path: str) -> pq.ParquetFile:
    """Open a file."""
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise DataError(f"{path}: not a Parquet file ({first_line(problem)}); write it again") from None


def read_groups(path: str, file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """Some row groups of a file."""
    try:
        return file.read_row_groups(list(groups), columns=list(columns), use_threads=False)
    except (pa.ArrowException, OSError, ValueError, KeyError) as problem:
        raise DataError(f"{path}: cannot be read ({first_line(problem)}); write the file again") from None


class GroupSource(FrameSource):
    """Rows of a file, the first of which has a number."""

    def __init__(self, path: str, missing: frozenset[str], table: pa.Table, first: int) -> None:
        super().__init__(path, missing, nw.from_native(table), table.column_names)
        self._first = first

    def _row(self, row: int) -> str:
        return f"row {self._first + row}"


class LabelSource(Source):
    """The distinct labels of a column, one a row, each at the place where it first occurs."""

    def __init__(self, name: str, missing: frozenset[str], places: Sequence[str]) -> None:
        super().__init__(name, missing, [""])
        self._places, self.n_rows = places, len(places)

    def _load(self, numbers: Sequence[str], labels: Sequence[str], times: Sequence[str]) -> None:
        """There is nothing to load."""

    def place(self, row: int, column: str | None = None) -> str:
        """Where a label first occurs."""
        return self._places[row]


@dataclass
class Labels:
    """Distinct labels of a column with how often each occurs, and where first."""

    known: dict[Any, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    ordered: bool = False
    seen: int = 0  # of a column of numbers: how many there are
    changes: bool = False  # whether a trajectory has two of them
    last: tuple[Any, str] | None = None  # trajectory and label of the last one seen

    def add(self, table: Source, column: str, cells: Cells) -> None:
        """Those of a row group; of categories also those that do not occur, for their order."""
        self.ordered = self.ordered or cells.ordered
        counts = np.bincount(cells.codes, minlength=len(cells.labels) + 1)
        for k, label in enumerate(cells.labels):
            if label not in self.known:
                self.known[label] = len(self.known)
                self.counts.append(0)
                self.places.append("")
            at = self.known[label]
            if counts[k] and not self.counts[at]:
                self.places[at] = table.place(int(np.argmax(cells.codes == k)), column)
            self.counts[at] += int(counts[k])

    def look_for_changes(self, cells: Cells, there: BoolArray, rows: Rows) -> None:
        """Whether a trajectory has two labels in a row group, or one in this and another in the one before."""
        at = np.flatnonzero(there)
        if self.changes or not at.size:
            return
        code, who = cells.codes[at], rows.who[at]
        first, last = ((rows.ids[who[k]], str(cells.labels[code[k]]).strip()) for k in (0, -1))
        inside = (code[1:] != code[:-1]) & (who[1:] == who[:-1])
        cut = self.last is not None and self.last[0] == first[0] and self.last[1] != first[1]
        self.changes, self.last = bool(inside.any()) or cut, last

    def column(self, name: str, missing: frozenset[str], spec: Spec) -> tuple[Column, int]:
        """Variable and observation model, checked as if all rows were there; and the number of values seen."""
        if spec.numeric:
            value = np.array([1.0 if self.seen else np.nan])
            return decode(LabelSource(name, missing, [name]), spec, spec.name, value, ALL), self.seen
        used = [k for k, count in enumerate(self.counts) if count]
        if len({isinstance(label, str) for label, k in self.known.items() if self.counts[k]}) > 1:
            raise DataError(f"{name} holds text in one file and numbers in another; give it one type in all of them")
        codes = np.array(used, np.int64)
        source = LabelSource(name, missing, [self.places[k] for k in used])
        found = decode(source, spec, spec.name, Cells(codes, list(self.known), False, self.ordered), ALL)
        return found, int(np.array(self.counts)[used][found.seen].sum())


@dataclass(frozen=True, eq=False)
class Index:
    """Where every trajectory stands, in the order of their names.

    Attributes
    ----------
    ids
        Names.
    file, first, length : (n_trajectories,)
        Number of the file, first row in it, and number of rows, all in a row.
    start, end : (n_trajectories,)
        Windows.
    columns, values
        Per variable, and the number of values seen of it.
    still
        Numbers of the variables that were seen exactly and never differ within a trajectory.
    sha256
        Of all that was read.
    """

    ids: list[Any]
    file: IntArray
    first: IntArray
    length: IntArray
    start: FloatArray
    end: FloatArray
    columns: list[Column]
    values: list[int]
    still: list[int]
    sha256: str


def build_index(paths: Sequence[str], roles: Roles, specs: Sequence[Spec], missing: frozenset[str]) -> Index:
    """Read everything once; raise where a trajectory is scattered, or has no values."""
    for spec in specs:
        if isinstance(spec.model, ThresholdNoise) and spec.model.mean is None:
            raise ParameterError(
                f"variable {spec.name!r}: a scan cannot take the threshold from the data; give "
                "ThresholdNoise(mean=..., sd=...) (threshold:MEAN:SD)"
            )
    numbers = [*roles.time_columns, *(s.name for s in specs if s.numeric)]
    words = [*roles.label_columns, *(s.name for s in specs if not s.numeric)]
    labels = {spec.name: Labels() for spec in specs}
    declared = {s.name: {str(x).strip() for x in s.states or ()} for s in specs}
    runs: list[tuple[NDArray[Any], ...]] = []
    digest = hashlib.sha256()
    for number, path in enumerate(paths):
        file, first = open_parquet(path), 0
        absent = [c for c in (*numbers, *words) if c not in file.schema_arrow.names]
        if absent:
            raise DataError(f"{path}: there is no column {absent[0]!r}, which other files have; add it")
        for group in range(file.num_row_groups):
            content = read_groups(path, file, [group], [*numbers, *words])
            if not len(content):
                continue
            table = GroupSource(path, missing, content, first)
            table.load(numbers, words)
            for name in numbers:
                digest.update(table.numbers[name].tobytes())
            for name in words:
                cells = table.cells[name]
                digest.update(repr(cells.labels).encode() + np.asarray(cells.codes, np.int64).tobytes())
            bounds = [
                table.numbers[c] if isinstance(c, str) else np.full(len(content), np.nan)
                for c in (roles.start, roles.end)
            ]
            rows = read_rows(table, roles)
            at = np.flatnonzero(np.append(True, rows.who[1:] != rows.who[:-1]))
            seen = np.zeros(len(at), np.int64)
            for spec in specs:
                own = labels[spec.name]
                if spec.numeric:
                    there = ~np.isnan(table.take(spec.name))
                    own.seen += int(there.sum())
                else:
                    cells = table.take(spec.name)
                    own.add(table, spec.name, cells)
                    blank = [is_blank(x, missing) and str(x).strip() not in declared[spec.name] for x in cells.labels]
                    there = ~np.array([*blank, True])[cells.codes]
                    own.look_for_changes(cells, there, rows)
                seen += np.add.reduceat(there.astype(np.int64), at)
            runs.append(
                (
                    _names(rows.ids)[rows.who[at]],
                    np.full(len(at), number),
                    first + at,
                    np.diff(np.append(at, len(content))),
                    np.minimum.reduceat(rows.times, at),
                    np.maximum.reduceat(rows.times, at),
                    *(np.fmax.reduceat(bound, at) for bound in bounds),
                    seen,
                )
            )
            first += len(content)
    if not runs:
        raise DataError(f"{paths[0]}: there are no rows; give at least one row of data")
    columns, values = [], []
    where = paths[0] if len(paths) == 1 else f"{len(paths)} files from {paths[0]}"
    for spec in specs:
        column, count = labels[spec.name].column(f"{where}, column {spec.name!r}", missing, spec)
        columns.append(column)
        values.append(count)
    still = [
        i
        for i, (spec, column) in enumerate(zip(specs, columns))
        if isinstance(column.noise, ExactStates) and not labels[spec.name].changes
    ]
    joined = [_concatenated([run[k] for run in runs]) for k in range(len(runs[0]))]
    return _merge(paths, roles, joined, columns, values, still, digest.hexdigest())


def _names(ids: Ids) -> NDArray[Any]:
    """Names of trajectories: numbers where they are, else objects."""
    if all(isinstance(name, int) and not isinstance(name, bool) for name in ids):
        try:
            return np.array(ids, np.int64)
        except OverflowError:
            pass
    out = np.empty(len(ids), object)
    out[:] = list(ids)
    return out


def _concatenated(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if any(part.dtype == object for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _merge(
    paths: Sequence[str],
    roles: Roles,
    runs: Sequence[NDArray[Any]],
    columns: list[Column],
    values: list[int],
    still: list[int],
    sha256: str,
) -> Index:
    """Join what row groups have cut in two; the rest must stand in one place."""
    try:
        order = np.argsort(runs[0], kind="stable")
    except TypeError:
        raise DataError(
            f"{paths[0]}: names of trajectories (column {roles.trajectory!r}) are text in some files and numbers in "
            "others; write them all in one way"
        ) from None
    ids, file, first, length, low, high, start, end, seen = (run[order] for run in runs)
    new = np.append(True, ids[1:] != ids[:-1])
    follows = (file[1:] == file[:-1]) & (first[1:] == first[:-1] + length[:-1])
    apart = np.flatnonzero(~new[1:] & ~follows)
    if apart.size:
        k, count = int(apart[0]), len(np.unique(ids[1:][apart].astype(str)))
        others = f", and so do {count - 1} others" if count > 1 else ""
        raise DataError(
            f"trajectory {shown(_plain(ids[k]))} stands in several places ({paths[file[k]]}, row {first[k]}; "
            f"{paths[file[k + 1]]}, row {first[k + 1]}){others}; bring the rows of a trajectory together with "
            "`ctbnlearn prepare`"
        )
    at = np.flatnonzero(new)
    seen = np.add.reduceat(seen, at)
    empty = np.flatnonzero(seen == 0)
    if empty.size:
        k = at[empty[0]]
        raise DataError(
            f"{paths[file[k]]}, row {first[k]}: empty trajectory {shown(_plain(ids[k]))}: not one value was seen in "
            "it; leave it out"
        )
    low, high = np.minimum.reduceat(low, at), np.maximum.reduceat(high, at)
    windows = []
    for given, column, default in ((roles.start, start, low), (roles.end, end, high)):
        bound = np.fmax.reduceat(column, at) if isinstance(given, str) else np.full(len(at), np.nan)
        windows.append(np.where(np.isnan(bound), default if given is None or isinstance(given, str) else given, bound))
    plain = ids[at].tolist()
    return Index(
        plain, file[at], first[at], np.add.reduceat(length, at), windows[0], windows[1], columns, values, still, sha256
    )


def _plain(name: Any) -> Any:
    return name.item() if hasattr(name, "item") else name
