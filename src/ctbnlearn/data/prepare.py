"""Tables brought into the shape that scans read: the rows of a trajectory together, in order of time, in Parquet files.

Two passes, block by block: the first counts the rows of every trajectory and finds the types of the columns of text;
the second deals rows out to files by ranges of names, each small enough to be sorted in memory. Types are those that
`read_table` would find: numbers or truth values only where all cells are.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import IntArray
from ctbnlearn.data.csvfile import CsvSource
from ctbnlearn.data.files import FilePath, as_path
from ctbnlearn.data.messages import first_line, named
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.row_groups import open_parquet, read_groups
from ctbnlearn.data.scan import parquet_files
from ctbnlearn.data.source import MISSING, as_words
from ctbnlearn.data.variables import Ids
from ctbnlearn.errors import DataError
from ctbnlearn.locks import FolderLock

ROWS = 1_000_000  # of a file, about
GROUP_ROWS = 65_536
BLOCK_BYTES = 1 << 23
_WHOLE = r"^(0|-?[1-9][0-9]{0,16})$"
_NUMBER = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_TRUTH = r"^(True|False|true|false|TRUE|FALSE)$"
KINDS = ((_WHOLE, pa.int64()), (_NUMBER, pa.float64()), (_TRUTH, pa.bool_()))


def prepare_table(
    source: Any,
    out: FilePath,
    *,
    trajectory: str,
    time: str = "time",
    rows: int = ROWS,
    missing: Sequence[str] = MISSING,
) -> list[Path]:
    r"""Rewrite a table of any size so that `scan_table` can read it; returns the files.

    Parameters
    ----------
    source
        A CSV file (also .csv.gz, .tsv), or Parquet as `scan_table` takes it; of wide rows or of any others.
    out
        Folder for the files, new or empty.
    trajectory, time
        Columns that name the trajectory and the time of a row.
    rows
        Rows of a file, about: no trajectory is cut. A file is sorted in memory.
    missing
        Words in text that stand for 'not seen'.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("id,time,x\n2,0,on\n1,1,off\n2,1,off\n1,0,on\n")
    >>> [path.name for path in prepare_table(folder / "a.csv", folder / "new", trajectory="id")]
    ['part-00000.parquet']
    >>> pq.read_table(folder / "new").to_pydict()
    {'id': [1, 1, 2, 2], 'time': [0, 1, 0, 1], 'x': ['on', 'off', 'on', 'off']}
    """
    whole(rows, "rows", 1)
    blocks = _Blocks(source, as_words(missing))
    for role, column in (("trajectory", trajectory), ("time", time)):
        if column not in blocks.columns:
            raise DataError(
                f"{blocks.name}: there is no column {column!r}; the columns are {named(blocks.columns)}; name the "
                f"right one with {role}= (--{role})"
            )
    target = as_path(out, "the folder of the new files")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: there is something already; choose a new or an empty folder")
    with FolderLock(target, "prepared files"):
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            names = _write(blocks, work, trajectory, time, rows)
            target.mkdir(exist_ok=True)
            for name in names:
                (work / name).rename(target / name)
        except OSError as problem:
            raise DataError(
                f"{target}: cannot write there ({problem.strerror}); make room, or choose another"
            ) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return [target / name for name in names]


class _Blocks:
    """A table that is gone through block by block, as often as needed."""

    def __init__(self, source: Any, missing: frozenset[str]) -> None:
        self.missing = missing
        opened = open_source(source, tuple(missing)) if not _several(source) else None
        self._csv = opened if isinstance(opened, CsvSource) else None
        self._paths = [] if self._csv is not None else parquet_files(source)
        if self._csv is not None:
            self.name, self.columns = self._csv.name, list(self._csv.columns)
        else:
            self.name, self.columns = self._paths[0], open_parquet(self._paths[0]).schema_arrow.names

    def __iter__(self) -> Iterator[pa.Table]:
        if self._csv is not None:
            yield from self._read_csv(self._csv)
            return
        for path in self._paths:
            file = open_parquet(path)
            absent = [c for c in self.columns if c not in file.schema_arrow.names]
            if absent:
                raise DataError(f"{path}: there is no column {absent[0]!r}, which other files have; add it")
            for group in range(file.num_row_groups):
                yield self._blanked(read_groups(path, file, [group], self.columns))

    def _read_csv(self, csv: CsvSource) -> Iterator[pa.Table]:
        header = csv._header
        names = [f"c{k}" for k in range(len(header))]
        kept = {f"c{k}": name for k, name in enumerate(header) if name}
        try:
            with (
                pa.input_stream(str(csv.path), compression="gzip" if csv.packed else None) as stream,
                pacsv.open_csv(
                    stream,
                    pacsv.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows_after_names=csv._skip),
                    pacsv.ParseOptions(delimiter=csv.delimiter, newlines_in_values=True),
                    pacsv.ConvertOptions(
                        column_types=dict.fromkeys(kept, pa.string()),
                        include_columns=list(kept),
                        strings_can_be_null=False,
                    ),
                ) as reader,
            ):
                for block in reader:
                    yield self._blanked(pa.Table.from_batches([block]).rename_columns(list(kept.values())))
        except (pa.ArrowException, OSError) as problem:
            csv._check_shape()
            raise DataError(
                f"{csv.name}: cannot be read as CSV ({first_line(problem)}); save it as 'CSV UTF-8'"
            ) from None

    def _blanked(self, table: pa.Table) -> pa.Table:
        """Text without spaces around it, and without words that stand for 'not seen'."""
        for k, column in enumerate(table.column_names):
            data = table.column(k)
            if pa.types.is_string(data.type) or pa.types.is_large_string(data.type):
                data = pc.utf8_trim_whitespace(data)
                blank = pc.is_in(data, value_set=pa.array(sorted(self.missing), data.type))
                table = table.set_column(k, column, pc.if_else(blank, pa.scalar(None, data.type), data))
        return table


def _several(source: Any) -> bool:
    return isinstance(source, (list, tuple)) or (isinstance(source, (str, Path)) and not Path(source).is_file())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _write(blocks: _Blocks, work: Path, trajectory: str, time: str, rows: int) -> list[str]:
    possible: dict[str, list[bool]] = {}
    counts: dict[Any, int] = {}
    seen = 0
    for block in blocks:
        for column in block.column_names:
            data = block.column(column)
            if _is_text(data.type):
                found = possible.setdefault(column, [True] * len(KINDS))
                for k, (pattern, _) in enumerate(KINDS):
                    found[k] = found[k] and bool(pc.all(pc.match_substring_regex(data, pattern)).as_py() is not False)
        for role in (trajectory, time):
            if block.column(role).null_count:
                row = seen + int(np.argmax(pc.is_null(block.column(role)).to_numpy()))
                raise DataError(
                    f"{blocks.name}, row {row}, column {role!r}: the cell is blank; fill it in, or delete it"
                )
        for pair in pc.value_counts(block.column(trajectory).combine_chunks()):
            name = pair["values"].as_py()
            counts[name] = counts.get(name, 0) + pair["counts"].as_py()
        seen += len(block)
    if not seen:
        raise DataError(f"{blocks.name}: there are no rows; give at least one row of data")
    kinds = {c: next((kind for ok, (_, kind) in zip(found, KINDS) if ok), None) for c, found in possible.items()}
    if kinds.get(time, pa.float64()) not in (pa.int64(), pa.float64()):
        raise DataError(f"{blocks.name}, column {time!r}: times must be numbers; convert dates to days since start")
    number = kinds.get(trajectory) == pa.int64()
    if kinds.get(trajectory) not in (None, pa.int64()):
        kinds[trajectory] = None  # names such as 1.50 stay as they are
    ids = sorted((int(name) if number else name, count) for name, count in counts.items())
    first, bounds, so_far = ids[0][0], [], 0
    for name, count in ids:
        if so_far and so_far + count > rows:
            bounds.append(name)
            so_far = 0
        so_far += count
    del counts, first
    return _deal(blocks, work, trajectory, time, kinds, bounds)


def _deal(
    blocks: _Blocks, work: Path, trajectory: str, time: str, kinds: dict[str, Any], bounds: Sequence[Any]
) -> list[str]:
    """Deal rows out to files by the ranges of names that begin at `bounds`, then sort each file."""
    writers: list[pq.ParquetWriter | None] = [None] * (len(bounds) + 1)
    for block in blocks:
        for column, kind in kinds.items():
            if kind is not None:
                at = block.column_names.index(column)
                block = block.set_column(at, column, _cast(block.column(column), kind))
        part = _ranges(block.column(trajectory).to_pylist(), bounds)
        for k in np.unique(part):
            rows = block.filter(pa.array(part == k))
            if writers[k] is None:
                writers[k] = pq.ParquetWriter(work / f"rows-{k:05d}", rows.schema)
            writers[k].write_table(rows.cast(writers[k].schema))
    names: list[str] = []
    for k, writer in enumerate(writers):
        if writer is None:
            continue
        writer.close()
        table = pq.read_table(work / f"rows-{k:05d}")
        (work / f"rows-{k:05d}").unlink()
        order = pc.sort_indices(table, sort_keys=[(trajectory, "ascending"), (time, "ascending")])
        names.append(f"part-{len(names):05d}.parquet")
        pq.write_table(table.take(order), work / names[-1], row_group_size=GROUP_ROWS)
    return names


def _cast(data: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if kind == pa.bool_():
        return pc.equal(pc.utf8_lower(data), "true")
    return data.cast(kind)


def _ranges(ids: Ids, bounds: Sequence[Any]) -> IntArray:
    """Number of the range of every name."""
    from bisect import bisect_right

    known: dict[Any, int] = {}
    out = np.empty(len(ids), np.int64)
    for k, name in enumerate(ids):
        if name not in known:
            known[name] = bisect_right(bounds, name)
        out[k] = known[name]
    return out
