"""The network as a picture: the more probable an edge, the darker; of a `Result`, the stronger the wider."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.model.graph import Graph, as_adjacency
from ctbnlearn.report.check import fraction
from ctbnlearn.report.layout import place
from ctbnlearn.report.learned import Learned as Result
from ctbnlearn.report.learned import edge_matrix, edge_signs, is_learned
from ctbnlearn.report.name_places import choose_sides
from ctbnlearn.report.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    MUTED,
    VERMILLION,
    axes,
    plain,
    size_in_points,
)

SIGNED = {"+": BLUE, "-": VERMILLION, "": GREY}
MEANING = {
    "+": "drives its target up",
    "-": "drives its target down",
    "": "no direction (states without order, or not sure)",
}
WIDEST = 1.5  # effect (log rate ratio) from which on arrows grow no wider


def plot_network(
    result: Result | ArrayLike,
    names: Sequence[str] | None = None,
    threshold: float = 0.5,
    truth: Graph | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the edges with a probability of at least `threshold`, the darker the more probable.

    Of a `Result` arrows are coloured by the sign of the effect, where both variables have ordered states, and are the
    wider the stronger the effect. Of plain probabilities they are the wider the more probable.

    Parameters
    ----------
    result : Result or (n, n)
        What was learned, or probabilities of the edges [source, target].
    names
        Names of the variables; default: those of the `Result`.
    threshold
        Smallest probability of an edge that is drawn; default 0.5.
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
    probability, names = edge_matrix(result, names)
    signs, sizes = edge_signs(result) if is_learned(result) else (None, np.full_like(probability, np.nan))
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
        if missed[s, t]:
            colour = MUTED
        elif real is not None or signs is None:
            colour = BLUE if real is None or real[s, t] else VERMILLION
        else:
            colour = SIGNED[signs[s][t]]
        width = _strength(p, float(sizes[s, t])) * float(np.clip(radius / 4, 0.8, 3.0))
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
    places: list[tuple[tuple[float, float], str, str]] = [((0, 0), "center", "center")] * n
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
    used = {signs[s][t] for s, t in np.argwhere(drawn)} if signs is not None and real is None else set()
    _legend(ax, drawn, missed, real, threshold, radius, used)
    return ax


def _strength(probability: float, size: float) -> float:
    """Width of an arrow from 0.25 to 1: by the size of its effect where that is known, else by its probability."""
    return 0.25 + 0.75 * (probability if np.isnan(size) else min(size / WIDEST, 1.0))


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
    ax: Axes,
    drawn: BoolArray,
    missed: BoolArray,
    real: BoolArray | None,
    threshold: float,
    radius: float,
    signs: Collection[str] = (),
) -> None:
    """Explain shades and widths, and colours where there are signs or a truth."""
    scale = float(np.clip(radius / 4, 0.8, 3.0))
    lines = []
    if signs:
        for sign in [sign for sign in SIGNED if sign in signs]:
            lines.append(Line2D([], [], color=SIGNED[sign], linewidth=scale, label=MEANING[sign]))
        note = f"the darker, the more probable ({threshold:g} to 1); the wider, the stronger"
        lines.append(Line2D([], [], color="none", label=note))
    elif drawn.any():
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
            ncols=1 if signs else min(len(lines), 3),
            frameon=False,
            fontsize=8,
            labelcolor=INK,
            edgecolor=FAINT,
        )
