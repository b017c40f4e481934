"""The record of a fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class History:
    """The objective after every step.

    Attributes
    ----------
    objective
        Its values.
    phase
        What had changed before each: "rates", "weights" or, of a single network, "parents".
    """

    objective: tuple[float, ...] = ()
    phase: tuple[str, ...] = ()

    def then(self, value: float, phase: str) -> History:
        """The history with one more step."""
        return History((*self.objective, value), (*self.phase, phase))
