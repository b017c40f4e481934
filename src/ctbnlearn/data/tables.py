"""Reading incomplete data: a table with holes becomes `Observations`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.frames import MISSING, Cells, Source, is_blank, named, open_source, shown
from ctbnlearn.data.noise import ExactStates, LabelNoise, NoiseModel, RawLikelihoods, bind_noise
from ctbnlearn.data.observations import Observations, Series
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError

MANY_NUMBERS = 32  # more different numbers than this are a measurement, not a state
MANY_WORDS = 256
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTH = ({"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"})


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
    if roles.layout == "events":
        return _read_events(table, roles, noise, states, sort, allow_unseen)
    return _read_wide(table, roles, noise, states, sort, allow_unseen)


def _read_wide(table: Source, roles: Roles, noise: Any, states: Any, sort: bool, allow_unseen: bool) -> Observations:
    specs = read_specs(roles.variables or (), noise, states, allow_unseen)
    numeric = [s.name for s in specs if s.numeric]
    table.load([*roles.number_columns, *numeric], [*roles.label_columns, *(s.name for s in specs if not s.numeric)])
    rows = read_rows(table, roles)
    order, offsets, times = arrange(table, roles, rows, sort)
    first, last = read_window(table, roles, rows)
    filled = np.zeros(table.n_rows, bool)
    series = []
    found = []
    for spec in specs:
        column = decode(table, spec, spec.name)
        table.forget(spec.name)
        values, seen = column.values, column.seen
        filled |= seen
        if order is not None:
            values, seen = values[order], seen[order]
        found.append(column.variable)
        if seen.all():  # no hole: share the times
            series.append(Series(offsets, times, values, column.noise))
        else:
            count = np.concatenate([[0], np.cumsum(seen)])
            series.append(Series(count[offsets], times[seen], values[seen], column.noise))
    _check_filled(table, rows, filled)
    return Observations(tuple(found), tuple(series), first, last, rows.ids)


def _read_events(table: Source, roles: Roles, noise: Any, states: Any, sort: bool, allow_unseen: bool) -> Observations:
    table.load(roles.number_columns, roles.label_columns)
    rows = read_rows(table, roles)
    events = read_events(table, roles, rows, sort)
    specs = read_specs(events.names, noise, states, allow_unseen)
    first, last = read_window(table, roles, rows)
    filled = np.zeros(table.n_rows, bool)
    series = []
    found = []
    for spec, mine in zip(specs, events.rows):
        column = decode(table, spec, roles.value, events.cells, mine)
        seen = column.seen
        mine = mine if seen.all() else mine[seen]
        filled[mine] = True
        found.append(column.variable)
        offsets = offsets_from_counts(np.bincount(rows.who[mine], minlength=len(rows.ids)))
        series.append(Series(offsets, rows.times[mine], column.values[seen], column.noise))
    _check_filled(table, rows, filled)
    return Observations(tuple(found), tuple(series), first, last, rows.ids)


def _check_filled(table: Source, rows: Rows, filled: NDArray[np.bool_]) -> None:
    count = np.bincount(rows.who[filled], minlength=len(rows.ids))
    if not count.all():
        k = int(np.argmin(count))
        at = int(np.argmax(rows.who == k))
        raise DataError(
            f"{table.place(at)}: empty trajectory {shown(rows.ids[k])}: not one value was seen in it; leave it out"
        )


# --- who plays which part ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """Which column plays which part."""

    layout: str
    trajectory: str | None
    time: str
    variables: tuple[str, ...] | None
    variable: str
    value: str
    start: str | float | None
    end: str | float | None

    @property
    def number_columns(self) -> list[str]:
        """Columns of times."""
        return [self.time, *(c for c in (self.start, self.end) if isinstance(c, str))]

    @property
    def label_columns(self) -> list[str]:
        """Columns of names, variables of wide rows left out."""
        names = [] if self.trajectory is None else [self.trajectory]
        return [*names, self.variable, self.value] if self.layout == "events" else names


def check_flag(name: str, flag: Any) -> None:
    """Raise unless an option is True or False."""
    if not isinstance(flag, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, not {shown(flag)}")


def _names(variables: Any) -> tuple[str, ...] | None:
    if variables is None:
        return None
    if isinstance(variables, str) or not isinstance(variables, Sequence):
        raise ParameterError(f"variables must be a list of names, such as ['a', 'b'], not {shown(variables)}")
    for name in variables:
        if not isinstance(name, str):
            raise ParameterError(f"variables must be a list of names (text), but one is {shown(name)}")
    if not variables or len(set(variables)) != len(variables):
        raise ParameterError(f"variables must name one or more different variables, not {shown(list(variables))}")
    return tuple(variables)


def read_roles(
    table: Source,
    trajectory: Any,
    time: Any,
    variables: Any,
    format: Any,
    variable: Any,
    value: Any,
    start: Any,
    end: Any,
) -> Roles:
    """Check the options that name columns against the columns there are."""
    chosen = _names(variables)
    if format not in ("auto", "wide", "events"):
        raise ParameterError(f"format must be 'auto', 'wide' or 'events', not {shown(format)}")
    parts = {"trajectory": trajectory, "time": time, "variable": variable, "value": value}
    for option, column in parts.items():
        if not isinstance(column, str) and not (option == "trajectory" and column is None):
            raise ParameterError(f"{option} must be the name of a column, not {shown(column)}")
    for option, given in (("start", start), ("end", end)):
        if isinstance(given, str):
            parts[option] = given
        elif given is not None and not _is_time(given):
            raise ParameterError(
                f"{option} must be the name of a column or a finite number that is not negative, not {shown(given)}"
            )
    layout = format
    if format == "auto":
        long = variable in table.columns and value in table.columns
        layout = "events" if long and not (chosen and set(chosen) <= set(table.columns)) else "wide"
    if layout == "wide":
        del parts["variable"], parts["value"]
    taken: dict[str, str] = {}
    for option, column in parts.items():
        if column is None:
            continue
        if column in taken:
            raise ParameterError(f"{option} and {taken[column]} both name the column {column!r}; name another")
        taken[column] = option
        _need(table, column, option)
    if layout == "wide":
        for name in chosen or ():
            if name in taken:
                raise ParameterError(
                    f"the column {name!r} cannot be a variable and {taken[name]} at once; take it out of variables"
                )
            _need(table, name, "variables")
        if chosen is None:
            chosen = tuple(c for c in table.columns if c not in taken)
        if not chosen:
            raise DataError(f"{table.name}: no column is left for the variables beside {named(taken)}; add them")
    start, end = (g if g is None or isinstance(g, str) else float(g) for g in (start, end))
    return Roles(layout, trajectory, time, chosen, variable, value, start, end)


def _is_time(given: Any) -> bool:
    number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    return number and 0 <= given < math.inf


def _need(table: Source, column: str, option: str) -> None:
    if column not in table.columns:
        raise DataError(
            f"{table.name}: there is no column {column!r}; the columns are {named(table.columns)}; name the "
            f"right one with {option}="
        )


# --- rows -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """Trajectory number and time of every row of the table, and the names of the trajectories."""

    who: IntArray
    times: FloatArray
    ids: Sequence[Any]


def read_rows(table: Source, roles: Roles) -> Rows:
    """Read the trajectory and time columns; trajectories count in order of first appearance."""
    times = read_times(table, roles.time, blank=False)
    if roles.trajectory is None:
        return Rows(np.zeros(table.n_rows, np.int64), times, [0])
    cells = table.cells(roles.trajectory)
    table.forget(roles.trajectory)
    labels = [label.strip() if cells.text else label for label in cells.labels]
    empty = np.array([is_blank(label, table.missing) for label in labels] + [True])[cells.codes]
    if empty.any():
        where = table.place(int(np.argmax(empty)), roles.trajectory)
        raise DataError(f"{where}: the trajectory's name is blank; fill it in, or delete the row")
    if cells.text and all(_is_int(label) for label in labels):
        labels = [int(label) for label in labels]
    index = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    who = np.array([index[label] for label in labels], np.int64)[cells.codes]
    ids = list(index)
    if cells.ordered or len(ids) < len(labels):  # categories need not stand in order of appearance, or at all
        present, at = np.unique(who, return_index=True)
        present = present[np.argsort(at)]
        rank = np.zeros(len(ids), np.int64)
        rank[present] = np.arange(len(present))
        who, ids = rank[who], [ids[k] for k in present]
    return Rows(who, times, ids)


def read_times(table: Source, column: str, *, blank: bool) -> FloatArray:
    """Read a column of times and check every one."""
    times = table.numbers(column)
    if not blank and np.isnan(times).any():
        where = table.place(int(np.argmax(np.isnan(times))), column)
        raise DataError(f"{where}: the time is blank; fill it in, or delete the row")
    bad = np.isinf(times) | (times < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{table.place(row, column)}: the time {times[row]:g} must be finite and not negative; shift the "
            "clock so that it begins at 0"
        )
    return times


def arrange(table: Source, roles: Roles, rows: Rows, sort: bool) -> tuple[IntArray | None, IntArray, FloatArray]:
    """Put wide rows in blocks, one a trajectory, by time: row order (None: as it is), offsets, times."""
    order: IntArray | None = None
    if sort:
        order = np.lexsort((rows.times, rows.who))
    elif (rows.who[1:] < rows.who[:-1]).any():
        order = np.argsort(rows.who, kind="stable")
    who, times = (rows.who, rows.times) if order is None else (rows.who[order], rows.times[order])
    check_order(table, roles, rows, order, who[1:] == who[:-1])
    twice = np.flatnonzero((times[1:] == times[:-1]) & (who[1:] == who[:-1]))
    if twice.size:
        pair = twice[0] + np.arange(2)
        a, b = (int(r) for r in (pair if order is None else order[pair]))
        _complain_twice(table, roles, rows, a, b)
    return order, offsets_from_counts(np.bincount(who, minlength=len(rows.ids))), times


def check_order(
    table: Source, roles: Roles, rows: Rows, order: IntArray | None, same: NDArray[np.bool_], of: str = ""
) -> None:
    """Raise unless times do not fall from one row to the next where both belong together."""
    times = rows.times if order is None else rows.times[order]
    back = np.flatnonzero(same & (times[1:] < times[:-1]))
    if back.size:
        row = int(back[0]) + 1
        at = row if order is None else int(order[row])
        raise DataError(
            f"{table.place(at, roles.time)}: time {times[row]:g} comes after time {times[row - 1]:g} in "
            f"trajectory {shown(rows.ids[rows.who[at]])}{of}; sort the rows by time, or pass sort=True"
        )


def _complain_twice(table: Source, roles: Roles, rows: Rows, a: int, b: int) -> None:
    """Two rows of a trajectory have one time: say where, and whether they contradict each other."""
    a, b = min(a, b), max(a, b)
    what, columns = "keep one row per time", roles.variables or ()
    of = ""
    if roles.layout == "events":
        columns, of = (roles.value,), f" for variable {shown(table.value(b, roles.variable))}"
    for name in columns:
        left, right = table.value(a, name), table.value(b, name)
        if left is not None and right is not None and left != right:
            pair = f"({shown(left)} against {shown(right)})"
            what = f"they contradict each other in column {name!r} {pair}: keep one"
            break
    raise DataError(
        f"{table.place(b)}: trajectory {shown(rows.ids[rows.who[b]])} has time {rows.times[b]:g} twice{of}, "
        f"first in {table.place(a).removeprefix(table.name + ', ')}; {what}"
    )


def read_window(table: Source, roles: Roles, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Start and end of every trajectory: given, or its first and last row."""
    n = len(rows.ids)
    first, last = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(first, rows.who, rows.times)
    np.maximum.at(last, rows.who, rows.times)
    window = []
    for option, given, default in (("start", roles.start, first), ("end", roles.end, last)):
        bound = default
        if isinstance(given, str):
            column = read_times(table, given, blank=True)
            bound = np.full(n, np.nan)
            told = ~np.isnan(column)
            bound[rows.who[told]] = column[told]
            differs = told & (column != bound[rows.who])
            if differs.any():
                row = int(np.argmax(differs))
                raise DataError(
                    f"{table.place(row, given)}: the {option} of trajectory {shown(rows.ids[rows.who[row]])} "
                    f"is {column[row]:g} here and {bound[rows.who[row]]:g} in another row; give one {option} "
                    "per trajectory"
                )
            bound = np.where(np.isnan(bound), default, bound)
        elif given is not None:
            bound = np.full(n, given)
        outside = rows.times < bound[rows.who] if option == "start" else rows.times > bound[rows.who]
        if outside.any():
            row = int(np.argmax(outside))
            raise DataError(
                f"{table.place(row, roles.time)}: time {rows.times[row]:g} lies outside the window of "
                f"trajectory {shown(rows.ids[rows.who[row]])}, whose {option} is {bound[rows.who[row]]:g}; "
                f"widen it with {option}="
            )
        window.append(bound)
    return window[0], window[1]


@dataclass(frozen=True, eq=False)
class Events:
    """Event rows by variable; the rows of each stand in order of trajectory and time."""

    names: tuple[str, ...]
    rows: list[IntArray]
    cells: Cells


def read_events(table: Source, roles: Roles, rows: Rows, sort: bool) -> Events:
    """Gather the rows of every variable; rows of different variables may stand in any order."""
    cells = table.cells(roles.variable)
    labels = [str(label).strip() for label in cells.labels]
    empty = np.array([is_blank(label, table.missing) for label in labels] + [True])
    if empty[cells.codes].any():
        where = table.place(int(np.argmax(empty[cells.codes])), roles.variable)
        raise DataError(f"{where}: the variable's name is blank; fill it in, or delete the row")
    occurring = dict.fromkeys(label for label, used in zip(labels, cells.used()) if used)
    names = roles.variables or tuple(occurring)
    index = {name: k for k, name in enumerate(names)}
    code = np.array([index.get(label, len(names)) for label in labels] + [len(names)])[cells.codes]
    order = np.lexsort((rows.times, rows.who, code) if sort else (rows.who, code))
    who, kind, times = rows.who[order], code[order], rows.times[order]
    same = (who[1:] == who[:-1]) & (kind[1:] == kind[:-1]) & (kind[1:] < len(names))
    check_order(table, roles, rows, order, same, " for one variable")
    twice = np.flatnonzero(same & (times[1:] == times[:-1]))
    if twice.size:
        _complain_twice(table, roles, rows, int(order[twice[0]]), int(order[twice[0] + 1]))
    bounds = np.searchsorted(kind, np.arange(len(names) + 1))
    values = table.cells(roles.value)
    text = values.text or all(isinstance(label, str) for label in values.labels)
    table.forget(roles.variable)
    table.forget(roles.value)
    return Events(
        names,
        [order[bounds[k] : bounds[k + 1]] for k in range(len(names))],
        Cells(values.codes, values.labels, text, False),  # one column serves all variables: no common order or type
    )


# --- values -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spec:
    """What the user said about a variable."""

    name: str
    states: tuple[Label, ...] | None
    model: Any
    allow_unseen: bool

    @property
    def numeric(self) -> bool:
        """Whether its cells are measured numbers."""
        return self.model is not None and not isinstance(self.model, LabelNoise)


@dataclass(frozen=True, eq=False)
class Column:
    """A variable with its values in table order; `values` means nothing where not `seen`."""

    variable: Variable
    noise: NoiseModel
    values: NDArray[Any]
    seen: NDArray[np.bool_]


def read_specs(names: Sequence[str], noise: Any, states: Any, allow_unseen: bool) -> list[Spec]:
    """Check observation models and declared states against the names of the variables."""
    models = dict(noise) if isinstance(noise, Mapping) else dict.fromkeys(names, noise)
    if states is not None and not isinstance(states, Mapping):
        raise ParameterError(f"states must map names to lists of labels, {{name: [labels]}}, not {shown(states)}")
    for option, given in (("noise", models), ("states", states or {})):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ParameterError(f"{option} names unknown variables {named(unknown)}; known: {named(names)}")
    specs = []
    for name in names:
        model, labels = models.get(name), (states or {}).get(name)
        if isinstance(model, ExactStates):
            model = None
        if model is not None and (isinstance(model, type) or not isinstance(model, NoiseModel)):
            raise ParameterError(
                f"variable {name!r}: noise must be None, GaussianNoise(...), LabelNoise(...) or a model like "
                f"them, not {shown(model)}"
            )
        if isinstance(model, RawLikelihoods):
            raise ParameterError(
                f"variable {name!r}: a table cannot hold likelihoods; use Observations.from_likelihoods"
            )
        if labels is not None:
            if isinstance(labels, (str, bytes)) or not isinstance(labels, (Sequence, np.ndarray)):
                raise ParameterError(f"states of {name!r} must be a list of labels, not {shown(labels)}")
            labels = Variable(name, tuple(labels)).states
        specs.append(Spec(name, labels, model, allow_unseen))
    return specs


def decode(table: Source, spec: Spec, column: str, cells: Cells | None = None, rows: IntArray | None = None) -> Column:
    """Values of one variable, from a column of its own or from chosen rows of a shared one."""
    where = f"{table.name}, column {spec.name!r}" if rows is None else f"{table.name}, variable {spec.name!r}"
    if spec.numeric:
        values = table.numbers(column) if cells is None else table.cell_numbers(column, cells, rows)
        if np.isinf(values).any():
            _at_cell(
                table,
                column,
                rows,
                np.isinf(values),
                "the number is not finite; correct it, or leave it blank",
            )
        return _finish(spec, where, _number_states(spec, where), values, ~np.isnan(values))
    cells = table.cells(column) if cells is None else cells
    codes = cells.codes if rows is None else cells.codes[rows]
    used = np.bincount(codes, minlength=len(cells.labels) + 1)[:-1] > 0
    alphabet = spec.states
    if isinstance(spec.model, LabelNoise) and spec.model.labels is not None:
        alphabet = spec.model.labels
    if alphabet is None:
        typed = _typed(cells, used, table.missing)
        endless = np.array([isinstance(v, float) and not math.isfinite(v) for v in [*typed, None]])
        if endless.any():
            _at_cell(table, column, rows, endless[codes], "the number is not finite; correct it, or leave it blank")
        found = dict.fromkeys(v for v in typed if v is not None)
        alphabet = tuple(found) if cells.ordered else tuple(sorted(found))
        _check_discovered(where, alphabet, "" if spec.allow_unseen else " and pass allow_unseen=True")
        code = {label: k for k, label in enumerate(alphabet)}
        place = [-1 if v is None else code[v] for v in typed]
    else:
        place = _match(cells, used, alphabet, table.missing)
        unknown = np.array([k == -2 for k in [*place, -1]])
        if unknown.any():
            at = int(np.argmax(unknown[codes]))
            label = cells.labels[codes[at]]
            _at_cell(
                table, column, rows, unknown[codes],
                f"{shown(label)} is not a state of {spec.name!r}, whose states are {named(alphabet)}; "
                "correct it, or add "
                "it to states",
            )  # fmt: skip
    hole = len(alphabet)
    lookup = np.array([hole if k < 0 else k for k in [*place, -1]], np.min_scalar_type(hole))
    values = lookup[codes]
    unseen = [label for k, label in enumerate(alphabet) if k not in set(place)]
    if unseen and spec.model is None and len(unseen) < hole and not spec.allow_unseen:
        raise DataError(
            f"{where}: the declared state {shown(unseen[0])} never occurs; check its spelling, take it out "
            "of states, or pass allow_unseen=True"
        )
    states = spec.states
    if states is None:
        matrix = np.ndim(spec.model.confusion) == 2 if isinstance(spec.model, LabelNoise) else False
        if matrix and np.shape(spec.model.confusion)[0] != hole:
            raise ParameterError(f"{where}: its labels {named(alphabet)} are not its states; declare them with states=")
        states = alphabet
    seen = values != hole
    return _finish(spec, where, states, values.astype(np.min_scalar_type(hole - 1), copy=False), seen)


def _finish(spec: Spec, where: str, states: tuple[Label, ...], values: NDArray[Any], seen: NDArray[np.bool_]) -> Column:
    if not spec.allow_unseen and not seen.any():
        raise DataError(f"{where} was never observed: all its cells are blank; leave it out, or pass allow_unseen=True")
    variable = Variable(spec.name, states)
    return Column(variable, bind_noise(spec.model, [variable])[0], values, seen)


def _at_cell(table: Source, column: str, rows: IntArray | None, bad: NDArray[np.bool_], problem: str) -> None:
    at = int(np.argmax(bad))
    raise DataError(f"{table.place(at if rows is None else int(rows[at]), column)}: {problem}")


def _number_states(spec: Spec, where: str) -> tuple[Label, ...]:
    """States of a measured variable: declared, or the values its model names."""
    values = getattr(spec.model, "values", None)
    if spec.states is not None:
        return spec.states
    if values is None:
        raise ParameterError(
            f"{where}: its observation model does not say which states there are; give values=, one number "
            "per state, or declare states="
        )
    whole = all(float(v).is_integer() for v in values)
    return tuple(int(v) for v in values) if whole else tuple(values)


def _is_int(text: str) -> bool:
    return len(text) < 19 and text.removeprefix("-").isdecimal() and text.isascii() and str(int(text)) == text


def _typed(cells: Cells, used: NDArray[np.bool_], missing: frozenset[str]) -> list[Any]:
    """The label each distinct cell stands for, None for 'not seen' and for cells that do not occur.

    Text becomes numbers or truth values only where all of it does, so that "01" stays text.
    """
    raw = [None if not u or is_blank(v, missing) else v for u, v in zip(used, cells.labels)]
    if not cells.text:
        return raw
    texts = [None if v is None else v.strip() for v in raw]
    present = {t for t in texts if t is not None}
    if all(_is_int(t) for t in present):
        return [None if t is None else int(t) for t in texts]
    if all(_NUMBER.fullmatch(t) or t.lower().lstrip("+-") in ("inf", "infinity", "nan") for t in present):
        return [None if t is None else float(t) + 0.0 for t in texts]
    if any(present <= words for words in _TRUTH):
        return [None if t is None else t.lower() == "true" for t in texts]
    return texts


def _check_discovered(where: str, labels: tuple[Label, ...], also: str) -> None:
    if not labels:
        raise DataError(
            f"{where} was never observed: all its cells are blank; leave it out, or declare its states{also}"
        )
    if len(labels) == 1:
        raise DataError(
            f"{where} has only one state, {shown(labels[0])}; leave it out, or declare with states= all the "
            f"states it can take{also}"
        )
    numeric = not isinstance(labels[0], (str, bool))
    if len(labels) > (MANY_NUMBERS if numeric else MANY_WORDS):
        raise DataError(
            f"{where} has {len(labels)} different {'numbers' if numeric else 'words'}, too many for states; "
            "name an observation model with noise=, declare states=, or leave the column out"
        )


def _match(cells: Cells, used: NDArray[np.bool_], alphabet: Sequence[Label], missing: frozenset[str]) -> list[int]:
    """Index of the state each distinct cell stands for; -1 not seen, -2 unknown."""
    exact = {(type(s) is str, s): k for k, s in enumerate(alphabet)}
    truth = {s: k for k, s in enumerate(alphabet) if isinstance(s, bool)}

    def find(label: Any) -> int:
        if not isinstance(label, str):
            return exact.get((False, label), -2)
        text = label.strip()
        if not text:
            return -1
        for candidate in (label, text):
            if (True, candidate) in exact:
                return exact[True, candidate]
        if text in missing:
            return -1
        if any(text in words for words in _TRUTH) and (text.lower() == "true") in truth:
            return truth[text.lower() == "true"]
        if _NUMBER.fullmatch(text):
            number = int(text) if _is_int(text) else float(text)
            return exact.get((False, number), -2)
        return -2

    return [find(label) if u else -1 for u, label in zip(used, cells.labels)]
