"""How the objective went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    """The objective after every step of a fit.

    Attributes
    ----------
    objective
        Its values.
    phase
        What had changed before each: "rates" or "weights".
    """

    objective: tuple[float, ...] = ()
    phase: tuple[str, ...] = ()
