"""The record of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class History:
    """The objective after every step.

    Attributes
    ----------
    objective
        Its values.
    phase
        What had changed before: "rates", "weights" or, of a single network, "parents".
    """

    objective: list[float] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)

    def add(self, value: float, phase: str) -> None:
        """Record a step."""
        self.objective.append(value)
        self.phase.append(phase)
