"""The present paths of a chain: all in one piece here, or in shards with the workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.execute import shards as shard_work
from ctbnlearn.execute.shards import Shards
from ctbnlearn.execute.workers import Workers
from ctbnlearn.inference import gibbs
from ctbnlearn.inference.packed_paths import PackedPaths
from ctbnlearn.inference.path_state import Net, Paths, Seen, Start, compact, first_paths
from ctbnlearn.structure.set_draws import Pools, count_paths, count_starts

Trouble = tuple[int, int] | None  # rank of a trajectory and number of a variable whose observations cannot happen


class PathStore(ABC):
    """Paths that are drawn and counted sweep by sweep."""

    @abstractmethod
    def draw(self, net: Net, start: Start, pools: Pools, starts: FloatArray) -> Trouble:
        """Draw all paths once; fill the counts of `pools`, and the starts (N, widest)."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of them, by name."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave."""

    @abstractmethod
    def take_over(self, other: Self) -> None:
        """The paths of another chain, with random numbers of one's own."""

    @abstractmethod
    def tighten(self) -> None:
        """Give back room that only the first draw needed."""

    @abstractmethod
    def gather(self) -> None:
        """Bring here what the next sweeps depend on, so that the loss of a worker costs no more than those."""


@final
class WholePaths(PathStore):
    """Paths of all trajectories in one piece."""

    def __init__(self, seen: Seen, seed: np.random.SeedSequence | None) -> None:
        self.seen = seen
        self.paths: Paths
        if seed is not None:  # else `restore` follows
            self.paths = first_paths(seen, seed)

    def draw(self, net: Net, start: Start, pools: Pools, starts: FloatArray) -> Trouble:
        """Draw and count."""
        self.paths, trouble = gibbs.draw_paths(self.seen, self.paths, net, start)
        count_paths(self.seen, self.paths, pools)
        count_starts(self.seen.cards, self.paths.begin, starts)
        return trouble

    def tighten(self) -> None:
        """Keep room for twice the jumps there are."""
        self.paths = compact(self.paths)

    def gather(self) -> None:
        """They are here."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of `Paths`, cut to what is in use."""
        used = int(self.paths.used[0])
        cut = self.paths._replace(times=self.paths.times[:used], states=self.paths.states[:used])
        return cut._asdict()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave."""
        self.paths = Paths(*(np.array(arrays[key]) for key in Paths._fields))

    def take_over(self, other: Self) -> None:
        """Copy the paths of another chain."""
        random = self.paths.random
        self.restore(other.arrays())
        self.paths.random[:] = random


@final
class ShardedPaths(PathStore):
    """Paths in shards, which workers draw; between sweeps they are packed, here or where workers leave them."""

    def __init__(self, shards: Shards, workers: Workers, seed: np.random.SeedSequence | None) -> None:
        self.shards, self.workers = shards, workers
        self.states: list[Any] = [None] * len(shards.sources)
        if seed is None:  # `restore` follows
            return
        seeds, ranks = [seed] * len(shards.sources), list(shards.bounds[:-1])
        self.states = workers.hold(shard_work.begin, shards.items(seeds, ranks), shards.names)[0]

    def draw(self, net: Net, start: Start, pools: Pools, starts: FloatArray) -> Trouble:
        """Draw and count shard by shard; add up in their order."""
        shards, count = self.shards, len(self.shards.sources)
        empty = pools._replace(dwell=pools.dwell[:0], moves=pools.moves[:0])
        sizes = len(pools.dwell), len(pools.moves)
        items = shards.items(self.states, [net] * count, [start] * count, [empty] * count, [sizes] * count)
        states, sums = self.workers.hold(shard_work.draw, items, shards.names)
        self._replace(states)
        for k, found in enumerate(sums):
            if found.trouble is not None:
                return shards.bounds[k] + found.trouble[0], found.trouble[1]
        pools.dwell[:], pools.moves[:], starts[:] = sums[0].dwell, sums[0].moves, sums[0].starts
        for found in sums[1:]:
            pools.dwell[:] += found.dwell
            pools.moves[:] += found.moves
            starts[:] += found.starts
        return None

    def tighten(self) -> None:
        """Packed paths have no room."""

    def gather(self) -> None:
        """Bring states here that would be lost with a worker."""
        if self.workers.remote_states:
            self._replace(self.workers.fetch(self.states))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of `PackedPaths`, shard by shard."""
        states: Sequence[PackedPaths] = self.workers.fetch(self.states)
        return {f"{k}/{key}": value for k, state in enumerate(states) for key, value in state._asdict().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave."""
        fields = PackedPaths._fields
        count = len(self.shards.sources)
        states = [PackedPaths(*(np.asarray(arrays[f"{k}/{key}"]) for key in fields)) for k in range(count)]
        self._replace([self.workers.lay(state) for state in states])

    def take_over(self, other: Self) -> None:
        """Copy the paths of another chain."""
        pairs = zip(self.workers.fetch(self.states), self.workers.fetch(other.states))
        self._replace([self.workers.lay(theirs._replace(random=own.random)) for own, theirs in pairs])

    def _replace(self, states: list[Any]) -> None:
        old, self.states = self.states, states
        self.workers.forget([state for state, new in zip(old, states) if state is not new])
