"""Sampling by several workers: time a sweep against workers and size, bytes moved, and what a cluster would take.

Chains whose data lie in shards, as in `learn`, with processes of this machine for workers, started by us or by Dask.
The processor time of a sweep is modelled in two parts, each fitted by non-negative least squares on relative errors:

    workers  = work x chains x units                        what workers do side by side
    this one = piece x chains x shards + sweep x chains     what the process they answer to does by itself

units being observations, paths and five times the jumps. The clock shows workers / number + this one, where every
process has a processor of its own; clocks of a machine that others use tell less than processor time. Two sizes are
left out of the fits, the largest and the middle one: they tell how wrong these are. What a cluster would take is told
as a range: from the least to the most that fits without any one of their points predict, each side wider by the
largest error on the points left out, and on the upper side by the time that all bytes take on a slow network, one after
the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ctbnlearn.arrays import FloatArray
from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NODES, ROWS, HORIZON, CHAINS = 10, 5, 4.0, 2
SIZES = (20_000, 30_000, 50_000, 80_000, 120_000)
SWEEPS, REPEATS = 2, 2  # sweeps timed together, and how often: the least counts, as others use the machine
NETWORK = 125e6  # bytes per second of a slow one
FAR = {"workers": 100, "observations": 1e9, "chains": 4, "sweeps": 200}


class Costs(NamedTuple):
    """Seconds of workers per unit, and of this process per shard and sweep; all of one chain."""

    workers: Any
    own: Any


def plan(options: Options) -> list[Cell]:
    """One cell per size and number of workers, up to one a processor; with Dask, as many as there are processors."""
    from ctbnlearn.cores import processors

    sizes, sweeps, repeats = ((20_000, 40_000), 1, 1) if options.quick else (SIZES, SWEEPS, REPEATS)
    counts = [w for w in (1, 2, 4, 8, 16) if w <= processors()]
    kinds = [("processes", w) for w in counts]
    if find_spec("distributed") is not None:
        kinds.append(("dask", counts[-1]))
    return [
        {"trajectories": n, "by": by, "workers": w, "sweeps": sweeps, "repeats": repeats}
        for n in sizes
        for by, w in kinds
    ]


def left_out(sizes: Collection[int]) -> list[int]:
    """Sizes that the fit does not see: the largest and, of five or more, the middle one."""
    order = sorted(set(sizes))
    return [] if len(order) < 2 else order[-1:] if len(order) < 5 else [order[len(order) // 2], order[-1]]


@contextmanager
def started(by: str, count: int) -> Iterator[tuple[Any, Any]]:
    """Workers, and a function that tells their process ids."""
    from ctbnlearn.execute.cluster import Cluster
    from ctbnlearn.execute.local import Processes

    if by == "processes":
        own = Processes(count)
        try:
            yield own, own.pids
        finally:
            own.abandon()
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield Cluster(client), lambda: list(client.run(os.getpid).values())


def processor_seconds(pids: Sequence[int]) -> float:
    """Processor time that processes have taken so far; NaN where the system does not tell."""
    total = 0
    try:
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return float("nan")


def run(cell: Cell, options: Options) -> Tables:
    """Time some sweeps of chains by so many processes."""
    from ctbnlearn.data.observations import observe
    from ctbnlearn.execute.memo import n_bytes
    from ctbnlearn.execute.path_store import ShardedPaths
    from ctbnlearn.learn.chain import Chain
    from ctbnlearn.learn.chain_steps import ChainSteps
    from ctbnlearn.learn.sampling import make_task
    from ctbnlearn.model.simulation import simulate
    from ctbnlearn.structure.problem import EdgeRules, Scoring

    net = protocol.draw_network(0, NODES)
    obs = observe(simulate(net, cell["trajectories"], horizon=HORIZON, rng=1), n_times=ROWS, rng=2)
    rules = EdgeRules.build(obs.names, 2, None, None, None, None)
    with started(cell["by"], cell["workers"]) as (workers, pids):
        task = make_task(obs, rules, Scoring(structure_prior="sparse"), [None] * NODES, "learn", workers)
        chains = [Chain(task, seed, workers) for seed in np.random.SeedSequence(0).spawn(CHAINS)]
        steps = ChainSteps(task, workers)
        steps.run(chains, "settle", 2)  # compiled code is loaded, first paths are behind
        times = []
        for _ in range(cell["repeats"]):
            before = np.array([time.perf_counter(), processor_seconds(pids()), time.process_time()])
            steps.run(chains, "advance", 1, cell["sweeps"])
            after = np.array([time.perf_counter(), processor_seconds(pids()), time.process_time()])
            times.append((after - before) / cell["sweeps"])
        one = chains[0].paths
        assert isinstance(one, ShardedPaths)
        states = sum(n_bytes(state) for state in workers.fetch(one.states))
        sums = 8 * (len(chains[0].pools.dwell) + len(chains[0].pools.moves) + chains[0].starts.size)
        shards = len(one.states)
    least = np.min(times, axis=0)
    if np.isnan(least[1]):
        least[1] = max(least[0] - least[2], 0.0) * cell["workers"]
    row: Row = {
        **{key: cell[key] for key in ("trajectories", "by", "workers")},
        "observations": obs.n_values,
        "shards": shards,
        "units": units(obs.n_values, obs.n_trajectories),
        "seconds": least[0],
        "worker_seconds": least[1],
        "own_seconds": least[2],
        "state_bytes": CHAINS * states,
        "sum_bytes": CHAINS * shards * sums,
    }
    return {"scores": [row]}


def units(n_values: float, n_trajectories: float) -> float:
    """Work of a sweep of one chain: observations, paths, and five times the jumps guessed."""
    paths = n_trajectories * NODES
    return n_values + paths + 5.0 * min(0.5 * n_values, 4.0 * paths)


def fit(rows: list[Row]) -> Costs:
    """Costs of workers and of this process, each from its own processor time."""
    work = _least_squares([(row["units"],) for row in rows], [row["worker_seconds"] for row in rows])
    return Costs(work, _least_squares([(row["shards"], 1.0) for row in rows], [row["own_seconds"] for row in rows]))


def _least_squares(terms: Sequence[Sequence[float]], seconds: Sequence[float]) -> FloatArray:
    spent = np.asarray(seconds, float)[:, None]
    return nnls(CHAINS * np.asarray(terms, float) / spent, np.ones(len(spent)))[0]


def predict(row: Row, costs: Costs, chains: float = CHAINS) -> tuple[float, float]:
    """Processor seconds per sweep of all workers, and of this process."""
    work = chains * float(row["units"] * costs.workers[0])
    return work, chains * float(np.dot((row["shards"], 1.0), costs.own))


def clock(row: Row, costs: Costs, chains: float = CHAINS) -> float:
    """Seconds per sweep where every process has a processor of its own."""
    work, own = predict(row, costs, chains)
    return work / row["workers"] + own


def spread(rows: list[Row], row: Row, chains: float) -> tuple[float, float]:
    """Least and most seconds that fits without any one of the rows predict."""
    fits = [fit(rows[:k] + rows[k + 1 :]) for k in range(len(rows))] if len(rows) > 2 else [fit(rows)]
    found = [clock(row, costs, chains) for costs in fits]
    return min(found), max(found)


def far_away() -> Row:
    """The cluster whose time is predicted."""
    from ctbnlearn.execute.shards import SHARD_UNITS

    whole = units(FAR["observations"], FAR["observations"] / NODES / ROWS)
    return {"units": whole, "workers": FAR["workers"], "shards": ceil(whole / SHARD_UNITS)}


def draw(tables: Tables) -> Figure:
    """Seconds per sweep against trajectories, by the clock and of processors."""
    from ctbnlearn.experiments.drawing import counts_axis, labels, legend, panels, seconds_axis

    rows = tables["scores"]
    figure, axes = panels(2, width=4.4)
    kinds = sorted({(row["by"] == "dask", row["workers"], row["by"]) for row in rows})
    for (_, count, by), marker in zip(kinds, "os^Dvp"):
        here = sorted(select(rows, workers=count, by=by), key=lambda row: row["trajectories"])
        size, kind = [r["trajectories"] for r in here], "Dask worker" if by == "dask" else "process"
        several = "" if count == 1 else "s" if by == "dask" else "es"
        line = axes[0].plot(size, [r["seconds"] for r in here], marker=marker, label=f"{count} {kind}{several}")[0]
        for who, style in (("worker_seconds", "-"), ("own_seconds", ":")):
            axes[1].plot(size, [r[who] for r in here], marker=marker, ls=style, color=line.get_color())
    for name, style in (("of workers", "-"), ("of the process they answer to", ":")):
        axes[1].plot([], [], ls=style, color="0.3", label=name)
    for ax, name in zip(axes, ("seconds per sweep, by the clock", "seconds of processors per sweep")):
        counts_axis(ax, [row["trajectories"] for row in rows])
        seconds_axis(ax)
        labels(ax, "trajectories", name)
        legend(ax, loc="upper left")
    return figure


def efficiency(rows: list[Row], row: Row) -> float:
    """Time of one worker over that of all together, by the clock."""
    alone = select(rows, trajectories=row["trajectories"], workers=1, by=row["by"])
    return mean(alone, "seconds") / row["seconds"] / row["workers"] if alone else float("nan")


def compare(tables: Tables) -> Comparison:
    """Times, bytes, the model and its error, and what it predicts."""
    rows = sorted(tables["scores"], key=lambda row: (row["by"] == "dask", row["trajectories"], row["workers"]))
    unseen = left_out([row["trajectories"] for row in rows])
    kept = {by: [r for r in rows if r["by"] == by and r["trajectories"] not in unseen] for by in group(rows, "by")}
    costs = {by: fit(own) for by, own in kept.items()}
    lines, errors = [], []
    for row in rows:
        predicted, spent = sum(predict(row, costs[row["by"]])), row["worker_seconds"] + row["own_seconds"]
        error = predicted / spent - 1
        if row["trajectories"] in unseen:
            errors.append(error)
        lines.append(
            (
                row["by"],
                row["trajectories"],
                row["workers"],
                row["shards"],
                f"{row['seconds']:.3g}",
                f"{spent / row['seconds']:.2f}",
                f"{row['worker_seconds']:.3g}",
                f"{row['own_seconds']:.3g}",
                f"{row['state_bytes'] / 1e6:.3g}",
                f"{row['sum_bytes'] / 1e6:.3g}",
                f"{predicted:.3g}" + (" (left out)" if row["trajectories"] in unseen else ""),
                f"{error:+.0%}",
            )
        )
    worst = max(map(abs, errors), default=0.0)
    more = [
        mean(select(rows, trajectories=r["trajectories"], workers=1, by=r["by"]), "worker_seconds")
        / r["worker_seconds"]
        for r in rows
        if r["workers"] == 2 and r["by"] == "processes"
    ]
    clocks = [efficiency(rows, r) for r in rows if r["workers"] == 2 and r["by"] == "processes"]
    claims = [
        Claim(
            "Two workers spend no more processor time on a sweep than one does (0.8 or more of it)",
            bool(min(more) >= 0.8) if more else None,
            "processor time of one over that of two: "
            + (", ".join(f"{e:.2f}" for e in more) or "not run, for want of processors")
            + "; efficiency by the clock: "
            + ", ".join(f"{e:.2f}" for e in clocks),
        ),
        Claim(
            "The model predicts the processor time of sizes left out of its fit within 30 %",
            bool(worst <= 0.3) if errors else None,
            f"relative errors at {', '.join(f'{n:,}' for n in unseen)} trajectories: "
            + (", ".join(f"{e:+.0%}" for e in errors) or "nothing was left out"),
        ),
    ]
    settings = {
        "data": f"{NODES} variables, {ROWS} observations of each per trajectory; {CHAINS} chains",
        "processors": "the table tells how many the run got; with fewer than workers, clocks say little",
        **{
            f"model of {by}": f"workers {c.workers[0]:.2g} s per unit; the process they "
            f"answer to {c.own[0]:.2g} s per shard and {c.own[1]:.2g} s per sweep; of one chain"
            for by, c in costs.items()
        },
        **dict(far_figures(rows, kept, costs, worst)),
    }
    header = (
        *("workers are", "trajectories", "workers", "shards", "s per sweep", "processors got"),
        *("s of workers", "s of this process", "states, MB", "sums, MB", "model, s of processors", "error"),
    )
    return Comparison(header, lines, claims, settings)


def far_figures(rows: list[Row], kept: dict[str, list[Row]], costs: dict[str, Costs], worst: float) -> Iterator[Any]:
    """What a cluster would take, and what the range is."""
    by = "dask" if "dask" in costs else "processes"
    cluster, chains, hours = far_away(), FAR["chains"], FAR["sweeps"] / 3600
    seconds, (work, own) = clock(cluster, costs[by], chains), predict(cluster, costs[by], chains)
    sums = max(row["sum_bytes"] / row["shards"] for row in rows) / CHAINS * cluster["shards"] * chains
    states = max(row["state_bytes"] / row["units"] for row in rows) / CHAINS * cluster["units"] * chains
    low, high = spread(kept[by], cluster, chains)
    low, high = low / (1 + worst), high * (1 + worst) + (sums + states) / NETWORK
    yield (
        f"{FAR['workers']} workers, {FAR['observations']:.0e} observations, {chains} chains",
        f"predicted {seconds:.0f} s per sweep ({work / cluster['workers']:.0f} s of workers, {own:.0f} s of the "
        f"process they answer to), between {low:.0f} and {high:.0f} s; {seconds * hours:.1f} h for {FAR['sweeps']} "
        f"sweeps, between {low * hours:.1f} and {high * hours:.1f} h; {sums / 1e9:.1f} GB of sums and "
        f"{states / 1e9:.0f} GB of states per sweep",
    )
    yield (
        "range",
        f"fits of {by} without each of their points in turn, wider by the largest error on those left out, and above "
        f"by the time of all bytes on a network of {NETWORK / 1e6:.0f} MB/s; it knows nothing of slower machines, nor "
        f"of more than {max(row['workers'] for row in rows)} workers, which were of one machine",
    )


EXPERIMENT = Experiment("cluster", "Sampling by several workers", plan, run, draw, compare, timed=True)
