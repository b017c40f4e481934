"""What the figures of the experiments share: lines with quartile bands, averaged ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ctbnlearn.arrays import FloatArray
from ctbnlearn.experiments.rows import Row, group, quartiles
from ctbnlearn.report.style import BLUE, INK, MUTED, VERMILLION, unframe

GREEN, PURPLE = "#009e73", "#cc79a7"
Look = dict[str, Any]

# one look per kind of weights, in all figures
EXACT: Look = {"color": BLUE, "linestyle": "-", "marker": "o", "label": "exact score"}
MIXTURE: Look = {"color": VERMILLION, "linestyle": "--", "marker": "s", "label": "mixture weights"}
POSTERIOR: Look = {"color": GREEN, "linestyle": "-", "marker": "^", "label": "posterior weights"}
LOOKS: dict[str, Look] = {"exact": EXACT, "mixture": MIXTURE, "posterior": POSTERIOR}


def panels(columns: int, rows: int = 1, width: float = 4.0, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels, lettered a, b, c, ... when there are several."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    every = list(np.atleast_1d(figure.subplots(rows, columns)).reshape(-1))
    for k, ax in enumerate(every):
        unframe(ax)
        ax.tick_params(labelsize=8, colors=INK)
        if len(every) > 1:
            ax.set_title("abcdefghijkl"[k], loc="left", fontsize=10, fontweight="bold", color=INK)
    return figure, every


def labels(ax: Axes, x: str, y: str, title: str = "") -> None:
    """Name axes and panel."""
    ax.set_xlabel(x, fontsize=9, color=INK)
    ax.set_ylabel(y, fontsize=9, color=INK)
    if title:
        ax.set_title(title, fontsize=9, color=INK)


def legend(ax: Axes, **where: Any) -> None:
    """The panel's legend, without a frame."""
    ax.legend(frameon=False, fontsize=8, **where)


def bands(ax: Axes, rows: Sequence[Row], x: str, y: str, look: Look) -> None:
    """Median of y against x as a line, quartiles as a band."""
    found = sorted((at, *quartiles(here, y)) for at, here in group(rows, x).items())
    if not found:
        return
    at, low, middle, high = np.array(found, float).T
    ax.fill_between(at, low, high, color=look["color"], alpha=0.15, linewidth=0)
    ax.plot(at, middle, linewidth=1.6, markersize=4, **look)


def counts_axis(ax: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis with a tick at every number that was tried."""
    ax.set_xscale("log")
    ticks = sorted(set(values))
    ax.set_xticks(ticks, [f"{v:g}" for v in ticks])
    ax.set_xticks([], minor=True)


def seconds_axis(ax: Axes) -> None:
    """A logarithmic axis of times with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter("{x:g}")


def roc_curves(ax: Axes, rows: Sequence[Row], look: Look) -> None:
    """ROC curves of single graphs averaged at equal false positive rates; rows have graph, truth, probability."""
    from sklearn.metrics import roc_curve

    grid = np.linspace(0, 1, 101)
    curves = []
    for truth, probability in _by_graph(rows):
        false, true, _ = roc_curve(truth, probability)
        curves.append(np.interp(grid, false, true))
    _curve_band(ax, grid, np.array(curves), look)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=":")
    _unit_square(ax)


def precision_curves(ax: Axes, rows: Sequence[Row], look: Look) -> None:
    """Precision at equal recalls (the best at this recall or a higher one), averaged over graphs; rows as above."""
    from sklearn.metrics import precision_recall_curve

    grid = np.linspace(0, 1, 101)
    curves, share = [], []
    for truth, probability in _by_graph(rows):
        precision, recall, _ = precision_recall_curve(truth, probability)  # recall falls
        best = np.maximum.accumulate(precision[:-1])[::-1]
        curves.append(best[np.searchsorted(recall[:-1][::-1], grid - 1e-12).clip(max=len(best) - 1)])
        share.append(truth.mean())
    _curve_band(ax, grid, np.array(curves), look)
    ax.axhline(float(np.mean(share)), color=MUTED, linewidth=0.8, linestyle=":")
    _unit_square(ax)


def _by_graph(rows: Sequence[Row]) -> list[tuple[FloatArray, FloatArray]]:
    out = []
    for here in group(rows, "graph").values():
        truth = np.array([row["truth"] for row in here], float)
        if 0 < truth.sum() < len(truth):
            out.append((truth, np.array([row["probability"] for row in here], float)))
    return out


def _curve_band(ax: Axes, grid: FloatArray, curves: FloatArray, look: Look) -> None:
    if not len(curves):
        return
    low, high = np.quantile(curves, [0.25, 0.75], axis=0)
    line = {k: v for k, v in look.items() if k != "marker"}
    ax.fill_between(grid, low, high, color=look["color"], alpha=0.12, linewidth=0)
    ax.plot(grid, curves.mean(0), linewidth=1.6, **line)


def _unit_square(ax: Axes) -> None:
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
