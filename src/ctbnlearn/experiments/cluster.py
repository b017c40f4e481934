"""Sampling by several workers: time a sweep against workers and size, bytes moved, and what a cluster would take.

Chains whose data lie in shards, as in `learn`, with processes of this machine for workers. The cost of a sweep is
modelled by two terms, fitted by non-negative least squares on relative errors,

    seconds = work x chains x units / workers + piece x chains x shards

units being observations, paths and five times the jumps: what workers do side by side, and what this process does for
every shard: hand it out, take its sums, add them up. Two sizes are left out of the fit, the largest and the middle one:
they tell how wrong it is. What a cluster would take is told as a range: from the least to the most that fits without
any one of their points foretell, each side wider by the largest error on the points left out, and on the upper side by
the time that all bytes take on a slow network, one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls

from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Row, Tables, group, mean, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NODES, ROWS, HORIZON, CHAINS = 10, 5, 4.0, 2
SIZES = (20_000, 30_000, 50_000, 90_000, 160_000)
SWEEPS, REPEATS = 2, 4  # sweeps timed together, and how often: the least counts, as others use the machine
NETWORK = 125e6  # bytes a second of a slow one
FAR = {"workers": 100, "observations": 1e9, "chains": 4, "sweeps": 200}


def plan(options: Options) -> list[Cell]:
    """One cell per size and number of workers, up to one a processor."""
    from ctbnlearn.execute.limits import processors

    sizes, repeats = ((20_000, 40_000), 1) if options.quick else (SIZES, REPEATS)
    counts = [w for w in (1, 2, 4, 8, 16) if w <= processors()]
    return [
        {"trajectories": n, "workers": w, "sweeps": 1 if options.quick else SWEEPS, "repeats": repeats}
        for n in sizes
        for w in counts
    ]


def left_out(sizes: Collection[int]) -> list[int]:
    """Sizes that the fit does not see: the largest and, of five or more, the middle one."""
    order = sorted(set(sizes))
    return [] if len(order) < 2 else order[-1:] if len(order) < 5 else [order[len(order) // 2], order[-1]]


def run(cell: Cell, options: Options) -> Tables:
    """Time some sweeps of chains by so many processes."""
    from ctbnlearn.data.observations import observe
    from ctbnlearn.execute.local import Processes
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
    workers = Processes(cell["workers"])
    try:
        task = make_task(obs, rules, Scoring(structure_prior="sparse"), [None] * NODES, "learn", workers)
        chains = [Chain(task, seed, workers) for seed in np.random.SeedSequence(0).spawn(CHAINS)]
        steps = ChainSteps(task, workers)
        steps.run(chains, "settle", 2)  # compiled code is loaded, first paths are behind
        spent = float("inf")
        for _ in range(cell["repeats"]):
            began = time.perf_counter()
            steps.run(chains, "advance", 1, cell["sweeps"])
            spent = min(spent, (time.perf_counter() - began) / cell["sweeps"])
        one = chains[0].paths
        assert isinstance(one, ShardedPaths)
        states = sum(n_bytes(state) for state in workers.fetch(one.states))
        sums = 8 * (len(chains[0].pools.dwell) + len(chains[0].pools.moves) + chains[0].starts.size)
    finally:
        workers.abandon()
    shards = len(one.states)
    row: Row = {
        **{key: cell[key] for key in ("trajectories", "workers")},
        "observations": obs.n_values,
        "shards": shards,
        "units": units(obs.n_values, obs.n_trajectories),
        "seconds": spent,
        "state_bytes": CHAINS * states,
        "sum_bytes": CHAINS * shards * sums,
    }
    return {"scores": [row]}


def units(n_values: float, n_trajectories: float) -> float:
    """Work of a sweep of one chain: observations, paths, and five times the jumps guessed."""
    paths = n_trajectories * NODES
    return n_values + paths + 5.0 * min(0.5 * n_values, 4.0 * paths)


def features(row: Row, chains: float = CHAINS) -> list[float]:
    """Terms of the model."""
    return [chains * row["units"] / row["workers"], chains * row["shards"]]


def fit(rows: list[Row]) -> Any:
    """Seconds per unit and per piece of work."""
    seconds = np.array([row["seconds"] for row in rows])
    return nnls(np.array([features(row) for row in rows]) / seconds[:, None], np.ones(len(rows)))[0]


def foretell(row: Row, costs: Any, chains: float = CHAINS) -> float:
    """Seconds of a sweep, as the model has them."""
    return float(np.dot(features(row, chains), costs))


def spread(rows: list[Row], row: Row, chains: float) -> tuple[float, float]:
    """Least and most seconds that fits without any one of the rows foretell."""
    fits = [fit(rows[:k] + rows[k + 1 :]) for k in range(len(rows))] if len(rows) > 2 else [fit(rows)]
    found = [foretell(row, costs, chains) for costs in fits]
    return min(found), max(found)


def far_away() -> Row:
    """The cluster that is foretold."""
    from ctbnlearn.execute.shards import SHARD_UNITS

    whole = units(FAR["observations"], FAR["observations"] / NODES / ROWS)
    return {"units": whole, "workers": FAR["workers"], "shards": ceil(whole / SHARD_UNITS)}


def draw(tables: Tables) -> Figure:
    """Seconds a sweep against trajectories, and efficiency against workers."""
    from ctbnlearn.experiments.drawing import counts_axis, labels, legend, panels, seconds_axis

    rows = tables["scores"]
    figure, axes = panels(2, width=4.4)
    for count, marker in zip(sorted(group(rows, "workers")), "os^Dv"):
        here = sorted(select(rows, workers=count), key=lambda row: row["trajectories"])
        axes[0].plot(
            [r["trajectories"] for r in here], [r["seconds"] for r in here], marker=marker, label=f"{count} workers"
        )
    for size in sorted(group(rows, "trajectories")):
        here = sorted(select(rows, trajectories=size), key=lambda row: row["workers"])
        axes[1].plot([r["workers"] for r in here], [efficiency(rows, r) for r in here], marker="o", label=f"{size:,}")
    counts_axis(axes[0], [row["trajectories"] for row in rows])
    seconds_axis(axes[0])
    axes[1].set_ylim(0, 1.2)
    labels(axes[0], "trajectories", "seconds a sweep")
    labels(axes[1], "workers", "efficiency")
    for ax in axes:
        legend(ax)
    return figure


def efficiency(rows: list[Row], row: Row) -> float:
    """Time of one worker over that of all together."""
    alone = select(rows, trajectories=row["trajectories"], workers=1)
    return mean(alone, "seconds") / row["seconds"] / row["workers"] if alone else float("nan")


def compare(tables: Tables) -> Comparison:
    """Times, bytes, the model and its error, and what it foretells."""
    rows = sorted(tables["scores"], key=lambda row: (row["trajectories"], row["workers"]))
    unseen = left_out([row["trajectories"] for row in rows])
    kept = [row for row in rows if row["trajectories"] not in unseen]
    costs = fit(kept)
    lines, errors = [], []
    for row in rows:
        foretold = foretell(row, costs)
        error = foretold / row["seconds"] - 1
        if row["trajectories"] in unseen:
            errors.append((row["trajectories"], row["workers"], error))
        lines.append(
            (
                row["trajectories"],
                row["workers"],
                row["shards"],
                f"{row['seconds']:.3g}",
                f"{efficiency(rows, row):.2f}",
                f"{row['state_bytes'] / 1e6:.3g}",
                f"{row['sum_bytes'] / 1e6:.3g}",
                f"{foretold:.3g}" + (" (left out)" if row["trajectories"] in unseen else ""),
                f"{error:+.0%}",
            )
        )
    worst = max((abs(error) for *_, error in errors), default=0.0)
    cluster = far_away()
    terms = np.asarray(features(cluster, FAR["chains"]), float) * costs
    sums = max(row["sum_bytes"] / row["shards"] for row in rows) / CHAINS * cluster["shards"] * FAR["chains"]
    low, high = spread(kept, cluster, FAR["chains"])
    low, high = low / (1 + worst), high * (1 + worst) + sums / NETWORK
    hours = FAR["sweeps"] / 3600
    two = [efficiency(rows, row) for row in rows if row["workers"] == 2]
    claims = [
        Claim(
            "Two workers do nearly twice as much as one (efficiency 0.8 or more)",
            bool(min(two) >= 0.8) if two else None,
            "efficiency of two: " + (", ".join(f"{e:.2f}" for e in two) or "not run, for want of processors"),
        ),
        Claim(
            "The model foretells the data left out of its fit within 30 %",
            bool(worst <= 0.3) if errors else None,
            "relative errors: "
            + (", ".join(f"{n:,} trajectories, {w} workers {e:+.0%}" for n, w, e in errors) or "nothing was left out"),
        ),
    ]
    settings = {
        "data": f"{NODES} variables, {ROWS} observations of each a trajectory; {CHAINS} chains",
        "model": f"{costs[0]:.2g} s a unit and {costs[1]:.2g} s a piece of work",
        f"{FAR['workers']} workers, {FAR['observations']:.0e} observations, {FAR['chains']} chains": (
            f"foretold {terms.sum():.0f} s a sweep ({terms[0]:.0f} s of workers, {terms[1]:.0f} s of the process they "
            f"answer to), between {low:.0f} and {high:.0f} s; {terms.sum() * hours:.1f} h for {FAR['sweeps']} sweeps, "
            f"between {low * hours:.1f} and {high * hours:.1f} h; {sums / 1e9:.1f} GB of sums a sweep"
        ),
        "range": (
            "the fit without each of its points in turn, wider by the largest error on those left out, and above by "
            f"the time of all sums on a network of {NETWORK / 1e6:.0f} MB/s; it knows nothing of slower machines, nor "
            f"of more than {max(row['workers'] for row in rows)} workers, which were of one machine"
        ),
    }
    header = (
        "trajectories",
        "workers",
        "shards",
        "s a sweep",
        "efficiency",
        "states, MB",
        "sums, MB",
        "model, s",
        "error",
    )
    return Comparison(header, lines, claims, settings)


EXPERIMENT = Experiment("cluster", "Sampling by several workers", plan, run, draw, compare, timed=True)
