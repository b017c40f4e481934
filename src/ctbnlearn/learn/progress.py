"""Progress of long work: one event per step, to the log and to a function if one is given."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctbnlearn.errors import ParameterError
from ctbnlearn.learn.remaining import Countdown, about

log = logging.getLogger("ctbnlearn")

Phase = Literal[
    "note", "start", "pairs", "sweeps", "rounds", "blocks", "searches", "bags", "folds", "done", "stopped"
]  # the names in the middle are those of steps that are counted


@dataclass(frozen=True)
class ProgressEvent:
    """What long work is doing; `str` makes a line of it, so that `progress=print` will do.

    Attributes
    ----------
    phase
        "note" (a remark), "start", "pairs" (which candidates deserve a look), "sweeps" of chains, "rounds" of EM,
        "blocks", "searches", "bags", "folds", and at the end "done", or "stopped" where the fit has not converged.
    message
        The same in words.
    seconds
        Since the start.
    done, total
        Steps made, and how many there are, or may be at most; None where they are not counted.
    left
        Seconds to come, roughly; None where that cannot be told.
    at_most
        Whether `left` is the most it can take: chains end when they agree.
    """

    phase: Phase
    message: str
    seconds: float
    done: int | None = None
    total: int | None = None
    left: float | None = None
    at_most: bool = False

    @property
    def text(self) -> str:
        """The message and what is left."""
        if not self.left:
            return self.message
        return f"{self.message}; {'at most ' * self.at_most}{about(self.left)} left"

    def __str__(self) -> str:
        return f"{self.seconds:7.1f} s  {self.text}"


Watcher: TypeAlias = bool | Callable[[ProgressEvent], object]
Callback: TypeAlias = Callable[[int, float], object]  # of the round or sweep, and the objective


class Progress:
    """Tells events.

    Parameters
    ----------
    wanted
        False: they go to the log alone (level INFO). True: to standard error, too. A function: it is called with each.
    """

    def __init__(self, wanted: Watcher = False) -> None:
        if not isinstance(wanted, bool) and not callable(wanted):
            raise ParameterError(f"progress must be True, False or a function of one ProgressEvent, not {wanted!r}")
        self._tell: Callable[[ProgressEvent], object] | None = _to_stderr if wanted is True else (wanted or None)
        self._began = time.perf_counter()
        self._counting, self._countdown = "", Countdown()

    def tell(self, phase: Phase, message: str) -> None:
        """Report what begins, or a remark."""
        self._pass_on(ProgressEvent(phase, message, self.seconds))

    def count(
        self, phase: Phase, message: str, done: int, total: int, left: float | None = None, at_most: bool = False
    ) -> None:
        """Report a counted step with an estimate of the seconds left, smoothed so that it does not jump."""
        if phase != self._counting or done <= 1:
            self._counting, self._countdown = phase, Countdown()
        left = 0.0 if done == total else self._countdown.shown(left, self.seconds)
        self._pass_on(ProgressEvent(phase, message, self.seconds, done, total, left, at_most))

    def end(self, converged: bool, otherwise: str) -> None:
        """Tell that the fit is done, or what it is where it has not converged."""
        self.tell(*(("done", "done") if converged else ("stopped", otherwise)))

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._began

    def _pass_on(self, event: ProgressEvent) -> None:
        log.info(str(event))
        if self._tell is not None:
            self._tell(event)


def _to_stderr(event: ProgressEvent) -> None:
    sys.stderr.write(f"{event}\n")
