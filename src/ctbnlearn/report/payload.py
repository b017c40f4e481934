"""The numbers behind the page as JSON, cut to what a page can hold, and what was cut in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ctbnlearn.report.content import ReportContent
from ctbnlearn.report.layout import place
from ctbnlearn.report.marks import as_marks

EDGES = 2000
HEAT = 300
SETS = 8
RATES = 4000
UNITS = 8
STRIPS = 12
POINTS = 40_000
WORDS = 8  # sentences of an edge
THRESHOLD = 0.5


def payload(content: ReportContent) -> dict[str, Any]:
    """Values for the page's script: variables by number, probabilities in thousandths, unknown numbers as None."""
    index = {name: i for i, name in enumerate(content.names)}
    matrix = content.edge_probabilities
    edges = [_edge(edge, index) for edge in content.edges[:EDGES]]
    xy = place(matrix >= THRESHOLD)
    heat = _strongest(matrix)
    rates = _rates(content, index)
    units, unit_note = _trajectories(content, index)
    n = len(content.names)
    return {
        "names": content.names,
        "states": content.states,
        "x": np.round(xy[:, 0], 3).tolist(),
        "y": np.round(xy[:, 1], 3).tolist(),
        "threshold": THRESHOLD,
        "edges": edges,
        "heat": {
            "order": heat,
            "rows": (1000 * matrix[np.ix_(heat, heat)]).round().astype(int).tolist(),
        },
        "sets": [
            [[[index[name] for name in members], _number(weight)] for members, weight in list(sets)[:SETS]]
            for sets in content.parent_sets
        ],
        "set_counts": [len(sets) for sets in content.parent_sets],
        "rates": rates,
        "dwell": [
            [
                [[str(state) for state in row["parents"].values()], str(row["state"]), _number(row["mean"])]
                for row in rows
            ]
            for rows in (list(rows)[: max(RATES // n, 12)] for rows in content.dwell)
        ],
        "moves": [_number(content.moves.get(name), 2) for name in content.names],
        "time_label": content.time_label,
        "objective": [_number(value, 9) for value in content.objective],
        "phases": [str(phase) for phase in content.phases],
        "units": units,
        "notes": {
            "edges": f"The {EDGES:,} most probable of {len(content.edges):,} edges are in this page; the others have a "
            f"probability of {edges[-1][2]:.2g} or less."
            if len(content.edges) > EDGES
            else "",
            "heat": f"The {HEAT} of {n:,} variables with the most probable edges." if n > HEAT else "",
            "units": unit_note,
        },
    }


def as_script(values: Any) -> str:
    r"""JSON that can stand inside a script element, whatever the labels.

    Examples
    --------
    >>> as_script(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))  # ASCII only, so no line separators either
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _number(value: Any, digits: int = 4) -> float | None:
    """Rounded to significant digits; None where it is not known."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def _edge(edge: Mapping[str, Any], index: Mapping[str, int]) -> list[Any]:
    numbers = [_number(edge[key]) for key in ("probability", "effect", "effect_low", "effect_high")]
    words = [str(text) for text in edge.get("words", ())][:WORDS]
    return [index[edge["source"]], index[edge["target"]], *numbers, _sign(edge["sign"]), words]


def _sign(sign: Any) -> str:
    if isinstance(sign, str):
        return "−" if sign == "-" else sign
    if sign is None or not math.isfinite(sign) or sign == 0:
        return ""
    return "+" if sign > 0 else "−"


def _strongest(matrix: Any) -> list[int]:
    """Variables of the heat map: all, or those with the most probable edges, in their order."""
    if len(matrix) <= HEAT:
        return list(range(len(matrix)))
    strength = np.maximum(matrix.max(0), matrix.max(1))
    return sorted(np.argsort(-strength, kind="stable")[:HEAT].tolist())


def _rates(content: ReportContent, index: Mapping[str, int]) -> list[dict[str, Any]]:
    share = max(RATES // len(content.names), 12)
    out = []
    for rates in content.rates:
        parents = list(rates[0]["parents"]) if len(rates) else []
        rows = [
            [
                [str(rate["parents"].get(name, "")) for name in parents],
                str(rate["from"]),
                str(rate["to"]),
                *(_number(rate[key]) for key in ("mean", "low", "high")),
            ]
            for rate in list(rates)[:share]
        ]
        out.append({"parents": [index[name] for name in parents], "rows": rows, "total": len(rates)})
    return out


def _trajectories(content: ReportContent, index: Mapping[str, int]) -> tuple[list[dict[str, Any]], str]:
    """Strips of the first units and variables, thinned to a number of points the page can hold."""
    given = content.trajectories or ()
    units = []
    cut = False
    columns = sum(
        len(content.states[index[v]]) - 1 for unit in given[:UNITS] for v in list(unit["probabilities"])[:STRIPS]
    )
    points = int(np.clip(POINTS // max(columns, 1), 20, 200))
    for unit in given[:UNITS]:
        times = np.asarray(unit["times"], float)
        keep = np.unique(np.linspace(0, len(times) - 1, min(points, len(times))).round().astype(int))
        strips = []
        for name in list(unit["probabilities"])[:STRIPS]:
            labels = content.states[index[name]]
            share = np.asarray(unit["probabilities"][name], float)[keep, :-1]  # the last state has the rest
            marks = as_marks(unit["observations"].get(name, ()), labels, name)
            strips.append(
                {
                    "variable": index[name],
                    "share": (1000 * share).round().astype(int).T.tolist(),
                    "marks": [[_number(m.time, 10), m.state, _number(m.height), m.text] for m in marks],
                }
            )
        cut = cut or len(unit["probabilities"]) > STRIPS
        units.append({"id": str(unit["id"]), "times": [_number(t, 10) for t in times[keep]], "strips": strips})
    note = f"The first {UNITS} of {len(given):,} units. " if len(given) > UNITS else ""
    return units, note + (f"The first {STRIPS} variables of a unit." if cut else "")
