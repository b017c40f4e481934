"""Fig. 1 a, b: accuracy against the number of trajectories when nothing is hidden.

The paper's exact score (eq. 2: posterior weights with a flat prior of structures and its projected prior of rates)
against its mixture weights (eq. 5), and our default posterior weights. Two more learners tell what a difference comes
from: mixture weights with our prior of rates, and the exact score with our prior of rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, paired, quartiles, select
from ctbnlearn.structure.metrics import edge_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR_ONE = 0.95
PEER_GRAPHS = 5  # graphs on which other packages are asked, as they take seconds each
TRAJECTORIES = (5, 10, 20, 40, 80, 160, 320)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("exact", {}),
    "mixture": ("mixture", {}),
    "posterior": ("posterior", {}),
    "mixture, weak prior": ("mixture", {"rate_prior": "auto"}),
    "exact, weak prior": ("exact", {"rate_prior": "auto"}),
}


def plan(options: Options) -> list[Cell]:
    """One cell per graph."""
    graphs, sizes = (4, (5, 20, 80)) if options.quick else (protocol.GRAPHS, TRAJECTORIES)
    return [
        {"graph": g, "trajectories": list(sizes), "peers": options.peers and g < PEER_GRAPHS} for g in range(graphs)
    ]


def run(cell: Cell, options: Options) -> Tables:
    """Learn from the first trajectories of one graph, with every method."""
    net = protocol.draw_network(cell["graph"])
    every = protocol.draw_paths(net, cell["graph"], max(cell["trajectories"]))
    rows: list[Row] = []
    for size in cell["trajectories"]:
        paths = every.select(np.arange(size))
        for method, (weights, others) in METHODS.items():
            learner = protocol.learner(weights, **others).fit(paths)
            heaviest = float(np.mean([w[0] for w in learner.parent_set_weights_]))
            scores = edge_scores(net, learner.edge_probabilities_)
            where = {"graph": cell["graph"], "trajectories": size, "method": method}
            rows.append({**where, **scores, "heaviest": heaviest})
        if cell["peers"]:
            from ctbnlearn.experiments.peers import peer_rows

            rows += [{"graph": cell["graph"], "trajectories": size, **row} for row in peer_rows(net, paths)]
    return {"scores": rows}


def draw(tables: Tables) -> Figure:
    """AUROC and AUPR against the number of trajectories."""
    from ctbnlearn.experiments.drawing import LOOKS, PURPLE, bands, counts_axis, labels, legend, panels

    rows = [row for row in tables["scores"] if not row.get("error")]
    figure, axes = panels(2, height=3.6)
    for ax, key in zip(axes, ("auroc", "aupr")):
        for method, look in LOOKS.items():
            bands(ax, select(rows, method=method), "trajectories", key, look)
        peers = [m for m in group(rows, "method") if m not in METHODS]
        for peer, marker in zip(peers, "DvPX*"):
            look = {"color": PURPLE, "linestyle": ":", "marker": marker, "label": peer}
            bands(ax, select(rows, method=peer), "trajectories", key, look)
        counts_axis(ax, [row["trajectories"] for row in rows])
        ax.set_ylim(top=1.01)
        labels(ax, "trajectories", key.upper())
    if peers:
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=8
        )
    else:
        legend(axes[0], loc="lower right")
    return figure


def compare(tables: Tables) -> Comparison:
    """Means and quartiles by number of trajectories, and the paper's sentences on them."""
    from ctbnlearn.experiments.peers import failures

    rows = [row for row in tables["scores"] if not row.get("error")]
    sizes = sorted(group(rows, "trajectories"))
    methods = list(group(rows, "method"))
    lines = []
    for size in sizes:
        for method, here in group(select(rows, trajectories=size), "method").items():
            low, _, high = quartiles(here, "aupr")
            figures = (mean(here, "auroc"), mean(here, "aupr"), f"{low:.3f} to {high:.3f}", mean(here, "log_loss"))
            lines.append((size, method, *figures))
    most = sizes[-1]
    last = {m: mean(select(rows, trajectories=most, method=m), "aupr") for m in methods}
    first = {m: mean(select(rows, trajectories=sizes[0], method=m), "aupr") for m in methods}
    main = ("exact", "mixture", "posterior")
    claims = [
        Claim(
            "AUROC and AUPR approach 1 with data, for the exact score and for the mixture",
            all(last[m] > NEAR_ONE and last[m] > first[m] for m in main[:2]),
            f"AUPR at {sizes[0]} and {most} trajectories: "
            + ", ".join(f"{m} {first[m]:.3f} and {last[m]:.3f}" for m in main)
            + f"; close means above {NEAR_ONE}",
            _why(rows),
        ),
        _difference(rows, sizes, "mixture", "exact", "Mixture weights do as well as the exact score"),
        _difference(rows, sizes, "posterior", "mixture", "Our default weights are no worse than mixture weights"),
    ]
    settings = {
        "graphs": len(group(rows, "graph")),
        "trajectories": ", ".join(map(str, sizes)),
        **protocol.SETTINGS,
        **failures(tables["scores"]),
    }
    return Comparison(
        ("trajectories", "method", "AUROC", "AUPR", "AUPR quartiles", "log loss"), lines, claims, settings
    )


def _why(rows: list[Row]) -> str:
    """How sharply the weights choose, and what the prior of the rates does, at the middle amount of data."""
    sizes = sorted(group(rows, "trajectories"))
    at = sizes[len(sizes) // 2]
    parts = []
    for method in ("mixture", "exact"):
        gain, error = paired(
            rows,
            "aupr",
            {"trajectories": at, "method": f"{method}, weak prior"},
            {"trajectories": at, "method": method},
        )
        parts.append(f"{method} {gain:+.3f} ± {error:.3f}")
    heaviest = ", ".join(
        f"{method} {mean(select(rows, trajectories=at, method=method), 'heaviest'):.2f}"
        for method in ("mixture", "exact")
    )
    return (
        f"Mixture weights choose where the exact score weighs: weight of a node's heaviest set with {at} trajectories: "
        f"{heaviest}. The prior of the rates matters too: with our weak one in place of the projected one, AUPR with "
        f"{at} trajectories moves by: {', '.join(parts)}."
    )


def _difference(rows: list[Row], sizes: list[int], one: str, other: str, text: str) -> Claim:
    """Whether `one` is at least as good as `other` at every number of trajectories, within two standard errors."""
    found = {
        size: paired(rows, "aupr", {"trajectories": size, "method": one}, {"trajectories": size, "method": other})
        for size in sizes
    }
    shown = ", ".join(f"{size}: {gain:+.3f} ± {error:.3f}" for size, (gain, error) in found.items())
    holds = all(gain >= -2 * error - 1e-9 for gain, error in found.values())
    return Claim(text, holds, f"difference in AUPR by trajectories {shown}", _why(rows))


EXPERIMENT = Experiment(
    "complete",
    "Complete data: exact score, mixture weights, posterior weights (Fig. 1 a, b)",
    plan,
    run,
    draw,
    compare,
    with_peers=True,
)
