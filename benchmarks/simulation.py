"""Simulation speed in jumps per second."""

from __future__ import annotations

from timing import Row, best_of, once, seconds

import ctbnlearn as cl


def rows() -> list[Row]:
    out = []
    big = cl.random_network(1000, 2, rng=0)
    jumps = cl.simulate(big, 200, horizon=4.0, rng=1).n_transitions
    time = once(lambda: cl.simulate(big, 200, horizon=4.0, rng=1))
    out.append((f"simulate 1,000 nodes x 200 ({jumps:,} jumps)", seconds(time), f"x{5 / time:.2g}", "target 5 s"))
    out.append(("  jumps per second", f"{jumps / time:.3g}", "", ""))
    small = cl.random_network(5, 2, rng=0)
    for n, horizon in ((10_000, 4.0), (1, 2000.0)):
        jumps = cl.simulate(small, n, horizon=horizon, rng=1).n_transitions
        time = best_of(lambda n=n, horizon=horizon: cl.simulate(small, n, horizon=horizon, rng=1), 3)
        out.append((f"simulate 5 nodes x {n:,} ({jumps:,} jumps)", seconds(time), "", f"{jumps / time:.3g} jumps/s"))
    return out
