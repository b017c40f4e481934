"""Restricted exhaustive search: every subset of a prior network's parents, against how over-complete that network is.

The prior network holds the true edges and, for every node, some more parents drawn at random. The paper proposes this
search without an experiment; here are accuracy and time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ctbnlearn.arrays import BoolArray
from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, paired, select
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.graph import as_adjacency

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NODES = (10, 20, 30)
EXTRA = (1, 2, 4, 6)  # false candidates a node; with two true ones at most eight, all subsets of which are listed
GRAPHS = 5
WEIGHTS = ("mixture", "posterior")


def plan(options: Options) -> list[Cell]:
    """One cell per size, graph and number of false candidates."""
    nodes, extra, graphs = ((10,), (1, 3), 1) if options.quick else (NODES, EXTRA, GRAPHS)
    return [
        {"nodes": n, "graph": g, "extra": e, "quick": options.quick}
        for n in nodes
        for e in extra
        for g in range(graphs)
    ]


def prior_network(net: CTBN, extra: int, rng: np.random.Generator) -> BoolArray:
    """True edges and `extra` more parents for every node, as a matrix [source, target]."""
    allowed = as_adjacency(net, net.names, "truth").copy()
    for node in range(len(allowed)):
        free = np.flatnonzero(~allowed[:, node])
        allowed[rng.choice(free[free != node], extra, replace=False), node] = True
    return allowed


def run(cell: Cell, options: Options) -> Tables:
    """Fit twice, so that the second time is free of compilation."""
    from ctbnlearn.experiments.learning import fit_row

    net = protocol.draw_network(cell["graph"], cell["nodes"])
    obs = protocol.draw_observations(protocol.draw_paths(net, cell["graph"]), cell["graph"])
    rng = np.random.default_rng([protocol.SEED, cell["graph"], cell["nodes"], cell["extra"]])
    allowed = prior_network(net, cell["extra"], rng)
    rows: list[Row] = []
    for weights in WEIGHTS:
        learner = protocol.learner(weights, quick=cell["quick"], candidates=allowed.astype(int))
        found = fit_row(learner, net, obs)
        began = time.perf_counter()
        learner.fit(obs)
        warm = time.perf_counter() - began
        inside = _inside(net, allowed, learner.edge_probabilities_)
        where = {"graph": cell["graph"], "nodes": cell["nodes"], "extra": cell["extra"], "weights": weights}
        size = {"candidates": int(allowed.sum()), "true_edges": len(net.edges)}
        rows.append({**where, **size, **found, **inside, "seconds_warm": warm})
    return {"scores": rows}


def _inside(net: CTBN, allowed: BoolArray, probability: np.ndarray) -> Row:
    """Accuracy among the candidates alone, where the prior network does not help."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    truth, p = as_adjacency(net, net.names, "truth")[allowed], probability[allowed]
    return {
        "auroc_candidates": float(roc_auc_score(truth, p)),
        "aupr_candidates": float(average_precision_score(truth, p)),
        "prevalence_candidates": float(truth.mean()),
    }


def draw(tables: Tables) -> Figure:
    """AUPR among candidates and warm seconds against the number of false candidates."""
    from ctbnlearn.experiments.drawing import LOOKS, bands, labels, legend, panels, seconds_axis

    rows = tables["scores"]
    figure, axes = panels(3, width=3.4)
    for weights in WEIGHTS:
        for nodes, marker, dashes in zip(sorted(group(rows, "nodes")), "os^", ("-", "--", ":")):
            look = {**LOOKS[weights], "marker": marker, "linestyle": dashes, "label": f"{weights}, N={nodes}"}
            here = select(rows, weights=weights, nodes=nodes)
            for ax, key in zip(axes, ("auroc_candidates", "aupr_candidates", "seconds_warm")):
                bands(ax, here, "extra", key, look)
    for ax, name in zip(axes, ("AUROC among candidates", "AUPR among candidates", "seconds (second fit)")):
        labels(ax, "false candidates a node", name)
        ax.set_xticks(sorted(group(rows, "extra")))
    axes[0].set_ylim(top=1.01)
    axes[1].set_ylim(top=1.01)
    seconds_axis(axes[2])
    legend(axes[2], loc="upper left")
    return figure


def compare(tables: Tables) -> Comparison:
    """Means by size and number of false candidates, and what a tight prior network buys."""
    rows = tables["scores"]
    lines = []
    for (nodes, extra, weights), here in sorted(group(rows, "nodes", "extra", "weights").items()):
        keys = ("auroc_candidates", "aupr_candidates", "auroc", "aupr", "seconds_warm")
        lines.append((nodes, extra, weights, *(mean(here, key) for key in keys)))
    tight, loose = min(group(rows, "extra")), max(group(rows, "extra"))
    claims = []
    for weights in WEIGHTS:
        here = select(rows, weights=weights)
        by_size = {
            nodes: tuple(mean(select(here, nodes=nodes, extra=e), "aupr") for e in (tight, loose))
            for nodes in sorted(group(rows, "nodes"))
        }
        claims.append(
            Claim(
                f"A tighter prior network gives a better graph, {weights} weights (ours; the paper names no figures)",
                all(first >= last for first, last in by_size.values()),
                f"AUPR over all pairs with {tight} and {loose} false candidates a node: "
                + ", ".join(f"N={n} {first:.3f} and {last:.3f}" for n, (first, last) in by_size.items()),
            )
        )
    both = [
        paired(rows, "aupr", {"nodes": n, "extra": loose, "weights": "posterior"}, _mixture(n, loose))
        for n in sorted(group(rows, "nodes"))
    ]
    claims.append(
        Claim(
            f"Posterior weights are no worse than mixture weights with {loose} false candidates a node (ours)",
            all(gain >= -2 * error - 1e-9 for gain, error in both),
            "difference in AUPR by size " + ", ".join(f"{gain:+.3f} ± {error:.3f}" for gain, error in both),
        )
    )
    settings = {
        "graphs": len(group(rows, "graph")),
        "trajectories": protocol.TRAJECTORIES,
        "seconds": "second fit in a process, compilation left out",
        **protocol.SETTINGS,
    }
    header = ("N", "false candidates", "weights", "AUROC inside", "AUPR inside", "AUROC", "AUPR", "seconds")
    return Comparison(header, lines, claims, settings)


def _mixture(nodes: int, extra: int) -> Row:
    return {"nodes": nodes, "extra": extra, "weights": "mixture"}


EXPERIMENT = Experiment(
    "restricted",
    "Restricted exhaustive search: how over-complete may a prior network be?",
    plan,
    run,
    draw,
    compare,
    timed=True,
)
