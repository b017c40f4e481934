"""Writing tables that read back the same: CSV (plain or packed), tab-separated text, or Parquet."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray, NumberArray
from ctbnlearn.data.files import FilePath, as_path, write_atomic
from ctbnlearn.data.messages import shown
from ctbnlearn.data.noise import ExactStates, LabelNoise, NoiseModel, RawLikelihoods
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.pyagrum import write_pyagrum
from ctbnlearn.data.pyctbn import state_rows, write_pyctbn
from ctbnlearn.data.ragged import offsets_from_counts, owner
from ctbnlearn.data.texts import label_text, quoting, state_texts, text_ids
from ctbnlearn.data.variables import Ids, Label, Variable
from ctbnlearn.errors import DataError, ParameterError

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Out:
    """A column to write: numbers, or codes into labels; `seen` marks the cells that are not blank."""

    name: str
    values: NumberArray
    labels: Sequence[Any] | None = None
    seen: NDArray[np.bool_] | None = None

    def texts(self) -> list[str]:
        """Cells of a CSV file; numbers with all their digits."""
        if self.labels is None:
            texts = [repr(v) for v in self.values.tolist()]
            return texts if self.seen is None else [t if s else "" for t, s in zip(texts, self.seen.tolist())]
        table = np.array([*map(label_text, self.labels), ""], object)
        codes = self.values if self.seen is None else np.where(self.seen, self.values, len(table) - 1)
        return list(table[codes])

    def arrow(self) -> pa.Array:
        """A typed column."""
        mask = None if self.seen is None else ~self.seen
        if self.labels is None:
            return pa.array(self.values, pa.float64(), mask=mask)
        labels = list(self.labels)
        kinds = {type(label) for label in labels}
        if kinds == {int, float} and all(int(float(s)) == s for s in labels if isinstance(s, int)):
            labels, kinds = [float(s) for s in labels], {float}
        if len(kinds) > 1 or (kinds == {int} and max(map(abs, labels)) >= 2**63):
            labels, kinds = [label_text(s) for s in labels], {str}
        codes = pa.array(self.values.astype(np.int32), mask=mask)
        if kinds == {str}:  # keeps the order of the states
            return pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))
        return pa.array(labels).take(codes)


def write_table(
    observations: Observations,
    path: str | os.PathLike[str],
    *,
    format: str = "wide",
    trajectory: str = "trajectory",
    time: str = "time",
) -> None:
    """Write observations as a table that `read_table` reads back.

    The suffix chooses the kind of file: .csv, .csv.gz, .tsv or .parquet. Where windows differ from first and
    last row, columns `start` and `end` are added; name them to `read_table`, together with `noise` and
    `states` (which keeps the order of states and those never seen).

    Parameters
    ----------
    observations
        What to write. Raw likelihoods cannot be written to a table.
    path
        The file.
    format
        "wide" (one column per variable) or "events" (columns variable, value).
    trajectory, time
        Names for these two columns.

    Examples
    --------
    >>> import tempfile
    >>> from ctbnlearn.data.observations import observe
    >>> paths = Paths.from_trajectories({"a": (0, 1)}, [([0], [(0.5, "a", 1)], 3.0)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(observe(paths, times=[0.0, 1.0]), f"{folder}/seen.csv")
    ...     print(Path(folder, "seen.csv").read_text().split())
    ['trajectory,time,end,a', '0,0.0,3.0,0', '0,1.0,3.0,1']
    """
    if not isinstance(observations, Observations):
        raise ParameterError(f"write_table needs Observations, not {type(observations).__name__}; see write_paths")
    suffix = _suffix(path)
    if format not in ("wide", "events"):
        raise ParameterError(f"format must be 'wide' or 'events', not {shown(format)}")
    where = str(path)
    contents = [_content(v, s.values, s.noise, where) for v, s in zip(observations.variables, observations.series)]
    who = [owner(s.offsets) for s in observations.series]
    every, times = np.concatenate(who), np.concatenate([s.times for s in observations.series])
    seen = np.bincount(every, minlength=observations.n_trajectories)
    if not seen.all():
        k = int(np.argmin(seen))
        raise DataError(
            f"{where}: trajectory {shown(observations.ids[k])} holds no value, so a table cannot show it; "
            "leave it out with select"
        )
    bounds = offsets_from_counts(np.array([len(w) for w in who]))
    node = owner(bounds)
    order = np.lexsort((times, every))  # stable: variables keep their order at one time
    columns: list[Out] = []
    if format == "wide":
        fresh = np.append(True, (np.diff(every[order]) != 0) | (np.diff(times[order]) != 0))
        row = np.empty(len(order), np.int64)
        row[order] = np.cumsum(fresh) - 1
        n_rows = int(fresh.sum())
        for i, (variable, (values, labels)) in enumerate(zip(observations.variables, contents)):
            cells = np.zeros(n_rows, values.dtype)
            full = np.zeros(n_rows, bool)
            mine = row[bounds[i] : bounds[i + 1]]
            cells[mine], full[mine] = values, True
            columns.append(Out(variable.name, cells, labels, full))
        every, times = every[order][fresh], times[order][fresh]
    else:
        texts = np.concatenate([np.array(Out(v.name, c, s).texts(), object) for v, (c, s) in
                                zip(observations.variables, contents)])  # fmt: skip
        columns = _event_columns(observations.names, node[order], texts[order])
        every, times = every[order], times[order]
    windows = _window_columns(every, times, observations.start, observations.end)
    _write(
        path,
        suffix,
        _key_columns(observations.ids, every, times, trajectory, time, where) + windows + columns,
    )


def write_paths(
    paths: Paths,
    path: str | os.PathLike[str],
    *,
    format: str = "events",
    trajectory: str = "trajectory",
    time: str = "time",
) -> None:
    """Write complete trajectories as a file that `read_paths` reads back.

    Pass `states` when reading to keep the order of states and those never entered.

    Parameters
    ----------
    paths
        What to write.
    path
        The file; for "events" and "wide" the suffix chooses its kind: .csv, .csv.gz, .tsv or .parquet.
    format
        "events", "wide", "pyctbn" or "pyagrum"; see `read_paths`.
    trajectory, time
        Names for these two columns; other programs have their own.
    """
    if not isinstance(paths, Paths):
        raise ParameterError(f"write_paths needs Paths, not {type(paths).__name__}; see write_table")
    if format == "pyctbn":
        return write_pyctbn(paths, path)
    if format == "pyagrum":
        return write_pyagrum(paths, path)
    if format not in ("events", "wide"):
        raise ParameterError(f"format must be 'events', 'wide', 'pyctbn' or 'pyagrum', not {shown(format)}")
    suffix, where = _suffix(path), str(path)
    labels = [state_texts(v, v.states, where) for v in paths.variables]
    who, times, codes = state_rows(paths, where)
    last = np.append(np.diff(who) != 0, True)
    short = np.flatnonzero(times[last] < paths.end)  # a last row without a change marks the end
    n_variables = len(paths.variables)
    if format == "wide":
        who, times = np.concatenate([who, short]), np.concatenate([times, paths.end[short]])
        codes = np.concatenate([codes, codes[last][short]])
        order = np.lexsort((times, who))
        who, times, codes = who[order], times[order], codes[order]
        columns = [Out(v.name, codes[:, i], v.states) for i, v in enumerate(paths.variables)]
    else:
        n = paths.n_trajectories
        final = codes[last][short, 0]
        who = np.concatenate([np.repeat(np.arange(n), n_variables), owner(paths.offsets), short])
        times = np.concatenate([np.repeat(paths.start, n_variables), paths.times, paths.end[short]])
        node = np.concatenate([np.tile(np.arange(n_variables), n), paths.nodes, np.zeros(len(short), int)])
        state = np.concatenate([paths.initial.reshape(-1), paths.targets, final])
        order = np.lexsort((times, who))
        who, times, node, state = who[order], times[order], node[order], state[order]
        texts = np.empty(len(node), object)
        for i, names in enumerate(labels):
            texts[node == i] = np.array(names, object)[state[node == i]]
        columns = _event_columns(paths.names, node, texts)
    return _write(path, suffix, _key_columns(paths.ids, who, times, trajectory, time, where) + columns)


def _content(
    variable: Variable, values: NumberArray, noise: NoiseModel, where: str
) -> tuple[NumberArray, Sequence[Label] | None]:
    """Numbers, or codes and their labels."""
    if isinstance(noise, RawLikelihoods):
        raise DataError(
            f"{where}: variable {variable.name!r} holds raw likelihoods, which a table cannot; save them as arrays"
        )
    labels: Sequence[Any] | None = None
    if isinstance(noise, ExactStates):
        labels = variable.states
    elif isinstance(noise, LabelNoise):
        labels = noise.labels or variable.states
    state_texts(variable, labels or (), where)
    if labels is None:
        values = np.asarray(values, float)
        if not np.isfinite(values).all():
            raise DataError(f"{where}: variable {variable.name!r} holds numbers that are not finite; take them out")
    return values, labels


def _event_columns(names: Sequence[str], node: IntArray, texts: Iterable[str]) -> list[Out]:
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
    return [Out("variable", node, names), Out("value", codes, list(known))]


def _key_columns(ids: Ids, who: IntArray, times: FloatArray, trajectory: str, time: str, where: str) -> list[Out]:
    for option, name in (("trajectory", trajectory), ("time", time)):
        if not isinstance(name, str) or not name.strip() or name != name.strip():
            raise ParameterError(f"{option} must be the name of a column, not {shown(name)}")
    texts = text_ids(ids, where)
    plain = [k.item() if hasattr(k, "item") else k for k in ids]
    whole = all(isinstance(k, int) and not isinstance(k, bool) and abs(k) < 2**63 for k in plain)
    return [Out(trajectory, who, plain if whole else texts), Out(time, times)]


def _window_columns(who: IntArray, times: FloatArray, start: FloatArray, end: FloatArray) -> list[Out]:
    """Start and end of each trajectory, where its first and last row do not say them."""
    first = np.append(True, np.diff(who) != 0)
    last = np.append(first[1:], True)
    columns = [] if (times[first] == start).all() else [Out("start", start[who])]
    return columns if (times[last] == end).all() else [*columns, Out("end", end[who])]


def _suffix(path: FilePath) -> str:
    name = as_path(path, "write to").name.lower()
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    raise ParameterError(f"{path}: the file's name must end in one of {', '.join(SUFFIXES)}; rename it")


def _write(path: str | os.PathLike[str], suffix: str, columns: list[Out]) -> None:
    names = [column.name for column in columns]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ParameterError(
            f"{path}: two columns would be named {twice.pop()!r}; choose others with trajectory= and time=, "
            "or rename the variable"
        )

    def parquet(target: Path) -> None:
        pq.write_table(pa.table({column.name: column.arrow() for column in columns}), target)

    def text(target: Path) -> None:
        opener = gzip.open if suffix.endswith(".gz") else open
        with opener(target, "wt", encoding="utf-8", newline="") as file:
            mark = "\t" if suffix.startswith(".tsv") else ","
            style = quoting([*names, *(label_text(label) for column in columns for label in column.labels or ())])
            writer = csv.writer(file, delimiter=mark, lineterminator="\n", quoting=style)
            writer.writerow(names)
            writer.writerows(zip(*(column.texts() for column in columns)))

    write_atomic(path, parquet if suffix in (".parquet", ".pq") else text)
