"""Measured data of the experiments: read from where the user keeps them, never part of the package."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from ctbnlearn.data.files import read_bytes
from ctbnlearn.data.messages import first_line, named
from ctbnlearn.errors import DataError


def fingerprint(*files: Path) -> str:
    """Digest of the files' contents: cells are computed again when the data have changed."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(read_bytes(file, "data"))
    return digest.hexdigest()[:16]


def read_columns(file: Path, needed: tuple[str, ...]) -> pa.Table:
    """A CSV file as a table, or an error that names the columns it lacks."""
    try:
        table = csv.read_csv(pa.BufferReader(read_bytes(file, "CSV")))
    except pa.ArrowInvalid as problem:
        raise DataError(f"{file}: cannot be read as CSV ({first_line(problem)})") from None
    missing = [name for name in needed if name not in table.column_names]
    if missing:
        raise DataError(f"{file}: there is no column {named(missing)}; it has {named(table.column_names)}")
    return table
