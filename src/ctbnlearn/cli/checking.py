"""`ctbnlearn learn --check`: what was understood of the data, and roughly what learning will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ctbnlearn.data.description import describe
from ctbnlearn.data.kinds import Data, Incomplete
from ctbnlearn.data.messages import named
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import owner
from ctbnlearn.data.series import Series
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.execute.memory import Size, estimated_bytes, memory_budget
from ctbnlearn.execute.shards import n_shards, shard_bounds
from ctbnlearn.inference.grid import bucket
from ctbnlearn.inference.methods import Blocks, Factorised, Method, Sampling
from ctbnlearn.learn.choice import estimated_seconds
from ctbnlearn.learn.complete import number_of_sets
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.learn.plan import make_plan
from ctbnlearn.result.manifest import n_rows
from ctbnlearn.structure.parent_sets import MOST_LISTED
from ctbnlearn.structure.problem import EdgeRules

# A fit from incomplete data on two cores, measured from 5 to 100 variables and 40 to 1000 trajectories; very rough.
COMPILE_SECONDS = 12.0
CELL_SECONDS = 2.5e-6  # per cell of time x variable x joint state of its parents x state, in a whole fit
PAIR_SECONDS = 1.5e-10  # per multiplication of the passes over all pairs of parents
PASSES = 3  # of them in a fit
# Blocks on two cores, from 6 to 1,000 variables and 100 to 100,000 trajectories: within a factor of two or so; more
# where memory is too small to keep all data laid out.
BLOCK_COMPILE_SECONDS = 5.0
BLOCK_SECONDS = 5e-7  # per value, and joint state and move of a block
# Memory of the whole command, its report included, as benchmarks/memory.py measures it.
LOADED = {"complete": 360e6, "sampling": 220e6, "blocks": 590e6, "exact": 570e6, "star": 850e6, "mean_field": 850e6}
PAIRS_LOADED = 600e6  # complete data of many variables, all pairs of parents
CELL_BYTES = 900  # per rate of the largest parent sets: its draws, and the table of it in the report
GRID_COPIES = 2.0  # of the time grid, and of what star keeps
AT_ONCE = 120_000  # cells x variables in work at a time
KEPT_BYTES = 1 << 30  # path posteriors that are kept
MOST_JOINT_STATES = 256  # joint states of a node's candidates up to which all are listed
ACTIVE_STATES = 16, 640, 256  # else of its active parents: at least; of all nodes; at most
SAMPLER_SECONDS = 14.0  # compilation, once on a machine
COUNTING_SPEED = 5e7  # complete data: rows x variables, or cells of all tables, per second


def check_values(data: Data, learner: StructureLearner) -> dict[str, Any]:
    """Everything `check_lines` prints, in JSON types."""
    plan = make_plan(learner, data)
    rules, method = plan.rules, plan.method
    complete = isinstance(data, Paths)
    span = float((data.end - data.start).sum())
    rows = None
    if not isinstance(data, Paths):
        rows = data.n_rows if isinstance(data, TableScan) else n_rows(data)
        seen_of_all, changes_of_all = _seen_and_changes(data)
    variables = []
    for i, v in enumerate(data.variables):
        if isinstance(data, Paths):
            jumps = int((data.nodes == i).sum())
            entry: dict[str, Any] = {"changes": jumps}
        else:
            seen, jumps = seen_of_all[i], changes_of_all[i]
            entry = {"seen": seen, "missing": 1 - seen / rows if rows else 0.0, "changes": jumps}
        variables.append({"name": v.name, "states": list(v.states), **entry})
    if not isinstance(data, Paths) and isinstance(method, Sampling):
        memory, seconds = _sampling_cost(data, rules, method, learner)
    else:
        data = data.read() if isinstance(data, TableScan) and not isinstance(method, Blocks) else data
        memory, seconds = _cost(data, span, [v["changes"] for v in variables], rules, method)
    memory += int(CELL_BYTES * _largest_tables([v.n_states for v in data.variables], rules))
    description = describe(data) if isinstance(data, Observations) else None
    return {
        "complete": complete,
        "trajectories": data.n_trajectories,
        "rows": rows,
        "start": float(data.start.min()),
        "end": float(data.end.max()),
        "total_time": span,
        "time_unit": data.clock.unit,
        "variables": variables,
        "inference": None if method is None else method.name,
        "description": None if description is None else {**description.to_dict(), "lines": description.lines()},
        "memory_bytes": memory,
        "seconds": seconds,
    }


def check_lines(found: Mapping[str, Any]) -> list[str]:
    """Lines of text that say what was understood."""
    kind = "complete: every transition is there" if found["complete"] else "points in time, with holes"
    lines = [
        f"data:          {kind}",
        f"trajectories:  {found['trajectories']}",
        f"time:          from {found['start']:g} to {found['end']:g}, {found['total_time']:g} in all"
        + (f", in {found['time_unit']}" if found["time_unit"] else ""),
    ]
    if not found["complete"]:
        seen = sum(v["seen"] for v in found["variables"])
        cells = found["rows"] * len(found["variables"])
        lines.append(f"seen:          {seen} of {cells} cells in {found['rows']} rows ({1 - seen / cells:.1%} missing)")
    lines.append(f"variables:     {len(found['variables'])}")
    width = max(8, *(len(v["name"]) for v in found["variables"]))
    for v in found["variables"]:
        text = f"  {v['name']:<{width}}  {len(v['states'])} states: {named(v['states'])}; {_changes_in_words(v)}"
        lines.append(text)
    if found["description"] is not None:
        lines += found["description"]["lines"]
    how = "" if found["inference"] is None else f"by inference={found['inference']}, "
    lines.append(
        f"learning:      {how}very roughly {_amount(found['memory_bytes'])} of memory and "
        f"{_duration(found['seconds'])} on two cores; the time may be five times more or less"
    )
    return lines


def _changes_in_words(v: Mapping[str, Any]) -> str:
    return (
        f"{v['changes']} changes"
        if v["changes"]
        else "never changes within a trajectory: nothing drives it (see --adjust-for)"
    )


def _seen_and_changes(data: Incomplete) -> tuple[list[int], list[int]]:
    """Per variable the values seen, and how often they change; part by part where not all are in memory."""
    bounds = [0, data.n_trajectories]
    if isinstance(data, TableScan):
        bounds = shard_bounds(data.n_trajectories, n_shards(data.n_trajectories, len(data.variables), data.n_values))
    seen, changes = [0] * len(data.variables), [0] * len(data.variables)
    for low, high in zip(bounds, bounds[1:]):
        for i, series in enumerate(data.part(low, high).observations().series):
            seen[i] += len(series.values)
            changes[i] += _changes(series)
    return seen, changes


def _changes(series: Series) -> int:
    """Changes between one observation and the next, at the most likely states."""
    state, who = series.log_likelihood().argmax(1), owner(series.offsets)
    return int(((state[1:] != state[:-1]) & (who[1:] == who[:-1])).sum())


def _cost(data: Data, span: float, changes: list[int], rules: EdgeRules, method: Method | None) -> tuple[int, float]:
    """Bytes and seconds of a fit, roughly: cells of the time grid x nodes x joint states of the parents."""
    cards = [v.n_states for v in data.variables]
    n, s = len(cards), max(cards)
    if isinstance(data, Paths):
        n_sets, rows = number_of_sets(rules), data.n_transitions + data.n_trajectories
        if n_sets > MOST_LISTED:  # one pass over all pairs of parents
            products = (n * (s - 1)) ** 2 * rows * n * (s**2 - 1)
            kept = min(4 * rows * n * (s + s**2), KEPT_BYTES)
            return int(PAIRS_LOADED + 8 * rows * n + kept), COMPILE_SECONDS + PAIR_SECONDS / PASSES * products
        memory = LOADED["complete"] + rows * (80 + 20 * n) + 8 * n_sets * (rules.largest + 2)
        return int(memory), 0.1 + (rows * n + n_sets * s ** min(rules.largest, 30)) / COUNTING_SPEED
    assert method is not None
    joint = float(np.prod(np.array(cards, float))) / s
    pairs = 0.0
    fastest = max([c / span for c in changes], default=0.0) if span > 0 else 0.0
    cells = 4 * span * fastest + data.n_values / n
    if joint > MOST_JOINT_STATES:
        least, together, most_states = ACTIVE_STATES
        joint = max(least, min(most_states, together // n))
        pairs = (n * (s - 1)) ** 2 * cells * n * (s**2 - 1)
    if isinstance(method, Blocks):
        seconds = BLOCK_COMPILE_SECONDS + BLOCK_SECONDS * data.n_values * _block_size(cards, method)
    else:
        seconds = COMPILE_SECONDS + CELL_SECONDS * cells * n * joint * s + PAIR_SECONDS * pairs
    if isinstance(method, Factorised):
        grid, paths, work = 10 * cells * n * s, 8 * cells * n * (s * s + s), 32 * min(cells * n, AT_ONCE) * joint
        own = GRID_COPIES * (grid + 2 * min(paths, KEPT_BYTES) + work)
    else:  # joint chains of few variables, on a grid of all
        points = data.n_trajectories * (1 + bucket(int(data.n_values / n / data.n_trajectories) + 2))
        own = 16 * data.n_values + GRID_COPIES * 8 * points * n * s
    return int(LOADED[method.name] + own), seconds


def _block_size(cards: Sequence[int], method: Blocks) -> int:
    """Joint states of a large block of variables, times the moves from each and one."""
    members: list[int] = []
    for card in sorted(cards, reverse=True):
        if len(members) < method.most(cards) and prod([*members, card]) <= method.states:
            members.append(card)
    return prod(members) * (1 + sum(card - 1 for card in members))


def _sampling_cost(
    data: Incomplete, rules: EdgeRules, method: Sampling, learner: StructureLearner
) -> tuple[int, float]:
    """Bytes over all processes and seconds of sampling, roughly."""
    most = max(v.n_states for v in data.variables)
    scanned = isinstance(data, TableScan)
    size = Size(data.n_trajectories, len(data.variables), most, data.n_values, scanned)
    processes = learner.executor if isinstance(learner.executor, int) else 0
    memory = estimated_bytes(size, method.chains, processes, memory_budget(learner.memory))
    seconds = SAMPLER_SECONDS + estimated_seconds(data, rules, method.chains, max(processes, 2))
    return int(LOADED["sampling"]) + memory, seconds


def _largest_tables(cards: Sequence[int], rules: EdgeRules) -> int:
    """Rates of every variable under its largest set of parents, two at most, in all."""
    total = 0
    for i, card in enumerate(cards):
        parents = sorted((cards[j] for j in rules.allowed[i]), reverse=True)[: min(2, rules.limit(i))]
        total += card * card * prod(parents)
    return total


def _amount(n_bytes: float) -> str:
    return f"{max(n_bytes, 1e6) / 1e6:.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"


def _duration(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
