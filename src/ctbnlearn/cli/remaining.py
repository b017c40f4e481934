"""How long EM will still take, roughly.

The changes of the objective shrink by about the same factor from round to round; EM ends when they are small. So with
d the last change and f its share of the one before, ln(small / d) / ln f rounds are to come, of the usual duration.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log


def rounds_left(objectives: Sequence[float], small: float, most: int) -> int | None:
    """Rounds of EM still to come, `most` at most; None where the objectives so far do not tell.

    Parameters
    ----------
    objectives
        Objective after every round.
    small
        Change from which on EM may end.
    most
        Rounds allowed beyond those.

    Examples
    --------
    >>> rounds_left([-116.0, -108.0, -104.0], small=0.6, most=50)
    3
    """
    if len(objectives) < 3 or small <= 0:
        return None
    before, last = (abs(b - a) for a, b in zip(objectives[-3:], objectives[-2:]))
    if last <= small:
        return min(1, most)
    if last >= before:
        return None
    return min(most, max(1, ceil(log(small / last) / log(last / before))))


def seconds_left(ends: Sequence[float], objectives: Sequence[float], small: float, most: int) -> float | None:
    """Seconds still to come, from the times at which the rounds ended; None where that cannot be told."""
    rounds = rounds_left(objectives, small, most)
    if rounds is None:
        return None
    recent = ends[-4:]
    return rounds * (recent[-1] - recent[0]) / (len(recent) - 1)


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
