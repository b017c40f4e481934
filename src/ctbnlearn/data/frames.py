"""Tables whose columns have types of their own: data frames of every kind, and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.messages import first_line
from ctbnlearn.data.source import Cells, Source, no_date
from ctbnlearn.errors import DataError

UNREADABLE = (pa.ArrowException, OSError, ValueError, TypeError, KeyError)
LARGEST_EXACT = 2.0**53  # beyond it, neighbouring integers share a float


class FrameSource(Source):
    """A narwhals data frame, or an open Parquet file; rows count from 0."""

    def __init__(
        self, name: str, missing: frozenset[str], frame: nw.DataFrame[Any] | pq.ParquetFile, columns: Sequence[str]
    ) -> None:
        super().__init__(name, missing, columns)
        self._frame = frame

    def _load(self, numbers: Sequence[str], labels: Sequence[str], times: Sequence[str]) -> None:
        """Take the columns out one by one, so that only one is in memory twice."""
        for column in times:
            self._times(column, self._take(column))
        for column in numbers:
            self.numbers[column] = self._numbers(column, self._take(column))
        for column in labels:
            self.cells[column] = self._cells(column, self._take(column))

    def _take(self, column: str) -> pa.ChunkedArray:
        try:
            if isinstance(self._frame, pq.ParquetFile):
                data = self._frame.read(columns=[column]).column(column)
            else:
                at = self._frame.columns[self.columns.index(column)]
                data = self._frame.get_column(at).to_arrow()  # 'select' would expand names such as '*'
        except BaseException as problem:
            if not isinstance(problem, UNREADABLE) and type(problem).__name__ != "PanicException":  # polars' own
                raise
            raise DataError(
                f"{self.name}, column {column!r}: cannot be read ({first_line(problem)}); give it one "
                "type, all text or all numbers"
            ) from None
        self.n_rows = len(data)
        return data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])

    def _is_enum(self, column: str) -> bool:
        """Whether a column has categories in an order fixed by its type, as in polars."""
        if isinstance(self._frame, pq.ParquetFile):
            return False
        kind = self._frame.schema[self._frame.columns[self.columns.index(column)]]
        return bool(kind == nw.Enum)

    def _numbers(self, column: str, data: pa.ChunkedArray) -> FloatArray:
        kind = data.type
        if pa.types.is_dictionary(kind) or _is_text(kind):
            return self.cell_numbers(column, self._cells(column, data))
        if pa.types.is_temporal(kind):
            no_date(f"{self.name}, column {column!r}", str(kind))
        if not (_is_number(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            raise DataError(f"{self.name}, column {column!r} holds {kind}, not numbers; convert it to numbers")
        out = data.cast(pa.float64(), safe=False).to_numpy()
        if pa.types.is_integer(kind) and np.nanmax(np.abs(out), initial=0) > LARGEST_EXACT:
            row = int(np.nanargmax(np.abs(out)))
            raise DataError(
                f"{self.place(row, column)}: {out[row]:.0f} is too large to be exact; subtract a common start"
            )
        return out

    def _times(self, column: str, data: pa.ChunkedArray) -> None:
        kind = data.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            plain = data.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
            blank = data.is_null().to_numpy()
            whole = plain.fill_null(0).to_numpy().astype("datetime64[us]")
            self.dates[column] = np.where(blank, np.datetime64("NaT", "us"), whole)
        elif pa.types.is_dictionary(kind) or _is_text(kind):
            self.put_times(column, self._cells(column, data))
        else:
            self.numbers[column] = self._numbers(column, data)

    def _cells(self, column: str, data: pa.ChunkedArray) -> Cells:
        ordered = pa.types.is_dictionary(data.type)
        ranked = ordered and (bool(data.type.ordered) or self._is_enum(column))
        if pa.types.is_decimal(data.type):
            data = data.cast(pa.float64())
        kind = data.type.value_type if ordered else data.type
        if pa.types.is_null(kind):
            return Cells(np.zeros(len(data), np.uint8), [], False)
        if pa.types.is_temporal(kind):
            no_date(f"{self.name}, column {column!r}", str(kind))
        if not (_is_number(kind) or _is_text(kind) or pa.types.is_boolean(kind)):
            raise DataError(
                f"{self.name}, column {column!r} holds {kind}, not text, numbers or truth values; convert "
                "it, or leave the column out"
            )
        if not ordered:
            data = (data.cast(pa.large_string()) if _is_text(kind) else data).dictionary_encode()
        known: dict[Any, int] = {}
        tables = []
        for chunk in data.chunks:  # each has a dictionary of its own
            labels = [v + 0.0 if isinstance(v, float) else v for v in chunk.dictionary.to_pylist()]  # -0.0 is 0.0
            tables.append([-1 if v is None or v != v else known.setdefault(v, len(known)) for v in labels] + [-1])
        codes = [np.empty(0, np.uint8)]
        for chunk, table in zip(data.chunks, tables):
            index = chunk.indices
            if index.null_count:
                index = index.cast(pa.int64()).fill_null(len(table) - 1)
            local = np.array([len(known) if k < 0 else k for k in table], np.min_scalar_type(len(known)))
            codes.append(local[index.to_numpy(zero_copy_only=False)])
        return Cells(np.concatenate(codes), list(known), False, ordered, ranked)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", None)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view is not None and view(kind)))
