"""Where a result comes from: data, settings, convergence and doubts, in JSON types."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn import __version__
from ctbnlearn.arrays import IntArray
from ctbnlearn.data.description import FLEETING, MANY_MOVES, MANY_STATES, MOST_MOVES
from ctbnlearn.data.kinds import Data
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import owner
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.inference.methods import Blocks, Factorised, Method, Sampling
from ctbnlearn.result.result import Result
from ctbnlearn.structure.mixture import Mixture
from ctbnlearn.structure.prior import ProjectedPrior

STILL = 10  # trajectories in which a variable that never moves is constant, and not just seldom seen
APART = 0.25  # disagreement of chains on an edge that is told


def describe(data: Data) -> dict[str, Any]:
    """Summary and fingerprint of the data."""
    out: dict[str, Any] = {
        "kind": "complete" if isinstance(data, Paths) else "incomplete",
        "trajectories": data.n_trajectories,
        "variables": len(data.variables),
        "start": float(data.start.min()),
        "end": float(data.end.max()),
        "total_time": float((data.end - data.start).sum()),
        "time_unit": data.clock.unit,
    }
    if isinstance(data, Paths):
        out["transitions"] = data.n_transitions
    else:
        out["values"] = data.n_values
        if isinstance(data, TableScan):
            rows, seen = data.n_rows, data.values_per_variable
        else:
            rows, seen = n_rows(data), [len(s.values) for s in data.series]
        out["missing"] = 1 - data.n_values / (rows * len(data.variables)) if rows else 0.0
        out["values_per_variable"] = seen
        if data.interventions is not None:
            out["interventions"] = len(data.interventions)
    return {**out, "sha256": fingerprint(data)}


def n_rows(data: Observations) -> int:
    """Number of different times of observation, over trajectories."""
    found: IntArray = np.empty(0, np.uint64)
    seen: set[tuple[int, ...]] = set()
    for s in data.series:
        if s.key in seen:  # columns without holes share their times
            continue
        seen.add(s.key)
        # trajectory and time in one number; two pairs share one with a chance of 1e-7 for a million rows
        keys = (s.times + 0.0).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= (owner(s.offsets).astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
        found = np.sort(np.concatenate([found, keys]))  # many times as quick as np.union1d
        found = found[np.append(True, found[1:] != found[:-1])[: len(found)]]
    return len(found)


def fingerprint(data: Data) -> str:
    """SHA-256 of everything a fit depends on: variables, windows, values and observation models."""
    digest = hashlib.sha256()
    if isinstance(data, TableScan):
        content = [data.sha256, [[v.name, v.states] for v in data.variables], [repr(m) for m in data.noise]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def add(*arrays: ArrayLike) -> None:
        for array in arrays:
            values = np.asarray(array)
            kind = "<f8" if values.dtype.kind == "f" else "<i8"
            digest.update(f"{kind}{values.shape}".encode())
            digest.update(np.ascontiguousarray(values, kind).data)

    digest.update(json.dumps([type(data).__name__, [[v.name, v.states] for v in data.variables]]).encode())
    add(data.start, data.end)
    if isinstance(data, Paths):
        add(data.initial, data.offsets, data.times, data.nodes, data.targets)
    else:
        for s in data.series:
            digest.update(repr(s.noise).encode())
            add(s.offsets, s.times, s.values)
        if data.interventions is not None:
            given = data.interventions
            add(given.trajectory, given.node, given.start, given.end, given.value)
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """A setting in JSON types; graphs become lists of edges, what has no such form its text."""
    if hasattr(value, "item") and np.ndim(value) == 0:
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, ProjectedPrior):
        return {"projected": [plain(value.shape), plain(value.rate)]}
    if isinstance(value, Method):
        return plain(value.settings())
    if isinstance(value, Mixture):
        return {"mixture": plain(asdict(value))}
    if hasattr(value, "edges"):  # a CTBN or a networkx graph
        edges = value.edges() if callable(value.edges) else value.edges
        return [[plain(source), plain(target)] for source, target in edges]
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (set, frozenset)):
        return sorted((plain(entry) for entry in value), key=repr)  # sets have no order of their own
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return repr(value)


def build_manifest(
    data: Mapping[str, Any],
    settings: Mapping[str, Any],
    timings: Mapping[str, float],
    result: Result,
    iterations: int,
    method: Method | None = None,
) -> dict[str, Any]:
    """The manifest of a result just learned.

    Parameters
    ----------
    data
        From `describe`.
    settings
        Parameters of the learner, in JSON types.
    timings
        Seconds by phase.
    result
        What was learned.
    iterations
        Rounds of EM, or sweeps.
    method
        How paths were inferred; None for complete data.
    """
    objective = plain(float(result.objective))
    manifest = {
        "version": __version__,
        "python": platform.python_version(),
        "settings": {"learner": dict(settings)},
        "seed": settings.get("random_state"),
        "data": dict(data),
        "timings": {key: round(value, 6) for key, value in timings.items()},
        "inference": plain(method),
        "convergence": {"converged": bool(result.converged), "iterations": iterations, "objective": objective},
        "warnings": doubts(result, data, method),
    }
    moves = moves_per_gap(result, data)
    return {**manifest, "moves_per_gap": {name: round(m, 4) for name, m in moves.items()}} if moves else manifest


def moves_per_gap(result: Result, data: Mapping[str, Any]) -> dict[str, float]:
    """Moves of every variable expected between two observations of it: near one, it barely shows which moved first."""
    seen = data.get("values_per_variable")
    if seen is None:
        return {}
    jumps = [tables[0].expected_transitions if tables else float("nan") for tables in result.rate_tables]
    return {name: m / max(n, 1) for name, m, n in zip(result.names, jumps, seen) if np.isfinite(m)}


def fleeting_states(result: Result, data: Mapping[str, Any]) -> list[str]:
    """States that are left, under some states of the parents, much sooner than they are looked at again."""
    out = []
    for v, tables, seen in zip(result.network.variables, result.rate_tables, data.get("values_per_variable", [])):
        if tables and seen:
            exits = tables[0].mean.sum(-1).max(0) * data["total_time"] / seen  # in a gap, by state
            out += [f"{v.name} = {v.states[x]} ({1 / exits[x]:.2g})" for x in np.flatnonzero(exits > FLEETING)]
    return out


def doubts(result: Result, data: Mapping[str, Any], method: Method | None = None) -> list[str]:
    """What a reader should know before trusting the result, in words."""
    out = []
    if isinstance(method, Factorised):
        out.append(
            f"Paths were inferred variable by variable ({method.name}). With many units, or gaps as long as dwell "
            "times, reversed edges then come out as sure as true ones: trust no direction unless sampling confirms it."
        )
    if not result.converged and isinstance(method, Sampling):
        out.append("The chains have not come to agree: raise the number of sweeps and learn again.")
    elif not result.converged and isinstance(method, Blocks):
        out.append(
            "Some fits of blocks of variables, or of how values were measured, have not settled: rates may be off."
        )
    elif not result.converged:
        out.append("EM has not converged: raise max_iter, or tol, and learn again.")
    if result.disagreement is not None:
        apart = result.disagreement
        worst = [np.unravel_index(k, apart.shape) for k in np.argsort(-apart, axis=None)[:5]]
        edges = [f"{result.names[j]} -> {result.names[i]} ({apart[j, i]:.2f})" for j, i in worst if apart[j, i] > APART]
        if edges:
            out.append(
                f"Chains differ on the probability of {', '.join(edges)}: what stands there is an average over "
                "explanations that the data do not tell apart, or that the chains had no time to compare."
            )
    gaps = moves_per_gap(result, data)
    sticky = [
        v.name for v in result.network.variables if v.n_states >= MANY_STATES and gaps.get(v.name, 0) > MANY_MOVES
    ]
    if sticky and isinstance(method, Sampling):
        out.append(
            f"Chains may be stuck, although they agree: {some(sticky)} of {MANY_STATES} and more states move often "
            'between observations, and sampling then finds edges late or never. Compare with inference="blocks".'
        )
    starved = [f"{name} ({moves:.2g})" for name, moves in gaps.items() if moves > MOST_MOVES]
    prior_led, undriven = [], []
    for i, name in enumerate(result.names):
        tables = result.rate_tables[i]
        if not tables or tables[0].prior is None:
            continue
        jumps = tables[0].expected_transitions
        still = jumps < 1 and data.get("trajectories", 0) >= STILL
        if still and len(result.parent_sets[i]) == 1:  # it never moves, and nothing could drive it
            continue
        if jumps < tables[0].prior * tables[0].possible.sum():
            prior_led.append(name)
            if len(result.parent_sets[i]) > 1:
                undriven.append(name)
    if prior_led:
        out.append(
            f"The prior dominates the rates of {some(prior_led)}: fewer transitions were expected than the prior "
            "counts as seen."
        )
    if undriven:
        out.append(
            f"What drives {some(undriven)} cannot be told from so few moves: name in `exogenous` what nothing drives."
        )
    if starved:
        out.append(
            f"Too few observations of {some(starved)} (moves expected between two of them): which of two variables "
            "moved first is barely in the data, so that rates, and directions of edges from and to it, are uncertain."
        )
    fleeting = fleeting_states(result, data)
    if fleeting:
        out.append(
            f"Left sooner than they could be seen, in some states of the parents: {some(fleeting)} (mean stay, as a "
            "share of the time between two observations). How soon rests on the prior more than on the data: read "
            'such rates as "at once", and their intervals as too narrow; which of two such variables follows the other '
            "is easily mistaken."
        )
    return out


def some(names: list[str]) -> str:
    """The first ten names, and how many more there are."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
