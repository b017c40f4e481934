"""What all figures share: colours, plain-text labels and a fresh Axes.

Colours are those of Okabe & Ito, told apart by readers with any common colour blindness; probabilities run from white
to dark blue, so they also read in grey.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from ctbnlearn.errors import ParameterError

INK = "#1f2933"
MUTED = "#66727f"
FAINT = "#d9dee3"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
GREY = "#7a8691"
STATES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
RAMP = ("#ffffff", "#cfe1f2", "#7fb6dc", "#2f83bd", "#0b3c6f")
PROBABILITY: Colormap = LinearSegmentedColormap.from_list("ctbnlearn", RAMP)


def state_colours(n_states: int) -> list[str]:
    """One colour per state; past the eight distinct ones they run along a ramp, as ordered states do."""
    if n_states <= len(STATES):
        return list(STATES[:n_states])
    ramp = LinearSegmentedColormap.from_list("states", ("#0b3c6f", "#0072b2", "#009e73", "#f0e442"))
    return [to_hex(ramp(i / (n_states - 1))) for i in range(n_states)]


def plain(text: object, limit: int = 40) -> str:
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
    scale = 72 / ax.figure.dpi
    return max(box.width * scale, 1.0), max(box.height * scale, 1.0)


def unframe(ax: Axes, *sides: str) -> None:
    """Hide the named sides of the frame, by default top and right."""
    ax.spines[list(sides or ("top", "right"))].set_visible(False)
