"""Which column of a table plays which part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from ctbnlearn.data.clock import looks_like_date, parse_dates
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.source import Source
from ctbnlearn.errors import DataError, ParameterError


@dataclass(frozen=True)
class Roles:
    """Columns by part, checked against the table.

    Attributes
    ----------
    events
        Whether rows are events (one variable each) or wide (one column per variable).
    trajectory, time, variable, value
        Names of these columns; the last two belong to events.
    variables
        The variables to read; None: every variable the events name.
    start, end
        The window: a column, a number or date for all trajectories, or None.
    """

    events: bool
    trajectory: str | None
    time: str
    variables: tuple[str, ...] | None = None
    variable: str = ""
    value: str = ""
    start: str | float | np.datetime64 | None = None
    end: str | float | np.datetime64 | None = None

    @property
    def time_columns(self) -> list[str]:
        """Columns of times."""
        return [self.time, *(c for c in (self.start, self.end) if isinstance(c, str))]

    @property
    def label_columns(self) -> list[str]:
        """Columns of names, variables of wide rows left out."""
        names = [] if self.trajectory is None else [self.trajectory]
        return [*names, self.variable, self.value] if self.events else names


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
        if not (given is None or isinstance(given, (str, date)) or _is_time(given)):
            raise ParameterError(
                f"{option} must be the name of a column, a date, or a finite number that is not negative, not "
                f"{shown(given)}"
            )
        parts[option] = given if isinstance(given, str) and not _is_date(table, given) else None
    long = variable in table.columns and value in table.columns
    own = chosen is not None and set(chosen) <= set(table.columns)
    events = format == "events" or (format == "auto" and long and not own)
    if not events:
        del parts["variable"], parts["value"]
    taken: dict[str, str] = {}
    for option, column in parts.items():
        if column is None:
            continue
        if column in taken:
            raise ParameterError(f"{option} and {taken[column]} both name the column {column!r}; name another")
        taken[column] = option
        _need(table, column, option)
    if not events:
        for name in chosen or ():
            if name in taken:
                raise ParameterError(
                    f"the column {name!r} cannot be a variable and {taken[name]} at once; take it out of variables"
                )
            _need(table, name, "variables")
        chosen = chosen or tuple(c for c in table.columns if c not in taken)
        if not chosen:
            raise DataError(f"{table.name}: no column is left for the variables beside {named(taken)}; add them")
    start, end = (_bound(table, given, option) for given, option in ((start, "start"), (end, "end")))
    return Roles(events, trajectory, time, chosen, variable, value, start, end)


def check_flag(name: str, flag: object) -> None:
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


def _is_time(given: Any) -> bool:
    number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    return number and 0 <= given < math.inf


def _is_date(table: Source, given: object) -> bool:
    return isinstance(given, date) or (given not in table.columns and looks_like_date(given))


def _bound(table: Source, given: Any, option: str) -> str | float | np.datetime64 | None:
    """One end of the windows as `Roles` has it."""
    if given is None or (isinstance(given, str) and not _is_date(table, given)):
        return given
    if not _is_date(table, given):
        return float(given)
    found, bad = parse_dates([given.isoformat() if isinstance(given, date) else given])
    if bad is not None:
        raise ParameterError(f"{option}: {shown(given)} is not a date; write it as 2024-03-31")
    return found[0]


def _need(table: Source, column: str, option: str) -> None:
    if column not in table.columns:
        raise DataError(
            f"{table.name}: there is no column {column!r}; the columns are {named(table.columns)}; name the "
            f"right one with {option}="
        )
