"""A result as a folder of files that any program reads: JSON, safetensors, CSV, GraphML, DOT. No pickle.

The manifest names the format and its version and holds a SHA-256 of every file and of itself. The report is not among
them: it may be rewritten at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.files import FilePath, as_path, read_bytes
from ctbnlearn.data.messages import first_line
from ctbnlearn.errors import CtbnlearnError, DataError, ParameterError
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.result import exports
from ctbnlearn.result.bags import Bags
from ctbnlearn.result.folder import check_target, write_folder
from ctbnlearn.result.history import History
from ctbnlearn.result.page import render_report, summary
from ctbnlearn.result.rate_table import RateTable
from ctbnlearn.result.result import Result
from ctbnlearn.result.unit import Unit
from ctbnlearn.structure.parent_sets import ParentSets

FORMAT, VERSION = "ctbnlearn-result", 1
MANIFEST, ARRAYS, NETWORK, REPORT = "manifest.json", "arrays.safetensors", "network.json", "report.html"
EXPORTS = {
    "edges.csv": exports.edges_csv,
    "parent_sets.csv": exports.parent_sets_csv,
    "network.graphml": exports.graphml,
    "network.dot": exports.dot,
}
FILES = frozenset({MANIFEST, ARRAYS, NETWORK, REPORT, *EXPORTS})
BAGS = ("mean", "spread", "sign_agreement", "all_data")
_STORED = ("format", "format_version", "files", "phases", "converged", "units", "checksum")

_KINDS = {
    **dict.fromkeys(("data", "settings", "timings", "convergence", "noise", "moves_per_gap"), dict),
    **dict.fromkeys(("warnings", "exogenous", "adjusted_for"), list),
}

logger = logging.getLogger(__name__)


def check_result_target(folder: FilePath) -> Path:
    """Raise early where a result could not be saved; returns the resolved folder."""
    return check_target(folder, FILES, MANIFEST)


def save_result(result: Result, folder: str | os.PathLike[str]) -> None:
    """Write a result as a folder; see `Result.save`."""
    from safetensors.numpy import save

    def fill(into: Path) -> None:
        contents = {
            ARRAYS: save(_arrays(result)),
            NETWORK: _json(result.network.to_dict()).encode(),
            **{name: export(result).encode() for name, export in EXPORTS.items()},
        }
        for name, content in contents.items():
            (into / name).write_bytes(content)
        manifest = {
            "format": FORMAT,
            "format_version": VERSION,
            **{key: value for key, value in result.manifest.items() if key not in _STORED},
            "converged": bool(result.converged),
            "phases": list(result.history.phase),
            "units": [{"id": u.id, "observations": u.observations, "simulated": u.simulated} for u in result.units],
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        }
        manifest = json.loads(_json(manifest))  # as it will be read
        (into / MANIFEST).write_text(_json({**manifest, "checksum": _checksum(manifest)}), encoding="utf-8")
        try:
            page = render_report(result)
        except Exception as problem:  # what took hours to learn is kept even where it cannot be drawn
            if (Path(folder) / REPORT).exists():
                raise DataError(
                    f"{folder}: the report cannot be drawn ({first_line(problem)}), and the complete result that is "
                    "there is kept; save this one to another folder"
                ) from None
            logger.warning("%s: no %s was written (%s)", folder, REPORT, first_line(problem))
        else:
            (into / REPORT).write_text(page, encoding="utf-8")

    write_folder(folder, fill, FILES, MANIFEST)


def load_result(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote, here or on another machine.

    Parameters
    ----------
    folder
        The folder. Exports (CSV, GraphML, DOT) may be missing, but must not have been changed.

    Raises
    ------
    CtbnlearnError
        Where it is not a result, was damaged, or was written in a newer format.
    """
    home = as_path(folder, "the folder of a result")
    if not home.is_dir():
        problem = "this is a file; name the folder it is in" if home.exists() else "there is no such folder"
        raise DataError(f"{home}: {problem}; a result is a folder with a {MANIFEST}")
    manifest = _read_manifest(home / MANIFEST)
    contents = {}
    for name, expected in manifest["files"].items():
        path = home / name
        if name in EXPORTS and not path.exists():
            continue
        content = read_bytes(path, "result")
        if hashlib.sha256(content).hexdigest() != expected:
            raise DataError(
                f"{path}: this file is not as it was saved (wrong checksum); "
                + ("restore it or move it elsewhere" if name in EXPORTS else "restore it from a copy, or learn again")
            )
        contents[name] = content
    try:
        network = CTBN.from_dict(json.loads(contents[NETWORK]))
        result = replace(
            _build(network, contents[ARRAYS], manifest),
            manifest={key: value for key, value in manifest.items() if key not in _STORED},
        )
        summary(result)  # fails where the manifest holds something else
        return result
    except CtbnlearnError as problem:
        raise DataError(f"{home}: the result is damaged: {problem}") from None
    except Exception as problem:  # files that pass their checksums, but were not written by us
        raise DataError(f"{home}: the result is damaged ({first_line(problem)}); learn again") from None


def _arrays(result: Result) -> dict[str, NDArray[Any]]:
    """All numbers by name; node i has sets/i, weights/i and, of rate table k, rates/i/k/{parents,shape,rate,...}."""
    out: dict[str, NDArray[Any]] = {
        "edge_probabilities": result.edge_probabilities,
        "remaining": result.remaining,
        "history": np.array(result.history.objective, float),
        "objective": np.array([result.objective], float),
    }
    if result.disagreement is not None:
        out["disagreement"] = result.disagreement
    if result.bags is not None:
        out["bags/n_bags"] = np.array([result.bags.n_bags])
        out.update({f"bags/{key}": getattr(result.bags, key) for key in BAGS})
    for i, (sets, weights) in enumerate(zip(result.parent_sets, result.parent_set_weights)):
        out[f"sets/{i}"] = sets.members.astype(np.int32)
        out[f"weights/{i}"] = weights
        for k, table in enumerate(result.rate_tables[i]):
            out[f"rates/{i}/{k}/parents"] = np.array(table.parents, np.int32)
            out[f"rates/{i}/{k}/shape"], out[f"rates/{i}/{k}/rate"] = table.shape, table.rate
            optional = {"prior": table.prior, "draws": table.draws, "transitions": table.transitions}
            for key, value in optional.items():
                if value is not None:
                    out[f"rates/{i}/{k}/{key}"] = np.asarray(value, np.float32 if key == "draws" else float)
    for k, unit in enumerate(result.units):
        out[f"units/{k}/times"] = unit.times
        out.update({f"units/{k}/{i}": unit.probabilities[name] for i, name in enumerate(result.names)})
    return {name: np.ascontiguousarray(array) for name, array in out.items()}


def _build(network: CTBN, content: bytes, manifest: Mapping[str, Any]) -> Result:
    """The result from its parts."""
    from safetensors.numpy import load

    arrays = load(content)
    sets, weights, tables = [], [], []
    for i in range(len(network.variables)):
        sets.append(ParentSets(arrays[f"sets/{i}"], network.names))
        weights.append(arrays[f"weights/{i}"])
        mine: list[RateTable] = []
        while f"rates/{i}/{len(mine)}/shape" in arrays:
            part: dict[str, FloatArray | None] = {
                key: arrays.get(f"rates/{i}/{len(mine)}/{key}")
                for key in ("parents", "shape", "rate", "prior", "draws", "transitions")
            }
            mine.append(_rate_table(**part))
        tables.append(mine)
    return Result(
        network,
        arrays["edge_probabilities"],
        sets,
        weights,
        arrays["remaining"],
        tables,
        History(tuple(arrays["history"].tolist()), tuple(manifest["phases"])),
        float(arrays["objective"][0]),
        bool(manifest["converged"]),
        [_unit(k, entry, arrays, network.names) for k, entry in enumerate(manifest["units"])],
        disagreement=arrays.get("disagreement"),
        bags=_bags(arrays),
    )


def _bags(arrays: Mapping[str, NDArray[Any]]) -> Bags | None:
    if "bags/n_bags" not in arrays:
        return None
    return Bags(int(arrays["bags/n_bags"][0]), **{key: arrays[f"bags/{key}"] for key in BAGS})


def _unit(k: int, entry: Mapping[str, Any], arrays: Mapping[str, FloatArray], names: Sequence[str]) -> Unit:
    return Unit(
        entry["id"],
        arrays[f"units/{k}/times"],
        {name: arrays[f"units/{k}/{i}"] for i, name in enumerate(names)},
        {name: [(t, value) for t, value in seen] for name, seen in entry["observations"].items()},
        bool(entry.get("simulated", False)),
    )


def _rate_table(parents: Any, shape: Any, rate: Any, prior: Any, draws: Any, transitions: Any) -> RateTable:
    if parents.dtype.kind != "i" or parents.ndim != 1:
        raise DataError("the parents of a rate table are no numbers of variables")
    alpha, moves = (None if a is None else float(a.reshape(-1)[0]) for a in (prior, transitions))
    return RateTable(tuple(parents.tolist()), shape, rate, alpha, draws, moves)


def _read_manifest(path: Path) -> dict[str, Any]:
    """The manifest, checked; the version first, since a newer format may look different."""
    if not path.exists():
        raise DataError(f"{path.parent}: this folder holds no {MANIFEST}, so it is not a result; check the path")
    try:
        manifest = json.loads(read_bytes(path, "result"))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, CtbnlearnError):
            raise
        raise DataError(f"{path}: the file is damaged ({first_line(problem)}); restore it, or learn again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: this is not the manifest of a ctbnlearn result (no format mark); check the path")
    version = manifest.get("format_version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise DataError(
            f"{path}: this result was saved in version {version} of the format, and this program reads up to "
            f"{VERSION}; update ctbnlearn"
        )
    for key, kind in _KINDS.items():
        if key in manifest and not isinstance(manifest[key], kind):
            raise DataError(f"{path}: {key!r} is not what a result holds there; restore the file, or learn again")
    files = manifest.get("files")
    known = isinstance(files, dict) and {ARRAYS, NETWORK} <= set(files) <= FILES
    if manifest.get("checksum") != _checksum(manifest) or not known:
        raise DataError(f"{path}: the file is not as it was saved (wrong checksum); restore it, or learn again")
    return manifest


def _checksum(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of a manifest without its own mark, however it is laid out."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _json(content: Any) -> str:
    try:
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            f"the manifest may hold JSON values only ({first_line(problem)}); take out others"
        ) from None
