"""Word of what long work is doing: one line a phase, to the log, and to whoever asked for it."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from ctbnlearn.errors import ParameterError

log = logging.getLogger("ctbnlearn")


class Progress:
    """Says lines, each with the seconds since the start.

    Parameters
    ----------
    wanted
        False: lines go to the log alone (level INFO). True: to standard error, too. A function: it is called with each.
    """

    def __init__(self, wanted: Any = False) -> None:
        if not isinstance(wanted, bool) and not callable(wanted):
            raise ParameterError(f"progress must be True, False or a function of one line of text, not {wanted!r}")
        self._tell: Callable[[str], Any] | None = _to_stderr if wanted is True else (wanted or None)
        self._began = time.perf_counter()

    def say(self, text: str) -> None:
        """Say a line."""
        line = f"{time.perf_counter() - self._began:7.1f} s  {text}"
        log.info(line)
        if self._tell is not None:
            self._tell(line)


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
