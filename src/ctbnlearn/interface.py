"""Words of messages: on the command line they name options, elsewhere Python's arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_COMMAND_LINE: ContextVar[bool] = ContextVar("command_line", default=False)


@contextmanager
def command_line() -> Iterator[None]:
    """Messages made inside speak of options."""
    token = _COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _COMMAND_LINE.reset(token)


def spoken(python: str, option: str) -> str:
    """The words for Python, or those for the command line, whichever is in use.

    Examples
    --------
    >>> spoken("sort=True", "--sort")
    'sort=True'
    """
    return option if _COMMAND_LINE.get() else python
