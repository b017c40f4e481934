"""Reading complete data: every transition is in the table, so it becomes `Paths`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from ctbnlearn.data.clock import Clock, check_unit
from ctbnlearn.data.messages import shown
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.pyagrum import PYAGRUM_COLUMNS, read_pyagrum
from ctbnlearn.data.pyctbn import read_pyctbn
from ctbnlearn.data.ragged import offsets_from_counts, owner
from ctbnlearn.data.roles import Roles, check_flag, read_roles
from ctbnlearn.data.rows import read_window
from ctbnlearn.data.source import MISSING, Source
from ctbnlearn.data.tables import Declared, all_or_none, read_columns
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import DataError, ParameterError


def read_paths(
    source: Any,
    *,
    trajectory: str | None = None,
    time: str = "time",
    variables: Sequence[str] | None = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    ordered: Mapping[str, Sequence[Label]] | None = None,
    cut: Mapping[str, Sequence[float]] | None = None,
    time_unit: str | None = None,
    format: str = "auto",
    variable: str = "variable",
    value: str = "value",
    end: str | float | date | None = None,
    sort: bool = False,
    missing: Sequence[str] = MISSING,
) -> Paths:
    """Read complete trajectories, in which no transition went unseen.

    Parameters
    ----------
    source
        Path to a CSV (also .csv.gz, .tsv) or Parquet file, a data frame, or a file of another program.
    trajectory, time, variables, variable, value, sort, missing, ordered, cut, time_unit
        As in `read_table`.
    states
        The states of a variable in order, {name: [labels]}; they need not all occur. Default: those found.
    format
        "wide": a row holds from its time until the next; the first row of a trajectory is complete, later a
        blank means 'as before'. "events": a variable takes a value at a time; the events at the first time
        of a trajectory give the initial state of every variable. "pyctbn" and "pyagrum": files of these
        programs. "auto": pyctbn for .json, pyagrum where the columns are its own, else as in `read_table`.
    end
        End of the trajectories: a column, or a number or date for all. Default: the last row, changed or not.

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
    declared = Declared(None, states, ordered, cut, check_unit(time_unit), sort, True)
    return _read(table, read_roles(table, trajectory, time, variables, format, variable, value, None, end), declared)


def _read(table: Source, roles: Roles, declared: Declared) -> Paths:
    rows, columns = read_columns(table, roles, declared)
    start, end = read_window(table, roles, rows)
    n = len(rows.ids)
    variables, initial, jumps = [], [], []
    for i, (column, block) in enumerate(all_or_none(columns)):
        # a blank means 'as before', so that rows without a value may go
        who, times = owner(block.offsets)[column.seen], block.times[column.seen]
        codes = column.values[column.seen].astype(np.int32)
        opening = times == start[who]
        first = np.full(n, -1, np.int32)
        first[who[opening]] = codes[opening]
        if (first < 0).any():
            k, name = int(np.argmin(first)), column.variable.name
            row, which = int(np.argmax((rows.who == k) & (rows.times == start[k]))), shown(rows.ids[k])
            if roles.events:
                raise DataError(
                    f"{table.place(row)}: variable {name!r} has no event at the first time {start[k]:g} of "
                    f"trajectory {which}; give its initial state there"
                )
            raise DataError(
                f"{table.place(row, name)}: the first row of trajectory {which} must give the state of every "
                "variable; fill it in, or use read_table for data with holes"
            )
        changed = np.flatnonzero((codes[1:] != codes[:-1]) & ~opening[1:]) + 1
        variables.append(column.variable)
        initial.append(first)
        jumps.append((who[changed], times[changed], np.full(len(changed), i, np.int32), codes[changed]))
    who, times, nodes, targets = map(np.concatenate, zip(*jumps))
    order = np.lexsort((times, who))
    return Paths(
        tuple(variables),
        np.stack(initial, axis=1),
        offsets_from_counts(np.bincount(who, minlength=n)),
        times[order],
        nodes[order],
        targets[order],
        start,
        end,
        rows.ids,
        clock=rows.clock or Clock(),
    )
