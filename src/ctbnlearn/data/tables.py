"""Reading incomplete data: a table with holes becomes `Observations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ctbnlearn.data.columns import Column, decode, read_specs
from ctbnlearn.data.messages import shown
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.ragged import keep
from ctbnlearn.data.roles import Roles, check_flag, read_roles
from ctbnlearn.data.rows import Block, Rows, arrange, read_nodes, read_rows, read_window
from ctbnlearn.data.series import HoledSeries, Series
from ctbnlearn.data.source import MISSING, Source
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import DataError


def read_table(
    source: Any,
    *,
    trajectory: str | None = None,
    time: str = "time",
    variables: Sequence[str] | None = None,
    noise: Any = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    format: str = "auto",
    variable: str = "variable",
    value: str = "value",
    start: str | float | None = None,
    end: str | float | None = None,
    sort: bool = False,
    allow_unseen: bool = False,
    missing: Sequence[str] = MISSING,
) -> Observations:
    """Read point observations with holes from a table.

    Parameters
    ----------
    source
        Path to a CSV (also .csv.gz, .tsv) or Parquet file, or a pandas, polars, pyarrow or other data frame.
    trajectory
        Column that names the trajectory of a row (person, machine, replicate). None: all rows are one.
    time
        Column of times: numbers, not negative.
    variables
        The variables to read. Default: every column without another role, or every variable named.
    noise
        Observation model: one for all variables, a mapping from name to model, or None (seen exactly).
    states
        The states of a variable in order, {name: [labels]}. Default: the labels found, sorted.
    format
        "wide" (one column per variable, blank = not seen), "events" (columns trajectory, time, variable,
        value) or "auto": events where columns `variable` and `value` exist, else wide.
    variable, value
        Names of these two columns in event rows.
    start, end
        Window of the trajectories: a column that is constant within each, or one number for all. Default,
        also where that column is blank: first and last row.
    sort
        Sort the rows of a trajectory by time instead of complaining that they are not in order.
    allow_unseen
        Accept declared states that never occur, and variables that were never seen.
    missing
        Words that stand for 'not seen', besides the blank cell; a declared state of that name goes first.

    Returns
    -------
    Observations

    Examples
    --------
    >>> import pyarrow as pa
    >>> pain, job = ["mild", "none", None], [1, None, 0]
    >>> rows = pa.table({"id": [7, 7, 8], "time": [0.0, 1.5, 0.0], "pain": pain, "job": job})
    >>> obs = read_table(rows, trajectory="id")
    >>> obs, obs.variables[0].states, list(obs.ids)
    (Observations(2 trajectories, 2 variables, 4 values seen), ('mild', 'none'), [7, 8])
    """
    table = open_source(source, missing)
    roles = read_roles(table, trajectory, time, variables, format, variable, value, start, end)
    check_flag("sort", sort)
    check_flag("allow_unseen", allow_unseen)
    rows, columns = read_columns(table, roles, noise, states, sort, allow_unseen)
    first, last = read_window(table, roles, rows)
    found, series = [], []
    for column, block in columns:
        found.append(column.variable)
        if column.seen.all():  # no hole: wide columns share the times
            series.append(Series(block.offsets, block.times, column.values, column.noise))
        elif column.seen.mean() > 1 / 8:
            values = column.values[column.seen]
            series.append(HoledSeries(block.offsets, block.times, column.seen, values, column.noise))
        else:
            offsets, times = keep(block.offsets, column.seen), block.times[column.seen]
            series.append(Series(offsets, times, column.values[column.seen], column.noise))
    empty = np.flatnonzero(sum(np.diff(s.offsets) for s in series) == 0)
    if empty.size:
        where, who = table.place(int(np.argmax(rows.who == empty[0]))), shown(rows.ids[empty[0]])
        raise DataError(f"{where}: empty trajectory {who}: not one value was seen in it; leave it out")
    return Observations(tuple(found), tuple(series), first, last, rows.ids)


def read_columns(
    table: Source, roles: Roles, noise: Any, states: Any, sort: bool, allow_unseen: bool
) -> tuple[Rows, Iterator[tuple[Column, Block]]]:
    """The rows of a table, and its variables one after the other, each with the rows that belong to it."""
    if roles.events:
        table.load(roles.number_columns, roles.label_columns)
        rows = read_rows(table, roles)
        names, node = read_nodes(table, roles)
        blocks = arrange(table, roles, rows, sort, node, len(names))
        specs = read_specs(names, noise, states, allow_unseen)
        cells = table.take(roles.value)
        return rows, ((decode(table, s, roles.value, cells, b.rows), b) for s, b in zip(specs, blocks))
    specs = read_specs(roles.variables or (), noise, states, allow_unseen)
    numbers, labels = [s.name for s in specs if s.numeric], [s.name for s in specs if not s.numeric]
    table.load([*roles.number_columns, *numbers], [*roles.label_columns, *labels])
    rows = read_rows(table, roles)
    (block,) = arrange(table, roles, rows, sort)
    return rows, ((decode(table, s, s.name, table.take(s.name), block.rows), block) for s in specs)
