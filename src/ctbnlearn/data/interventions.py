"""Interventions: when a variable of a trajectory was set from outside, and to what.

While it is set, its moves say nothing about what drives it, but it goes on driving others. At the start of such a
stretch it takes a value whatever it was before; at the end it is let go in the state it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.clock import Clock
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.ragged import owner, take_blocks
from ctbnlearn.data.source import Source
from ctbnlearn.data.variables import Ids, Variable
from ctbnlearn.errors import DataError
from ctbnlearn.interface import spoken

if TYPE_CHECKING:
    from ctbnlearn.data.opening import Table

COLUMNS = ("start", "end", "variable")
UNKNOWN = -1  # in place of a value


@dataclass(frozen=True, eq=False)
class Interventions:
    """Stretches during which variables were set from outside, in order of trajectory, variable and time.

    Attributes
    ----------
    trajectory, node : (n,)
        Number of the trajectory and of the variable.
    start, end : (n,)
        First and last time; stretches of one variable do not overlap.
    value : (n,)
        Code of the state it was set to, -1 where that is not said: then what was seen says it.
    """

    trajectory: IntArray
    node: IntArray
    start: FloatArray
    end: FloatArray
    value: IntArray

    def __len__(self) -> int:
        return len(self.start)

    def select(self, chosen: IntArray) -> Interventions:
        """Those of some trajectories, which are renumbered."""
        blocks = np.searchsorted(self.trajectory, np.arange(max(int(np.max(chosen, initial=0)) + 2, 1)))
        rows, offsets = take_blocks(blocks, np.asarray(chosen))
        return Interventions(owner(offsets), self.node[rows], self.start[rows], self.end[rows], self.value[rows])

    def of(self, node: int, n_trajectories: int) -> tuple[IntArray, IntArray]:
        """Rows of a variable in order of trajectory and time, and where those of each trajectory begin."""
        rows = np.flatnonzero(self.node == node)
        rows = rows[np.lexsort((self.start[rows], self.trajectory[rows]))]
        return rows, np.searchsorted(self.trajectory[rows], np.arange(n_trajectories + 1))


def read_interventions(
    source: Table,
    ids: Ids,
    variables: Sequence[Variable],
    window: tuple[FloatArray, FloatArray],
    clock: Clock,
    trajectory: str | None = None,
) -> Interventions:
    """Read a table with the columns trajectory, start, end, variable and, if wanted, value.

    Parameters
    ----------
    source
        As in `read_table`. A blank start or end is that of the trajectory, a blank value is not known.
    ids, variables, window, clock
        Those of the data; dates are read by the clock.
    trajectory
        Column of the trajectories' names; default: the one that is left beside the others.
    """
    from ctbnlearn.data.opening import open_source  # readers load pyarrow, which learning does without

    table = open_source(source)
    who_column, valued = _columns(table, trajectory)
    table.load([], [who_column, "variable", *(["value"] if valued else [])], ["start", "end"])
    n = table.n_rows
    known = {str(name): k for k, name in enumerate(ids)}
    index = {v.name: i for i, v in enumerate(variables)}
    who, node, value = np.empty(n, np.int64), np.empty(n, np.int64), np.full(n, UNKNOWN)
    for row in range(n):
        who[row] = _find(table, row, who_column, known, "trajectory")
        node[row] = _find(table, row, "variable", index, "variable")
        label = table.value(row, "value") if valued else None
        if label is not None:
            value[row] = _state(table, row, label, variables[node[row]])
    first, last = window
    start, end = (_times(table, column, who, clock) for column in ("start", "end"))
    start = np.maximum(np.where(np.isnan(start), first[who], start), first[who])
    end = np.minimum(np.where(np.isnan(end), last[who], end), last[who])
    given = end > start  # what lies outside the window, or has no length, changes nothing
    order = np.lexsort((start, node, who))
    order = order[given[order]]
    found = Interventions(who[order], node[order], start[order], end[order], value[order])
    _check_overlap(table, found, order, variables)
    return found


def _columns(table: Source, trajectory: str | None) -> tuple[str, bool]:
    """The column of names, and whether there is one of values."""
    missing = [column for column in COLUMNS if column not in table.columns]
    rest = [column for column in table.columns if column not in (*COLUMNS, "value")]
    if trajectory in rest:
        rest = [str(trajectory)]
    if missing or len(rest) != 1:
        option = spoken("interventions", "--interventions")
        raise DataError(
            f"{table.name}: {option} needs the columns trajectory (named as in the data), start, end and variable, and "
            f"may have value; the columns are {named(table.columns)}"
        )
    return rest[0], "value" in table.columns


def _find(table: Source, row: int, column: str, known: dict[str, int], what: str) -> int:
    label = table.value(row, column)
    if label is None:
        raise DataError(f"{table.place(row, column)}: the {what} is blank; fill it in, or delete the row")
    text = str(label).strip()
    if text not in known:
        raise DataError(
            f"{table.place(row, column)}: the data have no {what} {shown(text)}; the first ones are "
            f"{named(list(known)[:5])}"
        )
    return known[text]


def _state(table: Source, row: int, label: object, variable: Variable) -> int:
    texts = [str(s) for s in variable.states]
    text = str(label).strip()
    try:
        numbers = [float(t) for t in texts]
        same = [k for k, number in enumerate(numbers) if number == float(text)]
    except ValueError:
        same = [k for k, t in enumerate(texts) if t == text]
    if not same:
        raise DataError(
            f"{table.place(row, 'value')}: {variable.name!r} has no state {shown(label)}; its states are "
            f"{named(variable.states)}"
        )
    return same[0]


def _times(table: Source, column: str, who: IntArray, clock: Clock) -> FloatArray:
    if column not in table.dates:
        return table.take(column)
    if clock.zero is None:
        raise DataError(f"{table.name}, column {column!r} holds dates, but the times of the data are numbers")
    return clock.numbers(table.take(column), who)


def _check_overlap(table: Source, found: Interventions, rows: IntArray, variables: Sequence[Variable]) -> None:
    same = (np.diff(found.trajectory) == 0) & (np.diff(found.node) == 0)
    bad = np.flatnonzero(same & (found.start[1:] < found.end[:-1]))
    if bad.size:
        name = variables[found.node[bad[0]]].name
        raise DataError(
            f"{table.place(int(rows[bad[0] + 1]))}: this stretch of {name!r} overlaps another of the same trajectory; "
            "join them, or correct their times"
        )
