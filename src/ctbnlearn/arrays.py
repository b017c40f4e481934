"""Names for array types. They say what an array holds; shapes are in docstrings or comments, or added by jaxtyping."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
NumberArray: TypeAlias = NDArray[np.floating[Any] | np.integer[Any] | np.bool_]  # measured values, codes or flags
WordArray: TypeAlias = NDArray[np.uint64]  # random streams: one row of four words per stream
AnyArray: TypeAlias = Any  # a numpy array on the way into a jax kernel, a jax array inside it
