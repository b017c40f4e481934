"""Opening tables: a CSV or Parquet file, or any data frame, becomes a `Source`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
from narwhals.typing import IntoFrame

from ctbnlearn.data.csvfile import CsvSource
from ctbnlearn.data.files import FilePath, as_path, read_bytes
from ctbnlearn.data.frames import FrameSource
from ctbnlearn.data.messages import first_line
from ctbnlearn.data.source import MISSING, Source, Words, as_words
from ctbnlearn.errors import DataError, ParameterError

_INDEX = re.compile(r"__index_level_\d+__")  # how pandas stores its row labels in Parquet


Table: TypeAlias = FilePath | IntoFrame  # a path, or a data frame of any kind narwhals knows


def open_source(source: Table | Source, missing: Words = MISSING) -> Source:
    """Open a path to CSV or Parquet, or a data frame of any kind narwhals knows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = open_source(pa.table({"time": [0, 1], "pain": ["mild", None]}))
    >>> table.load(["time"], ["pain"])
    >>> table.numbers["time"].tolist(), table.cells["pain"].labels, table.place(1, "pain")
    ([0.0, 1.0], ['mild'], "table, row 1, column 'pain'")
    """
    words = as_words(missing)
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _open_path(as_path(source, "a CSV or Parquet file"), words)
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


def _open_path(path: Path, missing: frozenset[str]) -> Source:
    """What a file is, its first bytes say; the suffix may be wrong."""
    head = read_bytes(path, "CSV or Parquet", 4096)
    if head[:4] == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        try:
            file = pq.ParquetFile(path)
            columns = [column for column in file.schema_arrow.names if not _INDEX.fullmatch(column)]
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise DataError(f"{path}: not a Parquet file ({first_line(problem)}); write it again") from None
        return FrameSource(str(path), missing, file, columns)
    if head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0":
        raise DataError(f"{path}: this is a spreadsheet or archive, not a CSV file; save the sheet as 'CSV UTF-8'")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path}, line 1: the text is UTF-16, not UTF-8; save the file as 'CSV UTF-8'")
    packed = head[:2] == b"\x1f\x8b"
    if not packed and b"\0" in head:
        raise DataError(f"{path}: this is not a text file; save the table as CSV or Parquet")
    return CsvSource(path, missing, packed)
