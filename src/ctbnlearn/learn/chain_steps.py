"""Steps of all chains side by side, by whatever workers there are.

Data in one piece: a whole step of a chain is a piece of work; it goes to a worker with the state of the chain, and the
next state comes back. Data in shards: chains stay here, each in a thread that waits for its shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ctbnlearn.errors import ExecutionError
from ctbnlearn.execute.workers import GO_ON, MOST_LOST, LostError, Workers
from ctbnlearn.learn.chain import Chain, Task, chain_step
from ctbnlearn.learn.trail import Stretch

PIECE_SECONDS = 10.0  # estimated work of a piece: what is done again when a worker dies


class ChainSteps:
    """Runs steps of chains.

    Parameters
    ----------
    task
        What the chains have in common.
    workers
        Who does the work.
    """

    def __init__(self, task: Task, workers: Workers) -> None:
        self.task, self.workers = task, workers
        self._put: Any = None if workers.local or task.shards is not None else workers.put(task)

    def advance(self, chains: Sequence[Chain], stretches: int, length: int, seconds: float) -> list[list[Stretch]]:
        """Stretches of every chain, whose sweeps take so many seconds each, in pieces that may be lost."""
        out: list[list[Stretch]] = [[] for _ in chains]
        most = stretches if self.workers.local else max(1, int(PIECE_SECONDS / (seconds * length)))
        for first in range(0, stretches, most):
            for found, more in zip(out, self.run(chains, "advance", min(most, stretches - first), length)):
                found += more
        return out

    def run(self, chains: Sequence[Chain], step: str, *arguments: Any) -> list[Any]:
        """Call a method of every chain; returns what each returned."""
        names = [f"chain {c + 1}" for c in range(len(chains))]
        if self.task.shards is not None:
            with ThreadPoolExecutor(len(chains)) as pool:
                waiting = [pool.submit(self._here, chain, step, arguments) for chain in chains]
                try:
                    return [future.result() for future in waiting]
                except BaseException:
                    stop(chains)
                    raise
        if self.workers.local:
            return self.workers.map(_method, [(chain, step, arguments) for chain in chains], names)
        items = [(self._put, chain.arrays(), step, arguments) for chain in chains]
        out = []
        for chain, (arrays, result) in zip(chains, self.workers.map(chain_step, items, names)):
            chain.restore(arrays)
            out.append(result)
        return out

    def _here(self, chain: Chain, step: str, arguments: Sequence[Any]) -> Any:
        """A step whose shards are with the workers; where they lose states, the step is done again from its start."""
        chain.paths.gather()
        where = ""
        for _ in range(MOST_LOST):
            before = copy_of(chain) if self.workers.remote_states else None
            try:
                result = getattr(chain, step)(*arguments)
                chain.paths.gather()
                return result
            except LostError as problem:
                assert before is not None
                where = str(problem)
                chain.restore(before)
        raise ExecutionError(
            f"{where}: workers were lost {MOST_LOST} times in a row while they were at it; give them more "
            f"memory; {GO_ON}"
        )


def copy_of(chain: Chain) -> dict[str, Any]:
    """The state of a chain; what it changes in place is copied."""
    return {k: v if k.startswith("paths/") else np.array(v) for k, v in chain.arrays().items()}


def stop(chains: Sequence[Chain]) -> None:
    """Let chains end at their next sweep: those that go on must not do so for minutes."""
    for chain in chains:
        chain.stopped = True


def _method(chain: Chain, step: str, arguments: Sequence[Any]) -> Any:
    return getattr(chain, step)(*arguments)
