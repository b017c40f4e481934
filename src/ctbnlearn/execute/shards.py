"""Shards: the trajectories, in the order of their names, in parts of about the same work; the same parts everywhere.

How many there are depends on the data alone, and sums over trajectories are made shard by shard and added in their
order, so answers do not depend, not even by rounding, on who works on what. The functions here are what workers do:
pure functions of a shard, the present paths of its trajectories, and parameters.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple, Protocol

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.observations import Observations
from ctbnlearn.execute import scratch
from ctbnlearn.execute.memo import MEMO
from ctbnlearn.execute.workers import Workers
from ctbnlearn.inference import gibbs
from ctbnlearn.inference.packed_paths import PackedPaths, pack, unpack
from ctbnlearn.inference.path_state import Net, Seen, Start, first_paths, gather
from ctbnlearn.structure.set_draws import Pools, count_paths, count_starts

SHARD_UNITS = 2_000_000  # observations, paths and five times the jumps guessed of a shard: a sweep takes 0.15 s or so


class Part(Protocol):
    """Trajectories that can be read where the work is."""

    def observations(self) -> Observations:
        """Read them."""


class Survey(NamedTuple):
    """Sums over trajectories: observations that tell states apart, time, and apparent changes of every node."""

    rows: int
    time: float
    changes: FloatArray  # (N,)


class Sums(NamedTuple):
    """What a sweep counts in the paths of a shard, as in `Pools`; and starts (N, widest).

    `trouble` is a trajectory of the shard and a node whose observations cannot happen, if there are such.
    """

    dwell: FloatArray
    moves: FloatArray
    starts: FloatArray
    trouble: tuple[int, int] | None


class Shards(NamedTuple):
    """All shards of a run.

    Attributes
    ----------
    run
        A name of the run, for what workers keep.
    bounds : (n_shards + 1,)
        Shard k holds the trajectories of ranks bounds[k] to bounds[k + 1].
    sources
        Per shard its `Seen`, or a `Part` to make it from, as `Workers.put` gave it.
    names
        Per shard its name for messages.
    limit
        Bytes of `Seen` that a worker may keep.
    """

    run: str
    bounds: Sequence[int]
    sources: Sequence[Any]
    names: Sequence[str]
    limit: int

    def items(self, *more: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Arguments of all shards: run and number, limit, source, and the k-th of everything else."""
        keys = [((self.run, k), self.limit) for k in range(len(self.sources))]
        return [(*key, source, *rest) for key, source, *rest in zip(keys, self.sources, *more)]


def n_shards(n_trajectories: int, n_variables: int, n_values: int) -> int:
    """How many shards data of that size have."""
    paths = n_trajectories * n_variables
    units = n_values + paths + 5.0 * min(0.5 * n_values, 4.0 * paths)
    return max(1, min(n_trajectories, ceil(units / SHARD_UNITS)))


def shard_bounds(n_trajectories: int, count: int) -> list[int]:
    """Ranks at which shards begin, and the end."""
    return [k * n_trajectories // count for k in range(count + 1)]


def canonical_order(ids: Sequence[Any]) -> list[int] | None:
    """The trajectories in the order of their names, where these can be compared; None where they stand so already.

    Random streams follow this order, so the answer does not depend on the order of a table, or of its files.
    """
    if isinstance(ids, range):
        return None
    try:
        order = sorted(range(len(ids)), key=ids.__getitem__)
    except TypeError:
        return None
    return None if all(a < b for a, b in zip(order, order[1:])) else order


def make_shards(
    data: Incomplete,
    workers: Workers,
    limit: int,
    made: Callable[[Observations], Any] = gather,
    least: int = 1,
) -> Shards:
    """Cut data, `Observations` in canonical order or a scan, into shards that workers can get at.

    Observations are put near the workers as what `made` makes of them; a shard has `least` trajectories or more.
    """
    count = n_shards(data.n_trajectories, len(data.variables), data.n_values)
    bounds = shard_bounds(data.n_trajectories, max(1, min(count, data.n_trajectories // least)))
    sources, names = [], []
    for low, high in zip(bounds, bounds[1:]):
        part = data.part(low, high)
        sources.append(workers.put(made(part)) if isinstance(part, Observations) else part)
        names.append(f"trajectories {data.ids[low]!r} to {data.ids[high - 1]!r}")
    return Shards(uuid.uuid4().hex, bounds, sources, names, limit)


def seen_of(key: tuple[str, int], limit: int, source: Any) -> Seen:
    """The observations of a shard: at hand, kept from before, or read."""
    if isinstance(source, Seen):
        return source
    if isinstance(source, scratch.Kept):
        return MEMO.get(key, lambda: scratch.read(source), limit)
    return MEMO.get(key, lambda: gather(source.observations()), limit)


def survey(seen: Seen) -> Survey:
    """Observations, time, and changes between one observation and the next at the most likely states."""
    changes = np.zeros(len(seen.cards))
    for i, card in enumerate(seen.cards):
        rows = seen.rows[i]
        table = seen.log_likelihood[seen.place[i] + rows[0] * card : seen.place[i] + rows[-1] * card]
        state, unit = table.reshape(-1, card).argmax(1), np.repeat(np.arange(len(rows) - 1), np.diff(rows))
        changes[i] = ((state[1:] != state[:-1]) & (unit[1:] == unit[:-1])).sum()
    return Survey(len(seen.times), float((seen.end - seen.start).sum()), changes)


def survey_shard(key: tuple[str, int], limit: int, source: Any) -> Survey:
    """The survey of a shard."""
    return survey(seen_of(key, limit, source))


def total_survey(shards: Shards, workers: Workers) -> Survey:
    """The survey of all shards."""
    found = workers.map(survey_shard, shards.items(), shards.names)
    out = found[0]
    for one in found[1:]:
        out = Survey(out.rows + one.rows, out.time + one.time, out.changes + one.changes)
    return out


def begin(
    key: tuple[str, int], limit: int, source: Any, seed: np.random.SeedSequence, first: int
) -> tuple[PackedPaths, None]:
    """The first paths of a shard, whose first trajectory has rank `first`; with no sums."""
    return pack(first_paths(seen_of(key, limit, source), seed, first)), None


def draw(
    key: tuple[str, int],
    limit: int,
    source: Any,
    state: PackedPaths | scratch.Kept,
    net: Net,
    start: Start,
    pools: Pools,
    sizes: tuple[int, int],
) -> tuple[PackedPaths, Sums]:
    """Redraw all paths of a shard, and count what happens in them; `sizes` are those of dwell and moves."""
    seen = seen_of(key, limit, source)
    paths, trouble = gibbs.draw_paths(seen, unpack(scratch.read(state)), net, start)
    counted = pools._replace(dwell=np.empty(sizes[0]), moves=np.empty(sizes[1]))
    count_paths(seen, paths, counted)
    starts = np.empty((len(seen.cards), int(seen.cards.max())))
    count_starts(seen.cards, paths.begin, starts)
    return pack(paths), Sums(counted.dwell, counted.moves, starts, trouble)
