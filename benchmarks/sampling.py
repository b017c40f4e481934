"""Sampling: a sweep against its floor, and the default fit against star on the same data, in one run.

The floor of a sweep is one look at every observation and every jump; star is what the default was before. A first fit
pays for compilation: the command line is timed with nothing compiled, and again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from timing import Row, once, seconds

import ctbnlearn as cl

NOISE = cl.GaussianNoise(variance=0.2)


def command() -> Iterator[Row]:
    """`ctbnlearn learn` from a table to the report, with nothing compiled, then with everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "compiled")}

        def run(*arguments: str) -> float:
            call = [sys.executable, "-m", "ctbnlearn", *arguments, "--quiet"]
            return once(lambda: subprocess.run(call, env=settings, cwd=folder, check=True))

        run("simulate", "--noise", "gaussian:0.2", "--seed", "1", "--out", "data.csv")
        for file in folder.glob("compiled/*/*"):
            file.unlink()
        noise = ("--noise", "gaussian:0.2:-1,1")
        cold, warm = (run("learn", "data.csv", *noise, "--out", out) for out in ("first", "second"))
    yield "5 variables x 40: `ctbnlearn learn`, nothing compiled", seconds(cold), "", ""
    yield "5 variables x 40: `ctbnlearn learn` again", seconds(warm), f"x{warm / cold:.2f}", "the first time"


def rows() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    yield from command()
    small = cl.observe(
        cl.simulate(cl.random_network(5, 2, rng=1), 40, n_transitions=10, rng=1), n_times=10, noise=NOISE, rng=1
    )
    yield "5 variables x 40: first fit of a process", seconds(once(lambda: cl.StructureLearner().fit(small))), "", ""
    yield "5 variables x 40: second fit", seconds(once(lambda: cl.StructureLearner().fit(small))), "", ""
    net = cl.random_network(10, 2, rng=4)
    obs = cl.observe(cl.simulate(net, 3000, n_transitions=20, rng=1), n_times=10, noise=NOISE, rng=2)

    def fit(sweeps: int) -> float:
        return once(lambda: cl.StructureLearner(2, inference=cl.Sampling(chains=1, sweeps=sweeps)).fit(obs))

    spent = fit(51) - fit(1)
    each = spent / 50 / 3000 / 10
    yield "10 variables x 3,000: 50 sweeps of one chain", seconds(spent), f"{each * 1e6:.2f} us", "a path and sweep"
    cpu = time.process_time()
    wall = once(lambda: cl.StructureLearner(2).fit(obs))
    mine = time.process_time() - cpu
    cpu = time.process_time()
    once(lambda: cl.StructureLearner(2, inference="star").fit(obs))
    star = time.process_time() - cpu
    what = f"10 variables x 3,000: default fit ({seconds(wall)})"
    yield what, f"{mine:.1f} CPU-s", f"x{mine / star:.2f}", f"star, {star:.1f} CPU-s with compilation"
