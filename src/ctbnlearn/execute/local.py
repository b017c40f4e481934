"""Workers on this machine: threads of this process, processes, and anybody's `concurrent.futures.Executor`."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from multiprocessing.connection import wait
from threading import Lock, Thread
from typing import Any, final

from ctbnlearn.cores import processors, usable_cores
from ctbnlearn.errors import ExecutionError
from ctbnlearn.execute import scratch
from ctbnlearn.execute.limits import limit_threads, share
from ctbnlearn.execute.workers import GO_ON, LostError, Workers, call

LOOK = 2.0  # seconds after which to look whether the processes that work are still there


class OnThisMachine(Workers):
    """Workers that read and write files of this machine: objects and states lie in a folder for temporary files."""

    def __init__(self) -> None:
        super().__init__()
        self._scratch = scratch.Scratch()

    def put(self, value: Any) -> Any:
        """Leave an object in a file."""
        return self._scratch.keep(value)

    def hold(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> tuple[list[Any], list[Any]]:
        """States stay in files."""
        folder = str(self._scratch.folder)
        both = self.map(_keep_first, [(folder, function, *item) for item in items], names)
        return [state for state, _ in both], [sums for _, sums in both]

    def lay(self, state: Any) -> Any:
        """Leave a state in a file."""
        return self.put(state)

    def fetch(self, states: Sequence[Any]) -> list[Any]:
        """Read the files."""
        return [scratch.read(state) for state in states]

    def forget(self, states: Sequence[Any]) -> None:
        """Remove the files."""
        for state in states:
            scratch.forget(state)

    def close(self) -> None:
        """Remove the folder."""
        self._scratch.close()


def _keep_first(folder: str, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """Do a piece of work and leave the first half of its result in a file."""
    state, sums = function(*arguments)
    return scratch.write(folder, state), sums


@final
class Threads(OnThisMachine):
    """Threads of this process.

    Parameters
    ----------
    count
        How many; default: as many as this process may start.
    spill
        Whether states lie on disk, for want of memory.
    """

    local = True

    def __init__(self, count: int | None = None, spill: bool = False) -> None:
        super().__init__()
        self.count, self.spill = count or usable_cores(), spill
        self._pool = ThreadPoolExecutor(self.count)

    def put(self, value: Any) -> Any:
        """Threads share the object itself."""
        return value

    def lay(self, state: Any) -> Any:
        """On disk or as it is."""
        return super().put(state) if self.spill else state

    def hold(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> tuple[list[Any], list[Any]]:
        """On disk or as they are."""
        return super().hold(function, items, names) if self.spill else Workers.hold(self, function, items, names)

    def _start(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Future[Any]:
        return self._pool.submit(function, *arguments)

    def _finish(self, future: Any) -> Any:
        return future.result()

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown()
        super().close()

    def abandon(self) -> None:
        """Begin nothing more."""
        self._abandoned = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


def _begin(threads: int) -> None:
    """Hold this process to some threads, and end it with the one that started it, however that ends."""
    limit_threads(threads)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


@final
class Processes(OnThisMachine):
    """Processes that are started for the run, each held to its share of the processors.

    Parameters
    ----------
    count
        How many.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self._lock, self._generation = Lock(), 0
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.count, context, initializer=_begin, initargs=(share(self.count),))

    def _start(
        self, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Future[Any] | None, ProcessPoolExecutor, int]:
        pool, generation = self._pool, self._generation
        try:
            return pool.submit(call, function, None, *arguments), pool, generation
        except BrokenExecutor:  # between two looks at it
            return None, pool, generation
        except RuntimeError:  # another thread has just put a new one in its place
            return None, pool, generation

    def _finish(self, future: Any) -> Any:
        work, pool, generation = future
        try:
            if work is None:
                raise BrokenExecutor
            while not wait_for([work], LOOK).done:
                _free(pool)
            return work.result()
        except (BrokenExecutor, CancelledError):
            with self._lock:
                if self._generation == generation:
                    self._pool.shutdown(wait=False, cancel_futures=True)
                    self._pool, self._generation = self._new(), generation + 1
            raise LostError from None

    def pids(self) -> list[int]:
        """Process ids of the workers that run at present."""
        return list(self._pool._processes or ())

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)
        super().close()

    def abandon(self) -> None:
        """End the processes without waiting for their work."""
        self._abandoned = True
        running = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()
        super().close()


def _free(pool: ProcessPoolExecutor) -> None:
    """Let a pool find that it is broken, where a process ended while it wrote a result.

    The pool then waits for the rest of that result, and for ever: it holds the other end of the pipe open itself.
    """
    running = list((pool._processes or {}).values())
    if any(process.exitcode is not None for process in running):
        for process in running:
            process.kill()
        results: Any = pool._result_queue
        results._writer.close()


@final
class Borrowed(OnThisMachine):
    """An executor that somebody else made and will shut down."""

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        self._pool = executor
        self.local = isinstance(executor, ThreadPoolExecutor)
        self.count = int(getattr(executor, "_max_workers", None) or processors())

    def put(self, value: Any) -> Any:
        """Threads share the object itself."""
        return value if self.local else super().put(value)

    def hold(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> tuple[list[Any], list[Any]]:
        """Threads share the states themselves."""
        return Workers.hold(self, function, items, names) if self.local else super().hold(function, items, names)

    def _start(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Future[Any]:
        try:
            return self._pool.submit(call, function, os.getpid(), *arguments)
        except RuntimeError as problem:
            raise ExecutionError(f"the executor takes no work ({problem}); give another; {GO_ON}") from None

    def _finish(self, future: Any) -> Any:
        try:
            return future.result()
        except (BrokenExecutor, CancelledError):
            raise ExecutionError(
                f"the executor lost a worker and cannot go on; make a new one, or give the number of processes: {GO_ON}"
            ) from None
