"""CSV files: plain or packed text with a line of column names; a cell is text until its column is known.

Line numbers for messages are found by reading the file again, so they cost nothing until there is an error.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.clock import looks_like_date
from ctbnlearn.data.messages import first_line
from ctbnlearn.data.source import Cells, Source
from ctbnlearn.errors import DataError


class CsvSource(Source):
    """A text file, read by arrow; Python's own reader looks closer where that fails."""

    def __init__(self, path: Path, missing: frozenset[str], packed: bool) -> None:
        self.name, self.path, self.packed = str(path), path, packed
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
        super().__init__(self.name, missing, [column for column in self._header if column])

    def _open(self) -> TextIO:
        if self.packed:
            return gzip.open(self.path, "rt", encoding="utf-8-sig", newline="")
        return open(self.path, encoding="utf-8-sig", newline="")

    def _count(self) -> tuple[int, int]:
        """Number of double quotes, and of lines or a little more."""
        quotes, lines = 0, 1
        with gzip.open(self.path) if self.packed else open(self.path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                quotes += block.count(b'"')
                lines += max(block.count(b"\n"), block.count(b"\r"))
        return quotes, lines

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

    def _load(self, numbers: Sequence[str], labels: Sequence[str], times: Sequence[str]) -> None:
        dates = self._dates(times)
        self._load_columns([*numbers, *(c for c in times if c not in dates)], [*labels, *dates])
        for column in dates:
            self.put_times(column, self.cells.pop(column))

    def _dates(self, times: Sequence[str]) -> list[str]:
        """Columns whose first cells that are not blank are written like dates."""
        places, found = {c: self._header.index(c) for c in times}, []
        for k, (_, record) in enumerate(self._records()):
            for column, at in list(places.items()) if k else ():
                if at < len(record) and record[at].strip() not in self.missing:
                    del places[column]
                    if looks_like_date(record[at]):
                        found.append(column)
            if not places:
                break
        return found

    def _load_columns(self, numbers: Sequence[str], labels: Sequence[str]) -> None:
        try:
            quotes, lines = self._count()
            if quotes % 2:  # one left open would swallow all lines after it without a word
                for _ in self._records(strict=True):
                    pass
            self._read(numbers, labels, lines, quotes > 0)
        except DataError:
            raise
        except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError):
            self._check_shape()
            try:  # numbers as text: the odd cell is then found, or understood, by `cell_numbers`
                self._read([], [*numbers, *labels], self._count()[1], True, block_size=1 << 26)
            except (pa.ArrowException, OSError, ValueError) as problem:
                raise DataError(
                    f"{self.name}: cannot be read as CSV ({first_line(problem)}); save it as 'CSV UTF-8'"
                ) from None
            for column in numbers:
                self.numbers[column] = self.cell_numbers(column, self.cells.pop(column))

    def _read(
        self, numbers: Sequence[str], labels: Sequence[str], lines: int, quoted: bool, block_size: int = 1 << 18
    ) -> None:
        """Read block by block and keep small codes only: as a whole, the text would fill the memory."""
        unique = {column: f"c{k}" for k, column in enumerate(self._header)}
        kinds = {unique[c]: pa.dictionary(pa.int32(), pa.string()) for c in labels}
        kinds |= {unique[c]: pa.float64() for c in numbers}
        known: dict[str, dict[str, int]] = {c: {} for c in labels}
        found: dict[str, NDArray[Any]] = {c: np.empty(lines, np.uint8) for c in labels}
        found |= {c: np.empty(lines) for c in numbers}
        at = 0
        with (
            pa.input_stream(str(self.path), compression="gzip" if self.packed else None) as stream,
            pacsv.open_csv(
                stream,
                pacsv.ReadOptions(
                    block_size=block_size,
                    column_names=[f"c{k}" for k in range(len(self._header))],
                    skip_rows_after_names=self._skip,
                ),
                # without quotes no line break is quoted, and the file is cut into blocks faster
                pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=quoted),
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
                rows = slice(at, at + block.num_rows)
                at = rows.stop
                for column in numbers:
                    found[column][rows] = _floats(block.column(unique[column]))
                for column in labels:
                    chunk, index = block.column(unique[column]), known[column]
                    local = [index.setdefault(v, len(index)) for v in chunk.dictionary.to_pylist()]
                    small = np.array(local, np.min_scalar_type(len(index)))
                    if small.itemsize > found[column].itemsize:
                        found[column] = found[column].astype(small.dtype)
                    found[column][rows] = small[np.from_dlpack(chunk.indices)]
        self.n_rows = at
        self.numbers |= {column: found[column][:at] for column in numbers}
        self.cells |= {column: Cells(found[column][:at], list(known[column]), True) for column in labels}

    def _check_shape(self) -> None:
        """Raise at the first record with too few or too many cells."""
        for line, record in self._records():
            if len(record) != len(self._header):
                raise DataError(
                    f"{self.name}, line {line}: {len(record)} cells where the header names "
                    f"{len(self._header)} columns; correct the line (put text that holds {self.delimiter!r} "
                    "in double quotes)"
                )

    def _row(self, row: int) -> str:
        """Physical line of a row; blank lines and line breaks inside quotes count."""
        try:
            for k, (line, _) in enumerate(self._records()):
                if k == row + 1:
                    return f"line {line}"
        except DataError:
            pass  # the place is a help; the problem to report is another
        return super()._row(row)


def _floats(array: pa.Array) -> FloatArray:
    """Numbers of a column, NaN where a cell is empty; `to_numpy` would load pandas where that is installed."""
    if not len(array):
        return np.empty(0)
    valid, values = array.buffers()
    here = slice(array.offset, array.offset + len(array))
    out = np.frombuffer(values, np.float64)[here]
    if array.null_count:
        out = np.where(np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[here], out, np.nan)
    return out
