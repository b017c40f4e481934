"""Names for array types. They tell the reader what an array holds; shapes stand in the docstrings."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[Any]
IntArray: TypeAlias = NDArray[Any]
BoolArray: TypeAlias = NDArray[Any]
