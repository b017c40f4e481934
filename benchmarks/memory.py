"""Memory that `ctbnlearn learn --check` foretells, against the most that `ctbnlearn learn` then holds.

`python benchmarks/run.py memory`, or `python benchmarks/memory.py NAME ...` for some of the shapes. Every command runs
in a process of its own. Table: results/memory.csv.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from timing import Row  # noqa: E402


class Shape(NamedTuple):
    """Data, and how to learn from them."""

    inference: str  # or "complete"
    states: tuple[int, ...]  # of every variable
    trajectories: int
    rows: int  # of each
    more: tuple[str, ...] = ()


SHAPES = {
    "small": Shape("sampling", (2,) * 5, 20, 5, ("--sweeps", "50")),
    "five": Shape("sampling", (2,) * 5, 10_000, 10, ("--sweeps", "20")),
    "long": Shape("sampling", (2,) * 4, 10, 20_000, ("--sweeps", "20")),
    "wide": Shape("sampling", (2,) * 60, 500, 10, ("--sweeps", "20")),
    "forty states": Shape("sampling", (40, 2, 2, 2, 2), 500, 10, ("--sweeps", "20")),
    "three states": Shape("auto", (3,) * 10, 1_000, 10),
    "a million rows": Shape("auto", (2,) * 5, 100_000, 10),
    "fifty": Shape("blocks", (2,) * 50, 1_000, 10),
    "two hundred": Shape("auto", (2,) * 200, 200, 10),
    "four states": Shape("blocks", (4,) * 6, 300, 10),
    "exact, five": Shape("exact", (2,) * 5, 1_000, 10, ("--max-iter", "3")),
    "exact, eight": Shape("exact", (2,) * 8, 2_000, 10, ("--max-iter", "3")),
    "star, twenty": Shape("star", (2,) * 20, 500, 10, ("--max-iter", "3")),
    "star, five": Shape("star", (2,) * 5, 10_000, 10, ("--max-iter", "3")),
    "star, eight states": Shape("star", (8, 4, 4, 3, 3, 2), 500, 10, ("--max-iter", "3")),
    "mean field": Shape("mean_field", (2,) * 10, 1_000, 10, ("--max-iter", "3")),
    "complete": Shape("complete", (2,) * 5, 10_000, 10),
    "complete, a million rows": Shape("complete", (2,) * 5, 100_000, 10),
    "complete, two hundred": Shape("complete", (2,) * 200, 100, 100),
    "complete, forty states": Shape("complete", (40, 10, 10, 4, 4, 2), 1_000, 20),
}


def write(name: str, file: str) -> None:
    """A table of that shape: variables that move on their own, once in a unit of time; looks 0.4 apart."""
    import numpy as np

    import ctbnlearn as cl

    shape, rates = SHAPES[name], {}
    variables = [cl.Variable(f"x{i}", tuple(f"s{k:02d}" for k in range(n))) for i, n in enumerate(shape.states)]
    for v in variables:
        rates[v.name] = np.full((1, v.n_states, v.n_states), 1.0 / (v.n_states - 1))
        rates[v.name][0, range(v.n_states), range(v.n_states)] = -1.0
    net = cl.CTBN(variables, {}, rates)
    if shape.inference == "complete":
        cl.write_paths(cl.simulate(net, shape.trajectories, n_transitions=shape.rows - 1, rng=1), file)
        return
    paths = cl.simulate(net, shape.trajectories, horizon=0.4 * shape.rows, rng=1)
    cl.write_table(cl.observe(paths, n_times=shape.rows, rng=2), file)


def measure(name: str) -> dict[str, Any]:
    """Foretold and real memory of one shape."""
    shape = SHAPES[name]
    method = ["--complete"] if shape.inference == "complete" else ["--inference", shape.inference]
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/data.parquet"
        _run("-c", f"import memory; memory.write({name!r}, {file!r})")
        learn = ["-m", "ctbnlearn", "learn", file, "--trajectory", "trajectory", *method, *shape.more]
        told = json.loads(_run(*learn, "--check", "--json")[0])
        held = _run(*learn, "--quiet", "--out", f"{folder}/r")[1]
    return {
        "shape": name,
        "method": told["inference"] or "complete",
        "variables": len(shape.states),
        "states": max(shape.states),
        "rows": shape.trajectories * shape.rows,
        "foretold_mb": round(told["memory_bytes"] / 1e6),
        "held_mb": round(held / 1e6),
        "ratio": round(told["memory_bytes"] / held, 2),
    }


def _run(*arguments: str) -> tuple[str, int]:
    """What a Python process printed, and the most memory it held."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2])}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, *arguments], stdout=out, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode in (0, 3), arguments
        out.seek(0)
        return out.read(), usage.ru_maxrss * 1024


def rows(names: list[str] | None = None) -> Iterator[Row]:
    """Measure all shapes, or some, and keep the table."""
    found = []
    for name in names or SHAPES:
        found.append(measure(name))
        row = found[-1]
        what = (
            f"{name}: {row['variables']} variables, up to {row['states']} states, {row['rows']} rows, {row['method']}"
        )
        yield what, f"{row['held_mb']} MB", f"{row['ratio']:.2f}", f"foretold: {row['foretold_mb']} MB"
    if names is None:
        with open(HERE / "results" / "memory.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]))
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    for line in rows(sys.argv[1:] or None):
        print(" | ".join(line), flush=True)
