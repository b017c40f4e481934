"""Simulation speed in jumps per second on one core; the target is 10^6 for every shape of work.

The ratios are against the vectorised numpy code that the compiled loop replaced: measured before the change with the
same networks and horizons, but 20,000 and 10,000 jumps for the single paths, on two idle cores (x86_64). They hold
for such a machine alone.
"""

from __future__ import annotations

from timing import Row, best_of, once, seconds

import ctbnlearn as cl


def rows() -> list[Row]:
    ten, big = cl.random_network(10, 2, rng=0), cl.random_network(1000, 2, rng=0)
    first = once(lambda: cl.simulate(ten, 1, n_transitions=1, rng=1))
    out = [("first call of a process (loads numba; compiles if never run before)", seconds(first), "", "")]
    for label, net, n, length, before in (
        ("10 nodes x 1", ten, 1, {"n_transitions": 2_000_000}, 3.50e4),
        ("10 nodes x 10,000", ten, 10_000, {"horizon": 4.0}, 8.11e5),
        ("1,000 nodes x 200", big, 200, {"horizon": 4.0}, 1.92e5),
        ("1,000 nodes x 1", big, 1, {"n_transitions": 1_000_000}, 2.08e4),
    ):
        jumps = cl.simulate(net, n, **length, rng=1).n_transitions
        time = best_of(lambda net=net, n=n, length=length: cl.simulate(net, n, **length, rng=1))
        what = f"simulate {label} ({jumps:,} jumps, {seconds(time)})"
        against = f"{before:.3g} jumps/s, numpy in lockstep"
        out.append((what, f"{jumps / time:.3g} jumps/s", f"x{jumps / time / before:.3g}", against))
    return out
