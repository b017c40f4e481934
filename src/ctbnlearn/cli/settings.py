"""Settings of a run: a TOML file, overridden by the options of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctbnlearn.data.files import read_bytes
from ctbnlearn.data.messages import first_line, named, shown
from ctbnlearn.errors import DataError, ParameterError

TEXT, FLAG = "text", "true or false"
READING = {
    "trajectory": (TEXT, str),
    "time": (TEXT, str),
    "variables": ("a list of names", list),
    "format": (TEXT, str),
    "complete": (FLAG, bool),
    "noise": ("a text, or a list or table of texts", (str, list, dict)),
    "levels": ("a table of numbers of levels", (dict, list)),
    "cut": ("a table of numbers, or lists of them", (dict, list)),
    "ordered": ("a table of lists of labels", (dict, list)),
    "time_unit": (TEXT, str),
    "interventions": ("the path of a CSV file", (str, Path)),
    "states": ("a table of lists of labels", dict),
    "variable": (TEXT, str),
    "value": (TEXT, str),
    "start": ("the name of a column, or a number", (str, int, float)),
    "end": ("the name of a column, or a number", (str, int, float)),
    "sort": (FLAG, bool),
    "allow_unseen": (FLAG, bool),
    "missing": ("a list of words", list),
}
GRAPHS = ("candidates", "forbidden", "required")
LEARNING: dict[str, tuple[str, Any]] = {
    "max_parents": ("a whole number", int),
    "inference": (TEXT, str),
    "sweeps": ("a whole number", int),
    "max_iter": ("a whole number", int),
    "seed": ("a whole number", int),
    "bags": ("a whole number", int),
    "checkpoint": ("the path of a folder", str),
    "exogenous": ("a list of names", list),
    "adjust_for": ("a list of names", list),
    "adjacent": ("a list of names", list),
    "workers": ("a whole number", int),
    "dask": ("the address of a scheduler", str),
    "memory": ("text such as 4GB", str),
    "device": (TEXT, str),
    **dict.fromkeys(GRAPHS, ("the path of a CSV file", str)),
}
MAX_PARENTS = 2  # where neither an option nor the file gives it
FOREIGN = ("pyctbn", "pyagrum")
FORMATS = ("auto", "wide", "events", *FOREIGN)


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    reading
        How to read the table; see `READING`.
    learner
        Parameters of `StructureLearner`.
    graphs
        Files of edges: candidates, forbidden, required.
    dask
        Address of a Dask scheduler, if one is to do the work.
    bags
        How often units are resampled; None: not at all.
    """

    reading: dict[str, Any] = field(default_factory=dict)
    learner: dict[str, Any] = field(default_factory=dict)
    graphs: dict[str, Path] = field(default_factory=dict)
    dask: str | None = None
    bags: int | None = None


def resolve(config: Path | None, given: Mapping[str, Any]) -> Settings:
    """Join the file and the options that were given (not None), which win.

    Parameters
    ----------
    config
        TOML file: keys as the options, with underscores, and a table [learner] of further parameters of
        `StructureLearner`. Paths in it are relative to it.
    given
        Options by name.
    """
    options = {} if config is None else _read(config)
    learner = options.pop("learner", {})
    options.update({key: value for key, value in given.items() if value is not None})
    reading = {key: options[key] for key in READING if key in options}
    if reading.get("format", "auto") not in FORMATS:
        raise ParameterError(f"format must be one of {named(FORMATS)}, not {shown(reading['format'])}")
    for key in ("start", "end"):
        reading.update({key: _number_or_name(reading[key])} if key in reading else {})
    if "workers" in options and "dask" in options:
        raise ParameterError("workers (--workers) and dask (--dask) both say who works; give one of them")
    for key in ("levels", "cut", "ordered"):
        reading.update({key: _by_name(key, reading[key])} if key in reading else {})
    for key in ("max_parents", "checkpoint", "exogenous", "adjust_for", "memory", "device"):
        learner.update({key: options[key]} if key in options else {})
    learner.setdefault("max_parents", MAX_PARENTS)
    if "adjacent" in options:
        learner["transitions"] = {**dict.fromkeys(options["adjacent"], "adjacent"), **learner.get("transitions", {})}
    if any(key in options for key in ("inference", "sweeps", "max_iter")):
        learner["inference"] = _method(options)
    if "seed" in options:
        learner["random_state"] = options["seed"]
    if "workers" in options:
        learner["executor"] = options["workers"]
    graphs = {key: Path(options[key]) for key in GRAPHS if key in options}
    return Settings(reading, learner, graphs, options.get("dask"), options.get("bags"))


def _method(options: Mapping[str, Any]) -> Any:
    """The method of inference asked for; a limit says of which kind it is."""
    from ctbnlearn.inference.methods import AUTO, METHODS, Iterated, Sampling

    name = options.get("inference", AUTO)
    if name not in (AUTO, *METHODS):
        raise ParameterError(f"inference must be one of {named((AUTO, *METHODS))}, not {shown(name)}")
    kind = METHODS.get(name)
    if "sweeps" in options:
        if kind not in (None, Sampling) or "max_iter" in options:
            raise ParameterError(
                "sweeps (--sweeps) are those of sampling; leave them out, or set inference to sampling"
            )
        return Sampling(sweeps=options["sweeps"])
    if "max_iter" in options:
        if kind is None or not issubclass(kind, Iterated):
            raise ParameterError(
                "max_iter (--max-iter) limits the rounds of EM: set --inference star or exact, or give --sweeps"
            )
        return kind(max_iter=options["max_iter"])
    return name


def _by_name(key: str, given: Any) -> dict[str, Any]:
    """Options VARIABLE=..., or a table of a file, as {variable: what is said of it}."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            if key == "ordered" and not isinstance(value, list):
                raise ParameterError(f"ordered: {name} must be a list of labels in their order, not {shown(value)}")
        return {str(name): [str(v) for v in value] if key == "ordered" else value for name, value in given.items()}
    example = {"levels": "crp=3", "cut": "crp=3,7", "ordered": "stage=mild,moderate,severe"}[key]
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = (part.strip() for part in str(text).partition("="))
        if not (name and equals and value):
            raise ParameterError(f"--{key} {shown(text)}: write the variable and what is said of it, as in {example}")
        if name in found:
            raise ParameterError(f"--{key} names {shown(name)} twice; give it once")
        words = [word.strip() for word in value.split(",")]
        if key == "levels":
            if not (value == "auto" or value.isdecimal()):
                raise ParameterError(f"--levels {shown(text)}: give a whole number of levels, or auto, as in {example}")
            found[name] = value if value == "auto" else int(value)
        else:
            found[name] = words
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        options = tomllib.loads(read_bytes(path, "TOML").decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise DataError(f"{path}: not a TOML file ({first_line(problem)}); correct it there") from None
    known = {**READING, **LEARNING, "learner": ("a table", dict)}
    for key, value in options.items():
        if key not in known:
            raise ParameterError(f"{path}: unknown setting {key!r}; known: {', '.join(known)}")
        words, kinds = known[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ParameterError(f"{path}: {key} must be {words}, not {shown(value)}")
        if kinds is list and not all(isinstance(name, str) for name in value):
            raise ParameterError(f"{path}: {key} must be a list of names in quotes, not {shown(value)}")
    _check_learner(path, options.get("learner", {}))
    for key in (*GRAPHS, "checkpoint", "interventions"):
        if key in options:
            options[key] = path.parent / options[key]
    return options


def _check_learner(path: Path, options: Mapping[str, Any]) -> None:
    """Raise unless all are parameters of the learner that a file can give."""
    from ctbnlearn.learn.learner import StructureLearner

    outside = {"callback", "random_state", "checkpoint", "resume", "executor", "trajectory", "time", *GRAPHS}
    known = sorted(set(StructureLearner().get_params()) - outside)
    for key in options:
        if key not in known:
            raise ParameterError(f"{path}, [learner]: unknown setting {key!r}; known: {', '.join(known)}")


def _number_or_name(value: Any) -> Any:
    """A window's end is a number or date for all trajectories, or a column."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
