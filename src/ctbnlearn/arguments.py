"""Checks of arguments that several functions share."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from ctbnlearn.errors import ParameterError

Seed: TypeAlias = int | np.random.Generator | None  # what `random_state` may be
AnySeed: TypeAlias = Seed | np.random.SeedSequence


def whole(value: object, name: str, least: int) -> int:
    """A whole number not below `least`, or a clear error."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name} must be a whole number, {least} or more, not {value!r}")
    return int(value)


def one_of(value: object, name: str, options: tuple[str, ...]) -> str:
    """One of some words, or a clear error."""
    if not isinstance(value, str) or value not in options:
        raise ParameterError(f"{name} must be one of {list(options)}, not {value!r}")
    return value


def finite(value: object, name: str, positive: bool = True) -> float:
    """A finite number, positive unless said otherwise, or a clear error."""
    try:
        number = (
            float(value) if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else math.nan
        )
    except (OverflowError, TypeError):  # a whole number past the largest float, or a complex one
        number = math.nan
    if not math.isfinite(number) or (positive and number <= 0):
        raise ParameterError(f"{name} must be a {'positive ' if positive else ''}finite number, not {value!r}")
    return number


def generator(rng: AnySeed, name: str = "rng") -> np.random.Generator:
    """A random generator from None, a seed or a generator, or a clear error."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be None, a whole number >= 0 or a numpy Generator, not {rng!r}") from None
