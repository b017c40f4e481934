"""Edge probabilities as a heat map: sources in rows, targets in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ctbnlearn.report.learned import Learned as Result
from ctbnlearn.report.learned import edge_matrix
from ctbnlearn.report.style import FAINT, INK, PROBABILITY, axes, plain, size_in_points

ANNOTATED = 12


def plot_edge_probabilities(
    result: Result | ArrayLike, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the matrix of edge probabilities; up to a dozen variables with the numbers in it.

    Parameters
    ----------
    result : Result or (n, n)
        What was learned, or probabilities of the edges [source, target].
    names
        Names of the variables; default: those of the `Result`. Where there is no room for all of them, every second,
        third ... is written.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.

    Returns
    -------
    Axes
    """
    probability, names = edge_matrix(result, names)
    n = len(names)
    side = float(np.clip(3.2 + 0.11 * n, 3.8, 13.0)) + 0.05 * min(max(map(len, names)), 24)
    ax = axes(ax, side * 1.12, side)
    shown = np.ma.masked_array(probability, np.eye(n, dtype=bool))
    image = ax.imshow(shown, cmap=PROBABILITY, vmin=0.0, vmax=1.0, aspect="equal", interpolation="nearest")
    ax.set_facecolor(FAINT)
    cell = min(size_in_points(ax)) / n
    every = int(np.ceil(6.0 / cell))
    font = float(np.clip(0.8 * cell * every, 4.5, 10.0))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(range(0, n, every), [plain(name, 24) for name in names[::every]], fontsize=font, color=INK)
    ax.tick_params(axis="x", rotation=90 if max(map(len, names)) * font * 0.6 > cell * every else 0)
    ax.tick_params(length=0 if every == 1 else 2, pad=2)
    ax.set_xlabel("target")
    ax.set_ylabel("source")
    ax.spines[:].set_color(FAINT)
    if n <= ANNOTATED:
        for s, t in np.argwhere(~np.eye(n, dtype=bool)):
            p = probability[s, t]
            ax.text(t, s, f"{p:.2f}", ha="center", va="center", fontsize=8, color="white" if p > 0.55 else INK)
    bar = ax.get_figure().colorbar(image, ax=ax, shrink=0.6, aspect=25, pad=0.02)  # type: ignore[union-attr]
    bar.set_label("probability of the edge")
    bar.outline.set_visible(False)
    return ax
