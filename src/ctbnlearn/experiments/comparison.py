"""What the paper says beside what was measured; every verdict is computed from the numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ctbnlearn.experiments.rows import to_markdown


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or of ours, and whether the numbers bear it out.

    Attributes
    ----------
    text
        What is claimed.
    holds
        Whether our numbers agree; None where they cannot tell.
    figures
        The numbers behind the verdict.
    why
        What explains a difference; shown only where the claim does not hold.
    """

    text: str
    holds: bool | None
    figures: str
    why: str = ""

    def line(self) -> str:
        """As an item of a Markdown list."""
        verdict = "cannot be told here" if self.holds is None else "agrees" if self.holds else "**differs**"
        reason = f" {self.why}" if self.why and self.holds is not None and not self.holds else ""
        return f"- {self.text} — {verdict}: {self.figures}.{reason}"


@dataclass(frozen=True)
class Comparison:
    """A small table and claims."""

    header: tuple[str, ...]
    lines: list[tuple[Any, ...]]
    claims: list[Claim]
    settings: dict[str, Any] = field(default_factory=dict)

    def to_markdown(self) -> str:
        """Table first, then the claims."""
        table = to_markdown(self.header, self.lines)
        if not self.claims:
            return table
        return table + "\n\n## Beside the paper\n\n" + "\n".join(claim.line() for claim in self.claims)
