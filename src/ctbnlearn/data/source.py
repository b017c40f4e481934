"""A table of which chosen columns are read, as numbers or as codes into labels.

A `Source` knows the names of its columns before it reads them, reads only the ones it is asked for, and can
name the place of a row in the user's words ("panel.csv, line 17").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.clock import Dates, looks_like_date, parse_dates
from ctbnlearn.data.messages import shown
from ctbnlearn.errors import DataError, ParameterError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")

ALL = slice(None)
Words: TypeAlias = str | Iterable[str]
Order = IntArray | slice  # rows of a table, arranged; a slice costs no memory


def as_words(missing: Words) -> frozenset[str]:
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


def is_blank(label: object, missing: frozenset[str]) -> bool:
    """Whether a cell says 'not seen'."""
    return isinstance(label, str) and label.strip() in missing


def no_date(where: str, what: object) -> NoReturn:
    """Raise because a date stands where a number or a label is needed."""
    raise DataError(
        f"{where}: {shown(what)} is a date or a clock time, which can only be a time; convert it to a number such as "
        "days since start, or leave the column out"
    )


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
    ranked
        Whether that order means something (an ordered categorical).
    """

    codes: NDArray[Any]
    labels: list[Any]
    text: bool
    ordered: bool = False
    ranked: bool = False

    def used(self, rows: Order = ALL) -> BoolArray:
        """Which labels occur in some rows."""
        return np.bincount(self.codes[rows], minlength=len(self.labels) + 1)[:-1] > 0


class Source(ABC):
    """A table; `load` fills `numbers` (NaN where a cell is empty), `dates` and `cells`, each by name of column."""

    def __init__(self, name: str, missing: frozenset[str], columns: Sequence[str]) -> None:
        self.name, self.missing, self.columns = name, missing, tuple(columns)
        self.numbers: dict[str, FloatArray] = {}
        self.cells: dict[str, Cells] = {}
        self.dates: dict[str, Dates] = {}
        self.n_rows = 0
        twice = [column for column, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise DataError(f"{name}: the column name {twice[0]!r} stands twice; rename one of them")
        if not columns:
            raise DataError(f"{name}: there are no column names; the first line must name the columns")

    def load(self, numbers: Sequence[str], labels: Sequence[str], times: Sequence[str] = ()) -> None:
        """Read some columns as numbers, some as labels, and some as numbers or dates, whichever they hold."""
        self._load(numbers, labels, times)
        if self.n_rows == 0:
            raise DataError(f"{self.name}: there are no rows below the column names; give at least one row of data")

    @abstractmethod
    def _load(self, numbers: Sequence[str], labels: Sequence[str], times: Sequence[str]) -> None:
        """Fill `numbers`, `cells`, `dates` and `n_rows`."""

    def _row(self, row: int) -> str:
        """The user's word for a row."""
        return f"row {row}"

    def place(self, row: int, column: str | None = None) -> str:
        """Name the place of a row for an error message."""
        return f"{self.name}, {self._row(row)}" + (f", column {column!r}" if column is not None else "")

    def first(self, bad: BoolArray, rows: Order = ALL) -> int:
        """The first row of the table among those marked in `bad`, which follows the order of `rows`."""
        return int(np.arange(self.n_rows)[rows][bad].min())

    def take(self, column: str) -> Any:
        """Hand a column over, numbers or cells; its memory comes back once it is dealt with."""
        home: dict[str, Any] = self.numbers if column in self.numbers else self.cells
        return (self.dates if column in self.dates else home).pop(column)

    def value(self, row: int, column: str) -> Any:
        """A single cell, None where it is empty."""
        if column in self.numbers:
            number = float(self.numbers[column][row])
            return None if number != number else number
        cells = self.cells[column]
        label = [*cells.labels, ""][cells.codes[row]]
        return None if is_blank(label, self.missing) else label

    def cell_numbers(self, column: str, cells: Cells, rows: Order = ALL) -> FloatArray:
        """Cells of labels as floats, NaN where the cell is empty."""
        table = np.full(len(cells.labels) + 1, np.nan)
        bad = np.zeros(len(table), bool)
        for k, label in enumerate(cells.labels):
            if is_blank(label, self.missing):
                continue
            bad[k] = isinstance(label, bool) or (isinstance(label, str) and "_" in label)
            try:
                table[k] = float(label)
            except (TypeError, ValueError, OverflowError):
                bad[k] = True
        codes = cells.codes[rows]
        if bad[codes].any():
            row = self.first(bad[codes], rows)
            label, where = cells.labels[cells.codes[row]], self.place(row, column)
            if looks_like_date(label):
                no_date(where, label)
            raise DataError(
                f"{where}: {shown(label)} is not a number; correct it (decimal point, no units), or leave "
                "the cell blank"
            )
        return table[codes]

    def put_times(self, column: str, cells: Cells) -> None:
        """Cells of labels as dates, where they are written like dates, else as numbers."""
        labels = [None if is_blank(label, self.missing) else label for label in cells.labels]
        used = cells.used()
        if not any(looks_like_date(label) for label, u in zip(labels, used) if u):
            self.numbers[column] = self.cell_numbers(column, cells)
            return
        found, bad = parse_dates([label if u else None for label, u in zip(labels, used)])
        if bad is not None:
            row = int(np.argmax(cells.codes == bad))
            raise DataError(
                f"{self.place(row, column)}: {shown(cells.labels[bad])} cannot be read as a date beside the others; "
                "write all as 2024-03-31 or 2024-03-31T14:30, with an offset such as +02:00 in all or in none"
            )
        self.dates[column] = np.append(found, np.datetime64("NaT", "us"))[cells.codes]
