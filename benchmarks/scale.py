"""Many nodes: whole fits from noisy, incomplete data.

`python benchmarks/run.py scale` on a processor (CTBNLEARN_LARGE=1 adds N=1000); `python benchmarks/scale.py gpu` where
there is an accelerator, with numpy, scipy, scikit-learn and jax alone. Table: results/scale.csv, plot: scale.svg.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

from timing import Row, seconds  # noqa: E402

import ctbnlearn as cl  # noqa: E402


def problem(n: int, trajectories: int, max_parents: int) -> tuple[cl.CTBN, cl.Observations]:
    """In-degree up to `max_parents`, coupling 0.6, horizon 4, ten noisy values of every variable a trajectory."""
    net = cl.random_network(n, max_parents, rng=7)
    paths = cl.simulate(net, trajectories, horizon=4.0, rng=8)
    return net, cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), rng=9)


def whole_fit(n: int, trajectories: int, truth: int = 2, max_parents: int = 2) -> dict[str, Any]:
    """Time, memory and accuracy of a first fit in this process, compilation included."""
    return measured(cl.StructureLearner(max_parents=max_parents), n, trajectories, truth)


def structural_em(n: int, trajectories: int) -> dict[str, Any]:
    """The same with structural EM on the same paths: one network at a time, improved by hill-climbing."""
    return measured(cl.StructuralEM(max_parents=2), n, trajectories, 2)


def measured(learner: Any, n: int, trajectories: int, truth: int) -> dict[str, Any]:
    net, obs = problem(n, trajectories, truth)
    began = time.perf_counter()
    learner.fit(obs)
    spent = time.perf_counter() - began
    found = cl.edge_scores(net, learner.edge_probabilities_)
    return {
        "nodes": n,
        "trajectories": trajectories,
        "max_parents": learner.max_parents,
        "fit_s": spent,
        "rounds": learner.n_iter_,
        "converged": bool(learner.converged_),
        "auroc": found["auroc"],
        "aupr": found["aupr"],
        "log_loss": found["log_loss"],
        "memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def apart(*arguments: Any) -> dict[str, Any]:
    """Run one case in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, *map(str, arguments)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1])


SIZES = ((10, 100), (30, 100), (100, 100), (300, 100))
RIVAL_SIZES, PEER_SIZES = ((10, 100), (30, 100), (100, 100)), ((10, 100),)
TARGETS = {100: "0.995 / 0.95", 300: "0.995 / 0.92 in 60 s", 1000: "1200 s, 8 GiB"}


def peers(n: int, trajectories: int) -> list[dict[str, Any]]:
    """Other packages, which want complete data: they get the whole paths; those that fail say why."""
    from ctbnlearn.experiments.peers import peer_rows

    net = cl.random_network(n, 2, rng=7)
    paths = cl.simulate(net, trajectories, horizon=4.0, rng=8)
    return [{**row, "nodes": n} for row in peer_rows(net, paths)]


def rows() -> Iterator[Row]:
    table = []
    large = ((1000, 200),) if os.environ.get("CTBNLEARN_LARGE") else ()
    for n, trajectories in SIZES + large:
        got = apart("fit", n, trajectories)
        table.append({**got, "method": "ctbnlearn"})
        quality = f"AUROC {got['auroc']:.4f}, AUPR {got['aupr']:.3f}, {got['memory_gib']:.2f} GiB"
        what = f"N={n}, {trajectories} trajectories, K=2, first fit ({quality})"
        yield what, seconds(got["fit_s"]), "", TARGETS.get(n, "")
    ours = {row["nodes"]: row["fit_s"] for row in table}
    for n, trajectories in RIVAL_SIZES:
        got = apart("sem", n, trajectories)
        table.append({**got, "method": "structural EM"})
        what = f"N={n}, {trajectories} trajectories, structural EM, first fit (AUPR {got['aupr']:.3f})"
        yield what, seconds(got["fit_s"]), f"x{got['fit_s'] / ours[n]:.2g}", "our time"
    for n, trajectories in PEER_SIZES:
        try:
            found = peers(n, trajectories)
        except cl.CtbnlearnError as error:
            yield f"peers: {error}", "", "", ""
            break
        for got in found:
            what = f"N={n}, {trajectories} complete trajectories, {got['method']}"
            if got["error"] is None:
                table.append({**got, "trajectories": trajectories, "fit_s": got["seconds"]})
                yield f"{what} (AUPR {got['aupr']:.3f})", seconds(got["seconds"]), "", ""
            else:
                yield what, f"fails: {got['error']}", "", ""
    pair = [apart("fit", 50, 200, 3, k) for k in (2, 3)]
    for k, got in zip((2, 3), pair):
        ratio = f"x{got['fit_s'] / pair[0]['fit_s']:.2g}" if k == 3 else ""
        against = "time with K=2, at most x2" if k == 3 else ""
        what = f"N=50, in-degree 3, 200 trajectories, K={k} (AUPR {got['aupr']:.4f})"
        yield what, seconds(got["fit_s"]), ratio, against
    write_table(table)


def write_table(table: list[dict[str, Any]]) -> None:
    """Numbers as CSV and as a figure."""
    results = Path(__file__).parent / "results"
    names = ["method", "nodes", "trajectories", "fit_s", "memory_gib", "auroc", "aupr", "rounds"]
    with (results / "scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()} for row in table)
    draw(table, results / "scale.svg")


def draw(table: list[dict[str, Any]], target: Path) -> None:
    """Time, memory and AUPR against the number of nodes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    axes = figure.subplots(1, 3)
    for method in dict.fromkeys(row["method"] for row in table):
        for ax, key in zip(axes, ("fit_s", "memory_gib", "aupr")):
            points = [(row["nodes"], row[key]) for row in table if row["method"] == method and key in row]
            ax.plot(*zip(*sorted(points)), "o-" if len(points) > 1 else "s", label=method) if points else None
    for ax, key, label in zip(axes, ("fit_s", "memory_gib", "aupr"), ("seconds, compilation included", "GiB", "AUPR")):
        ax.set(xscale="log", xlabel="variables", ylabel=label, yscale="linear" if key == "aupr" else "log")
        ax.grid(alpha=0.3)
    axes[2].set_ylim(0, 1.05)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(target)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kind, *numbers = sys.argv[1:]
    if kind == "gpu":
        for job in (("fit", 300, 100), ("fit", 1000, 200)):
            print(json.dumps(apart(*job)), flush=True)
    else:
        print(json.dumps({"fit": whole_fit, "sem": structural_em}[kind](*map(int, numbers))))
