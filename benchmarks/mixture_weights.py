"""The mixture M-step against 100 restarts of a general solver, on 40 random nodes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from timing import Row, once, seconds

from ctbnlearn.structure.mixture import MixtureObjective, mixture_weights

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def rows() -> list[Row]:
    from structure.test_mixture import best_of_restarts, problem

    ours, restarts, worst = 0.0, 0.0, np.inf
    for seed in range(40):
        objective = MixtureObjective(*problem(seed))
        weights, best = [], []
        ours += once(lambda o=objective, w=weights: w.append(mixture_weights(o)))
        restarts += once(
            lambda o=objective, b=best, s=seed: b.append(best_of_restarts(o, 100, np.random.default_rng(s)))
        )
        worst = min(worst, float(objective.value(weights[0])) - best[0])
    return [
        (
            "mixture weights, 40 nodes of 4 to 16 sets",
            seconds(ours),
            f"x{restarts / ours:.3g}",
            "100 SLSQP restarts each",
        ),
        ("  worst difference in F", f"{worst:.2g}", "", "at least -1e-6"),
    ]
