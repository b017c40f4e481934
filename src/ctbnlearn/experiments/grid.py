"""The grid of Bregoli, Scutari & Stella: complete data of random graphs, sparse to dense, two and three states.

Every ordered pair of variables is an edge with probability p, every rate is uniform in (1, 5) on its own, trajectories
run to time 100. `PUBLISHED` holds what the authors' repository (ctbn_cba) reports for their constraint-based CTPC and
for the score-based search of CTBN-RLE, on graphs and a machine of their own; everything else is measured here.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ctbnlearn.data.variables import Variable
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, select
from ctbnlearn.model.ctbn import CTBN, with_diagonal
from ctbnlearn.model.simulation import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZON = 100.0
GRAPHS = 3  # of the cells with published figures; one of the others
CTPC_PARENTS = 4.0  # expected number of parents up to which CTPC is run, as its tests grow exponentially
PEER_NODES = 5  # nodes up to which other packages are asked, of few trajectories; and where time is compared
FASTER = 50.0
TIMED = (2, 0.2, 20, 300)  # states, p, N, trajectories

# (states, p, N): F1 of CTPC and of the score at 100 trajectories, at 300, and seconds at 300; None: not reported
PUBLISHED: dict[tuple[int, float, int], tuple[tuple[float, float | None], ...]] = {
    (2, 0.1, 20): ((0.968, 0.984), (0.992, 1.000), (442.0, 482.0)),
    (2, 0.2, 20): ((0.935, 0.987), (0.980, 1.000), (1029.0, 1053.0)),
    (2, 0.3, 20): ((0.787, 0.850), (0.883, 0.934), (1424.0, 1173.0)),
    (3, 0.2, 15): ((0.966, 0.800), (0.984, 0.943), (588.0, 664.0)),
    (3, 0.3, 15): ((0.819, 0.541), (0.886, 0.765), (847.0, 660.0)),
    (3, 0.3, 20): ((0.583, None), (0.761, None), (2122.0, None)),
}


def plan(options: Options) -> list[Cell]:
    """One cell per graph and number of trajectories, those with published figures first."""
    if options.quick:
        keys, sizes = [(2, 0.3, 5), (3, 0.3, 5)], (10, 20)
    else:
        others = [(s, p, n) for s in (2, 3) for p in (0.1, 0.2, 0.3) for n in (5, 10, 15, 20)]
        keys, sizes = [*PUBLISHED, *(key for key in others if key not in PUBLISHED)], (100, 300)
    cells = [
        {"states": s, "p": p, "nodes": n, "trajectories": size, "graph": graph, "peers": options.peers and not graph}
        for s, p, n in keys
        for size in sizes
        for graph in range(GRAPHS if (s, p, n) in PUBLISHED else 1)
    ]
    if options.peers:
        cells.append({"states": 2, "p": 0.2, "nodes": PEER_NODES, "trajectories": 10, "graph": 0, "peers": True})
    return cells


def draw_network(states: int, p: float, nodes: int, graph: int) -> CTBN:
    """A network of the grid."""
    rng = np.random.default_rng([states, round(100 * p), nodes, graph])
    names = [f"x{i}" for i in range(nodes)]
    parents: dict[str, list[str]] = {}
    rates: dict[str, Any] = {}
    for i, name in enumerate(names):
        parents[name] = [names[j] for j in range(nodes) if j != i and rng.random() < p]
        drawn = rng.uniform(1.0, 5.0, (states ** len(parents[name]), states, states))
        rates[name] = with_diagonal(drawn * ~np.eye(states, dtype=bool))
    return CTBN([Variable(name, tuple(range(states))) for name in names], parents, rates)


def run(cell: Cell, options: Options) -> Tables:
    """Learn from the data of one graph, with every method that is up to it."""
    from ctbnlearn.learn.ctpc import CTPC
    from ctbnlearn.learn.searches import HillClimb

    net = draw_network(cell["states"], cell["p"], cell["nodes"], cell["graph"])
    paths = simulate(net, cell["trajectories"], horizon=HORIZON, rng=cell["graph"])
    where = {key: cell[key] for key in ("states", "p", "nodes", "trajectories", "graph")}
    few = paths.select(np.arange(1))
    learners: dict[str, Any] = {"hill climb": HillClimb()}
    if cell["p"] * (cell["nodes"] - 1) <= CTPC_PARENTS:
        learners["CTPC"] = CTPC()
    rows: list[Row] = []
    for method, learner in learners.items():
        learner.fit(few)  # compiled beforehand
        began, worked = time.perf_counter(), time.process_time()
        learner.fit(paths)
        spent = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - worked}
        rows.append({**where, "method": method, **accuracy(net, learner.network_), **spent, "error": None})
    small = cell["nodes"] <= PEER_NODES and cell["trajectories"] <= 100
    if cell["peers"] and (small or tuple(where.values())[:4] == TIMED):
        from ctbnlearn.experiments.peers import run_peers

        for line in run_peers(paths):
            found = None if line["error"] else accuracy(net, {(a, b) for a, b in line["edges"]})
            name = f"{line['peer']} {line['version'] or ''}, {line['method']}".replace(" ,", ",")
            rows.append({**where, "method": name, **(found or {}), "seconds": line["seconds"], "error": line["error"]})
    return {"scores": rows}


def accuracy(net: CTBN, found: CTBN | set[tuple[str, str]]) -> dict[str, float]:
    """F1, precision and recall of edges; without any edge to find, finding none is right."""
    truth = set(net.edges)
    edges = set(found.edges) if isinstance(found, CTBN) else found
    hits = len(truth & edges)
    return {
        "f1": 2 * hits / (len(truth) + len(edges)) if truth or edges else 1.0,
        "precision": hits / len(edges) if edges else 1.0,
        "recall": hits / len(truth) if truth else 1.0,
    }


def published(row: Row) -> tuple[float | None, float | None, float | None]:
    """Published F1 of CTPC and of the score, and the shorter of their seconds, for the setting of a row."""
    found = PUBLISHED.get((row["states"], row["p"], row["nodes"]))
    if found is None or row["trajectories"] not in (100, 300):
        return None, None, None
    at = found[0] if row["trajectories"] == 100 else found[1]
    seconds = min(s for s in found[2] if s is not None) if row["trajectories"] == 300 else None
    return at[0], at[1], seconds


def draw(tables: Tables) -> Figure:
    """F1 beside the published figures, one group a setting."""
    from ctbnlearn.experiments.drawing import GREEN, PURPLE, labels, legend, panels

    rows = [row for row in tables["scores"] if not row["error"] and row["method"] == "hill climb"]
    sizes = [size for size, here in group(rows, "trajectories").items() if len(group(here, "states", "p", "nodes")) > 1]
    figure, axes = panels(len(sizes), height=3.6)
    for ax, size in zip(axes, sizes):
        settings = group(select(rows, trajectories=size), "states", "p", "nodes")
        for at, here in enumerate(settings.values()):
            theirs = published(here[0])[:2]
            marks = ((theirs[0], "s", GREEN), (theirs[1], "D", PURPLE))
            for value, marker, color in marks:
                if value is not None:
                    ax.plot(at, value, marker, color=color, fillstyle="none")
            ax.plot([at] * len(here), [row["f1"] for row in here], "o", color="black", markersize=4)
        for marker, color, name in (("o", "black", "hill climb"), ("s", GREEN, "CTPC, published")):
            ax.plot([], [], marker, color=color, label=name, fillstyle="full" if marker == "o" else "none")
        ax.plot([], [], "D", color=PURPLE, label="score, published", fillstyle="none")
        ax.set_xticks(range(len(settings)), [f"{s}, {p}, {n}" for s, p, n in settings], rotation=90, fontsize=7)
        ax.set_ylim(0, 1.03)
        labels(ax, f"states, p, N ({size} trajectories)", "F1")
    legend(axes[0], loc="lower left")
    return figure


def compare(tables: Tables) -> Comparison:
    """Means by setting and method beside the published figures."""
    from ctbnlearn.experiments.peers import failures

    rows = [row for row in tables["scores"] if not row["error"]]
    lines, short, compared = [], [], 0
    for (*setting, size, method), here in group(rows, "states", "p", "nodes", "trajectories", "method").items():
        theirs = published(here[0])
        figures = tuple(mean(here, key) for key in ("f1", "precision", "recall"))
        spent = (f"{mean(here, 'seconds'):.3g}", None if theirs[2] is None else f"{theirs[2]:.0f}")
        lines.append((*setting, size, method, len(here), *figures, *theirs[:2], *spent))
        best = max((value for value in theirs[:2] if value is not None), default=None)
        if method == "hill climb" and best is not None:
            compared += 1
            if figures[0] < best:
                short.append(f"{setting} at {size}: {figures[0]:.3f} against {best:.3f}")
    claims = [
        Claim(
            "Hill-climbing finds the graph at least as well as the better published figure, in every setting",
            None if not compared else not short,
            f"{compared - len(short)} of {compared} settings" + ("; short of it: " + "; ".join(short) if short else ""),
            "Among graphs with uniform rates there are edges of hardly any effect, such as rates that differ by one or "
            "two per cent; the published graphs are others than ours.",
        ),
        _speed(rows),
    ]
    settings = {
        "rates": "uniform in (1, 5)",
        "end": HORIZON,
        "published": "figures and seconds of the authors' repository ctbn_cba, on their graphs and machine",
        "seconds": f"wall clock on {os.cpu_count()} cores, ours with one thread a core",
        "CTPC": f"ours, where a variable has at most {CTPC_PARENTS:g} parents on average",
        **failures(tables["scores"]),
    }
    header = ("states", "p", "N", "trajectories", "method", "graphs", "F1", "precision", "recall")
    return Comparison((*header, "CTPC*", "score*", "seconds", "seconds*"), lines, claims, settings)


def _speed(rows: list[Row]) -> Claim:
    """Seconds at the setting that is compared, beside the published ones and our CTPC's."""
    text = f"At {TIMED[3]} trajectories, N={TIMED[2]}, p={TIMED[1]}, two states: {FASTER:g} times as fast as published"
    keys = dict(zip(("states", "p", "nodes", "trajectories"), TIMED))
    here = select(rows, **keys, method="hill climb")
    if not here:
        return Claim(text, None, "not run")
    ours, theirs = mean(here, "seconds"), published(here[0])[2] or float("nan")
    rival = select(rows, **keys, method="CTPC")
    beside = f"; our CTPC in the same run {mean(rival, 'seconds'):.3g} s" if rival else ""
    for name, peer in group(select(rows, **keys), "method").items():
        if name not in ("hill climb", "CTPC"):
            beside += f", {name} {mean(peer, 'seconds'):.3g} s on one core with F1 {mean(peer, 'f1'):.2f}"
    figures = f"{ours:.3g} s ({mean(here, 'cpu'):.3g} s of processor time) against {theirs:.0f} s published"
    return Claim(
        text,
        theirs / ours >= FASTER,
        f"{figures} for the faster of their methods, {theirs / ours:.0f} times as long, on another machine{beside}",
    )


EXPERIMENT = Experiment(
    "grid",
    "Complete data of sparse and dense graphs (the grid of Bregoli, Scutari & Stella; * published)",
    plan,
    run,
    draw,
    compare,
    timed=True,
    with_peers=True,
)
