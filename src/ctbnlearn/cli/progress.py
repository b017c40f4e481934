"""What is going on: a live line on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from ctbnlearn.cli.remaining import about, seconds_left


def visible(text: Any) -> str:
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
        self._ends: list[float] = []
        self._objectives: list[float] = []

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

    def say(self, line: str) -> None:
        """A line of the learner, which bears the time of its own; rounds are told by `round`."""
        text = line.partition(" s  ")[2]
        if not text.startswith("round "):
            self.phase(f"learning: {text}")

    def round(self, iteration: int, objective: float, small: float = 0.0, most: int = 0) -> None:
        """A round of EM has ended; the last will be that which changes the objective by less than `small`.

        At most `most` rounds are to come.
        """
        if iteration == 1:  # of the next start
            self._ends, self._objectives = [], []
        self._ends.append(self.elapsed)
        self._objectives.append(objective)
        text = f"learning: round {iteration}, objective {objective:.4f}"
        left = seconds_left(self._ends, self._objectives, small, most)
        self.phase(text if left is None else f"{text}; {about(left)} left")
