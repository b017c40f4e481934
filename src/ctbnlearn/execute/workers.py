"""Workers: who does pieces of work, and what all kinds of them share.

Work is a pure function of its arguments, so a piece that a worker took with it when it died is given to another, and
the answer is the same. Results come in the order of the pieces, whichever worker did them, or as they are finished.
`put` leaves an object near the workers once, to be an argument many times; `hold` leaves the first half of every result
there.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ctbnlearn.errors import CtbnlearnError, ExecutionError
from ctbnlearn.execute.limits import limit_threads

RETRIES = 3  # of a piece that fails on its own account, such as for lack of memory
MOST_LOST = 8  # times that workers may be lost in a row without one piece of work done between
GO_ON = "go on from the checkpoint (checkpoint=, --checkpoint) with resume=True (--resume), if there is one"


class Failed:
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
        return Failed(problem)


def result_of(outcome: Any) -> Any:
    """The result of a piece of work; raises what it failed with."""
    if isinstance(outcome, Failed):
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
        self._abandoned = False

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

    def as_finished(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], names: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        """Number and result of every item, in the order in which they are finished; parameters as for `map`.

        Where one fails, no more are begun, those that run are handed over, and then the error is raised. Call `abandon`
        where the iteration is left before its end.
        """
        left, running = list(range(len(items)))[::-1], dict[Future[list[Any]], int]()
        problem: BaseException | None = None
        threads = ThreadPoolExecutor(max(1, min(self.count, len(items))))  # each waits for a worker
        try:
            while left or running:
                while left and len(running) < self.count:
                    k = left.pop()
                    running[threads.submit(self._gather, [(function, items[k])], [names[k]])] = k
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    k, failed = running.pop(done), done.exception()
                    if failed is None:
                        yield k, done.result()[0]
                    else:
                        problem, left = problem or failed, []
        finally:
            threads.shutdown(wait=False)
        if problem is not None:
            raise problem

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

    @abstractmethod
    def forget(self, states: Sequence[Any]) -> None:
        """Drop states that are no longer needed."""

    @abstractmethod
    def close(self) -> None:
        """End what was begun; workers that somebody else started go on."""

    def abandon(self) -> None:
        """End at once, whatever is being worked on."""
        self._abandoned = True
        self.close()

    def _gather(self, pieces: Sequence[tuple[Callable[..., Any], Sequence[Any]]], names: Sequence[str]) -> list[Any]:
        futures = [self._start(*piece) for piece in pieces]
        out: list[Any] = [None] * len(pieces)
        left, starved, lost_in_a_row = list(range(len(pieces))), [0] * len(pieces), 0
        while left:
            again, lost = [], False
            for k in left:
                try:
                    out[k] = result_of(self._finish(futures[k]))
                    lost_in_a_row = 0
                except LostError:
                    again.append(k)
                    lost = True
                except MemoryError:  # others may have had it
                    again.append(k)
                    starved[k] += 1
                    if starved[k] > RETRIES:
                        raise ExecutionError(
                            f"{names[k]}: a worker ran out of memory, {RETRIES + 1} times; give workers more memory, "
                            f"or lower memory= (--memory); {GO_ON}"
                        ) from None
            if lost:
                lost_in_a_row += 1
                if self._abandoned:
                    raise ExecutionError(f"{names[again[0]]}: given up, as the run was ended; {GO_ON}")
                if lost_in_a_row > MOST_LOST:
                    raise ExecutionError(
                        f"{names[again[0]]}: workers were lost {MOST_LOST} times in a row while they were at it (out "
                        'of memory, or a script without `if __name__ == "__main__":`?); give them more memory, or use '
                        f"fewer; {GO_ON}"
                    )
            for k in again:
                futures[k] = self._start(*pieces[k])
            left = again
        return out
