"""Learn from a folder of Parquet that worker processes read: time, memory of all processes together, and accuracy.

    python benchmarks/million.py FOLDER                       a million trajectories, 40 minutes on two cores
    python benchmarks/million.py FOLDER --trajectories 20000

Ten variables, five looks without error at each, 0.4 mean dwell times apart on average. The table and the result stay in
FOLDER; a table that is there is taken as it is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ctbnlearn as cl

VARIABLES, LOOKS, FILE, GROUP = 10, 5, 100_000, 50_000  # trajectories of a file, rows of a row group
GIB = 2**30


def write(folder: Path, trajectories: int) -> None:
    """The table in files of as many trajectories as fit into memory."""
    folder.mkdir(parents=True)
    for first in range(0, trajectories, FILE):
        count = min(FILE, trajectories - first)
        paths = cl.simulate(network(), count, horizon=4.0, rng=100 + first)
        obs = cl.observe(paths, n_times=LOOKS, rng=200 + first)
        columns = {"unit": np.repeat(np.arange(first, first + count), LOOKS), "time": obs.series[0].times}
        columns |= {v.name: np.asarray(v.states)[s.values] for v, s in zip(obs.variables, obs.series)}
        pq.write_table(pa.table(columns), folder / f"part-{first:08d}.parquet", row_group_size=GROUP)


def network() -> cl.CTBN:
    """The truth."""
    return cl.random_network(VARIABLES, 2, rng=0)


def resident(root: int) -> float:
    """GiB of memory that a process and its descendants hold; pages they share count in each."""
    children: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                pages[int(entry.name)] = int((entry / "statm").read_text().split()[1])
            except OSError:  # it has ended
                continue
            children.setdefault(parent, []).append(int(entry.name))
    waiting, total = [root], 0
    while waiting:
        one = waiting.pop()
        total += pages.get(one, 0)
        waiting += children.get(one, [])
    return total * 4096 / GIB


def main() -> None:
    """Write the table, learn from it, and say what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trajectories", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="2.5GB")
    given = parser.parse_args()
    table, out = given.folder / f"table-{given.trajectories}", given.folder / f"result-{given.trajectories}"
    if not table.exists():
        write(table, given.trajectories)
    options = ["--trajectory", "unit", "--time", "time", "--memory", given.memory, "--workers", str(given.workers)]
    command = [sys.executable, "-m", "ctbnlearn", "learn", str(table), *options, "--out", str(out)]
    began, peak = time.perf_counter(), 0.0
    run = subprocess.Popen(command)
    while run.poll() is None:
        peak = max(peak, resident(run.pid))
        time.sleep(1)
    if run.returncode:
        sys.exit(run.returncode)
    seconds, found = time.perf_counter() - began, cl.load_result(out)
    scores = cl.edge_scores(network(), found.edge_probabilities)
    print(
        f"{given.trajectories} trajectories, {given.workers} workers, --memory {given.memory}: {seconds:.0f} s, "
        f"at most {peak:.2f} GiB over all processes; AUPR {scores['aupr']:.4f}, log loss {scores['log_loss']:.5f}"
    )


if __name__ == "__main__":
    main()
