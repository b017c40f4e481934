"""Rows of results: grouping, means and quartiles, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Cell = dict[str, Any]  # settings of one piece of work
Row = dict[str, Any]
Tables = dict[str, list[Row]]


def plain(value: Any) -> Any:
    """A value as JSON keeps it: no arrays, no numpy numbers, None for what is not finite."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV; the columns are all keys in the order in which they appear, None is left blank."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return out.getvalue()


def to_markdown(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers are shown with three decimals, None as a blank."""
    text = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for line in lines:
        text.append("| " + " | ".join(_shown(value) for value in line) + " |")
    return "\n".join(text)


def _shown(value: object) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def group(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Rows by the value of a key, or by tuples of several, in order of appearance."""
    out: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(row.get(key) for key in keys)
        out.setdefault(values if len(keys) > 1 else values[0], []).append(row)
    return out


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]


def column(rows: Iterable[Row], key: str) -> np.ndarray:
    """Numbers of a column; NaN where there is none."""
    return np.array([np.nan if row.get(key) is None else float(row[key]) for row in rows])


def mean(rows: Iterable[Row], key: str) -> float:
    """Mean of a column, holes left out; NaN where there is nothing."""
    values = column(rows, key)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")


def quartiles(rows: Iterable[Row], key: str) -> tuple[float, float, float]:
    """First quartile, median and third quartile of a column, holes left out."""
    values = column(rows, key)
    values = values[np.isfinite(values)]
    if not len(values):
        return (float("nan"),) * 3
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def standard_error(differences: np.ndarray) -> float:
    """Standard error of a mean; zero for a single value."""
    values = differences[np.isfinite(differences)]
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def difference(one: Sequence[Row], other: Sequence[Row], key: str) -> tuple[float, float]:
    """Difference of the means of a column between independent rows, and its standard error."""
    first, second = (standard_error(column(rows, key)) for rows in (one, other))
    return mean(one, key) - mean(other, key), float(np.hypot(first, second))


def paired(rows: Sequence[Row], key: str, one: Row, other: Row, by: str = "graph") -> tuple[float, float]:
    """Mean and standard error of the difference of a column between two selections, paired by `by`."""
    first = {row[by]: row[key] for row in select(rows, **one)}
    second = {row[by]: row[key] for row in select(rows, **other)}
    both = [first[k] - second[k] for k in first if k in second and first[k] is not None and second[k] is not None]
    values = np.array(both, float)
    return (float(values.mean()) if len(values) else float("nan")), standard_error(values)
