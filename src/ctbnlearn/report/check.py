"""Checks of what figures and the page are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.errors import ParameterError


def probability_matrix(values: ArrayLike, names: Sequence[str], what: str = "edge_probabilities") -> FloatArray:
    """Matrix [source, target] of probabilities with a zero diagonal, or a clear error."""
    matrix = np.array(values, float)
    n = len(names)
    if n == 0 or matrix.shape != (n, n):
        raise ParameterError(f"{what} must be {n} x {n} [source, target], as there are {n} names, not {matrix.shape}")
    np.fill_diagonal(matrix, 0.0)
    bad = np.argwhere(~((matrix >= -1e-9) & (matrix <= 1 + 1e-9)))
    if bad.size:
        s, t = bad[0]
        raise ParameterError(
            f"{what}: {names[s]!r} -> {names[t]!r} is {matrix[s, t]:g}; probabilities lie between 0 and 1"
        )
    return matrix.clip(0.0, 1.0)


def fraction(value: object, name: str) -> float:
    """A number between 0 and 1, or a clear error."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number between 0 and 1, not {value!r}")
    return float(value)
