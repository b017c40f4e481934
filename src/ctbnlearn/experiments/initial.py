"""Fig. 2 e, f: where EM starts: the paper's heuristic (all weight on the largest sets), random, or uniform weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, paired, quartiles, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STARTS = {"full": "heuristic", "random": "random", "uniform": "uniform"}
WEIGHTS = ("mixture", "posterior")


def plan(options: Options) -> list[Cell]:
    """One cell per graph."""
    graphs, size = (3, 16) if options.quick else (protocol.GRAPHS, protocol.TRAJECTORIES)
    return [{"graph": g, "trajectories": size, "quick": options.quick} for g in range(graphs)]


def run(cell: Cell, options: Options) -> Tables:
    """All starts on the same data; the random one is drawn once per graph."""
    from ctbnlearn.experiments.learning import fit_row, pair_rows

    net = protocol.draw_network(cell["graph"])
    obs = protocol.draw_observations(protocol.draw_paths(net, cell["graph"], cell["trajectories"]), cell["graph"])
    seed = protocol.streams(cell["graph"], protocol.NODES)[3]
    scores: list[Row] = []
    pairs: list[Row] = []
    for weights in WEIGHTS:
        for start in STARTS:
            random_state = np.random.default_rng(seed)
            learner = protocol.learner(weights, quick=cell["quick"], initial=start, random_state=random_state)
            where = {
                "graph": cell["graph"],
                "trajectories": cell["trajectories"],
                "weights": weights,
                "start": STARTS[start],
            }
            scores.append({**where, **fit_row(learner, net, obs), "objective": learner.objective_})
            pairs += [{**where, **row} for row in pair_rows(learner, net)]
    return {"scores": scores, "pairs": pairs}


def draw(tables: Tables) -> Figure:
    """ROC and precision-recall curves, a row of panels per kind of weights."""
    from ctbnlearn.experiments.drawing import labels, legend, panels, precision_curves, roc_curves
    from ctbnlearn.report.style import BLUE, MUTED, VERMILLION

    colours = {"heuristic": (VERMILLION, "-"), "random": (MUTED, "--"), "uniform": (BLUE, "-.")}
    figure, axes = panels(2, len(WEIGHTS), height=3.4)
    for k, weights in enumerate(WEIGHTS):
        for start, (colour, dashes) in colours.items():
            rows = select(tables["pairs"], weights=weights, start=start)
            look = {"color": colour, "linestyle": dashes, "label": start}
            roc_curves(axes[2 * k], rows, look)
            precision_curves(axes[2 * k + 1], rows, look)
        labels(axes[2 * k], "false positive rate", "true positive rate", f"{weights} weights")
        labels(axes[2 * k + 1], "recall", "precision", f"{weights} weights")
    legend(axes[0], loc="lower right")
    return figure


def compare(tables: Tables) -> Comparison:
    """Means and quartiles by start, and the paper's sentence on them."""
    rows = tables["scores"]
    lines = []
    for (weights, start), here in group(rows, "weights", "start").items():
        low, _, high = quartiles(here, "aupr")
        figures = (mean(here, "auroc"), mean(here, "aupr"), f"{low:.3f} to {high:.3f}", mean(here, "rounds"))
        lines.append((weights, start, *figures))
    claims = []
    for weights in WEIGHTS:
        for other in ("random", "uniform"):
            one, two = {"weights": weights, "start": "heuristic"}, {"weights": weights, "start": other}
            by = {key: paired(rows, key, one, two) for key in ("auroc", "aupr", "objective")}
            wins, losses = _wins(rows, one, two)
            whose = "" if other == "random" else " (ours)"
            claims.append(
                Claim(
                    f"The heuristic start does almost consistently better than {other} weights{whose}, {weights}",
                    wins > losses and by["aupr"][0] > 0 and by["auroc"][0] > 0,
                    f"AUROC {by['auroc'][0]:+.3f} ± {by['auroc'][1]:.3f}, AUPR {by['aupr'][0]:+.3f} ± "
                    f"{by['aupr'][1]:.3f}; AUPR higher in {wins} graphs, lower in {losses}, equal in the rest",
                    f"Its objective is {by['objective'][0]:+.2f} ± {by['objective'][1]:.2f} nats from that of the "
                    "other start: "
                    + (
                        "EM ends in the same place more often than not."
                        if _equal(rows, one, two) > 0.5
                        else "EM ends elsewhere, and a higher objective is not a better graph."
                    ),
                )
            )
    settings = {
        "graphs": len(group(rows, "graph")),
        "trajectories": ", ".join(map(str, group(rows, "trajectories"))),
        "search": "exhaustive",
        **protocol.SETTINGS,
    }
    return Comparison(("weights", "start", "AUROC", "AUPR", "AUPR quartiles", "rounds"), lines, claims, settings)


def _pairs(rows: list[Row], one: Row, two: Row, key: str) -> np.ndarray:
    first = {row["graph"]: row[key] for row in select(rows, **one)}
    second = {row["graph"]: row[key] for row in select(rows, **two)}
    return np.array([(first[g], second[g]) for g in first if first[g] is not None and second[g] is not None], float)


def _wins(rows: list[Row], one: Row, two: Row) -> tuple[int, int]:
    """Graphs in which the AUPR of `one` is higher, and lower."""
    both = _pairs(rows, one, two, "aupr")
    gap = both[:, 0] - both[:, 1]
    return int((gap > 1e-9).sum()), int((gap < -1e-9).sum())


def _equal(rows: list[Row], one: Row, two: Row) -> float:
    """Share of graphs in which both starts reach the same objective, to a tenth of a nat."""
    both = _pairs(rows, one, two, "objective")
    return float((np.abs(both[:, 0] - both[:, 1]) < 0.1).mean())


EXPERIMENT = Experiment("initial", "Where EM starts from (Fig. 2 e, f)", plan, run, draw, compare)
