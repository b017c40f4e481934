"""What is going on: a live line on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctbnlearn.learn.progress import ProgressEvent

EVERY = 2.0  # seconds between lines on counted steps where there is no terminal


def visible(text: object) -> str:
    """Text for a terminal: what cannot be printed is spelled out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


class ProgressLines:
    """Phases and rounds of a run, on stdout.

    Parameters
    ----------
    silent
        Say nothing.
    """

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.live: Any = None
        self._task: Any = None
        self._began = time.perf_counter()
        self._last = ""
        self._spoke = 0.0

    def __enter__(self) -> ProgressLines:
        if not self.silent and sys.stdout.isatty():
            from rich.progress import Progress as Live
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            text = TextColumn("{task.description}", markup=False)
            self.live = Live(SpinnerColumn(), text, TimeElapsedColumn(), transient=True)
            self.live.start()
            self._task = self.live.add_task("starting", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    def note(self, text: str) -> None:
        """A line that stays."""
        if self.live is not None:
            self.live.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)
        elif not self.silent:
            sys.stdout.write(visible(text) + "\n")
            sys.stdout.flush()

    def phase(self, text: str) -> None:
        """A new phase begins."""
        if self.live is not None:
            self.live.update(self._task, description=visible(text))
        else:
            self.note(f"[{self.elapsed:6.1f} s] {text}")

    def event(self, event: ProgressEvent) -> None:
        """Show an event of the learner; without a terminal, steps of one phase get a line every other second."""
        now = self.elapsed
        if self.live is None and event.phase == self._last and event.done != event.total and now - self._spoke < EVERY:
            return
        self._last, self._spoke = event.phase, now
        self.phase(f"learning: {event.text}")
