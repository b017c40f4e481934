"""Fig. 3: run time of greedy learning (K = 2) against structural EM with variational inference, growing networks.

All methods learn from the same data in the same process, one after the other, and fit twice: the second time is free of
compilation. Structural EM climbs once (one sweep, as in the paper). It shares our path engine, so that the ratio tells
the searches apart and not two programs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ctbnlearn.errors import CtbnlearnError
from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, paired, select
from ctbnlearn.structure.metrics import edge_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_PARENTS = 2
LARGEST = {"mixture": 30, "structural EM": 300, "posterior": 1000}  # nodes up to which each is run
NODES = (5, 10, 20, 30, 50, 100, 200, 300, 1000)
GRAPHS = 30, 10, 1  # of five nodes, in whose few edges chance shows most; of up to TWICE; of more
TWICE = 100  # nodes up to which a method fits twice
PEERS = 20  # nodes up to which other packages are asked


def plan(options: Options) -> list[Cell]:
    """One cell per size, graph and method, sizes in growing order; large networks are drawn once."""
    nodes = (5, 8) if options.quick else NODES
    largest = {**LARGEST, "mixture": 5} if options.quick else LARGEST
    cells: list[Cell] = []
    for n in nodes:
        methods = [m for m, most in largest.items() if n <= most] + (["peers"] if options.peers and n <= PEERS else [])
        graphs = 1 if options.quick else GRAPHS[(n > NODES[0]) + (n > TWICE)]
        for graph in range(graphs):
            cells += [{"nodes": n, "graph": graph, "method": m, "quick": options.quick} for m in methods]
    return cells


def estimator(method: str, quick: bool) -> Any:
    """What is timed."""
    if method != "structural EM":
        return protocol.learner(method, MAX_PARENTS, quick)
    from ctbnlearn.inference.methods import Star
    from ctbnlearn.learn.sem import StructuralEM

    return StructuralEM(MAX_PARENTS, inference=Star(step=protocol.QUICK_STEP if quick else None), max_iter=1)


def run(cell: Cell, options: Options) -> Tables:
    """Time one method on one network."""
    net = protocol.draw_network(cell["graph"], cell["nodes"])
    paths = protocol.draw_paths(net, cell["graph"])
    where = {"nodes": cell["nodes"], "graph": cell["graph"]}
    if cell["method"] == "peers":
        from ctbnlearn.experiments.peers import peer_rows

        return {"scores": [{**where, **row} for row in peer_rows(net, paths)]}
    obs = protocol.draw_observations(paths, cell["graph"])
    row: Row = {**where, "method": cell["method"], "seconds": None, "first": None, "error": None}
    spent = []
    try:
        for _ in range(2 if cell["nodes"] <= TWICE else 1):
            model = estimator(cell["method"], cell["quick"])
            began = time.perf_counter()
            model.fit(obs)
            spent.append(time.perf_counter() - began)
    except CtbnlearnError as problem:
        return {"scores": [{**row, "error": str(problem)}]}
    row.update(seconds=spent[-1], first=spent[0], rounds=model.n_iter_)
    return {"scores": [{**row, **edge_scores(net, model.edge_probabilities_)}]}


def draw(tables: Tables) -> Figure:
    """Seconds and AUPR against the number of nodes."""
    from ctbnlearn.experiments import drawing
    from ctbnlearn.experiments.drawing import bands, counts_axis, labels, legend, panels, seconds_axis

    rows = [row for row in tables["scores"] if row["seconds"] is not None]
    looks = {
        "mixture": {**drawing.MIXTURE, "label": "ours, mixture weights"},
        "posterior": {**drawing.POSTERIOR, "label": "ours, posterior weights"},
        "structural EM": {**drawing.EXACT, "label": "structural EM, one sweep"},
    }
    for peer, marker in zip([m for m in group(rows, "method") if m not in looks], "DvPX*"):
        looks[peer] = {"color": drawing.PURPLE, "linestyle": ":", "marker": marker, "label": f"{peer} (complete data)"}
    figure, axes = panels(2, width=4.4)
    for method, look in looks.items():
        here = select(rows, method=method)
        bands(axes[0], here, "nodes", "seconds", look)
        bands(axes[1], here, "nodes", "aupr", look)
    for ax in axes:
        counts_axis(ax, [row["nodes"] for row in rows])
    seconds_axis(axes[0])
    axes[1].set_ylim(0, 1.02)
    labels(axes[0], "nodes", "seconds a fit")
    labels(axes[1], "nodes", "AUPR")
    legend(axes[0], loc="lower right")
    return figure


def compare(tables: Tables) -> Comparison:
    """Times, ratios and growth, and the paper's figure."""
    from ctbnlearn.experiments.peers import failures

    rows = [row for row in tables["scores"] if row["seconds"] is not None]
    times = {key: mean(here, "seconds") for key, here in group(rows, "method", "nodes").items()}
    lines = []
    for n in sorted(group(rows, "nodes")):
        rival = times.get(("structural EM", n))
        for method in group(select(rows, nodes=n), "method"):
            here = select(rows, nodes=n, method=method)
            ratio = f"{rival / times[method, n]:.2f}" if rival and method != "structural EM" else ""
            spent = f"{times[method, n]:.3g}"
            lines.append((n, method, spent, ratio, mean(here, "auroc"), mean(here, "aupr")))
    claims = []
    for method in ("mixture", "posterior"):
        common = sorted(n for m, n in times if m == method and ("structural EM", n) in times)
        ratios = [times["structural EM", n] / times[method, n] for n in common]
        both = [row for row in rows if row["nodes"] in common]
        ours, rivals = (_growth(select(both, method=m)) for m in (method, "structural EM"))
        claims.append(
            Claim(
                f"The time to learn {method} weights grows more slowly with the network than structural EM's",
                None if len(common) < 2 else ours < rivals,
                f"fitted exponent of the number of nodes, up to {common[-1]}: {ours:.2f} against {rivals:.2f}"
                if len(common) > 1
                else f"sizes that both managed: {', '.join(map(str, common)) or 'none'}",
            )
        )
        claims.append(
            Claim(
                f"Learning {method} weights is faster than structural EM on the largest network both were given",
                bool(ratios) and ratios[-1] > 1,
                "time of structural EM over ours: " + ", ".join(f"N={n} {r:.2f}" for n, r in zip(common, ratios)),
                "The structural EM here infers paths a few times a sweep and climbs on expected statistics, by the "
                "same engine; a rival that infers paths anew for every structure it tries, as the paper's may, pays "
                "for each of them. It gives one network, not probabilities.",
            )
        )
    claims += _ranking(rows, sorted({n for m, n in times if m == "posterior" and ("structural EM", n) in times}))
    settings = {
        "graphs": ", ".join(f"{len(group(here, 'graph'))} of {n}" for n, here in group(rows, "nodes").items()),
        "nodes": ", ".join(map(str, sorted(group(rows, "nodes")))),
        "trajectories": protocol.TRAJECTORIES,
        "search": f"greedy, K = {MAX_PARENTS}; structural EM: hill-climbing, variational, one sweep",
        "seconds": f"of the second fit up to {TWICE} nodes, of the first one with compilation beyond",
        **protocol.SETTINGS,
        **failures(tables["scores"]),
    }
    return Comparison(("N", "method", "seconds", "structural EM / this", "AUROC", "AUPR"), lines, claims, settings)


def _ranking(rows: list[Row], nodes: list[int]) -> list[Claim]:
    """Edges found by the defaults and by structural EM, on the same graphs."""
    gains = [paired(select(rows, nodes=n), "aupr", {"method": "posterior"}, {"method": "structural EM"}) for n in nodes]
    shown = ", ".join(
        f"N={n} {gain:+.3f}" + (f" ± {error:.3f}" if error else "") for n, (gain, error) in zip(nodes, gains)
    )
    small = [both for n, both in zip(nodes, gains) if n <= TWICE]
    holds = True if small and all(gain >= 0 for gain, _ in small) else None
    if any(gain < -2 * error for gain, error in small if error):
        holds = False
    return [
        Claim(
            f"Posterior weights rank edges no worse than structural EM, up to {TWICE} nodes",
            holds,
            f"difference of AUPR on the same graphs, ± a standard error: {shown or 'none'}",
        )
    ]


def _growth(rows: list[Row]) -> float:
    """Exponent of time in the number of nodes, fitted on logarithms; NaN for a single size."""
    if len(group(rows, "nodes")) < 2:
        return float("nan")
    logs = np.log([(n, mean(here, "seconds")) for n, here in group(rows, "nodes").items()])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


EXPERIMENT = Experiment(
    "scaling", "Run time against structural EM (Fig. 3)", plan, run, draw, compare, timed=True, with_peers=True
)
