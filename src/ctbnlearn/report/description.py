"""Gaps between visits against the dwell times of variables: do visits come often enough?"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ctbnlearn.data.description import Description
from ctbnlearn.errors import ParameterError
from ctbnlearn.report.style import FAINT, INK, MUTED, axes, plain

TOO_FAST = "#b2182b"


def plot_description(description: Description, ax: Axes | None = None) -> Axes:
    """Draw the time between two moves of every variable over the range of the gaps between visits.

    A variable left of the middle of the gaps moves about once or more between visits: it is red, and says little about
    which way edges point. The share of its values that is missing stands beside its name.

    Parameters
    ----------
    description : Description
        From `ctbnlearn.describe`.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.

    Returns
    -------
    Axes
    """
    if not hasattr(description, "variables") or not hasattr(description, "gaps"):
        raise ParameterError(f"plot_description needs what describe gives, not {type(description).__name__}")
    variables = list(description.variables)
    ax = axes(ax, 7.0, 1.1 + 0.3 * len(variables))
    low, middle, high = description.gaps
    known = [v.dwell for v in variables if 0 < v.dwell < np.inf]
    smallest, largest = min([low, *known]), max([high, *known])
    left, right = smallest / 2, largest * 2
    if high > low:
        ax.axvspan(low, high, color=FAINT, lw=0)
    ax.axvline(middle, color=MUTED, lw=1, ls=":")
    for row, v in enumerate(variables):
        at = min(max(v.dwell, left), right)
        mark = "<" if v.dwell < left else ">" if v.dwell > right else "o"
        ax.plot([at], [row], mark, color=TOO_FAST if v.too_fast else INK, ms=6, clip_on=False)
    ax.set_yticks(
        range(len(variables)), [f"{plain(v.name, 20)} ({v.missing:.0%} missing)" for v in variables], fontsize=8
    )
    ax.set_ylim(len(variables) - 0.4, -0.6)
    ax.set_xscale("log")
    ax.set_xlim(left, right)
    unit = f", {description.time_unit}" if description.time_unit else ""
    ax.set_xlabel(f"time between two moves of a variable{unit}; shaded: gaps between visits (5 to 95 %)")
    title = "Do visits come often enough?"
    if description.too_fast:
        title += " Not for those in red: direction is barely in the data."
    ax.set_title(title, fontsize=10)
    return ax
