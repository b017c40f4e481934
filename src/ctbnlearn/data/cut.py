"""Numbers cut into states: under 3, 3 to 7, 7 and over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import ParameterError
from ctbnlearn.interface import spoken

Cuts = tuple[float, ...]


def check_cuts(cut: Any, names: Sequence[str]) -> dict[str, Cuts]:
    """Places at which columns are cut, {name: rising numbers}, or a clear error.

    Examples
    --------
    >>> check_cuts({"crp": 3, "age": [40, 65]}, ["crp", "age"])
    {'crp': (3.0,), 'age': (40.0, 65.0)}
    """
    option = spoken("cut", "--cut")
    if cut is None:
        return {}
    if not isinstance(cut, Mapping):
        raise ParameterError(f"cut must map names to the numbers to cut at, {{name: [3, 7]}}, not {shown(cut)}")
    unknown = [name for name in cut if name not in names]
    if unknown:
        raise ParameterError(f"{option} names unknown variables {named(unknown)}; known: {named(names)}")
    return {name: _places(name, places, option) for name, places in cut.items()}


def _places(name: str, given: Any, option: str) -> Cuts:
    try:
        places = tuple(float(p) for p in ([given] if np.ndim(given) == 0 else given))
    except (TypeError, ValueError):
        places = ()
    if not places or not np.isfinite(places).all() or (np.diff(places) <= 0).any():
        example = spoken(f"{{{name!r}: [3, 7]}}", f"{option} {name}=3,7")
        raise ParameterError(f"{option}: give {name!r} one or more rising numbers, as in {example}, not {shown(given)}")
    return places


def cut_labels(places: Cuts) -> tuple[Label, ...]:
    """Names of the states that cuts make, lowest first.

    Examples
    --------
    >>> cut_labels((3.0, 7.0))
    ('under 3', '3 to 7', '7 and over')
    """
    texts = [f"{p:.12g}" for p in places]
    middle = [f"{a} to {b}" for a, b in zip(texts, texts[1:])]
    return (f"under {texts[0]}", *middle, f"{texts[-1]} and over")


def cut_codes(values: FloatArray, places: Cuts) -> IntArray:
    """State of every number; one that lies on a cut belongs above it."""
    return np.searchsorted(np.asarray(places), values, side="right")


def suggest_cuts(values: FloatArray, states: int = 3) -> list[str]:
    """Round numbers that cut a column into states of about the same size, as text."""
    levels = np.quantile(values, np.arange(1, states) / states)
    gap = float(np.ptp(values)) / 20 or 1.0
    digits = int(np.floor(np.log10(gap)))
    rounded = [round(float(q), -digits) + 0.0 for q in levels]
    return [f"{q:.10g}" for q in dict.fromkeys(rounded)]
