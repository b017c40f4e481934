"""Opening tables: CSV, Parquet or any data frame, all turned into columns of codes and numbers.

A `Source` knows the names of its columns before it reads them, reads only the ones it is asked for, and can
name the place of a row in the user's words ("panel.csv, line 17"). Line numbers are found by reading the file
again, so they cost nothing until there is an error to report.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TextIO

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.errors import DataError, ParameterError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
LARGEST_EXACT = 2.0**53  # beyond it, neighbouring integers share a float
_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\s*\d{1,2}:\d{2}")
_INDEX = re.compile(r"__index_level_\d+__")  # how pandas stores its row labels in Parquet


def shown(value: Any) -> str:
    """A value as it may stand in a one-line message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def named(names: Iterable[Any]) -> str:
    """A list of names for a message, cut when it is long."""
    every = list(names)
    return ", ".join(shown(n) for n in every[:30]) + (f", ... ({len(every)} in all)" if len(every) > 30 else "")


def as_words(missing: Any) -> frozenset[str]:
    """The words that stand for 'not seen'; a blank cell always does."""
    if isinstance(missing, str):
        missing = (missing,)
    if not isinstance(missing, Iterable):
        raise ParameterError(f"missing must be a list of words such as ('', 'NA'), not {shown(missing)}")
    words = list(missing)
    for word in words:
        if not isinstance(word, str):
            raise ParameterError(f"missing must hold text only, not {shown(word)}; write it in quotes")
    return frozenset(word.strip() for word in words) | {""}


@dataclass(frozen=True, eq=False)
class Cells:
    """A column as codes into its distinct values.

    Attributes
    ----------
    codes : (n_rows,)
        Index into `labels`; `len(labels)` where the cell is empty.
    labels
        The distinct values as they stand in the table, in order of first appearance or of category.
    text
        Whether the values are text whose type (number, truth value, word) has yet to be found.
    ordered
        Whether the order of `labels` is the user's own (a categorical column).
    """

    codes: NDArray[Any]
    labels: list[Any]
    text: bool
    ordered: bool

    def used(self, rows: Any = slice(None)) -> NDArray[np.bool_]:
        """Which labels occur, in all rows or in some."""
        return np.bincount(self.codes[rows], minlength=len(self.labels) + 1)[:-1] > 0


class Source:
    """A table of which chosen columns are read; see `open_source`."""

    name: str
    columns: tuple[str, ...]
    untyped: bool
    n_rows: int

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        self.name, self.missing = name, missing
        self._data: dict[str, Any] = {}

    def load(self, numbers: Sequence[str], labels: Sequence[str]) -> None:
        """Read some columns as numbers and others as labels."""
        raise NotImplementedError

    def place(self, row: int, column: str | None = None) -> str:
        """Name the place of a row for an error message."""
        raise NotImplementedError

    def forget(self, column: str) -> None:
        """Drop a column that has been dealt with, so that its memory comes back."""
        self._data.pop(column, None)

    def numbers(self, column: str) -> FloatArray:
        """A column as floats, NaN where the cell is empty."""
        raise NotImplementedError

    def cells(self, column: str) -> Cells:
        """A column as codes into its distinct labels."""
        raise NotImplementedError

    def value(self, row: int, column: str) -> Any:
        """A single cell, None where it is empty."""
        raise NotImplementedError

    def _check_rows(self) -> None:
        if self.n_rows == 0:
            raise DataError(f"{self.name}: there are no rows below the column names; give at least one row of data")

    def cell_numbers(self, column: str, cells: Cells, rows: NDArray[Any] | None = None) -> FloatArray:
        """Cells of labels as floats, NaN where the cell is empty."""
        codes = cells.codes if rows is None else cells.codes[rows]
        table = np.full(len(cells.labels) + 1, np.nan)
        bad = np.zeros(len(table), bool)
        for k, label in enumerate(cells.labels):
            if is_blank(label, self.missing):
                continue
            if isinstance(label, bool) or (isinstance(label, str) and "_" in label):
                bad[k] = True
                continue
            try:
                table[k] = float(label)
            except (TypeError, ValueError, OverflowError):
                bad[k] = True
        if bad.any() and bad[codes].any():
            at = int(np.argmax(bad[codes]))
            label = cells.labels[codes[at]]
            where = self.place(at if rows is None else int(rows[at]), column)
            if isinstance(label, str) and _DATE.match(label):
                self._no_date(where, label)
            raise DataError(
                f"{where}: {shown(label)} is not a number; correct it (decimal point, no units), or leave "
                "the cell blank"
            )
        return table[codes]

    @staticmethod
    def _no_date(where: str, what: Any) -> NoReturn:
        raise DataError(
            f"{where}: {shown(what)} is a date or a clock time; convert it to a number such as days since start"
        )


def _values(chunk: Any) -> list[Any]:
    return list(chunk.dictionary.to_pylist())


def _is_text(kind: Any) -> bool:
    view = getattr(pa.types, "is_string_view", None)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view is not None and view(kind)))


def is_blank(label: Any, missing: frozenset[str]) -> bool:
    """Whether a cell says 'not seen'."""
    return isinstance(label, str) and label.strip() in missing


class FrameSource(Source):
    """A data frame, or a Parquet file: columns have types of their own."""

    untyped = False

    def __init__(self, name: str, missing: frozenset[str], frame: Any, columns: Sequence[str]) -> None:
        super().__init__(name, missing)
        self.columns, self._frame = tuple(columns), frame
        _check_header(name, self.columns)

    def load(self, numbers: Sequence[str], labels: Sequence[str]) -> None:
        """Take the chosen columns out of the frame or file."""
        for column in dict.fromkeys([*numbers, *labels]):
            try:
                if isinstance(self._frame, pq.ParquetFile):
                    self._data[column] = self._frame.read(columns=[column]).column(column)
                else:
                    at = self._frame.columns[self.columns.index(column)]
                    data = self._frame.get_column(at).to_arrow()  # 'select' would expand names such as '*'
                    self._data[column] = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
            except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as problem:
                raise DataError(
                    f"{self.name}, column {column!r}: cannot be read ({first_line(problem)}); give it one "
                    "type, all text or all numbers"
                ) from None
            self.n_rows = len(self._data[column])
        self._check_rows()

    def place(self, row: int, column: str | None = None) -> str:
        """Rows of a frame are counted from 0."""
        return f"{self.name}, row {row}" + (f", column {column!r}" if column is not None else "")

    def numbers(self, column: str) -> FloatArray:
        """A column as floats, NaN where the cell is empty."""
        data, kind = self._data[column], self._data[column].type
        if pa.types.is_dictionary(kind) or _is_text(kind):
            return self.cell_numbers(column, self.cells(column))
        if pa.types.is_temporal(kind):
            self._no_date(f"{self.name}, column {column!r}", str(kind))
        plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not plain and not pa.types.is_null(kind):
            raise DataError(f"{self.name}, column {column!r} holds {kind}, not numbers; convert it to numbers")
        out = data.cast(pa.float64(), safe=False).to_numpy()
        if pa.types.is_integer(kind) and len(out) and np.nanmax(np.abs(out), initial=0) > LARGEST_EXACT:
            row = int(np.nanargmax(np.abs(out)))
            raise DataError(
                f"{self.place(row, column)}: {out[row]:.0f} is too large to be exact; subtract a common start"
            )
        return out

    def cells(self, column: str) -> Cells:
        """A column as codes into its distinct labels."""
        data = self._data[column]
        kind = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
        if pa.types.is_null(kind):
            return Cells(np.zeros(self.n_rows, np.uint8), [], self.untyped, False)
        plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if pa.types.is_temporal(kind):
            self._no_date(f"{self.name}, column {column!r}", str(kind))
        if pa.types.is_decimal(kind) and data.type == kind:
            data = data.cast(pa.float64())
        elif not plain and not _is_text(kind):
            raise DataError(
                f"{self.name}, column {column!r} holds {kind}, not text, numbers or truth values; convert "
                "it, or leave the column out"
            )
        ordered = pa.types.is_dictionary(data.type) and not self.untyped
        if not pa.types.is_dictionary(data.type):
            data = (data.cast(pa.large_string()) if _is_text(kind) else data).dictionary_encode()
        known: dict[Any, int] = {}
        tables = []
        for chunk in data.chunks:
            labels = [None if v is None or v != v else v + 0.0 if isinstance(v, float) else v for v in _values(chunk)]
            tables.append([-1 if v is None else known.setdefault(v, len(known)) for v in labels] + [-1])
        codes = np.empty(len(data), np.min_scalar_type(len(known)))
        begin = 0
        for chunk, table in zip(data.chunks, tables):
            index = chunk.indices
            if index.null_count:
                index = index.cast(pa.int64()).fill_null(len(table) - 1)
            local = np.array([len(known) if k < 0 else k for k in table], codes.dtype)
            codes[begin : begin + len(chunk)] = local[index.to_numpy(zero_copy_only=False)]
            begin += len(chunk)
        return Cells(codes, list(known), self.untyped, ordered)

    def value(self, row: int, column: str) -> Any:
        """A single cell, None where it is empty."""
        value = self._data[column][row].as_py()
        return None if value is None or value != value or is_blank(value, self.missing) else value


class CsvSource(Source):
    """A text file with a line of column names; every cell is text until its column is known."""

    untyped = True

    def __init__(self, path: Path, missing: frozenset[str], packed: bool) -> None:
        super().__init__(str(path), missing)
        self.path, self.packed = path, packed
        stem = path.name.lower().removesuffix(".gz")
        self.delimiter = "\t" if stem.endswith((".tsv", ".tab")) else ","
        header = next(self._records(), None)
        if header is None:
            raise DataError(f"{self.name}: the file is empty; it needs a line of column names and rows of data")
        if len(header[1]) == 1 and self.delimiter == ",":
            # spreadsheets in many countries write semicolons; some programs write tabs under the name .csv
            self.delimiter = next((mark for mark in ";\t" if mark in header[1][0]), ",")
            header = next(self._records())
        self._skip = header[0]
        self._header = [column.strip() for column in header[1]]
        # row numbers without a name are what R and pandas write first; they are not data
        self.columns = tuple(column for column in self._header if column)
        _check_header(self.name, self.columns)

    def _open(self) -> TextIO:
        if self.packed:
            return gzip.open(self.path, "rt", encoding="utf-8-sig", newline="")
        return open(self.path, encoding="utf-8-sig", newline="")

    def _count_quotes(self) -> int:
        """Without quotes no line break is quoted, and the file is cut into blocks faster."""
        with gzip.open(self.path) if self.packed else open(self.path, "rb") as file:
            return sum(block.count(b'"') for block in iter(lambda: file.read(1 << 22), b""))

    def _records(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """First line and cells of every record that is not a blank line."""
        line = 0
        try:
            with self._open() as file:
                reader = csv.reader(file, delimiter=self.delimiter, strict=strict)
                for record in reader:
                    begin, line = line + 1, reader.line_num
                    if record:
                        yield begin, record
        except UnicodeDecodeError:
            raise DataError(
                f"{self.name}, after line {line}: the text is not UTF-8; save the file as 'CSV UTF-8'"
            ) from None
        except csv.Error as problem:
            raise DataError(
                f"{self.name}, after line {line}: not CSV ({problem}); close a double quote left open, or "
                "save the file as CSV"
            ) from None
        except (OSError, EOFError, zlib.error) as problem:
            raise DataError(f"{self.name}: cannot be read ({first_line(problem)}); check the file") from None

    def _read(self, numbers: Sequence[str], labels: Sequence[str], block_size: int = 1 << 18) -> None:
        """Read block by block and keep small codes only: as a whole, the text would fill the memory."""
        unique = {column: f"c{k}" for k, column in enumerate(self._header)}
        kinds = {unique[c]: pa.dictionary(pa.int32(), pa.string()) for c in labels}
        kinds |= {unique[c]: pa.float64() for c in numbers}
        known: dict[str, dict[str, int]] = {c: {} for c in labels}
        parts: dict[str, list[NDArray[Any]]] = {c: [] for c in [*labels, *numbers]}
        with (
            pa.input_stream(str(self.path), compression="gzip" if self.packed else None) as stream,
            pacsv.open_csv(
                stream,
                pacsv.ReadOptions(
                    block_size=block_size,
                    column_names=[f"c{k}" for k in range(len(self._header))],
                    skip_rows_after_names=self._skip,
                ),
                pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self._quotes > 0),
                pacsv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(kinds),
                    null_values=sorted(self.missing),
                    strings_can_be_null=False,
                ),
                memory_pool=pa.system_memory_pool(),  # gives back what the next steps need
            ) as reader,
        ):
            for block in reader:
                for column in numbers:
                    parts[column].append(block.column(unique[column]).to_numpy(zero_copy_only=False))
                for column in labels:
                    chunk, index = block.column(unique[column]), known[column]
                    local = [index.setdefault(v, len(index)) for v in chunk.dictionary.to_pylist()]
                    small = np.array(local, np.min_scalar_type(len(index)))
                    parts[column].append(small[chunk.indices.to_numpy(zero_copy_only=False)])
        for column in dict.fromkeys([*labels, *numbers]):
            pieces = parts.pop(column)
            if column in known:
                kind = np.min_scalar_type(len(known[column]))
                codes = np.concatenate(pieces, dtype=kind) if pieces else np.empty(0, kind)
                self._data[column] = Cells(codes, list(known[column]), True, False)
                self.n_rows = len(codes)
            else:
                self._data[column] = np.concatenate(pieces) if pieces else np.empty(0)
                self.n_rows = len(self._data[column])

    def numbers(self, column: str) -> FloatArray:
        """A column as floats, NaN where the cell is empty."""
        data = self._data[column]
        return self.cell_numbers(column, data) if isinstance(data, Cells) else data

    def cells(self, column: str) -> Cells:
        """A column as codes into its distinct texts."""
        return self._data[column]

    def value(self, row: int, column: str) -> Any:
        """A single cell, None where it is empty."""
        data = self._data[column]
        value = data.labels[data.codes[row]] if isinstance(data, Cells) else float(data[row])
        return None if value != value or is_blank(value, self.missing) else value

    def load(self, numbers: Sequence[str], labels: Sequence[str]) -> None:
        """Read the chosen columns at once; look closer only when that fails."""
        try:
            self._quotes = self._count_quotes()
            if self._quotes % 2:  # one left open would swallow all lines after it without a word
                for _ in self._records(strict=True):
                    pass
            self._read(numbers, [c for c in labels if c not in numbers])
        except DataError:
            raise
        except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError):
            self._check_shape()
            try:  # numbers as text: the odd cell is then found, or understood, by `cell_numbers`
                self._read([], [*dict.fromkeys([*numbers, *labels])], block_size=1 << 26)
            except (pa.ArrowException, OSError, ValueError) as problem:
                raise DataError(
                    f"{self.name}: cannot be read as CSV ({first_line(problem)}); save it as 'CSV UTF-8'"
                ) from None
        self._check_rows()

    def _check_shape(self) -> None:
        """Raise at the first record with too few or too many cells."""
        for line, record in self._records():
            if len(record) != len(self._header):
                raise DataError(
                    f"{self.name}, line {line}: {len(record)} cells where the header names "
                    f"{len(self._header)} columns; correct the line (put text that holds {self.delimiter!r} "
                    "in double quotes)"
                )

    def place(self, row: int, column: str | None = None) -> str:
        """Physical line of a row; blank lines and line breaks inside quotes count."""
        where = f"row {row}"
        try:
            for k, (line, _) in enumerate(self._records()):
                if k == row + 1:
                    where = f"line {line}"
                    break
        except DataError:
            pass  # the place is a help; the problem to report is another
        return f"{self.name}, {where}" + (f", column {column!r}" if column is not None else "")


def first_line(problem: BaseException) -> str:
    """The first line of another library's message."""
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:120]


def _check_header(name: str, columns: Sequence[str]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise DataError(f"{name}: the column name {column!r} stands twice; rename one of them")
        seen.add(column)
    if not columns:
        raise DataError(f"{name}: there are no column names; the first line must name the columns")


def _open_path(path: Path, missing: frozenset[str]) -> Source:
    name = str(path)
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except IsADirectoryError:
        raise DataError(f"{name}: this is a folder; name a CSV or Parquet file in it") from None
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file; check the path") from None
    except (OSError, ValueError) as problem:
        raise DataError(f"{name}: cannot be opened ({first_line(problem)}); check the path") from None
    if head[:4] == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        try:
            file = pq.ParquetFile(path)
            columns = file.schema_arrow.names
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise DataError(f"{name}: not a Parquet file ({first_line(problem)}); write it again") from None
        source = FrameSource(name, missing, file, columns)
        source.columns = tuple(c for c in columns if not _INDEX.fullmatch(c))
        return source
    if head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0":
        raise DataError(f"{name}: this is a spreadsheet or archive, not a CSV file; save the sheet as 'CSV UTF-8'")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{name}, line 1: the text is UTF-16, not UTF-8; save the file as 'CSV UTF-8'")
    packed = head[:2] == b"\x1f\x8b"
    if not packed and b"\0" in head:
        raise DataError(f"{name}: this is not a text file; save the table as CSV or Parquet")
    return CsvSource(path, missing, packed)


def open_source(source: Any, missing: Any = MISSING) -> Source:
    """Open a path to CSV or Parquet, or a data frame of any kind narwhals knows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = open_source(pa.table({"time": [0, 1], "pain": ["mild", None]}))
    >>> table.load(["time"], ["pain"])
    >>> table.numbers("time").tolist(), table.cells("pain").labels, table.place(1, "pain")
    ([0.0, 1.0], ['mild'], "table, row 1, column 'pain'")
    """
    words = as_words(missing)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not isinstance(path, str):
            raise ParameterError(f"the path must be text, not {shown(path)}")
        return _open_path(Path(path), words)
    try:
        frame = nw.from_native(source)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        columns = [str(column) for column in frame.columns]
    except nw.exceptions.DuplicateError:
        raise DataError("table: a column name stands twice; rename one of the columns") from None
    except TypeError:
        raise ParameterError(
            "a table must be a path to a CSV or Parquet file, or a data frame (pandas, polars, pyarrow), "
            f"not {type(source).__name__}"
        ) from None
    except Exception as problem:  # a lazy frame runs the user's own query, which may fail in any way
        raise DataError(f"table: cannot be read ({first_line(problem)}); check its columns") from None
    return FrameSource("table", words, frame, columns)
