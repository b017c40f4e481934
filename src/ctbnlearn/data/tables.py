"""Reading incomplete data: a table with holes becomes `Observations`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

import numpy as np

from ctbnlearn.data.clock import Clock, check_unit
from ctbnlearn.data.columns import Column, Spec, decode, read_specs
from ctbnlearn.data.messages import shown
from ctbnlearn.data.noise.choice import NoiseSpec
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.opening import Table, open_source
from ctbnlearn.data.ragged import keep
from ctbnlearn.data.roles import Roles, check_flag, read_roles
from ctbnlearn.data.rows import Block, Rows, arrange, read_nodes, read_rows, read_window
from ctbnlearn.data.series import HoledSeries, Series
from ctbnlearn.data.source import MISSING, Source
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import DataError, MeasuredColumnError


def read_table(
    source: Table | Source,
    *,
    trajectory: str | None = None,
    time: str = "time",
    variables: Sequence[str] | None = None,
    noise: NoiseSpec = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    ordered: Mapping[str, Sequence[Label]] | None = None,
    cut: Mapping[str, Sequence[float]] | None = None,
    time_unit: str | None = None,
    format: str = "auto",
    variable: str = "variable",
    value: str = "value",
    start: str | float | date | None = None,
    end: str | float | date | None = None,
    sort: bool = False,
    allow_unseen: bool = False,
    missing: Sequence[str] = MISSING,
    interventions: Table | None = None,
) -> Observations:
    """Read point observations with holes from a table.

    Parameters
    ----------
    source
        Path to a CSV (also .csv.gz, .tsv) or Parquet file, or a pandas, polars, pyarrow or other data frame.
    trajectory
        Column that names the trajectory of a row (person, machine, replicate). None: all rows are one.
    time
        Column of times: numbers, not negative, or dates (text such as 2024-03-31T14:30, or a column of dates). Dates
        become numbers that count from the first row of each trajectory, or from its start if that is given.
    variables
        The variables to read. Default: every column without another role, or every variable named.
    noise
        Observation model: one for all variables, a mapping from name to model, or None (seen exactly).
    states
        The states of a variable in order, {name: [labels]}. Default: the labels found; numbers by size, ordered
        categories in their order, words by their letters, which is not an order: an effect on them has no sign.
    ordered
        The same, where some of the states may never occur; that is remarked on.
    cut
        Numbers at which a measured column is cut into states, {name: [3, 7]}: under 3, 3 to 7, 7 and over.
    time_unit
        "seconds", "minutes", "hours", "days", "weeks", "months" or "years": what times of dates are counted in, by
        default the largest of years, days, hours and minutes that the longest trajectory has two of; the name of the
        unit where times are numbers.
    format
        "wide" (one column per variable, blank = not seen), "events" (columns trajectory, time, variable,
        value) or "auto": events where columns `variable` and `value` exist, else wide.
    variable, value
        Names of these two columns in event rows.
    start, end
        Window of the trajectories: a column that is constant within each, or one number or date for all. Default,
        also where that column is blank: first and last row.
    sort
        Sort the rows of a trajectory by time instead of complaining that they are not in order.
    allow_unseen
        Accept declared states that never occur, and variables that were never seen.
    missing
        Words that stand for 'not seen', besides the blank cell; a declared state of that name goes first.
    interventions
        Table of when variables were set from outside, with the columns trajectory (named as here), start, end, variable
        and, where known, value; see `Observations.with_interventions`.

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
    declared = Declared(noise, states, ordered, cut, check_unit(time_unit), sort, allow_unseen)
    rows, columns = read_columns(table, roles, declared)
    first, last = read_window(table, roles, rows)
    found, series = [], []
    for column, block in all_or_none(columns):
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
    obs = Observations(tuple(found), tuple(series), first, last, rows.ids, rows.clock or Clock())
    return obs if interventions is None else obs.with_interventions(interventions, trajectory)


@dataclass(frozen=True)
class Declared:
    """What the user said of the columns; see `read_table`."""

    noise: NoiseSpec = None
    states: Mapping[str, Sequence[Label]] | None = None
    ordered: Mapping[str, Sequence[Label]] | None = None
    cut: Mapping[str, Sequence[float]] | None = None
    unit: str | None = None
    sort: bool = False
    allow_unseen: bool = False

    def specs(self, names: Sequence[str]) -> list[Spec]:
        """The same, variable by variable."""
        return read_specs(names, self.noise, self.states, self.allow_unseen, self.ordered, self.cut)


def all_or_none(columns: Iterable[Callable[[], tuple[Column, Block]]]) -> Iterator[tuple[Column, Block]]:
    """Columns one after the other; those of measured numbers are refused together."""
    refused: list[MeasuredColumnError] = []
    for column in columns:
        try:
            found = column()
        except MeasuredColumnError as problem:
            refused.append(problem)
            continue
        if not refused:
            yield found
    if len(refused) > 1:
        others = ", ".join(f"{p.variable!r} ({p.advice})" for p in refused[1:])
        raise DataError(f"{refused[0]}; likewise {others}")
    if refused:
        raise refused[0]


def read_columns(
    table: Source, roles: Roles, declared: Declared
) -> tuple[Rows, list[Callable[[], tuple[Column, Block]]]]:
    """The rows of a table, and for each of its variables a function that gives it with the rows that belong to it."""
    if roles.events:
        table.load([], roles.label_columns, roles.time_columns)
        rows = read_rows(table, roles, declared.unit)
        names, node = read_nodes(table, roles)
        blocks = arrange(table, roles, rows, declared.sort, node, len(names))
        cells = table.take(roles.value)

        def event(spec: Spec, block: Block) -> tuple[Column, Block]:
            return decode(table, spec, roles.value, cells, block.rows), block

        return rows, [partial(event, spec, block) for spec, block in zip(declared.specs(names), blocks)]
    specs = declared.specs(roles.variables or ())
    numbers, labels = [s.name for s in specs if s.numeric], [s.name for s in specs if not s.numeric]
    table.load(numbers, [*roles.label_columns, *labels], roles.time_columns)
    rows = read_rows(table, roles, declared.unit)
    (block,) = arrange(table, roles, rows, declared.sort)

    def wide(spec: Spec) -> tuple[Column, Block]:
        return decode(table, spec, spec.name, table.take(spec.name), block.rows), block

    return rows, [partial(wide, spec) for spec in specs]
