"""Workers of a Dask cluster. Of Dask only `submit` and its `retries` are used.

A state that `hold` leaves with a worker is lost when that dies; the scheduler recomputes it from the pieces of work it
came from, back to where it was last sent from here. A cluster that has lost all its workers may get new ones: we wait
for them, say so, and give up after some minutes.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from time import monotonic
from typing import Any, NamedTuple, Protocol, final

from ctbnlearn.errors import ExecutionError, ParameterError
from ctbnlearn.execute.workers import GO_ON, RETRIES, Failed, LostError, Workers, call, result_of

LOOK_SECONDS = 5.0  # after which a wait is interrupted, to see whether there are workers
MOST_SECONDS_ALONE = 600.0  # that a cluster may be without workers

log = logging.getLogger("ctbnlearn")


class Client(Protocol):
    """What is used of a client of dask.distributed."""

    def submit(self, function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
        """Call a function on the cluster."""

    def nthreads(self) -> Mapping[str, int]:
        """Threads of every worker."""


@final
class Cluster(Workers):
    """A Dask cluster, through its client."""

    remote_states = True

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client
        self._alone_since: float | None = None
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
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            while True:
                try:
                    return future.result(timeout=LOOK_SECONDS)
                except TimeoutError:
                    if future.status == "error":  # it is the work that took too long, or has failed meanwhile
                        return future.result()
                    if self._abandoned:
                        raise LostError from None
                    self._await_workers()
        except KilledWorker:
            raise LostError from None
        except (CancelledError, FutureCancelledError, CommClosedError, OSError) as problem:
            if future.status == "error" and not isinstance(problem, (CancelledError, CommClosedError)):
                raise  # of the work itself: a file that is missing there, or a disk that is full
            raise self._gone(problem) from None

    def _await_workers(self) -> None:
        """Say once that there are no workers; stop where none come."""
        if self._client.nthreads():
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = monotonic()
            log.warning(
                "the Dask cluster %s has no workers; waiting %g s for some to join it",
                self._address,
                MOST_SECONDS_ALONE,
            )
        elif monotonic() - self._alone_since > MOST_SECONDS_ALONE:
            raise ExecutionError(
                f"the Dask cluster {self._address} has had no workers for {MOST_SECONDS_ALONE:g} s; start some with "
                f"`dask worker`, then {GO_ON}"
            )

    def hold(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> tuple[list[Any], list[Any]]:
        """States stay in the workers' memory; the scheduler recomputes a lost one, from where it was put."""
        both = [self._submit(_held, function, os.getpid(), *map(self._at_hand, item)) for item in items]
        sums = [self._submit(_sums, pair) for pair in both]
        out = []
        for future, name in zip(sums, names):
            try:
                out.append(result_of(self._finish(future)))
            except LostError:
                raise LostError(name) from None
            except MemoryError:
                raise ExecutionError(
                    f"{name}: a worker ran out of memory, {RETRIES + 1} times; give workers more memory, or lower "
                    f"memory= (--memory); {GO_ON}"
                ) from None
        return both, out

    def fetch(self, states: Sequence[Any]) -> list[Any]:
        """Bring the states here."""
        return [result_of(self._finish(s)).state if hasattr(s, "key") and hasattr(s, "status") else s for s in states]

    def forget(self, states: Sequence[Any]) -> None:
        """They go when nothing names them any more."""

    def close(self) -> None:
        """The cluster is not ours to end."""

    @property
    def _address(self) -> str:
        return str(getattr(getattr(self._client, "scheduler", None), "address", ""))

    def _gone(self, problem: BaseException) -> ExecutionError:
        log.debug("cluster lost: %r", problem)
        return ExecutionError(f"the Dask cluster {self._address} no longer answers; start it again, then {GO_ON}")


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
        if isinstance(one, Failed):
            return one
    out = call(function, limited_to, *(one.state if isinstance(one, _Held) else one for one in arguments))
    return out if isinstance(out, Failed) else _Held(*out)


def _sums(held: Any) -> Any:
    return held if isinstance(held, Failed) else held.sums


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
