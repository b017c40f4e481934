"""From a path and settings to data: guessing columns, observation models as text, edges from a CSV file."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctbnlearn.cli.settings import FOREIGN
from ctbnlearn.data.complete import read_paths
from ctbnlearn.data.kinds import Data
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.noise import GaussianNoise, LabelNoise, Levels, NoiseModel, PoissonNoise, ThresholdNoise
from ctbnlearn.data.noise.choice import NoiseSpec
from ctbnlearn.data.opening import open_source
from ctbnlearn.data.pyagrum import PYAGRUM_COLUMNS
from ctbnlearn.data.scan import parquet_files, scan_table
from ctbnlearn.data.source import Source
from ctbnlearn.data.tables import read_table
from ctbnlearn.errors import DataError, ParameterError

UNITS = ("unit", "subject", "patient", "person", "machine", "replicate")
TRAJECTORY_NAMES = ("trajectory", "id", *UNITS, *(f"{name}_id" for name in UNITS))
TIME_NAMES = ("time", "t", "date", "year", "visit_date", "datetime", "timestamp")
EVERYTHING = "*"


def resolve_columns(path: Path, reading: Mapping[str, Any], note: Callable[[str], None]) -> dict[str, Any]:
    """The settings with format and columns filled in where they were left open; `note` is told of every guess."""
    options = {"format": "auto", **reading}
    if is_scan(path):
        if options["format"] not in ("auto", "wide") or options.get("complete"):
            raise ParameterError(
                f"{path}: folders and patterns of Parquet files are read as wide rows with holes; leave out --format "
                "and --complete, or give one file"
            )
        options["format"] = "wide"
        path = Path(parquet_files(path)[0])
    if options["format"] == "auto" and path.suffix.lower() == ".json":
        options["format"] = "pyctbn"
    columns = () if options["format"] == "pyctbn" else open_source(path).columns
    if options["format"] == "auto" and tuple(columns) == PYAGRUM_COLUMNS:
        options["format"] = "pyagrum"
    if options["format"] in FOREIGN:
        unused = [key for key in options if key not in ("format", "states", "complete")]
        if unused:
            raise ParameterError(
                f"{path}: a {options['format']} file says itself what it holds; leave out {named(unused)}"
            )
        note(f"reading {path} as complete paths in the format of {options['format']}")
        return options
    options["trajectory"] = _guess(path, columns, options, "trajectory", TRAJECTORY_NAMES, note)
    options["time"] = _guess(path, columns, options, "time", TIME_NAMES, note)
    for key in ("end",) if options.get("complete") else ("start", "end"):
        if key not in options and key in columns and key not in (options.get("variables") or ()):
            note(f"taking column {key!r} as the {key} of a trajectory's window")
            options[key] = key
    return options


def is_scan(path: Path) -> bool:
    """Whether a path means several files: a folder, or a pattern."""
    return path.is_dir() or (not path.exists() and glob.has_magic(str(path)))


def read_data(path: Path, resolved: Mapping[str, Any]) -> Data:
    """Read a file as the settings, complete with its columns, say; look through several."""
    options = dict(resolved)
    complete = options.pop("complete", False)
    if is_scan(path):
        for key in ("variable", "value"):
            if key in options:
                raise ParameterError(f"{path}: wide rows have no {key}: leave it out")
        if options["trajectory"] is None:
            raise ParameterError(f"{path}: say which column names the trajectory of a row, with --trajectory")
        options.pop("format")
        return scan_table(path, **{**options, "noise": read_noise(options.get("noise"))})
    if options["format"] in FOREIGN:
        return read_paths(path, **options)
    if not complete:
        levels = options.pop("levels", {})
        return read_table(path, **{**options, "noise": _with_levels(read_noise(options.get("noise")), levels)})
    for key in ("noise", "levels", "start", "allow_unseen", "interventions"):
        if key in options:
            raise ParameterError(f"complete data have no {key}: leave it out, or leave out --complete")
    return read_paths(path, **options)


def _guess(
    path: Path,
    columns: Sequence[str],
    options: Mapping[str, Any],
    role: str,
    usual: Sequence[str],
    note: Callable[[str], None],
) -> str | None:
    """The column of a role: as told, or the one with a usual name."""
    if options.get(role) is not None:
        return str(options[role])
    taken = {options.get(key) for key in ("trajectory", "time", "start", "end", "variable", "value")}
    taken |= set(options.get("variables") or ())
    found = [c for c in columns if c.strip().lower() in usual and c not in taken]
    if len(found) > 1:
        raise ParameterError(
            f"{path}: each of the columns {named(found)} could be the {role}; say which with --{role}, and what the "
            "variables are with --variables"
        )
    if found:
        note(f"taking column {found[0]!r} as the {role}")
        return found[0]
    if role == "trajectory":
        note("no column names a trajectory: all rows are taken as one (--trajectory says otherwise)")
        return None
    raise DataError(
        f"{path}: no column looks like a time; the columns are {named(columns)}; name the right one with --time"
    )


def read_noise(texts: Any) -> NoiseSpec:
    """Observation models from text: one for all variables, {variable: model}, or None.

    Examples
    --------
    >>> found = read_noise(["signal=gaussian:0.2:-1,1", "pain=labels:0.05"])
    >>> found["signal"].values, found["pain"].confusion
    ((-1.0, 1.0), 0.05)
    >>> read_noise("log-threshold:2:0.5")
    ThresholdNoise(mean=2.0, sd=0.5, log=True)
    >>> read_noise("poisson:3").n_states
    3
    """
    if texts is None:
        return None
    models: dict[str, NoiseModel | None] = {}
    for name, text in _texts_by_name(texts):
        if name in models:
            raise ParameterError(f"noise names {shown(name)} twice; give one model each")
        models[name] = _model(text)
    if EVERYTHING in models:
        if len(models) > 1:
            raise ParameterError("noise gives a model for all variables and another for some; name a variable in each")
        return models[EVERYTHING]
    return models


def _with_levels(noise: NoiseSpec, levels: Mapping[str, Any]) -> NoiseSpec:
    """Observation models with those of columns whose levels are learned."""
    if not levels:
        return noise
    if noise is not None and not isinstance(noise, Mapping):
        raise ParameterError("--noise gives a model for all variables and --levels another; name a variable in each")
    for name in noise or {}:
        if name in levels:
            raise ParameterError(f"--noise and --levels both speak of {shown(name)}; give one of them")
    return {**(noise or {}), **{name: Levels(n) for name, n in levels.items()}}


def _texts_by_name(texts: Any) -> list[tuple[str, Any]]:
    """Variable and model as text; the name EVERYTHING where one model is for all."""
    if isinstance(texts, Mapping):
        return [(str(name), text) for name, text in texts.items()]
    pairs = []
    for text in [texts] if isinstance(texts, str) else texts:
        name, equals, model = str(text).rpartition("=")
        pairs.append((name if equals else EVERYTHING, model))
    return pairs


def _model(text: object) -> NoiseModel | None:
    if isinstance(text, NoiseModel):
        return text
    kind, *rest = str(text).split(":")
    try:
        if kind == "labels" and not rest:
            return LabelNoise()
        if kind in ("levels", "log-levels") and len(rest) == 1:
            return GaussianNoise(n_states=_size(rest[0]), log=kind == "log-levels")
        if kind == "poisson" and len(rest) == 1:
            if "," in rest[0]:
                return PoissonNoise(tuple(float(v) for v in rest[0].split(",")))
            return PoissonNoise(n_states=_size(rest[0]))
        if kind == "exact" and not rest:
            return None
        if kind == "labels" and len(rest) == 1:
            return LabelNoise(float(rest[0]))
        if kind == "gaussian" and len(rest) in (1, 2):
            values = tuple(float(v) for v in rest[1].split(",")) if len(rest) == 2 else None
            return GaussianNoise(float(rest[0]), values)
        if kind in ("threshold", "log-threshold") and len(rest) in (0, 2):
            mean, sd = map(float, rest) if rest else (None, None)
            return ThresholdNoise(mean, sd, kind == "log-threshold")
    except (ParameterError, DataError):
        raise
    except ValueError:
        pass
    raise ParameterError(
        f"noise {shown(text)} is not an observation model; write gaussian:VARIANCE, gaussian:VARIANCE:VALUE,VALUE,..., "
        "labels:ERROR, threshold, threshold:MEAN:SD or log-threshold likewise; to learn it, levels:N, log-levels:N, "
        "poisson:N or labels"
    )


def _size(text: str) -> int | str:
    return text if text == "auto" else int(text)


def read_edges(path: Path, names: Sequence[str]) -> list[tuple[str, str]]:
    """Edges between known variables from a table with columns source and target."""
    table = open_source(path)
    for column in ("source", "target"):
        if column not in table.columns:
            raise DataError(
                f"{path}: there is no column {column!r}; the columns are {named(table.columns)}; an edge list has the "
                "columns source and target"
            )
    table.load([], ["source", "target"])
    edges = []
    for row in range(table.n_rows):
        source, target = (_name(table, row, column, names) for column in ("source", "target"))
        if source == target:
            raise DataError(f"{table.place(row)}: {shown(source)} points to itself; take that edge out")
        edges.append((source, target))
    return edges


def _name(table: Source, row: int, column: str, names: Sequence[str]) -> str:
    value = table.value(row, column)
    if value is None:
        raise DataError(f"{table.place(row, column)}: the cell is blank; name a variable there")
    name = str(value).strip()
    if name not in names:
        raise DataError(
            f"{table.place(row, column)}: the data have no variable {shown(name)}; they have {named(names)}"
        )
    return name
