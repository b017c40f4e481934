"""Words of an error message: a value, a list of names, another library's complaint, each on one line."""

from __future__ import annotations

from collections.abc import Iterable


def shown(value: object) -> str:
    """A value as it may stand in a one-line message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def named(names: Iterable[object]) -> str:
    """A list of names for a message, cut when it is long."""
    every = list(names)
    return ", ".join(shown(n) for n in every[:30]) + (f", ... ({len(every)} in all)" if len(every) > 30 else "")


def first_line(problem: BaseException) -> str:
    """The first line of another library's message."""
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:120]
