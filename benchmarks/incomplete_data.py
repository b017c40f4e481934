"""Learning from incomplete data: the paper's protocol cold and warm, growth with the number of nodes, memory.

`python benchmarks/run.py incomplete_data`. The growth plot is written to benchmarks/results/growth.csv as numbers.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from timing import Row, once, seconds

import ctbnlearn as cl

NOISE = cl.GaussianNoise(variance=0.2)


def problem(n: int, trajectories: int, **length: float) -> tuple[cl.CTBN, cl.Observations]:
    net = cl.random_network(n, 2, rng=1)
    return net, cl.observe(cl.simulate(net, trajectories, rng=1, **length), n_times=10, noise=NOISE, rng=1)  # type: ignore[arg-type]


def one(kind: str) -> None:
    """Run one case in a process of its own and print its figures."""
    if kind == "five":
        net, obs = problem(5, 40, n_transitions=10)
        learner = cl.StructureLearner()
    elif kind == "crowd":
        net, obs = problem(10, 10_000, horizon=4.0)
        learner = cl.StructureLearner(max_parents=2, max_iter=1, refine=False)
    else:
        n = int(kind)
        net, obs = problem(n, 100, horizon=4.0)
        learner = cl.StructureLearner(max_parents=2)
    cold = once(lambda: learner.fit(obs))
    marks: list[float] = []
    learner.callback = lambda k, f: marks.append(time.perf_counter())
    warm = once(lambda: learner.fit(obs)) if kind != "crowd" else float("nan")
    per_round = float(np.median(np.diff(marks))) if len(marks) > 2 else float("nan")
    found = cl.edge_scores(net, learner.edge_probabilities_)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(cold, warm, per_round, found["auroc"], found["aupr"], memory)


def apart(kind: str) -> list[float]:
    command = [sys.executable, "-W", "ignore", __file__, kind]
    return [float(x) for x in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def rows() -> list[Row]:
    out = []
    cold, warm, _, auroc, aupr, _ = apart("five")
    out.append(("N=5, 40 trajectories, all sets: warm", seconds(warm), f"x{3 / warm:.2g}", "target 3 s"))
    out.append(("  cold, with import and compilation", seconds(cold), f"x{10 / cold:.2g}", "target 10 s"))
    growth = []
    for n in (10, 20, 30, 50):
        cold, warm, per_round, auroc, aupr, memory = apart(str(n))
        growth.append((n, warm, per_round))
        against = "target 15 s" if n == 20 else ""
        ratio = f"x{15 / warm:.2g}" if n == 20 else ""
        quality = f"AUROC {auroc:.3f}, AUPR {aupr:.3f}, {memory:.2f} GiB"
        out.append((f"N={n}, K=2, 100 trajectories: warm ({quality})", seconds(warm), ratio, against))
        out.append(("  cold", seconds(cold), "", ""))
    table = np.array(growth)
    slope = np.polyfit(np.log(table[:, 0]), np.log(table[:, 2]), 1)[0]
    out.append(("  growth of one EM round with N, fitted exponent", f"{slope:.2f}", "", "at most 3"))
    np.savetxt(
        Path(__file__).parent / "results" / "growth.csv",
        table,
        delimiter=",",
        header="n_nodes,fit_s,round_s",
        comments="",
        fmt="%.4g",
    )
    cold, *_, memory = apart("crowd")
    out.append(("N=10, 10,000 trajectories, one EM round", seconds(cold), "", ""))
    out.append(("  peak memory", f"{memory:.2f} GiB", "", ""))
    return out


if __name__ == "__main__":
    one(sys.argv[1])
