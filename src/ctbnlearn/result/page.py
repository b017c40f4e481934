"""The report of a result: plain values for `ctbnlearn.report`, which draws the page."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ctbnlearn import __version__
from ctbnlearn.result.result import Result

CITATION = (
    "The software: The ctbnlearn developers. ctbnlearn, version {version} (computer software).\n"
    "The method: Linzner, D., Schmidt, M. & Koeppl, H. (2019). Scalable Structure Learning of Continuous-Time Bayesian "
    "Networks from Incomplete Data. Advances in Neural Information Processing Systems 32."
)
MOST_SETS = 20  # parent sets shown per variable
BAGGED_EDGE = 0.1  # edges of less probability, averaged and from all data, are not listed again
LIGHTEST_EDGE = 0.01  # edges of less probability are not listed


def write_report(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the report of a result as one HTML page."""
    from ctbnlearn.data.files import write_atomic

    write_atomic(path, render_report(result))


def render_report(result: Result) -> str:
    """The report of a result as the text of an HTML page."""
    from ctbnlearn.report.content import ReportContent
    from ctbnlearn.report.page import render_page

    return render_page(ReportContent(**report_values(result)))


def report_values(result: Result) -> dict[str, Any]:
    """The fields of `ctbnlearn.report.content.ReportContent` as lists, texts and arrays."""
    manifest = result.manifest
    sets = [
        [(s[k], float(w[k])) for k in range(min(len(s), MOST_SETS))]
        for s, w in zip(result.parent_sets, result.parent_set_weights)
    ]
    rates = [
        [
            {
                **row,
                "parents": {name: str(state) for name, state in row["parents"].items()},
                "from": str(row["from"]),
                "to": str(row["to"]),
            }
            for row in result.rates(name)
        ]
        for name in result.names
    ]
    return {
        "title": str(manifest.get("title", "What drives what")),
        "names": list(result.names),
        "states": [[str(state) for state in v.states] for v in result.variables],
        "edge_probabilities": np.array(result.edge_probabilities),
        "edges": [
            {**e, "words": result.explain(e["source"], e["target"])}
            for e in result.edges.to_pylist()
            if e["probability"] >= LIGHTEST_EDGE and e["source"] not in manifest.get("adjusted_for", ())
        ],
        "parent_sets": sets,
        "rates": rates,
        "objective": list(result.history.objective),
        "phases": list(result.history.phase),
        "settings": {name: value for part in manifest.get("settings", {}).values() for name, value in part.items()},
        "summary": summary(result),
        "warnings": list(manifest.get("warnings", [])),
        "trajectories": [
            {"id": u.id, "times": u.times, "probabilities": u.probabilities, "observations": u.observations}
            for u in result.units
        ],
        "citation": CITATION.format(version=manifest.get("version", __version__)),
        "time_unit": result.time_unit or "",
        "time_label": time_label(result),
        "dwell": [result.dwell_times(name) for name in result.names],
        "moves": manifest.get("moves_per_gap", {}),
        "noise": result.noise_parameters,
        "simulated_units": bool(result.units) and all(u.simulated for u in result.units),
        "bags": bag_rows(result),
        "n_bags": 0 if result.bags is None else result.bags.n_bags,
        "check": manifest.get("check") or {},
    }


def bag_rows(result: Result) -> list[dict[str, Any]]:
    """Edges of notable probability with what resampling of units says of them; none where units were not resampled."""
    if result.bags is None:
        return []
    given = result.manifest.get("adjusted_for", ())
    rows = [edge for edge in result.edges.to_pylist() if edge["source"] not in given]
    return [edge for edge in rows if max(edge["probability"], edge["all_data"]) >= BAGGED_EDGE]


def time_label(result: Result) -> str:
    """What stands at the axis of time: the name of its column where it is known, and the unit."""
    column = str(result.manifest.get("settings", {}).get("reading", {}).get("time") or "time")
    return f"{column} ({result.time_unit})" if result.time_unit else column


def summary(result: Result) -> dict[str, str]:
    """What was learned from what, as label -> text."""
    data, convergence = result.manifest.get("data", {}), result.manifest.get("convergence", {})
    out = {"Variables": str(len(result.names))}
    for label, key in (("Trajectories", "trajectories"), ("Transitions", "transitions"), ("Values seen", "values")):
        if key in data:
            out[label] = str(data[key])
    if "missing" in data:
        out["Not seen"] = f"{data['missing']:.1%} of the cells"
    if "total_time" in data:
        unit = f" {data['time_unit']}" if data.get("time_unit") else ""
        out["Time observed"] = f"{data['total_time']:.6g}{unit} in all, from {data['start']:.6g} to {data['end']:.6g}"
    if result.manifest.get("adjusted_for"):
        out["Adjusted for"] = ", ".join(result.manifest["adjusted_for"]) + " (parents of all others)"
    out["Edges above 0.5"] = str(int(result.graph(0.5).sum()))
    out["Objective"] = f"{result.objective:.6g}"
    sampled = (result.manifest.get("inference") or {}).get("method") == "sampling"
    steps = (
        f" after {convergence['iterations']} {'sweeps' if sampled else 'rounds'}" if "iterations" in convergence else ""
    )
    out["Converged"] = ("yes" if result.converged else "no") + steps
    moves = result.manifest.get("moves_per_gap")
    if moves:
        fastest = max(moves, key=moves.get)
        out["Moves between visits"] = f"{min(moves.values()):.2g} to {moves[fastest]:.2g} ({fastest})"
    if "version" in result.manifest:
        out["Version"] = f"ctbnlearn {result.manifest['version']}"
    return out
