"""Evidence of blocks of variables on data in shards: sums over trajectories, added up in the order of the shards.

Workers read their shards, lay them out once, as far as memory goes, and return sums. Blocks do not depend on each
other, so few shards are worked on by many workers, each with some of the blocks. Neither changes a bit of the answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, final

import numpy as np
from threadpoolctl import threadpool_limits

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.execute import scratch
from ctbnlearn.execute.limits import worker_number
from ctbnlearn.execute.memo import MEMO
from ctbnlearn.execute.shards import Shards, make_shards
from ctbnlearn.execute.workers import Workers
from ctbnlearn.inference.block_evidence import BlockEvidence, Evidence, Totals
from ctbnlearn.inference.device import PROCESSOR, Device

LEAST = 256  # trajectories of a shard: compiled loops work on many side by side
MOST_WAITING = 1 << 28  # bytes of results that are waited for at a time


class BlockShards:
    """Data in shards, to be laid out for blocks.

    Parameters
    ----------
    data
        `Observations` in canonical order, or a scan.
    workers, limit
        Who works, and how many bytes of laid out shards each may keep.
    device
        Where each of them does: on processors, or on an accelerator of its own.
    """

    def __init__(self, data: Incomplete, workers: Workers, limit: int, device: Device = PROCESSOR) -> None:
        self.data, self.workers, self.device = data, workers, device
        self.shards = make_shards(data, workers, limit, lambda part: part, LEAST)
        self._runs: list[str] = []

    @property
    def n_informative(self) -> int:
        """Number of values that tell states apart."""
        shards = self.shards
        return sum(self.workers.map(_informative, [(source,) for source in shards.sources], shards.names))

    def lay_out(self, exit_rate: float) -> ShardedEvidence:
        """Evidence for blocks with such a sum of exit rates."""
        shards = self.shards._replace(run=uuid.uuid4().hex)
        self._runs.append(shards.run)
        cards = tuple(v.n_states for v in self.data.variables)
        return ShardedEvidence(shards, self.workers, cards, self.data.n_trajectories, exit_rate, self.device)

    def close(self) -> None:
        """Forget what this process keeps."""
        for run in self._runs:
            MEMO.drop(run)


@final
class ShardedEvidence(Evidence):
    """Sums over shards; parameters are those of `BlockShards`, `exit_rate` that of `BlockEvidence`."""

    def __init__(
        self,
        shards: Shards,
        workers: Workers,
        cards: tuple[int, ...],
        n_trajectories: int,
        exit_rate: float,
        device: Device,
    ) -> None:
        self.shards, self.workers, self.exit_rate, self.device = shards, workers, exit_rate, device
        self.cards, self.n_trajectories = cards, n_trajectories

    def totals(self, members: IntArray, rates: FloatArray, start: FloatArray) -> Totals:
        """Evaluate n blocks of equal shape."""
        return Totals(*self._by_blocks(_totals, members, rates, start, rates[0].nbytes))

    def score_sums(self, members: IntArray, rates: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums over trajectories of products of scores, and of scores."""
        both, total = self._by_blocks(_score_sums, members, rates, start, rates[0].size * rates[0].nbytes)
        return both, total

    def impossible(self, members: IntArray, rates: FloatArray, start: FloatArray) -> int | None:
        """The first trajectory whose evidence is zero under some block."""
        for low, found in zip(self.shards.bounds, self._results(_impossible, [(members, rates, start)], 1)):
            if found is not None:
                return low + int(found)
        return None

    def add_up(self, function: Callable[..., tuple[FloatArray, ...]], *arguments: Any) -> tuple[FloatArray, ...]:
        """Add up over shards."""
        return self._sums(function, [arguments], MOST_WAITING // 4)[0]

    def _by_blocks(self, function: Any, members: IntArray, rates: FloatArray, start: FloatArray, size: int) -> Any:
        """Sums of all blocks; some blocks at a time where there are fewer shards than workers.

        Accelerators take all at a time: how they round depends on what they do together.
        """
        n, wanted = len(members), 1
        if not self.workers.local and self.device.kind == "cpu":
            wanted = min(n, -(-2 * self.workers.count // len(self.shards.sources)))
        bounds = [k * n // wanted for k in range(wanted + 1)]
        some = [slice(low, high) for low, high in zip(bounds, bounds[1:])]
        found = self._sums(function, [(members[s], rates[s], start[s]) for s in some], size * -(-n // wanted))
        return [np.concatenate(parts) for parts in zip(*found)]

    def _sums(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], size: int
    ) -> list[tuple[FloatArray, ...]]:
        """For every tuple of arguments the sums over shards, of `size` bytes or so."""
        out: list[Any] = []
        for k, found in enumerate(self._results(function, arguments, size)):
            if k < len(arguments):
                out.append(tuple(np.array(part) for part in found))
            else:
                for total, part in zip(out[k % len(arguments)], found):
                    total += part
        return out

    def _results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], size: int) -> Iterator[Any]:
        """Results for all arguments, shard by shard."""
        shards = self.shards
        items = [(*one, self.exit_rate, self.device, function, given) for one in shards.items() for given in arguments]
        names = [name for name in shards.names for _ in arguments]
        if self.workers.local:  # each of them takes all threads
            yield from (_on_shard(*item) for item in items)
            return
        together = max(2 * self.workers.count, MOST_WAITING // max(size, 1))
        for low in range(0, len(items), together):
            some = slice(low, low + together)
            yield from self.workers.map(_on_shard, items[some], names[some])


def _on_shard(
    key: tuple[str, int],
    limit: int,
    source: Any,
    exit_rate: float,
    device: Device,
    function: Callable[..., Any],
    arguments: Any,
) -> Any:
    """A function of a shard that is laid out, kept from before or now."""

    def lay_out() -> BlockEvidence:
        return BlockEvidence(scratch.read(source).observations(), exit_rate, _here(device))

    return function(MEMO.get(key, lay_out, limit), *arguments)


@cache
def _here(device: Device) -> Device:
    """A device as this worker has it; workers of one machine take its accelerators in turn."""
    return device if device.kind == "cpu" else Device.find("gpu", device.precision, worker_number())


def _informative(source: Any) -> int:
    return int(scratch.read(source).observations().n_informative)


def _totals(evidence: BlockEvidence, *blocks: Any) -> Totals:
    found = evidence.totals(*blocks)
    return found._replace(log_evidence=found.log_evidence.sum(1, keepdims=True))


def _score_sums(evidence: BlockEvidence, *blocks: Any) -> tuple[FloatArray, FloatArray]:
    with threadpool_limits(1):  # products may round differently where several threads share them
        return evidence.score_sums(*blocks)


def _impossible(evidence: BlockEvidence, *blocks: Any) -> int | None:
    return evidence.impossible(*blocks)
