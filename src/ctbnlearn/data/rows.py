"""The rows of a table: to which trajectory and variable each belongs, its time, and the order they stand in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.clock import MICROSECONDS, Clock, Dates, choose_unit
from ctbnlearn.data.labels import is_int
from ctbnlearn.data.messages import shown
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.data.roles import Roles
from ctbnlearn.data.source import ALL, Order, Source, is_blank
from ctbnlearn.data.variables import Ids
from ctbnlearn.errors import DataError
from ctbnlearn.interface import spoken


@dataclass(frozen=True, eq=False)
class Rows:
    """Trajectory number and time of every row of the table, names of the trajectories, and what times mean."""

    who: IntArray
    times: FloatArray
    ids: Ids
    clock: Clock | None = None

    def when(self, row: int) -> str:
        """The time of a row in words: a number, or the date it stands for."""
        if self.clock is None or self.clock.zero is None:
            return f"{self.times[row]:g}"
        gap = np.timedelta64(round(self.times[row] * MICROSECONDS[self.clock.unit or "days"]), "us")
        return str((self.clock.zero[self.who[row]] + gap).astype("datetime64[s]"))


@dataclass(frozen=True, eq=False)
class Block:
    """The rows that belong to a variable, by trajectory and time.

    Attributes
    ----------
    rows : (n,)
        Their numbers in the table.
    offsets : (n_trajectories + 1,)
        Trajectory k owns rows offsets[k]:offsets[k+1].
    times : (n,)
        Strictly increasing within a trajectory.
    """

    rows: Order
    offsets: IntArray
    times: FloatArray


def read_rows(table: Source, roles: Roles, unit: str | None = None) -> Rows:
    """Read the trajectory and time columns; trajectories count in order of first appearance.

    Dates become numbers of some `unit`, by default one that suits the longest trajectory, from time 0 at the start of a
    trajectory or else its first row.
    """
    dates = table.take(roles.time) if roles.time in table.dates else None
    times = _read_times(table, roles.time) if dates is None else np.zeros(table.n_rows)
    blank = np.isnan(times) if dates is None else np.isnat(dates)
    _check_at(table, roles.time, blank, "the time is blank; fill it in, or delete the row")
    who, ids = _read_who(table, roles)
    if dates is None:
        return Rows(who, times, ids, None if unit is None else Clock(unit))
    clock = _read_clock(table, roles, dates, who, len(ids), unit)
    return Rows(who, clock.numbers(dates, who), ids, clock)


def _read_clock(table: Source, roles: Roles, dates: Dates, who: IntArray, n: int, unit: str | None) -> Clock:
    """Time 0 of every trajectory, and the unit."""
    zero = np.full(n, np.datetime64(2**62, "us"))
    last = np.full(n, np.datetime64(-(2**62), "us"))
    np.minimum.at(zero, who, dates)
    np.maximum.at(last, who, dates)
    unit = unit or choose_unit((last - zero).max())
    if isinstance(roles.start, str) and roles.start in table.dates:
        given = table.dates[roles.start]
        known = ~np.isnat(given)
        zero[who[known]] = np.minimum(given[known], zero[who[known]])
    return Clock(unit, zero)


def _read_who(table: Source, roles: Roles) -> tuple[IntArray, list[Any]]:
    """The trajectory of every row, and their names."""
    if roles.trajectory is None:
        return np.zeros(table.n_rows, np.int64), [0]
    names, who = _read_names(table, roles.trajectory, "trajectory")
    first = np.full(len(names), table.n_rows)  # where each name appears; categories need not appear at all
    first[who[::-1]] = np.arange(table.n_rows)[::-1]  # of several rows the one written last, the first, stays
    order = np.argsort(first)[: np.count_nonzero(first < table.n_rows)]
    rank = np.zeros(len(names), np.int64)
    rank[order] = np.arange(len(order))
    ids = [names[k] for k in order]
    if table.take(roles.trajectory).text and all(map(is_int, ids)):
        ids = [int(name) for name in ids]
    return rank[who], ids


def read_nodes(table: Source, roles: Roles) -> tuple[tuple[str, ...], IntArray]:
    """Names of the variables of events, and the number of each row's; rows of others get the next number."""
    labels, code = _read_names(table, roles.variable, "variable")
    occurring = [label for label, count in zip(labels, np.bincount(code, minlength=len(labels))) if count]
    names = roles.variables or tuple(occurring)
    index = {name: k for k, name in enumerate(names)}
    values = table.cells[roles.value]  # one column serves all variables: they have no common order or type
    text = all(isinstance(label, str) for label in values.labels)
    table.cells[roles.value] = replace(values, text=text, ordered=False)
    return names, np.array([index.get(label, len(names)) for label in labels])[code]


def _read_names(table: Source, column: str, what: str) -> tuple[list[Any], IntArray]:
    """The distinct names in a column and the number of each row's name."""
    cells = table.cells[column]
    strip = cells.text or what == "variable"
    labels = [str(label).strip() if strip else label for label in cells.labels]
    blank = np.array([is_blank(label, table.missing) for label in labels] + [True])
    _check_at(table, column, blank[cells.codes], f"the {what}'s name is blank; fill it in, or delete the row")
    index = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    return list(index), np.array([index[label] for label in labels], np.int64)[cells.codes]


def _check_at(table: Source, column: str, bad: BoolArray, problem: str) -> None:
    if bad.any():
        raise DataError(f"{table.place(int(np.argmax(bad)), column)}: {problem}")


def _read_times(table: Source, column: str) -> FloatArray:
    """A column of times, every one checked; NaN where it is blank."""
    times = table.take(column)
    bad = np.isinf(times) | (times < 0)
    if bad.any():
        number = times[np.argmax(bad)]
        problem = f"the time {number:g} must be finite and not negative; shift the clock so that it begins at 0"
        _check_at(table, column, bad, problem)
    return times


def arrange(
    table: Source, roles: Roles, rows: Rows, sort: bool, node: IntArray | None = None, n: int = 1
) -> list[Block]:
    """Put rows in order: a block for each of the `n` variables of events, or one for all variables of wide rows."""
    key = rows.who if node is None else node * len(rows.ids) + rows.who
    order: Order = ALL
    if sort:
        order = np.lexsort((rows.times, key))
    elif (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
    times, keys = rows.times[order], key[order]
    same = (keys[1:] == keys[:-1]) & (keys[1:] < n * len(rows.ids))
    for bad in (same & (times[1:] < times[:-1]), same & (times[1:] == times[:-1])):
        if bad.any():
            pair = int(np.argmax(bad)) + np.arange(2)
            a, b = np.arange(table.n_rows)[order][pair].tolist()
            _complain_order(table, roles, rows, a, b)
    offsets = offsets_from_counts(np.bincount(key, minlength=n * len(rows.ids)))
    blocks = []
    for k in range(n):
        mine = offsets[k * len(rows.ids) : (k + 1) * len(rows.ids) + 1]
        part = slice(mine[0], mine[-1])
        blocks.append(Block(part if isinstance(order, slice) else order[part], mine - mine[0], times[part]))
    return blocks


def _complain_order(table: Source, roles: Roles, rows: Rows, a: int, b: int) -> None:
    """Row b should come after row a of its trajectory; where both have one time, say if they contradict each other."""
    who, early, late = shown(rows.ids[rows.who[b]]), rows.when(a), rows.when(b)
    if rows.times[b] < rows.times[a]:
        of = " for one variable" if roles.events else ""
        raise DataError(
            f"{table.place(b, roles.time)}: time {late} comes after time {early} in trajectory {who}{of}; sort "
            f"the rows by time, or {spoken('pass sort=True', 'add --sort')}"
        )
    a, b = min(a, b), max(a, b)
    what, columns = "keep one row per time", roles.variables or ()
    of = ""
    if roles.events:
        columns, of = (roles.value,), f" for variable {shown(table.value(b, roles.variable))}"
    for name in columns:
        left, right = table.value(a, name), table.value(b, name)
        if left is not None and right is not None and left != right:
            pair = f"({shown(left)} against {shown(right)})"
            what = f"they contradict each other in column {name!r} {pair}: keep one"
            break
    raise DataError(
        f"{table.place(b)}: trajectory {who} has time {late} twice{of}, "
        f"first in {table.place(a).removeprefix(table.name + ', ')}; {what}"
    )


def read_window(table: Source, roles: Roles, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Start and end of every trajectory: given, or its first and last row."""
    first, last = np.full(len(rows.ids), np.inf), np.full(len(rows.ids), -np.inf)
    np.minimum.at(first, rows.who, rows.times)
    np.maximum.at(last, rows.who, rows.times)
    start = _read_bound(table, roles, rows, "start", roles.start, first)
    return start, _read_bound(table, roles, rows, "end", roles.end, last)


def _read_bound(table: Source, roles: Roles, rows: Rows, option: str, given: Any, default: FloatArray) -> FloatArray:
    """One end of the windows, from a column, a number or a date; the default holds where that column is blank."""
    if given is None:
        return default
    dated = rows.clock is not None and rows.clock.zero is not None
    if isinstance(given, np.datetime64) or (isinstance(given, str) and (given in table.dates) != dated):
        if not dated or isinstance(given, str):
            raise DataError(
                f"{table.name}: {option} and the time column {roles.time!r} must both be dates, or both be numbers; "
                "write them alike"
            )
        assert rows.clock is not None
        bound = rows.clock.numbers(np.full(len(rows.ids), given), np.arange(len(rows.ids)))
    else:
        bound = np.full(len(rows.ids), np.nan if isinstance(given, str) else given)
    if isinstance(given, str):
        column = rows.clock.numbers(table.take(given), rows.who) if dated and rows.clock else _read_times(table, given)
        known = ~np.isnan(column)
        bound[rows.who[known]] = column[known]
        differs = known & (column != bound[rows.who])
        if differs.any():
            row = int(np.argmax(differs))
            raise DataError(
                f"{table.place(row, given)}: the {option} of trajectory {shown(rows.ids[rows.who[row]])} is "
                f"{column[row]:g} here and {bound[rows.who[row]]:g} in another row; give one {option} per trajectory"
            )
        bound = np.where(np.isnan(bound), default, bound)
    limit = bound[rows.who]
    outside = rows.times < limit if option == "start" else rows.times > limit
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(
            f"{table.place(row, roles.time)}: time {rows.when(row)} lies outside the window of trajectory "
            f"{shown(rows.ids[rows.who[row]])}, whose {option} is {limit[row]:g}; widen it with {option}="
        )
    return bound
