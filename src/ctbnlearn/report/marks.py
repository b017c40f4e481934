"""Observations of a trajectory as marks: a state that was seen, or a number that was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from ctbnlearn.errors import ParameterError


@dataclass(frozen=True)
class Mark:
    """One observation.

    Attributes
    ----------
    time
        When it was made.
    state
        Number of the state seen; None for a measured number.
    height
        0 for the smallest and 1 for the largest number measured of that variable; above the strip for a state.
    text
        The value in words.
    """

    time: float
    state: int | None
    height: float
    text: str


def as_marks(observations: Iterable[tuple[float, object]], states: Sequence[str], variable: str) -> list[Mark]:
    """Marks of one variable from pairs (time, label or number); None and NaN were not seen.

    Examples
    --------
    >>> [(m.state, m.height) for m in as_marks([(0.0, "on"), (1.0, 2.5)], ["off", "on"], "x")]
    [(1, 1.1), (None, 0.5)]
    """
    pairs = [(float(time), value) for time, value in observations if value is not None and value == value]  # no NaN
    numbers = [float(v) for _, v in pairs if str(v) not in states and isinstance(v, (Real, np.number))]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    marks = []
    for time, value in pairs:
        if str(value) in states:
            marks.append(Mark(time, states.index(str(value)), 1.1, str(value)))
        elif isinstance(value, (Real, np.number)):
            height = (float(value) - low) / (high - low) if high > low else 0.5
            marks.append(Mark(time, None, height, f"{float(value):.6g}"))
        else:
            raise ParameterError(
                f"observations of {variable!r}: {value!r} at time {time:g} is neither one of its states {list(states)} "
                "nor a number"
            )
    return marks
