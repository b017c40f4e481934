"""How long work will still take, roughly, and told without jumps.

The changes that EM makes shrink by about the same factor from round to round; EM ends when they are small. So with d
the last change and f the factor, ln(small / d) / ln f rounds are to come, of the usual duration.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log

RECENT = 4  # rounds whose changes and durations count
PULL = 1 / 3  # of the way from the last word to a new estimate


def rounds_left(sizes: Sequence[float], small: float) -> int | None:
    """Rounds still to come until a size that shrinks is small; None where the sizes so far do not tell.

    Parameters
    ----------
    sizes
        After every round.
    small
        What they must fall below.

    Examples
    --------
    >>> rounds_left([8.0, 4.0, 2.0], small=0.3)
    3
    """
    recent = sizes[-RECENT:]
    if recent and recent[-1] < small:
        return 0
    if len(recent) < 2 or small <= 0 or recent[-1] >= recent[0]:
        return None
    factor = log(recent[-1] / recent[0]) / (len(recent) - 1)
    return ceil(log(small / recent[-1]) / factor)


def seconds_left(rounds: Sequence[int | None], most: int, ends: Sequence[float]) -> float | None:
    """Seconds still to come; None where that cannot be told.

    Parameters
    ----------
    rounds
        Estimates of the rounds to come, all of which must have passed.
    most
        Rounds to come at most.
    ends
        Times at which rounds ended.

    Examples
    --------
    >>> seconds_left([3, 0], most=50, ends=[10.0, 20.0, 30.0])
    30.0
    """
    known = [count for count in rounds if count is not None]
    if len(known) < len(rounds) or len(ends) < 2:
        return None
    recent = ends[-RECENT:]
    return min(most, max(1, *known)) * (recent[-1] - recent[0]) / (len(recent) - 1)


class Countdown:
    """Seconds left as they are told: what was told last less the time since, drawn towards each new estimate."""

    def __init__(self) -> None:
        self._left: float | None = None
        self._at = 0.0

    def shown(self, estimate: float | None, now: float) -> float | None:
        """What to tell now, given an estimate or none.

        Examples
        --------
        >>> countdown = Countdown()
        >>> [countdown.shown(estimate, now) for estimate, now in ((60.0, 0.0), (80.0, 10.0), (None, 20.0), (0.0, 55.0))]
        [60.0, 60.0, 50.0, 10.0]
        """
        due = None if self._left is None else max(self._left - (now - self._at), 0.0)
        left = due if estimate is None else estimate if due is None else due + PULL * (estimate - due)
        self._left, self._at = left, now
        return left


def about(seconds: float) -> str:
    """A duration no more precise than it is known.

    Examples
    --------
    >>> [about(s) for s in (2, 34, 130, 4000, 20000)]
    ['a few seconds', 'about 30 s', 'about 2 min', 'about 1 h', 'about 6 h']
    """
    if seconds < 15:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 3600 else f"about {seconds / 3600:.0f} h"
