"""Workers: this process, several processes, anybody's `concurrent.futures.Executor`, or a Dask cluster.

Work is a pure function of its arguments, so a piece that a worker took with it when it died is given to another, and
the answer is the same. Results come in the order of the pieces, whoever did them and whenever. `put` leaves an object
near the workers once, to be an argument many times; `hold` leaves the first half of every result there. Of Dask only
`submit` and its `retries` are used.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple, final

from ctbnlearn.arguments import whole
from ctbnlearn.errors import CtbnlearnError, ExecutionError, ParameterError
from ctbnlearn.execute import scratch
from ctbnlearn.execute.limits import limit_threads, processors, share

RETRIES = 3  # of a piece that fails by itself: for want of memory, say
MOST_LOST = 8  # times that workers may be lost in a row without one piece of work done between
_GONE = "go on from the checkpoint (checkpoint=, --checkpoint) with resume=True (--resume), if there is one"


class _Failed:
    """An error that is the user's to know, as a result: to try again would not help."""

    def __init__(self, problem: CtbnlearnError) -> None:
        self.problem = problem


class LostError(Exception):
    """Workers were lost with their work, which is to be done again from where all that it needs is here."""


def call(function: Callable[..., Any], limited_to: int | None, *arguments: Any) -> Any:
    """Do a piece of work, here, wherever that is."""
    if limited_to is not None and limited_to != os.getpid():
        limit_threads(1)
    try:
        return function(*arguments)
    except CtbnlearnError as problem:
        return _Failed(problem)


def told(outcome: Any) -> Any:
    """The result of a piece of work; raises what it failed with."""
    if isinstance(outcome, _Failed):
        raise outcome.problem
    return outcome


class Workers(ABC):
    """Where work runs.

    Attributes
    ----------
    count
        Pieces of work that run side by side.
    local
        Whether they share this process's memory.
    remote_states
        Whether `hold` leaves states where their loss means to do again all since they were last fetched.
    """

    count: int
    local: bool = False
    remote_states: bool = False

    def __init__(self) -> None:
        self._lost_in_a_row = 0

    @abstractmethod
    def _start(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Begin a piece of work; returns a future."""

    @abstractmethod
    def _finish(self, future: Any) -> Any:
        """Wait for its outcome; `LostError` where the worker was lost."""

    def put(self, value: Any) -> Any:
        """Leave an object near the workers; what is returned stands for it among the arguments of `map`."""
        return value

    def map(self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]) -> list[Any]:
        """Results of function(*item) in the order of the items.

        Parameters
        ----------
        function
            Pure, at the top level of a module.
        items
            Arguments of every piece.
        names
            What every piece is, for messages: "trajectories 'a' to 'b'".
        """
        return self._gather([(function, item) for item in items], names)

    def hold(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> tuple[list[Any], list[Any]]:
        """Like `map` for a function that returns (state, sums): states stand for themselves among arguments."""
        both = self.map(function, items, names)
        return [state for state, _ in both], [sums for _, sums in both]

    def lay(self, state: Any) -> Any:
        """A state that is here, to be an argument as those are that `hold` returned."""
        return state

    def fetch(self, states: Sequence[Any]) -> list[Any]:
        """The states that `hold` returned, as they are."""
        return list(states)

    def forget(self, states: Sequence[Any]) -> None:
        """States that nobody needs any more."""

    def close(self) -> None:
        """End what was begun; workers that somebody else started go on."""

    def abandon(self) -> None:
        """End at once, whatever is being worked on."""
        self.close()

    def _gather(self, pieces: Sequence[tuple[Callable[..., Any], Sequence[Any]]], names: Sequence[str]) -> list[Any]:
        futures = [self._start(*piece) for piece in pieces]
        out: list[Any] = [None] * len(pieces)
        left, starved = list(range(len(pieces))), [0] * len(pieces)
        while left:
            again, lost = [], False
            for k in left:
                try:
                    out[k] = told(self._finish(futures[k]))
                    self._lost_in_a_row = 0
                except LostError:
                    again.append(k)
                    lost = True
                except MemoryError:  # others may have had it
                    again.append(k)
                    starved[k] += 1
                    if starved[k] > RETRIES:
                        raise ExecutionError(
                            f"{names[k]}: a worker ran out of memory, {RETRIES + 1} times; give workers more memory, "
                            f"or lower memory= (--memory); {_GONE}"
                        ) from None
            if lost:
                self._lost_in_a_row += 1
                if self._lost_in_a_row > MOST_LOST:
                    raise ExecutionError(
                        f"{names[again[0]]}: workers were lost {MOST_LOST} times in a row while they were at it (out "
                        'of memory, or a script without `if __name__ == "__main__":`?); give them more memory, or use '
                        f"fewer; {_GONE}"
                    )
            for k in again:
                futures[k] = self._start(*pieces[k])
            left = again
        return out


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
    """This process: as many threads as it may use processors.

    Parameters
    ----------
    count
        How many; default: one a processor.
    spill
        Whether states lie on disk, for want of memory.
    """

    local = True

    def __init__(self, count: int | None = None, spill: bool = False) -> None:
        super().__init__()
        self.count, self.spill = count or processors(), spill
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
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


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
        return ProcessPoolExecutor(self.count, context, initializer=limit_threads, initargs=(share(self.count),))

    def _start(self, function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Future[Any] | None, int]:
        pool, generation = self._pool, self._generation
        try:
            return pool.submit(call, function, None, *arguments), generation
        except BrokenExecutor:  # between two looks at it
            return None, generation
        except RuntimeError:  # another thread has just put a new one in its place
            return None, generation

    def _finish(self, future: Any) -> Any:
        work, generation = future
        try:
            if work is None:
                raise BrokenExecutor
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
        running = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()
        super().close()


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
            raise ExecutionError(f"the executor takes no work ({problem}); give another; {_GONE}") from None

    def _finish(self, future: Any) -> Any:
        try:
            return future.result()
        except (BrokenExecutor, CancelledError):
            raise ExecutionError(
                f"the executor lost a worker and cannot go on; make a new one, or give the number of processes: {_GONE}"
            ) from None


@final
class Cluster(Workers):
    """A Dask cluster, through its client."""

    remote_states = True

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client
        self.count = max(1, sum(client.nthreads().values()))

    def put(self, value: Any) -> Any:
        """Leave an object in a worker's memory, again where too many workers died with it."""
        return _Put(value)

    def _at_hand(self, argument: Any) -> Any:
        """What stands for an argument on the cluster."""
        if not isinstance(argument, _Put):
            return argument
        if argument.future is None or argument.future.status in ("error", "lost", "cancelled"):
            argument.future = self._submit(_itself, argument.value)
        return argument.future

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            try:
                return self._client.submit(function, *arguments, pure=False, retries=RETRIES)
            except Exception as problem:  # a client that was closed raises its own kinds
                raise self._gone(problem) from None

    def _start(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        return self._submit(call, function, os.getpid(), *map(self._at_hand, arguments))

    def _finish(self, future: Any) -> Any:
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except KilledWorker:
            raise LostError from None
        except (CancelledError, FutureCancelledError, CommClosedError, TimeoutError, OSError) as problem:
            raise self._gone(problem) from None

    def hold(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> tuple[list[Any], list[Any]]:
        """States stay in the workers' memory; a lost one is made anew by the scheduler, from where it was put."""
        both = [self._submit(_held, function, os.getpid(), *map(self._at_hand, item)) for item in items]
        sums = [self._submit(_sums, pair) for pair in both]
        return both, [told(self._finish(future)) for future in sums]

    def fetch(self, states: Sequence[Any]) -> list[Any]:
        """Bring the states here."""
        return [told(self._finish(s)).state if hasattr(s, "key") and hasattr(s, "status") else s for s in states]

    def _gone(self, problem: BaseException) -> ExecutionError:
        where = getattr(getattr(self._client, "scheduler", None), "address", "")
        logging.getLogger("ctbnlearn").debug("cluster lost: %r", problem)
        return ExecutionError(f"the Dask cluster {where} no longer answers; start it again, then {_GONE}")


def _itself(value: Any) -> Any:
    return value


class _Put:
    """An object that is an argument many times, and its copy on the cluster."""

    def __init__(self, value: Any) -> None:
        self.value, self.future = value, None


class _Held(NamedTuple):
    """What a piece of work left with a worker: the state, which goes on from there, and the sums."""

    state: Any
    sums: Any


def _held(function: Callable[..., Any], limited_to: int, *arguments: Any) -> Any:
    """Do a piece of work on states that lie here."""
    for one in arguments:
        if isinstance(one, _Failed):
            return one
    out = call(function, limited_to, *(one.state if isinstance(one, _Held) else one for one in arguments))
    return out if isinstance(out, _Failed) else _Held(*out)


def _sums(held: Any) -> Any:
    return held if isinstance(held, _Failed) else held.sums


def as_workers(executor: Any) -> Workers:
    """The workers meant by `executor`: None, a number of processes, a Dask client, or any executor."""
    if executor is None:
        return Threads()
    if isinstance(executor, Workers):
        return executor
    if isinstance(executor, Executor):
        return Borrowed(executor)
    if type(executor).__module__.split(".")[0] == "distributed" and hasattr(executor, "submit"):
        return Cluster(executor)
    if isinstance(executor, (bool, str)) or not hasattr(executor, "__index__"):
        raise ParameterError(
            "executor must be None, a number of processes, a dask.distributed Client or a concurrent.futures Executor, "
            f"not {executor!r}"
        )
    return Processes(whole(executor, "executor", 1))


def connect(address: str) -> Any:
    """A client of the Dask scheduler at an address."""
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(
            "a Dask cluster needs the package dask.distributed; install it with: pip install 'ctbnlearn[dask]'"
        ) from None
    try:
        return Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as problem:
        raise ExecutionError(
            f"no Dask scheduler answers at {address} ({type(problem).__name__}); start one with `dask scheduler`, and "
            "name it as it says, such as tcp://10.0.0.1:8786"
        ) from None
