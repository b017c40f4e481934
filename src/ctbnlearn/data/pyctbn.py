"""Trajectories of PyCTBN: JSON, read and written.

A dataset holds `variables` [{"Name", "Value" (number of states)}], `dyn.str` [{"From", "To"}], `dyn.cims`, and
`samples`: per trajectory a list of rows {"Time", one state number per variable}; a row holds from its time
on, and the last row, all -1, only marks the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.columns import read_specs
from ctbnlearn.data.files import as_path, read_bytes, write_atomic
from ctbnlearn.data.messages import first_line, named, shown
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import offsets_from_counts, owner
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError


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
    file = as_path(path, "a JSON file")
    name, content = str(file), _read_json(file)
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
    variables = _read_variables(name, content, states)
    samples = content.get("samples")
    if not isinstance(samples, list) or not samples:
        raise DataError(f"{name}: 'samples' must be a list of one or more trajectories; check the file")
    initial, jumps, window = [], [], []
    for k, rows in enumerate(samples):
        when, codes = _read_rows(f"{name}, trajectory {k}", rows, variables)
        r, i = np.nonzero(codes[1:] != codes[:-1])
        initial.append(codes[0])
        jumps.append((np.full(len(r), k), when[1:][r], i, codes[1:][r, i]))
        window.append((when[0], when[-1]))
    who, times, nodes, targets = map(np.concatenate, zip(*jumps))
    start, end = np.array(window).T
    offsets = offsets_from_counts(np.bincount(who, minlength=len(samples)))
    return Paths(variables, np.array(initial), offsets, times, nodes, targets, start, end)


def _read_json(path: Path) -> Any:
    content = read_bytes(path, "JSON")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DataError(f"{path}: the text is not UTF-8; save it as UTF-8 JSON") from None
    except RecursionError:
        raise DataError(f"{path}: the JSON is nested too deeply for a PyCTBN file; check the file") from None
    except ValueError as problem:
        raise DataError(f"{path}: not a JSON file ({first_line(problem)}); check the file") from None


def _read_variables(name: str, content: dict[str, Any], states: Any) -> tuple[Variable, ...]:
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
    return tuple(Variable(s.name, s.states or tuple(range(cards[s.name]))) for s in specs)


def _read_rows(where: str, rows: Any, variables: Sequence[Variable]) -> tuple[FloatArray, IntArray]:
    """Times of all rows of a trajectory, and state numbers of all but the one that only marks the end."""
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{where}: it must be a list of one or more rows; check the file")
    names = [v.name for v in variables]
    when = np.empty(len(rows))
    codes = np.empty((len(rows), len(names)), np.int64)
    for r, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(f"{where}, row {r}: it must be an object with 'Time' and the variables; check the file")
        lacking = [name for name in ("Time", *names) if name not in row]
        if lacking:
            raise DataError(f"{where}, row {r}: {named(lacking)} missing; a row needs 'Time' and every variable")
        time = row["Time"]
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 <= time <= 1e300:
            raise DataError(f"{where}, row {r}: 'Time' is {shown(time)}; it must be a number, finite and not negative")
        when[r] = time
        for i, name in enumerate(names):
            code = row[name]
            if isinstance(code, float) and code.is_integer():
                code = int(code)
            if isinstance(code, bool) or not isinstance(code, int) or abs(code) > 65536:
                raise DataError(f"{where}, row {r}, variable {name!r}: {shown(code)} is not a state number; correct it")
            codes[r, i] = code
    if (codes[-1] == -1).all():
        codes = codes[:-1]
    step = np.diff(when)
    back = np.flatnonzero(
        (step < 0) | ((step == 0) & (np.arange(1, len(rows)) < len(codes)))
    )  # the end may come at once
    if back.size:
        r = int(back[0]) + 1
        raise DataError(
            f"{where}, row {r}: time {when[r]:g} does not come after {when[r - 1]:g}; sort the rows by time"
        )
    if not len(codes):
        raise DataError(f"{where}: it has no row but the last; add the states at its start")
    cards = np.array([v.n_states for v in variables])
    bad = np.argwhere((codes < 0) | (codes >= cards))
    if bad.size:
        r, i = bad[0]
        raise DataError(
            f"{where}, row {r}, variable {names[i]!r}: {codes[r, i]} is not one of its states 0 to {cards[i] - 1}; "
            "correct it (only the last row may hold -1, for all variables)"
        )
    return when, codes


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
    write_atomic(path, json.dumps([content]) + "\n")


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
