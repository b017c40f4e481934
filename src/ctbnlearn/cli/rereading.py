"""Data read as they were when a result was learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctbnlearn.cli.progress import ProgressLines
from ctbnlearn.cli.reading import read_data, resolve_columns
from ctbnlearn.cli.settings import FOREIGN, READING, resolve
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.result.result import Result


def read_again(
    result: Result, data: Path, given: Mapping[str, Any], complaint: str, progress: ProgressLines
) -> Observations:
    """Observations of the variables of a result; `complaint` says why complete paths will not do."""
    learned = result.manifest.get("settings", {}).get("reading", {})
    replaced = ("complete", "format", "levels", "ordered", "interventions")
    reading = {
        **{key: value for key, value in learned.items() if key in READING and key not in replaced},
        "noise": result.noise or None,
        **resolve(None, given).reading,
        "variables": list(result.names),
        "states": {v.name: list(v.states) for v in result.variables if v.name not in learned.get("cut", {})},
        "allow_unseen": True,
    }
    if reading.get("format") in FOREIGN or data.suffix.lower() == ".json":
        raise ParameterError(f"{data}: {complaint}")
    obs = read_data(data, resolve_columns(data, reading, progress.note))
    assert isinstance(obs, Observations)
    return obs
