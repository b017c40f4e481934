"""Checks of arguments that several functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ctbnlearn.errors import ParameterError


def whole(value: Any, name: str, least: int) -> int:
    """A whole number not below `least`, or a clear error."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name} must be a whole number, {least} or more, not {value!r}")
    return int(value)


def generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """A random generator from None, a seed or a generator, or a clear error."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be None, a whole number >= 0 or a numpy Generator, not {rng!r}") from None
