"""Exact inference: against dense matrix exponentials, and at the sizes where only the structure helps."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
from scipy.linalg import expm
from timing import Row, best_of, once, seconds

import ctbnlearn as cl


def problem(n: int, trajectories: int) -> tuple[cl.CTBN, cl.Observations]:
    net = cl.random_network(n, 2, rng=1)
    return net, cl.observe(cl.simulate(net, trajectories, horizon=4.0, rng=0), n_times=10, rng=1)


def dense_statistics(net: cl.CTBN, obs: cl.Observations) -> float:
    """Van Loan block exponentials over every interval: dwell times of the joint states."""
    q = cl.exact.amalgamate(net).toarray()
    n = len(q)
    total = 0.0
    for k in range(obs.n_trajectories):
        s = obs.series[0]
        times = np.concatenate([[obs.start[k]], s.times[s.offsets[k] : s.offsets[k + 1]], [obs.end[k]]])
        for a, b in zip(times, times[1:]):
            block = np.zeros((2 * n, 2 * n))
            block[:n, :n] = block[n:, n:] = q
            block[:n, n:] = np.ones((n, n)) / n
            total += expm(block * (b - a))[0, n]
    return total


def rows() -> list[Row]:
    out = []
    for n in (4, 6, 8):
        net, obs = problem(n, 5)
        ours = best_of(lambda net=net, obs=obs: cl.exact.expected_statistics(net, obs), 3)
        dense = once(lambda net=net, obs=obs: dense_statistics(net, obs))
        against = "dense expm, same intervals"
        out.append(
            (f"exact statistics N={n}, 5 x 10 joint observations", seconds(ours), f"x{dense / ours:.3g}", against)
        )
    out.append(("  N=8 against its target", seconds(ours), f"x{0.5 / ours:.3g}", "target 0.5 s (CTBN-RLE: 18.2 s)"))
    net, obs = problem(12, 10)
    ours = once(lambda: cl.exact.expected_statistics(net, obs))
    out.append(("exact statistics N=12, 10 x 10 observations", seconds(ours), f"x{15 / ours:.3g}", "target 15 s"))
    code = (
        "import sys, resource; sys.path.insert(0, sys.argv[1]); import exact_inference as e, time; "
        "import ctbnlearn as cl; net, obs = e.problem(16, 2); t = time.perf_counter(); "
        "cl.exact.expected_statistics(net, obs); print(time.perf_counter() - t, e.peak_memory())"
    )
    folder = __file__.rsplit("/", 1)[0]
    found = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True).stdout
    time, memory = map(float, found.split())
    out.append(("exact statistics N=16, 2 x 10 observations", seconds(time), "", ""))
    out.append(("  peak memory", f"{memory:.2f} GiB", f"x{4 / memory:.2g}", "target 4 GiB"))
    return out


def peak_memory() -> float:
    """Largest resident size of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
