"""Learning from incomplete data: the paper's protocol cold and warm, growth with the number of nodes.

`python benchmarks/run.py incomplete_data`. Growth with the number of nodes: results/growth.csv and growth.svg.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from timing import Row, once, seconds

import ctbnlearn as cl

NOISE = cl.GaussianNoise(variance=0.2)


def problem(n: int, trajectories: int, **length: float) -> tuple[cl.CTBN, cl.Observations]:
    net = cl.random_network(n, 2, rng=1)
    return net, cl.observe(cl.simulate(net, trajectories, rng=1, **length), n_times=10, noise=NOISE, rng=1)  # type: ignore[arg-type]


def many_trajectories() -> None:
    """Memory with 100,000 trajectories x 10 observations x 10 nodes; a few sweeps show it all."""
    net = cl.random_network(10, 2, rng=1)
    paths = cl.simulate(net, 100_000, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=10, noise=NOISE, rng=1)
    del paths
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    learner = cl.StructureLearner(max_parents=2, inference=cl.Sampling(sweeps=17, agreement=1.0))
    spent = once(lambda: learner.fit(obs))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = cl.edge_scores(net, learner.edge_probabilities_)
    print(spent, memory, before, found["auroc"], found["aupr"])


def one(kind: str) -> None:
    """Run one case in a process of its own and print its figures."""
    if kind == "many":
        many_trajectories()
        return
    if kind == "five":
        net, obs = problem(5, 40, n_transitions=10)
        learner = cl.StructureLearner()
    else:
        n = int(kind)
        net, obs = problem(n, 100, horizon=4.0)
        learner = cl.StructureLearner(max_parents=2)
    cold = once(lambda: learner.fit(obs))
    marks: list[float] = []
    learner.callback = lambda k, f: marks.append(time.perf_counter())
    warm = once(lambda: learner.fit(obs))
    per_round = float(np.median(np.diff(marks))) if len(marks) > 2 else float("nan")
    found = cl.edge_scores(net, learner.edge_probabilities_)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(cold, warm, per_round, found["auroc"], found["aupr"], memory)


def apart(kind: str) -> list[float]:
    command = [sys.executable, "-W", "ignore", __file__, kind]
    return [float(x) for x in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def rows() -> Iterator[Row]:
    cold, warm, *_ = apart("five")
    yield "N=5, 40 trajectories, all sets: warm", seconds(warm), f"x{3 / warm:.2g}", "target 3 s"
    yield "  cold, with compilation", seconds(cold), f"x{10 / cold:.2g}", "target 10 s"
    growth = []
    for n in (10, 15, 20, 30, 50):
        cold, warm, per_round, auroc, aupr, memory = apart(str(n))
        growth.append((n, warm, per_round))
        against, ratio = ("target 15 s", f"x{15 / warm:.2g}") if n == 20 else ("", "")
        quality = f"AUROC {auroc:.3f}, AUPR {aupr:.3f}, {memory:.2f} GiB"
        yield f"N={n}, K=2, 100 trajectories: warm ({quality})", seconds(warm), ratio, against
        yield "  cold", seconds(cold), "", ""
    table = np.array(growth)
    slope = np.polyfit(np.log(table[:, 0]), np.log(table[:, 2]), 1)[0]
    yield "  growth of one EM round with N, fitted exponent", f"{slope:.2f}", "", "at most 3"
    spent, memory, before, auroc, aupr = apart("many")
    quality = f"AUROC {auroc:.3f}, AUPR {aupr:.3f}"
    what = f"100,000 trajectories x 10 observations x 10 nodes, one round ({quality}): peak memory"
    yield what, f"{memory:.2f} GiB", f"x{4 / memory:.2g}", "target 4 GiB"
    yield "  of which before the fit (simulation); time of the fit", f"{before:.2f} GiB; {spent:.0f} s", "", ""
    target = Path(__file__).parent / "results" / "growth.csv"
    np.savetxt(target, table, delimiter=",", header="n_nodes,fit_s,round_s", comments="", fmt="%.4g")
    draw_growth(table, slope, target.with_suffix(".svg"))


def draw_growth(table: np.ndarray, slope: float, target: Path) -> None:
    """One EM round against the number of nodes, with the fitted power law and the allowed cube."""
    from matplotlib.figure import Figure

    n, _, per_round = table.T
    centre = np.exp(np.log(n).mean()), np.exp(np.log(per_round).mean())
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    ax = figure.subplots()
    ax.loglog(n, per_round, "o", color="#1b4f72", label="one EM round")
    ax.loglog(n, centre[1] * (n / centre[0]) ** slope, color="#1b4f72", lw=1, label=f"fit: N^{slope:.2f}")
    ax.loglog(n, per_round[0] * (n / n[0]) ** 3, color="#999999", ls="--", lw=1, label="N^3")
    ax.set(xlabel="variables", ylabel="seconds", title="K=2, 100 trajectories, 10 noisy observations", xticks=n)
    ax.set_xticklabels([f"{x:.0f}" for x in n])
    ax.minorticks_off()
    ax.legend(frameon=False)
    figure.savefig(target)


if __name__ == "__main__":
    one(sys.argv[1])
