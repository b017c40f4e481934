"""Contents of report pages for tests: a small one with any names, and one as large as needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ctbnlearn.report.content import ReportContent

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><b>bold</b>",
    "$x$ _y_",
    "q\"u'ote & <img src=x onerror=alert(1)>",
    "{{ 7*7 }} %{x} &lt;i&gt;",
)


def small(names: Any = ("rain", "soil", "growth", "pests", "harvest")) -> ReportContent:
    """Five variables, everything present; `names` also name states, settings, warnings and units."""
    names = list(names)
    rng = np.random.default_rng(0)
    matrix = np.zeros((5, 5))
    matrix[[0, 1, 1, 3], [1, 0, 2, 4]] = [0.99, 0.72, 0.55, 0.31]
    states = [["dry", name] for name in names]
    edges = []
    for s, t in sorted(np.argwhere(~np.eye(5, dtype=bool)).tolist(), key=lambda e: -matrix[tuple(e)]):
        value = rng.normal() if matrix[s, t] else float("nan")
        edges.append(
            {
                "source": names[s],
                "target": names[t],
                "probability": matrix[s, t],
                "effect": value,
                "effect_low": value - 0.4,
                "effect_high": value + 0.4,
                "sign": np.sign(value),
            }
        )
    sentence = f"When {names[0]} = {names[0]} rather than dry: dry → {names[1]} 3 times as fast (2 to 4)."
    edges[0]["words"] = [sentence]
    times = np.linspace(0.0, 4.0, 30)
    share = 0.5 + 0.5 * np.sin(times)
    return ReportContent(
        title=f"Report on {names[0]}",
        names=names,
        states=states,
        edge_probabilities=matrix,
        edges=edges,
        parent_sets=[[((names[(i + 1) % 5],), 0.7), ((), 0.3)] for i in range(5)],
        rates={
            names[0]: [
                {
                    "parents": {names[1]: a},
                    "from": states[0][b],
                    "to": states[0][1 - b],
                    "mean": 1.5,
                    "low": 1.0,
                    "high": None,
                }
                for a in states[1]
                for b in (0, 1)
            ]
        },
        objective=[-20.0, -12.0, -11.0, -10.9],
        phases=["rates", "weights", names[0], "weights"],
        settings={"max_parents": 2, names[1]: names[2]},
        summary={"Units": "40", names[3]: names[4]},
        warnings=["The fit has not converged.", f"Few values of {names[0]}."],
        trajectories=[
            {
                "id": names[0],
                "times": times,
                "probabilities": {name: np.column_stack([share, 1 - share]) for name in names},
                "observations": {names[0]: [(0.5, names[0]), (1.0, "dry")], names[1]: [(0.2, 1.5), (3.0, -2.0)]},
            }
        ],
        citation=f"Somebody (2024). {names[1]}",
        dwell={names[0]: [{"parents": {names[1]: "dry"}, "state": names[0], "mean": 0.5}]},
        moves={names[0]: 0.4567},
        time_label=f"{names[2]} (years)",
    )


def large(n: int) -> ReportContent:
    """`n` variables and no probability zero: as much as a page can be asked to hold."""
    rng = np.random.default_rng(1)
    names = [f"variable {i}" for i in range(n)]
    matrix = np.where(rng.random((n, n)) < 1.5 / n, rng.beta(5, 1, (n, n)), 0.4 * rng.random((n, n)))
    np.fill_diagonal(matrix, 0.0)
    order = np.column_stack(np.unravel_index(np.argsort(-matrix, axis=None), (n, n)))
    keys = ("source", "target", "probability", "effect", "effect_low", "effect_high", "sign")
    times = np.linspace(0, 1, 1000)
    return ReportContent(
        title=f"{n} variables",
        names=names,
        states=[["0", "1"]] * n,
        edge_probabilities=matrix,
        edges=[
            dict(zip(keys, (names[s], names[t], matrix[s, t], 0.12345, -1.2345, 1.2345, 1))) for s, t in order if s != t
        ],
        parent_sets=[[((names[0], names[1]), 1 / 50)] * 50] * n,
        rates=[
            [
                {"parents": {names[0]: "0", names[1]: "1"}, "from": "0", "to": "1", "mean": x, "low": x / 3, "high": x}
                for x in rng.gamma(1.0, size=40)
            ]
            for _ in range(n)
        ],
        trajectories=[
            {"id": k, "times": times, "probabilities": {v: rng.dirichlet([1, 1], 1000) for v in names[:20]}}
            | {"observations": {}}
            for k in range(10)
        ],
    )
