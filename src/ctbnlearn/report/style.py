"""What all figures share: colours, plain-text labels, a fresh Axes, and the check of their matrix.

Colours are those of Okabe & Ito, told apart by readers with any common colour blindness; probabilities run from white
to dark blue, so they also read in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.errors import ParameterError

INK = "#1f2933"
MUTED = "#66727f"
FAINT = "#d9dee3"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
STATES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
RAMP = ("#ffffff", "#cfe1f2", "#7fb6dc", "#2f83bd", "#0b3c6f")
PROBABILITY: Colormap = LinearSegmentedColormap.from_list("ctbnlearn", RAMP)


def state_colours(n_states: int) -> list[str]:
    """One colour per state; past the eight distinct ones they run along a ramp, as ordered states do."""
    if n_states <= len(STATES):
        return list(STATES[:n_states])
    ramp = LinearSegmentedColormap.from_list("states", ("#0b3c6f", "#0072b2", "#009e73", "#f0e442"))
    return [to_hex(ramp(i / (n_states - 1))) for i in range(n_states)]


def plain(text: Any, limit: int = 40) -> str:
    r"""A label as matplotlib shows it letter by letter: no mathtext, one line, not too long.

    Examples
    --------
    >>> plain("$x_1$ & <y>")
    '\\$x_1\\$ & <y>'
    """
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return line.replace("$", r"\$")


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The given Axes, or one on a new figure of this size in inches that pyplot knows nothing of."""
    if ax is None:
        return Figure(figsize=(width, height), layout="constrained").add_subplot()
    if not isinstance(ax, Axes):
        raise ParameterError(f"ax must be a matplotlib Axes or None, not {type(ax).__name__}")
    return ax


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of an Axes in points."""
    box = ax.get_window_extent()
    scale = 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    return max(box.width * scale, 1.0), max(box.height * scale, 1.0)


def unframe(ax: Axes, *sides: str) -> None:
    """Hide the named sides of the frame, by default top and right."""
    ax.spines[list(sides or ("top", "right"))].set_visible(False)


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


def fraction(value: Any, name: str) -> float:
    """A number between 0 and 1, or a clear error."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number between 0 and 1, not {value!r}")
    return float(value)
