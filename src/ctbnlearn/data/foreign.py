"""Trajectories of other programs: PyCTBN's JSON and pyAgrum's CSV, read and written.

PyCTBN: `variables` [{"Name", "Value" (number of states)}], `dyn.str` [{"From", "To"}], `dyn.cims`, and
`samples`: per trajectory a list of rows {"Time", one state number per variable}; a row holds from its time
on, and the last row, all -1, only marks the end.

pyAgrum: columns IdSample, time, var, state; a row gives the state a variable *leaves* at that time, except
that its first row (time 0) gives its initial state and its last row closes it at the end of the sample.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.files import write_atomic
from ctbnlearn.data.frames import MISSING, first_line, named, open_source, shown
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import offsets_from_counts, owner
from ctbnlearn.data.tables import Roles, decode, read_rows, read_specs
from ctbnlearn.data.variables import Label, Variable, as_variables
from ctbnlearn.errors import CtbnlearnError, DataError, ParameterError

PYAGRUM_COLUMNS = ("IdSample", "time", "var", "state")


def read_pyctbn(
    path: str | os.PathLike[str], dataset: int = 0, *, states: Mapping[str, Sequence[Label]] | None = None
) -> Paths:
    """Read the trajectories of a PyCTBN JSON file.

    Parameters
    ----------
    path
        The file: a list of datasets, or one.
    dataset
        Which dataset of a list.
    states
        Labels for the states 0, 1, ... of a variable. PyCTBN knows numbers only, so the default labels are
        the integers 0 .. k-1.

    Returns
    -------
    Paths
        Trajectories are numbered 0, 1, ...
    """
    name = str(path)
    content = _read_json(path)
    if isinstance(dataset, bool) or not isinstance(dataset, int):
        raise ParameterError(f"dataset must be a whole number, not {shown(dataset)}")
    if isinstance(content, list):
        if not 0 <= dataset < len(content):
            raise ParameterError(
                f"{name}: it holds {len(content)} datasets, so dataset={dataset} does not exist; choose one "
                f"of 0 to {len(content) - 1}"
            )
        content = content[dataset]
    elif dataset != 0:
        raise ParameterError(f"{name}: it holds one dataset; leave dataset at 0, not {dataset}")
    if not isinstance(content, dict):
        raise DataError(f"{name}: a PyCTBN dataset must be an object with 'variables' and 'samples'; check the file")
    variables = _pyctbn_variables(name, content, states)
    samples = content.get("samples")
    if not isinstance(samples, list) or not samples:
        raise DataError(f"{name}: 'samples' must be a list of one or more trajectories; check the file")
    cards = np.array([v.n_states for v in variables])
    initial, counts, times, nodes, targets, start, end = [], [], [], [], [], [], []
    for k, rows in enumerate(samples):
        where = f"{name}, trajectory {k}"
        when, codes = _pyctbn_rows(where, rows, [v.name for v in variables])
        if (codes[-1] == -1).all():
            codes = codes[:-1]
        if not len(codes):
            raise DataError(f"{where}: it has no row but the last; add the states at its start")
        bad = np.argwhere((codes < 0) | (codes >= cards))
        if bad.size:
            r, i = bad[0]
            raise DataError(
                f"{where}, row {r}, variable {variables[i].name!r}: {codes[r, i]} is not one of its states 0 "
                f"to {cards[i] - 1}; correct it (only the last row may hold -1, for all variables)"
            )
        r, i = np.nonzero(codes[1:] != codes[:-1])
        initial.append(codes[0])
        counts.append(len(r))
        times.append(when[1:][r])
        nodes.append(i)
        targets.append(codes[1:][r, i])
        start.append(when[0])
        end.append(when[-1])
    return Paths(
        variables,
        np.array(initial),
        offsets_from_counts(np.array(counts)),
        np.concatenate(times),
        np.concatenate(nodes),
        np.concatenate(targets),
        np.array(start),
        np.array(end),
    )


def _read_json(path: Any) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"a path to a JSON file is needed, not {type(path).__name__}")
    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{path}: this is a folder; name a JSON file in it") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: the text is not UTF-8; save it as UTF-8 JSON") from None
    except RecursionError:
        raise DataError(f"{path}: the JSON is nested too deeply for a PyCTBN file; check the file") from None
    except (OSError, ValueError) as problem:
        raise DataError(f"{path}: not a JSON file ({first_line(problem)}); check the file") from None


def _pyctbn_variables(name: str, content: dict[str, Any], states: Any) -> tuple[Variable, ...]:
    listed = content.get("variables")
    if not isinstance(listed, list) or not listed:
        raise DataError(f"{name}: 'variables' must be a list of {{'Name', 'Value'}}; check the file")
    cards: dict[str, int] = {}
    for k, entry in enumerate(listed):
        title = entry.get("Name") if isinstance(entry, dict) else None
        card = entry.get("Value") if isinstance(entry, dict) else None
        if not isinstance(title, str) or isinstance(card, bool) or not isinstance(card, int):
            raise DataError(
                f"{name}, variable {k}: it needs a 'Name' (text) and a 'Value' (its number of states), not "
                f"{shown(entry)}"
            )
        if title in cards or title == "Time":
            raise DataError(f"{name}, variable {k}: the name {title!r} is taken; rename it")
        if not 2 <= card <= 65536:
            raise DataError(
                f"{name}, variable {title!r}: its number of states, 'Value', is {card}; it must be 2 or more"
            )
        cards[title] = card
    specs = read_specs(tuple(cards), None, states, True)
    for spec in specs:
        if spec.states is not None and len(spec.states) != cards[spec.name]:
            raise ParameterError(
                f"{name}, variable {spec.name!r} has {cards[spec.name]} states, but states= names {len(spec.states)}"
            )
    return as_variables([Variable(s.name, s.states or tuple(range(cards[s.name]))) for s in specs])


def _pyctbn_rows(where: str, rows: Any, names: list[str]) -> tuple[Any, Any]:
    """Times and state numbers of one trajectory."""
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{where}: it must be a list of one or more rows; check the file")
    when = np.empty(len(rows))
    codes = np.empty((len(rows), len(names)), np.int64)
    for r, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(f"{where}, row {r}: it must be an object with 'Time' and the variables; check the file")
        lacking = [name for name in ("Time", *names) if name not in row]
        if lacking:
            raise DataError(f"{where}, row {r}: {named(lacking)} missing; a row needs 'Time' and every variable")
        time = row["Time"]
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not _fits(time):
            raise DataError(f"{where}, row {r}: 'Time' is {shown(time)}; it must be a number, finite and not negative")
        when[r] = time
        for i, name in enumerate(names):
            code = row[name]
            if isinstance(code, float) and code.is_integer():
                code = int(code)
            if isinstance(code, bool) or not isinstance(code, int) or abs(code) > 65536:
                raise DataError(f"{where}, row {r}, variable {name!r}: {shown(code)} is not a state number; correct it")
            codes[r, i] = code
    last = len(rows) - 1 if (codes[-1] == -1).all() else len(rows)  # the row that marks the end may come at once
    back = np.flatnonzero((np.diff(when) < 0) | ((np.diff(when) == 0) & (np.arange(1, len(rows)) != last)))
    if back.size:
        r = int(back[0]) + 1
        raise DataError(
            f"{where}, row {r}: time {when[r]:g} does not come after {when[r - 1]:g}; sort the rows by time"
        )
    return when, codes


def _fits(time: float) -> bool:
    return 0 <= time <= 1e300 and math.isfinite(time)


def write_pyctbn(
    paths: Paths, path: str | os.PathLike[str], network_edges: Iterable[tuple[str, str]] | None = None
) -> None:
    """Write trajectories as a PyCTBN JSON file.

    State labels become the numbers 0 .. k-1, in the order of `Variable.states`, and names of trajectories are
    lost: the format has no room for either.

    Parameters
    ----------
    paths
        The trajectories.
    path
        The file to write.
    network_edges
        Edges (source, target) of the network, where known.
    """
    names = paths.names
    if "Time" in names:
        raise DataError(f"{path}: PyCTBN keeps the name 'Time' for itself; rename that variable")
    edges = []
    for edge in network_edges or ():
        pair = tuple(edge)
        if len(pair) != 2 or pair[0] not in names or pair[1] not in names:
            raise ParameterError(
                f"network_edges must be pairs of variable names, not {shown(pair)}; known: {named(names)}"
            )
        edges.append({"From": pair[0], "To": pair[1]})
    samples = []
    who, times, codes = state_rows(paths, str(path))
    bounds = np.searchsorted(who, np.arange(paths.n_trajectories + 1))
    for k in range(paths.n_trajectories):
        mine = slice(bounds[k], bounds[k + 1])
        rows = [{"Time": t, **dict(zip(names, c))} for t, c in zip(times[mine].tolist(), codes[mine].tolist())]
        rows.append({"Time": float(paths.end[k]), **dict.fromkeys(names, -1)})
        samples.append(rows)
    content = {
        "variables": [{"Name": v.name, "Value": v.n_states} for v in paths.variables],
        "dyn.str": edges,
        "dyn.cims": {},
        "samples": samples,
    }
    write_safely(path, json.dumps([content]) + "\n")


def state_rows(paths: Paths, where: str) -> tuple[IntArray, FloatArray, IntArray]:
    """Trajectory, time and joint state at the start and after every jump; jumps at one time share a row."""
    who = np.concatenate([np.arange(paths.n_trajectories), owner(paths.offsets)])
    times = np.concatenate([paths.start, paths.times])
    order = np.lexsort((times, who))  # stable: the start comes before a jump at the same time
    who, times = who[order], times[order]
    fresh = np.append(True, (np.diff(who) != 0) | (np.diff(times) != 0))
    early = np.flatnonzero(paths.times == paths.start[owner(paths.offsets)])
    if early.size:
        k = owner(paths.offsets)[early[0]]
        raise DataError(
            f"{where}: trajectory {shown(paths.ids[k])} jumps at its very start {paths.start[k]:g}, which "
            "rows of states cannot say; make that state the initial one"
        )
    who, times = who[fresh], times[fresh]
    return who, times, paths.lookup(who, times)


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
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"a path to a pyAgrum CSV file is needed, not {type(path).__name__}")
    table = open_source(path)
    sample, time, var, state = PYAGRUM_COLUMNS
    lacking = [c for c in PYAGRUM_COLUMNS if c not in table.columns]
    if lacking:
        raise DataError(
            f"{table.name}: {named(lacking)} missing; a pyAgrum file has the columns "
            f"{named(PYAGRUM_COLUMNS)}, this one has {named(table.columns)}; check the file"
        )
    roles = Roles("events", sample, time, None, var, state, None, None)
    table.load([time], [sample, var, state])
    rows = read_rows(table, roles)
    titles = table.cells(var)
    if (titles.codes == len(titles.labels)).any() or any(not t.strip() for t in titles.labels):
        raise DataError(f"{table.name}, column {var!r}: a variable's name is blank; fill it in")
    titled = [t.strip() for t in titles.labels]
    names = tuple(dict.fromkeys(titled))
    node = np.array([names.index(t) for t in titled])[titles.codes]
    specs = read_specs(names, None, states, True)
    n, n_rows = len(rows.ids), table.n_rows
    codes = np.empty(n_rows, np.int64)
    cells = table.cells(state)
    variables = []
    for i, spec in enumerate(specs):
        mine = np.flatnonzero(node == i)
        column = decode(table, spec, state, cells, mine)
        if not column.seen.all():
            where = table.place(int(mine[np.argmin(column.seen)]), state)
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
            raise DataError(f"{table.place(row)}: sample {shown(rows.ids[rows.who[row]])}, {problem}")

    title = "a variable"
    complain(when[opening] != 0, opening, f"{title} begins after time 0; give its initial state at time 0")
    late = when[closing] != np.repeat(horizon, len(names))
    complain(late, closing, f"{title} ends before the last time of the sample; close every variable at that time")
    complain(codes[opening + 1] != codes[opening], opening + 1,
             f"{title} leaves another state than the one it began in; correct the state")  # fmt: skip
    inner = np.ones(n_rows, bool)
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
    labels = [[cell_text(s, v.name, str(path)) for s in v.states] for v in paths.variables]
    check_labels(paths.variables, labels, str(path))
    names = paths.names
    state = paths.initial.copy()
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", quoting=quoting([*names, *ids, *chain(*labels)]))
    writer.writerow(PYAGRUM_COLUMNS)
    who = owner(paths.offsets)
    for k in range(paths.n_trajectories):
        writer.writerows((ids[k], "0.0", name, labels[i][state[k, i]]) for i, name in enumerate(names))
        for r in range(paths.offsets[k], paths.offsets[k + 1]):
            i = paths.nodes[r]
            writer.writerow((ids[k], repr(float(paths.times[r])), names[i], labels[i][state[who[r], i]]))
            state[k, i] = paths.targets[r]
        last = repr(float(paths.end[k]))
        writer.writerows((ids[k], last, name, labels[i][state[k, i]]) for i, name in enumerate(names))
    write_safely(path, file.getvalue())


def quoting(texts: Iterable[str]) -> Any:
    """Python's writer leaves a lone carriage return bare, and readers take it for a line end."""
    return csv.QUOTE_ALL if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL


def cell_text(label: Label, name: str, where: str) -> str:
    """A label as it stands in a CSV cell; a number with all its digits."""
    text = label if isinstance(label, str) else repr(label)
    if not text.strip():
        raise DataError(
            f"{where}: variable {name!r} has a blank state {label!r}, which would read as 'not seen'; rename it"
        )
    return text


def check_labels(variables: Sequence[Variable], labels: Sequence[Sequence[str]], where: str) -> None:
    """Raise where two states, or two names, would look the same in a file."""
    for variable, texts in zip(variables, labels):
        if len({t.strip() for t in texts}) != len(texts):
            raise DataError(
                f"{where}: variable {variable.name!r} has states that look the same as text, "
                f"{named(variable.states)}; rename one"
            )
        if variable.name != variable.name.strip() or variable.name in MISSING:
            raise DataError(f"{where}: the name {variable.name!r} would not survive in a table; rename the variable")


def text_ids(ids: Sequence[Any], where: str) -> list[str]:
    """Names of trajectories as text; they must differ and not be blank."""
    texts = [str(k) for k in ids]
    seen: set[str] = set()
    for text in texts:
        if text.strip() in seen or text.strip() in MISSING:
            raise DataError(f"{where}: the trajectory name {text!r} is blank or stands twice; give each its own id")
        seen.add(text.strip())
    return texts


def write_safely(path: str | os.PathLike[str], content: str | Callable[[Path], None]) -> None:
    """Write a file whole or not at all, and say so where a label cannot be written."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"a path to write to is needed, not {type(path).__name__}")
    if Path(path).is_dir():
        raise DataError(f"{path}: this is a folder; name a file in it")
    try:
        write_atomic(path, content)
    except UnicodeEncodeError as problem:
        raise DataError(
            f"{path}: {shown(problem.object[problem.start])} cannot be written as UTF-8; rename that label"
        ) from None
    except ValueError as problem:
        if isinstance(problem, CtbnlearnError):
            raise
        raise DataError(f"{path}: cannot be written ({first_line(problem)}); choose another path") from None
