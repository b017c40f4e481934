"""Does more data help? Accuracy, coverage and time against numbers of trajectories and gaps between observations.

Trajectories: the paper's protocol with 5, 10 and 50 nodes, up to 10,000 of them, 2,000 for 50 nodes; exact inference is
left out beyond 5 nodes. Gaps: 5 nodes, observed at equal distances. The paper has no such experiment.

The paper's trajectories end at a jump, which no observation can show: taking their length for given, one finds rates
too low, and more data do not mend that. The same numbers of trajectories of 5 nodes are therefore learned from once
more, all ending at one time, the mean length of the paper's.

A gap is counted in mean dwell times. Under Glauber dynamics a node leaves its state at rate 1/2 on average over its own
state and its parents', and the mean dwell time is taken as the inverse of that: 2 units of time. A trajectory lasts as
long as its observations times the gap, and is observed in the middle of each piece.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, paired, select
from ctbnlearn.inference.methods import Method
from ctbnlearn.model.ctbn import CTBN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ctbnlearn.data.observations import Observations
    from ctbnlearn.result.result import Result

METHODS = ("star", "exact", "sampling", "blocks")
TRAJECTORIES = {5: (40, 160, 640, 2000, 10_000), 10: (40, 160, 640, 2000, 10_000), 50: (40, 160, 640, 2000)}
TIMED_NODES = 5  # with as many, trajectories that end at a given time are drawn, too
EXACT = 5  # nodes up to which exact inference is asked
GRAPHS = {5: 3, 10: 3, 50: 1}  # by nodes
MAX_PARENTS = 2
MEAN_DWELL = 2.0  # of a Glauber node, the inverse of its mean rate 1/2
GAPS = (0.1, 0.3, 1.0, 2.0)  # in mean dwell times
GAP_NODES, GAP_TRAJECTORIES = 5, 1000
SURE = 0.9  # an edge of more probability is taken for granted
LEVEL, BAND = 0.95, (0.90, 0.98)  # of the intervals, and what share of the true rates they should hold
ENDS = ("from", "to")  # of a transition
LEAST = 1e-4  # log losses below are drawn there
LONG = 20.0  # seconds of a fit in which those of compilation do not show


def plan(options: Options) -> list[Cell]:
    """One cell per number of trajectories or gap, graph and method; what takes little comes first."""
    sizes = {5: (40, 160)} if options.quick else TRAJECTORIES
    gaps, many = ((0.3, 2.0), 40) if options.quick else (GAPS, GAP_TRAJECTORIES)
    draws: list[Cell] = [
        {"nodes": n, "trajectories": k, "ends": ends, "gap": None}
        for n, ks in sizes.items()
        for k in ks
        for ends in ("jump", "time")
        if ends == "jump" or n == TIMED_NODES
    ]
    draws += [{"nodes": GAP_NODES, "trajectories": many, "ends": "time", "gap": gap} for gap in gaps]
    return [
        {**draw, "graph": graph, "method": method, "quick": options.quick}
        for draw in sorted(draws, key=lambda d: d["nodes"] * d["trajectories"])
        for graph in range(1 if options.quick else GRAPHS[draw["nodes"]])
        for method in METHODS
        if method != "exact" or draw["nodes"] <= EXACT
    ]


def observations(net: CTBN, graph: int, trajectories: int, ends: str, gap: float | None) -> Observations:
    """Noisy glimpses: by the paper's protocol, of trajectories that end at the same time, or at equal gaps."""
    if ends == "jump":
        return protocol.draw_observations(protocol.draw_paths(net, graph, trajectories), graph)
    from ctbnlearn.data.noise import GaussianNoise
    from ctbnlearn.data.observations import observe
    from ctbnlearn.model.simulation import simulate

    seeds = protocol.streams(graph, len(net.variables))
    if gap is None:
        window = protocol.TRANSITIONS_A_NODE * MEAN_DWELL
        return protocol.draw_observations(simulate(net, trajectories, horizon=window, rng=seeds[1]), graph)
    step = gap * MEAN_DWELL
    paths = simulate(net, trajectories, horizon=protocol.OBSERVATIONS * step, rng=seeds[1])
    times = (np.arange(protocol.OBSERVATIONS) + 0.5) * step
    noise = GaussianNoise(variance=protocol.VARIANCE)
    return observe(paths, times=times, noise=noise, rng=np.random.default_rng(seeds[2]))


def inference(method: str, quick: bool) -> Method:
    """The method with its own defaults; quick: a coarse grid, few sweeps."""
    from ctbnlearn.inference.methods import Blocks, Exact, Sampling, Star

    if method == "star":
        return Star(step=protocol.QUICK_STEP) if quick else Star()
    if method == "exact":
        return Exact()
    if method == "blocks":
        return Blocks(members=3, rounds=1) if quick else Blocks()
    return Sampling(chains=2, sweeps=48) if quick else Sampling()


def run(cell: Cell, options: Options) -> Tables:
    """One fit; EM fits twice unless that takes long, so that its time is free of compilation."""
    from ctbnlearn.experiments.learning import fit_row
    from ctbnlearn.learn.learner import StructureLearner

    net = protocol.draw_network(cell["graph"], cell["nodes"])
    obs = observations(net, cell["graph"], cell["trajectories"], cell["ends"], cell["gap"])
    learner = StructureLearner(MAX_PARENTS, inference=inference(cell["method"], cell["quick"]))
    found = fit_row(learner, net, obs)
    if cell["method"] in ("star", "exact") and found["seconds"] < LONG:
        began = time.perf_counter()
        learner.fit(obs)
        found["seconds"] = time.perf_counter() - began
    where = {key: cell[key] for key in ("nodes", "trajectories", "ends", "gap", "graph", "method")}
    wrong = mistakes(net.adjacency.astype(bool), learner.edge_probabilities_)
    return {"scores": [{**where, **found, **wrong, **coverage(net, learner.result_)}]}


def mistakes(truth: np.ndarray, probability: np.ndarray) -> Row:
    """False edges that are taken for granted, and edges found the wrong way round."""
    false = ~truth & ~np.eye(len(truth), dtype=bool)
    return {
        "false_sure": int((false & (probability > SURE)).sum()),
        "reversed": int((false & truth.T & (probability > 0.5)).sum()),
    }


def coverage(net: CTBN, result: Result) -> Row:
    """How many true rates lie in their intervals, over the nodes whose parents were found, all and no others."""
    nodes = rates = covered = 0
    for i, name in enumerate(net.names):
        parents = [net.names[j] for j in net.parents[i]]
        if {result.names[j] for j in result.network.parents[result.network.index(name)]} != set(parents):
            continue
        nodes += 1
        states = {v.name: v.states for v in net.variables}
        true = net.rates(name)
        for row in result.rates(name, LEVEL):
            at = (*(states[p].index(row["parents"][p]) for p in parents), *(states[name].index(row[k]) for k in ENDS))
            rates += 1
            covered += bool(row["low"] <= true[at] <= row["high"])
    return {
        "true_sets": nodes,
        "rates": rates,
        "covered": covered,
        "coverage": covered / rates if rates else None,
    }


def draw(tables: Tables) -> Figure:
    """Log loss, mistakes, coverage and seconds against trajectories and gaps."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    from ctbnlearn.experiments.drawing import bands, counts_axis, labels, panels, seconds_axis

    rows = [{**row, "shown_loss": max(row["log_loss"], LEAST)} for row in tables["scores"]]
    jump, timed, gaps = _parts(rows)
    figure, axes = panels(4, 2, width=3.5, height=3.1)
    shown = [  # in the order of the panels
        (jump, "trajectories", "shown_loss", "log loss"),
        (gaps, "gap", "shown_loss", "log loss"),
        (jump, "trajectories", "false_sure", f"false edges above {SURE}"),
        (jump, "trajectories", "reversed", "reversed edges above 0.5"),
        (jump, "trajectories", "coverage", f"true rates in {LEVEL:.0%} intervals"),
        (timed, "trajectories", "coverage", f"true rates in {LEVEL:.0%} intervals"),
        (gaps, "gap", "coverage", f"true rates in {LEVEL:.0%} intervals"),
        (jump, "trajectories", "seconds", "seconds a fit"),
    ]
    sizes = sorted(group(rows, "nodes"))
    for ax, (part, x, y, name) in zip(axes, shown):
        for method, look in _looks().items():
            for nodes, dashes, marker in zip(sizes, ("-", "--", ":"), "os^"):
                here = select(part, method=method, nodes=nodes)
                own = {**look, "linestyle": dashes, "marker": marker, "label": f"{method}, N={nodes}"}
                bands(ax, _pooled(here, x) if y == "coverage" else here, x, y, own)
        counts_axis(ax, [row[x] for row in part])
        at = {id(jump): "ending at a jump", id(timed): "ending at a given time", id(gaps): "equal gaps"}[id(part)]
        labels(ax, "trajectories" if x == "trajectories" else "gap in mean dwell times", name, at)
        if y in ("shown_loss", "seconds"):
            seconds_axis(ax)
        if y == "shown_loss":
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        elif y == "coverage":
            ax.axhspan(*BAND, color="#b0b0b0", alpha=0.35, linewidth=0, zorder=0)
            ax.set_ylim(-0.02, 1.03)
        elif y != "seconds":
            ax.set_ylim(-0.1, max(1.1, ax.get_ylim()[1]))
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False, fontsize=8)
    return figure


def _looks() -> dict[str, dict[str, Any]]:
    """One colour a method; dashes tell the sizes apart."""
    from ctbnlearn.experiments.drawing import EXACT as SCORE
    from ctbnlearn.experiments.drawing import MIXTURE, POSTERIOR, PURPLE

    colours = {"star": MIXTURE["color"], "exact": SCORE["color"], "sampling": POSTERIOR["color"], "blocks": PURPLE}
    return {m: {"color": colours[m], "linestyle": "-", "marker": "o", "label": m} for m in METHODS}


def _parts(rows: Iterable[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows by trajectories that end at a jump, by trajectories that end at a given time, and by gaps."""
    every = list(rows)
    gaps = [row for row in every if row["gap"] is not None]
    return select(every, gap=None, ends="jump"), select(every, gap=None, ends="time"), gaps


def _pooled(rows: Sequence[Row], key: str) -> list[Row]:
    """One row per value of `key` with the share of rates covered in all graphs; values without any are left out."""
    return [
        {key: at, "coverage": share} for at, here in group(rows, key).items() if (share := _share(here)) is not None
    ]


def _share(rows: Iterable[Row]) -> float | None:
    """Share of rates covered, counted together."""
    every = list(rows)
    total = sum(row["rates"] for row in every)
    return sum(row["covered"] for row in every) / total if total else None


def compare(tables: Tables) -> Comparison:
    """Means by size, gap and method, and whether more data help."""
    rows = tables["scores"]
    jump, timed, gaps = _parts(rows)
    lines = []
    for part in (jump, timed, gaps):
        keys = ("nodes", "trajectories", "ends", "gap", "method")
        for (nodes, many, ends, gap, method), here in group(sorted(part, key=_order), *keys).items():
            share, total = _share(here), sum(row["rates"] for row in here)
            lines.append(
                (
                    *(nodes, many, ends, "random" if gap is None else f"{gap:g}", method),
                    *(mean(here, "auroc"), mean(here, "aupr"), f"{mean(here, 'log_loss'):.4f}"),
                    *(f"{mean(here, key):.3g}" for key in ("false_sure", "reversed")),
                    "" if share is None else f"{share:.3f} of {total}",
                    f"{mean(here, 'seconds'):.3g}",
                )
            )
    claims = [
        _helps(select(jump, method=method, nodes=n), method, n)
        for method in METHODS
        for n in sorted(group(select(jump, method=method), "nodes"))
    ]
    claims += [_covers(select(timed + gaps, method=method), method) for method in METHODS]
    claims += [_ending(select(jump, method="sampling", nodes=TIMED_NODES), select(timed, method="sampling"))]
    claims += [_no_more(jump, "false_sure", f"false edges above {SURE}")]
    claims += [_no_more(jump, "reversed", "reversed edges above 0.5"), _gaps(gaps)]
    header = (
        *("N", "trajectories", "ends at", "gap", "method", "AUROC", "AUPR", "log loss"),
        *(f"false above {SURE}", "reversed", "rates covered", "seconds"),
    )
    return Comparison(header, lines, claims, _settings(jump, timed, gaps))


def _order(row: Row) -> tuple[float, ...]:
    return row["nodes"], row["trajectories"], row["gap"] or 0.0, METHODS.index(row["method"])


def _settings(by_size: list[Row], timed: list[Row], by_gap: list[Row]) -> dict[str, Any]:
    """What was run, told by the rows."""
    ran = [
        f"N={n} {', '.join(map(str, sorted(group(select(by_size, nodes=n), 'trajectories'))))}"
        f" ({_graphs(select(by_size, nodes=n))})"
        for n in sorted(group(by_size, "nodes"))
    ]
    gaps = ", ".join(f"{gap:g}" for gap in sorted(group(by_gap, "gap")))
    many = ", ".join(map(str, sorted(group(by_gap, "trajectories"))))
    return {
        "trajectories": "; ".join(ran),
        "ends": f"jump: at the paper's number of transitions; time: after {protocol.TRANSITIONS_A_NODE * MEAN_DWELL:g} "
        f"units of time, N={TIMED_NODES}, {', '.join(map(str, sorted(group(timed, 'trajectories'))))} trajectories "
        f"({_graphs(timed)}), and with equal gaps",
        "gaps": f"{gaps} mean dwell times ({MEAN_DWELL:g} units of time, the inverse of a Glauber node's mean rate); "
        f"N={GAP_NODES}, {many} trajectories, {_graphs(by_gap)}, {protocol.OBSERVATIONS} "
        "observations at equal gaps",
        "methods": f"star, exact (up to N={EXACT}), sampling and blocks with their defaults, at most {MAX_PARENTS} "
        "parents; a quick run takes a coarse grid, two chains of 48 sweeps, and one round of blocks of three",
        "whole plan": "; ".join(
            f"N={n} {', '.join(map(str, many))}, {GRAPHS[n]} graph{'s' * (GRAPHS[n] > 1)}"
            for n, many in TRAJECTORIES.items()
        )
        + f"; N={TIMED_NODES} with both ends; gaps with {GAP_TRAJECTORIES} trajectories",
        "rates covered": f"share of true rates in their {LEVEL:.0%} intervals, and their number, over nodes whose most "
        "probable parent set is the true one",
        "seconds": "of the second fit of star and exact, compilation left out, where the first took less than "
        f"{LONG:g}; of the only one of sampling and blocks",
        **{key: value for key, value in protocol.SETTINGS.items() if key not in ("mixture", "posterior")},
    }


def _graphs(rows: list[Row]) -> str:
    """How many graphs, in words."""
    n = len(group(rows, "graph"))
    return "one graph" if n == 1 else f"{n} graphs"


def _helps(rows: list[Row], method: str, nodes: int) -> Claim:
    """Whether the most trajectories give a lower log loss than the best of the smaller numbers."""
    sizes = sorted(group(rows, "trajectories"))
    losses = {n: mean(select(rows, trajectories=n), "log_loss") for n in sizes}
    best = min(sizes[:-1] or sizes, key=losses.__getitem__)
    change, error = paired(rows, "log_loss", {"trajectories": sizes[-1]}, {"trajectories": best})
    clear = len(sizes) > 1 and abs(change) > 2 * error
    return Claim(
        f"More data help {method}, N={nodes}: its log loss is lowest with the most (ours)",
        change < 0 if clear else None,
        "log loss by trajectories "
        + ", ".join(f"{n}: {loss:.4f}" for n, loss in losses.items())
        + f"; from {best} to {sizes[-1]} {change:+.4f}"
        + (f" ± {error:.4f}" if len(group(rows, "graph")) > 1 else ", one graph"),
        "The error of the approximation does not vanish with data, which only make it surer."
        if method == "star"
        else "",
    )


def _covers(rows: list[Row], method: str) -> Claim:
    """Whether intervals hold what they promise, where trajectories end at a given time."""
    share, total = _share(rows), sum(row["rates"] for row in rows)
    text = f"{LEVEL:.0%} intervals of rates hold {BAND[0]:.0%} to {BAND[1]:.0%} of the true ones, {method} (ours)"
    if share is None:
        return Claim(text, None, "no parent set was found")
    parts = [
        f"{name} {s:.3f}"
        for name, here in (("random times", select(rows, gap=None)), *_by_gap(rows))
        if (s := _share(here)) is not None
    ]
    return Claim(
        text,
        _inside(share, total),
        f"{share:.3f} of {total} rates of trajectories that end at a given time ({', '.join(parts)})",
        "" if method in ("sampling", "blocks") else "The intervals take expected paths as if they had been seen.",
    )


def _by_gap(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    return [(f"gap {gap:g}", select(rows, gap=gap)) for gap in sorted({r["gap"] for r in rows if r["gap"] is not None})]


def _inside(share: float, total: int) -> bool | None:
    """Whether a share of so many rates lies in the band; None where it does not, but may by chance."""
    beyond = max(BAND[0] - share, share - BAND[1])
    return True if beyond <= 0 else None if beyond <= 2 * float(np.sqrt(LEVEL * (1 - LEVEL) / total)) else False


def _ending(jump: list[Row], timed: list[Row]) -> Claim:
    """What it does to the intervals that trajectories end at a jump."""
    sizes = sorted(group(jump, "trajectories"))
    shares = {
        n: tuple(_share(select(rows, trajectories=n)) for rows in (jump, timed))
        for n in sizes
        if all(_share(select(rows, trajectories=n)) is not None for rows in (jump, timed))
    }
    most = max(shares, default=None)
    total = sum(row["rates"] for row in select(jump, trajectories=most))
    return Claim(
        f"Intervals hold as much where trajectories end at a jump, sampling, N={TIMED_NODES} (ours)",
        None if most is None else _inside(shares[most][0] or 0.0, total),
        "share of true rates, ending at a jump and at a given time, by trajectories "
        + (", ".join(f"{n}: {one:.3f} and {other:.3f}" for n, (one, other) in shares.items()) or "none"),
        "No observation shows the jump at the end, and the length of a trajectory is taken for given: rates come out "
        "too low by a share that data do not mend.",
    )


def _no_more(rows: list[Row], key: str, what: str) -> Claim:
    """Sampling against star with the most trajectories of every size."""
    counts = {}
    for n in sorted(group(rows, "nodes")):
        most = max(group(select(rows, nodes=n), "trajectories"))
        here = select(rows, nodes=n, trajectories=most)
        counts[n, most] = tuple(sum(r[key] for r in select(here, method=m)) for m in ("sampling", "star"))
    return Claim(
        f"With the most trajectories sampling gives no more {what} than star (ours)",
        all(ours <= star for ours, star in counts.values()),
        "sampling and star in all graphs: "
        + ", ".join(f"N={n}, {most} trajectories {ours} and {star}" for (n, most), (ours, star) in counts.items()),
    )


def _gaps(rows: list[Row]) -> Claim:
    """Sampling against star, gap by gap."""
    found = {
        gap: tuple(mean(select(rows, gap=gap, method=m), "log_loss") for m in ("sampling", "star"))
        for gap in sorted(group(rows, "gap"))
    }
    return Claim(
        "Sampling has a lower log loss than star whatever the gaps (ours)",
        all(ours <= star for ours, star in found.values()),
        "log loss of sampling and star by gap in mean dwell times "
        + ", ".join(f"{gap:g}: {ours:.4f} and {star:.4f}" for gap, (ours, star) in found.items()),
    )


EXPERIMENT = Experiment(
    "consistency", "Does more data help? Trajectories and gaps", plan, run, draw, compare, timed=True
)
