"""Reading complete data: every transition is in the table, so it becomes `Paths`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.foreign import PYAGRUM_COLUMNS, read_pyagrum, read_pyctbn
from ctbnlearn.data.frames import MISSING, Source, open_source, shown
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.data.tables import (
    Roles,
    Rows,
    arrange,
    check_flag,
    decode,
    read_events,
    read_roles,
    read_rows,
    read_specs,
    read_window,
)
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError


def read_paths(
    source: Any,
    *,
    trajectory: str | None = None,
    time: str = "time",
    variables: Sequence[str] | None = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    format: str = "auto",
    variable: str = "variable",
    value: str = "value",
    end: str | float | None = None,
    sort: bool = False,
    missing: Sequence[str] = MISSING,
) -> Paths:
    """Read complete trajectories, in which no transition went unseen.

    Parameters
    ----------
    source
        Path to a CSV (also .csv.gz, .tsv) or Parquet file, a data frame, or a file of another program.
    trajectory, time, variables, variable, value, sort, missing
        As in `read_table`.
    states
        The states of a variable in order, {name: [labels]}; they need not all occur. Default: those found.
    format
        "wide": a row holds from its time until the next; the first row of a trajectory is complete, later a
        blank means 'as before'. "events": a variable takes a value at a time; the events at the first time
        of a trajectory give the initial state of every variable. "pyctbn" and "pyagrum": files of these
        programs. "auto": pyctbn for .json, pyagrum where the columns are its own, else as in `read_table`.
    end
        End of the trajectories: a column, or a number for all. Default: the last row, changed or not.

    Returns
    -------
    Paths

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"time": [0.0, 1.5, 4.0], "a": ["off", "on", None], "b": [0, None, 1]})
    >>> paths = read_paths(rows)
    >>> paths, paths.times.tolist(), paths.end.tolist()
    (Paths(1 trajectories, 2 variables, 2 transitions), [1.5, 4.0], [4.0])
    """
    check_flag("sort", sort)
    if not isinstance(format, str) or format not in ("auto", "wide", "events", "pyctbn", "pyagrum"):
        raise ParameterError(f"format must be 'auto', 'wide', 'events', 'pyctbn' or 'pyagrum', not {shown(format)}")
    is_path = isinstance(source, (str, os.PathLike))
    plain = trajectory is None and variables is None and end is None
    if format == "auto" and plain and is_path and str(source).lower().endswith(".json"):
        format = "pyctbn"
    if format in ("pyctbn", "pyagrum"):
        if not is_path or not plain:
            raise ParameterError(
                f"format {format!r} needs a path, and its file says itself which columns it has: leave out "
                "trajectory, variables and end"
            )
        return read_pyctbn(source, states=states) if format == "pyctbn" else read_pyagrum(source, states=states)
    table = open_source(source, missing)
    if format == "auto" and plain and is_path and table.columns == PYAGRUM_COLUMNS:
        return read_pyagrum(source, states=states)
    roles = read_roles(table, trajectory, time, variables, format, variable, value, None, end)
    if roles.layout == "events":
        return _from_events(table, roles, states, sort)
    return _from_wide(table, roles, states, sort)


def _from_wide(table: Source, roles: Roles, states: Any, sort: bool) -> Paths:
    specs = read_specs(roles.variables or (), None, states, True)
    table.load(roles.number_columns, [*roles.label_columns, *(s.name for s in specs)])
    rows = read_rows(table, roles)
    order, offsets, times = arrange(table, roles, rows, sort)
    start, end = read_window(table, roles, rows)
    opening = offsets[:-1]
    later = np.ones(len(times), bool)
    later[opening] = False
    initial = np.empty((len(opening), len(specs)), np.int32)
    found, jumps, nodes, targets = [], [], [], []
    for i, spec in enumerate(specs):
        column = decode(table, spec, spec.name)
        table.forget(spec.name)
        codes, seen = (column.values, column.seen) if order is None else (column.values[order], column.seen[order])
        if not seen[opening].all():
            k = int(np.argmin(seen[opening]))
            row = int(opening[k]) if order is None else int(order[opening[k]])
            raise DataError(
                f"{table.place(row, spec.name)}: the first row of trajectory {shown(rows.ids[k])} must give "
                "the state of every variable; fill it in, or use read_table for data with holes"
            )
        if not seen.all():  # a blank means 'as before', and the first row of a trajectory has none
            codes = codes[np.maximum.accumulate(np.where(seen, np.arange(len(seen)), 0))]
        changed = np.flatnonzero((codes[1:] != codes[:-1]) & later[1:]) + 1
        found.append(column.variable)
        initial[:, i] = codes[opening]
        jumps.append(changed)
        nodes.append(np.full(len(changed), i, np.int32))
        targets.append(codes[changed].astype(np.int32))
    at, node, target = np.concatenate(jumps), np.concatenate(nodes), np.concatenate(targets)
    by_row = np.argsort(at, kind="stable")
    at = at[by_row]
    return Paths(
        tuple(found),
        initial,
        np.searchsorted(at, offsets),
        times[at],
        node[by_row],
        target[by_row],
        start,
        end,
        rows.ids,
    )


def _from_events(table: Source, roles: Roles, states: Any, sort: bool) -> Paths:
    table.load(roles.number_columns, roles.label_columns)
    rows = read_rows(table, roles)
    events = read_events(table, roles, rows, sort)
    specs = read_specs(events.names, None, states, True)
    start, end = read_window(table, roles, rows)
    initial = np.empty((len(rows.ids), len(specs)), np.int32)
    found: list[Variable] = []
    who, times, nodes, targets = [], [], [], []
    for i, (spec, mine) in enumerate(zip(specs, events.rows)):
        column = decode(table, spec, roles.value, events.cells, mine)
        mine, codes = mine[column.seen], column.values[column.seen].astype(np.int32)
        opening = rows.times[mine] == start[rows.who[mine]]
        known = np.zeros(len(rows.ids), bool)
        known[rows.who[mine[opening]]] = True
        if not known.all():
            k = int(np.argmin(known))
            raise DataError(
                f"{table.place(int(np.argmax(rows.who == k)))}: variable {spec.name!r} has no event at the "
                f"first time {start[k]:g} of trajectory {shown(rows.ids[k])}; give its initial state there"
            )
        initial[rows.who[mine[opening]], i] = codes[opening]
        changed = np.flatnonzero((codes[1:] != codes[:-1]) & ~opening[1:]) + 1
        found.append(column.variable)
        who.append(rows.who[mine[changed]])
        times.append(rows.times[mine[changed]])
        nodes.append(np.full(len(changed), i, np.int32))
        targets.append(codes[changed])
    return _from_columns(tuple(found), initial, who, times, nodes, targets, start, end, rows)


def _from_columns(
    variables: tuple[Variable, ...],
    initial: IntArray,
    who: list[IntArray],
    times: list[FloatArray],
    nodes: list[NDArray[np.int32]],
    targets: list[NDArray[np.int32]],
    start: FloatArray,
    end: FloatArray,
    rows: Rows,
) -> Paths:
    owner, when = np.concatenate(who), np.concatenate(times)
    order = np.lexsort((when, owner))
    return Paths(
        variables,
        initial,
        offsets_from_counts(np.bincount(owner, minlength=len(rows.ids))),
        when[order],
        np.concatenate(nodes)[order],
        np.concatenate(targets)[order],
        start,
        end,
        rows.ids,
    )
