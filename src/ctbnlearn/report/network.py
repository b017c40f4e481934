"""The network as a picture: the more probable an edge, the wider and darker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.model.graph import as_adjacency
from ctbnlearn.report.check import fraction, probability_matrix
from ctbnlearn.report.layout import place
from ctbnlearn.report.name_places import choose_sides
from ctbnlearn.report.style import (
    BLUE,
    FAINT,
    INK,
    MUTED,
    VERMILLION,
    axes,
    plain,
    size_in_points,
)


def plot_network(
    edge_probabilities: ArrayLike,
    names: Sequence[str],
    threshold: float = 0.5,
    truth: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the edges with a probability of at least `threshold`, wider and darker the more probable.

    Parameters
    ----------
    edge_probabilities : (n, n)
        Probability of the edge [source, target].
    names
        Names of the variables.
    threshold
        Smallest probability of an edge that is drawn.
    truth : graph or None
        The true graph, as in `edge_scores`. Edges it does not have are drawn in another colour, and its edges that do
        not reach the threshold are dashed.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_network([[0.0, 0.9], [0.2, 0.0]], ["rain", "growth"])
    >>> ax.get_title()
    '1 edge with a probability of at least 0.5'
    """
    names = [str(name) for name in names]
    probability = probability_matrix(edge_probabilities, names)
    threshold = fraction(threshold, "threshold")
    drawn = (probability >= threshold) & (probability > 0)
    real = None if truth is None else as_adjacency(truth, names, "truth")
    missed = np.zeros_like(drawn) if real is None else real & ~drawn
    linked = drawn | missed
    xy = place(linked)
    n = len(names)
    side = float(np.clip(4.5 + 0.07 * n, 5.0, 12.0))
    ax = axes(ax, side, side)
    scale, radius, inside, font = _frame(ax, xy, names)
    edges = np.argwhere(linked)
    both = linked & linked.T
    for s, t in edges[np.argsort(probability[tuple(edges.T)], kind="stable")]:  # the most probable on top
        p = probability[s, t]
        colour = MUTED if missed[s, t] else BLUE if real is None or real[s, t] else VERMILLION
        width = (0.25 + 0.75 * p) * float(np.clip(radius / 4, 0.8, 3.0))
        arrow = FancyArrowPatch(
            tuple(xy[s]),
            tuple(xy[t]),
            connectionstyle=f"arc3,rad={0.18 if both[s, t] else 0.0}",
            arrowstyle="-|>",
            mutation_scale=4 + 3.2 * float(np.clip(radius / 4, 0.8, 3.0)),
            shrinkA=radius,
            shrinkB=radius + 0.5,
            linewidth=0.8 if missed[s, t] else width,
            linestyle="--" if missed[s, t] else "-",
            alpha=0.8 if missed[s, t] else 0.2 + 0.8 * p,
            color=colour,
            zorder=1,
            joinstyle="miter",
            capstyle="butt",
        )
        ax.add_patch(arrow)
    ax.scatter(xy[:, 0], xy[:, 1], s=(2 * radius) ** 2, facecolor="#eef3f7", edgecolor=INK, linewidth=0.8, zorder=2)
    halo = [withStroke(linewidth=1.8, foreground="white")]
    labels = [plain(name, 24) for name in names]
    places: list[Any] = [((0, 0), "center", "center")] * n
    if not inside:
        places = choose_sides(xy * scale, linked, labels, radius, font)
    for i, label in enumerate(labels):
        offset, across, along = places[i]
        ax.annotate(
            label,
            tuple(xy[i]),
            xytext=offset,
            textcoords="offset points",
            ha=across,
            va=along,
            fontsize=font,
            color=INK,
            zorder=3 if inside else 0.9,  # a name may be crossed by an edge, but never hides an arrowhead
            path_effects=None if inside else halo,
        )
    count = int(drawn.sum())
    ax.set_title(f"{count} edge{'' if count == 1 else 's'} with a probability of at least {threshold:g}", fontsize=10)
    _legend(ax, drawn, missed, real, threshold, radius)
    return ax


def _frame(ax: Axes, xy: FloatArray, names: Sequence[str]) -> tuple[float, float, bool, float]:
    """Set the limits; points per unit, radius of a node, whether its name fits inside, size of the letters."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    low, high = xy.min(0), xy.max(0)
    pad = 0.35 + 0.03 * (high - low).max()
    ax.set_xlim(low[0] - pad, high[0] + pad)
    ax.set_ylim(low[1] - pad, high[1] + pad)
    width, height = size_in_points(ax)
    scale = min(width / (high[0] - low[0] + 2 * pad), height / (high[1] - low[1] + 2 * pad))
    gaps = np.linalg.norm(xy[:, None] - xy, axis=-1) + np.diag(np.full(len(xy), np.inf))
    gap = scale * (gaps.min() if len(xy) > 1 else 1.0)
    longest = max(len(plain(name, 24)) for name in names)
    radius = float(np.clip(0.3 * gap, 2.5, 24.0))
    font = float(np.clip(2.6 * radius / longest, 0.0, 12.0))
    if font >= 8:
        return scale, radius, True, font
    return scale, min(radius, 9.0), False, float(np.clip(0.28 * gap, 5.5, 10.0))


def _legend(
    ax: Axes, drawn: BoolArray, missed: BoolArray, real: BoolArray | None, threshold: float, radius: float
) -> None:
    """Explain widths, and colours where there is a truth."""
    scale = float(np.clip(radius / 4, 0.8, 3.0))
    lines = []
    if drawn.any():
        for p in sorted({threshold, (1 + threshold) / 2, 1.0}):
            width = (0.25 + 0.75 * p) * scale
            line = Line2D([], [], color=BLUE, linewidth=width, alpha=0.2 + 0.8 * p, label=f"probability {p:.2g}")
            lines.append(line)
    if real is not None:
        if (drawn & ~real).any():
            lines.append(Line2D([], [], color=VERMILLION, linewidth=scale, label="not in the truth"))
        if missed.any():
            lines.append(Line2D([], [], color=MUTED, linewidth=0.8, linestyle="--", label="in the truth, missed"))
    if lines:
        ax.legend(
            handles=lines,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=min(len(lines), 3),
            frameon=False,
            fontsize=8,
            labelcolor=INK,
            edgecolor=FAINT,
        )
