"""Trajectories of pyAgrum: CSV, read and written.

Columns IdSample, time, var, state; a row gives the state a variable *leaves* at that time, except that its
first row (time 0) gives its initial state and its last row closes it at the end of the sample.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ctbnlearn.data.columns import decode, read_specs
from ctbnlearn.data.files import as_path, write_atomic
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.data.roles import Roles
from ctbnlearn.data.rows import read_nodes, read_rows
from ctbnlearn.data.texts import quoting, state_texts, text_ids
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import DataError

PYAGRUM_COLUMNS = ("IdSample", "time", "var", "state")


def read_pyagrum(path: str | os.PathLike[str], *, states: Mapping[str, Sequence[Label]] | None = None) -> Paths:
    """Read a pyAgrum CSV file of trajectories.

    Parameters
    ----------
    path
        The file, with columns IdSample, time, var, state.
    states
        The states of a variable in order, {name: [labels]}. Default: the labels found, sorted.

    Returns
    -------
    Paths
    """
    table = open_source(as_path(path, "a pyAgrum CSV file"))
    sample, time, var, state = PYAGRUM_COLUMNS
    lacking = [c for c in PYAGRUM_COLUMNS if c not in table.columns]
    if lacking:
        raise DataError(
            f"{table.name}: {named(lacking)} missing; a pyAgrum file has the columns "
            f"{named(PYAGRUM_COLUMNS)}, this one has {named(table.columns)}; check the file"
        )
    roles = Roles(True, sample, time, None, var, state)
    table.load(roles.time_columns, roles.label_columns)
    rows = read_rows(table, roles)
    names, node = read_nodes(table, roles)
    n, cells = len(rows.ids), table.take(state)
    codes = np.empty(table.n_rows, np.int64)
    variables = []
    for i, spec in enumerate(read_specs(names, None, states, True)):
        mine = np.flatnonzero(node == i)
        column = decode(table, spec, state, cells, mine)
        if not column.seen.all():
            where = table.place(table.first(~column.seen, mine), state)
            raise DataError(f"{where}: the state is blank; complete trajectories have no holes: fill it in")
        variables.append(column.variable)
        codes[mine] = column.values
    order = np.lexsort((rows.times, node, rows.who))  # stable: rows at one time keep the order of the file
    block, when, codes = (rows.who * len(names) + node)[order], rows.times[order], codes[order]
    size = np.bincount(block, minlength=n * len(names))
    if (size < 2).any():
        k, i = divmod(int(np.argmin(size)), len(names))
        raise DataError(
            f"{table.name}, sample {shown(rows.ids[k])}, variable {names[i]!r}: {size.min()} rows; each "
            "needs its initial state at time 0 and a row at the end of the sample: add them"
        )
    opening = offsets_from_counts(size)[:-1]
    closing = opening + size - 1
    horizon = np.full(n, -np.inf)
    np.maximum.at(horizon, rows.who, rows.times)

    def complain(bad: Any, place: Any, problem: str) -> None:
        if bad.any():
            row = int(order[place[int(np.argmax(bad))]])
            raise DataError(f"{table.place(row)}: sample {shown(rows.ids[rows.who[row]])}, a variable {problem}")

    complain(when[opening] != 0, opening, "begins after time 0; give its initial state at time 0")
    early = when[closing] != np.repeat(horizon, len(names))
    complain(early, closing, "ends before the last time of the sample; close every variable at that time")
    swapped = codes[opening + 1] != codes[opening]
    complain(swapped, opening + 1, "leaves another state than the one it began in; correct the state")
    inner = np.ones(table.n_rows, bool)
    inner[opening] = inner[closing] = False
    at = np.flatnonzero(inner)
    at = at[codes[at] != codes[at + 1]]  # the state after a jump is the one left next
    who = block[at] // len(names)
    by_time = np.lexsort((when[at], who))
    at, who = at[by_time], who[by_time]
    return Paths(
        tuple(variables),
        codes[opening].reshape(n, len(names)),
        offsets_from_counts(np.bincount(who, minlength=n)),
        when[at],
        block[at] % len(names),
        codes[at + 1],
        np.zeros(n),
        horizon,
        rows.ids,
    )


def write_pyagrum(paths: Paths, path: str | os.PathLike[str]) -> None:
    """Write trajectories as a pyAgrum CSV file; each must start at time 0.

    Labels are written as text. Reading them back gives the states found, sorted; pass `states` to
    `read_pyagrum` to keep another order or states that never occur.
    """
    if (paths.start != 0).any():
        k = int(np.argmax(paths.start != 0))
        raise DataError(
            f"{path}: trajectory {shown(paths.ids[k])} starts at {paths.start[k]:g}, but pyAgrum's start at "
            "0; shift the clock"
        )
    ids = text_ids(paths.ids, str(path))
    labels = [state_texts(v, v.states, str(path)) for v in paths.variables]
    names = paths.names
    state = paths.initial.copy()
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", quoting=quoting([*names, *ids, *chain(*labels)]))
    writer.writerow(PYAGRUM_COLUMNS)
    for k in range(paths.n_trajectories):
        writer.writerows((ids[k], "0.0", name, labels[i][state[k, i]]) for i, name in enumerate(names))
        for r in range(paths.offsets[k], paths.offsets[k + 1]):
            i = paths.nodes[r]
            writer.writerow((ids[k], repr(float(paths.times[r])), names[i], labels[i][state[k, i]]))
            state[k, i] = paths.targets[r]
        last = repr(float(paths.end[k]))
        writer.writerows((ids[k], last, name, labels[i][state[k, i]]) for i, name in enumerate(names))
    write_atomic(path, file.getvalue())
