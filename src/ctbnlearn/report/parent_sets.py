"""The heaviest parent sets of a node as bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ctbnlearn.arguments import whole
from ctbnlearn.errors import ParameterError
from ctbnlearn.report.learned import Learned as Result
from ctbnlearn.report.learned import is_learned, node_of
from ctbnlearn.report.style import BLUE, INK, MUTED, axes, plain, unframe


def plot_parent_sets(
    parent_sets: Result | Sequence[Iterable[str]],
    weights: ArrayLike | None = None,
    name: str | None = None,
    n_sets: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weights of the heaviest parent sets of one variable.

    Parameters
    ----------
    parent_sets : Result or sequence
        What was learned, or the parent sets of the variable, each a sequence of names.
    weights
        Weights of the sets, which sum to one; not needed with a `Result`.
    name
        Name of the variable: which one of a `Result`, and for the title.
    n_sets
        Number of sets that get a bar; the rest share one. Default 10.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.

    Returns
    -------
    Axes
    """
    if is_learned(parent_sets):
        i = node_of(parent_sets, name)
        own, weights = parent_sets.parent_sets[i], parent_sets.parent_set_weights[i]
        sets: Sequence[Iterable[str]] = [own[k] for k in range(len(own))]
    else:
        sets = parent_sets  # type: ignore[assignment]
    weight = np.asarray(weights, float)
    if weight.shape != (len(sets),) or not len(weight):
        raise ParameterError(f"there are {len(sets)} parent_sets, but weights of shape {weight.shape}; one each")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ParameterError("weights must be finite and not negative; pass the weights of the parent sets as learned")
    best = np.argsort(-weight, kind="stable")[: whole(n_sets, "n_sets", 1)]
    labels = [plain(", ".join(map(str, sets[int(i)])) or "no parents", 48) for i in best]
    heights, colours = list(weight[best]), [BLUE] * len(best)
    rest = len(weight) - len(best)
    if rest:
        labels.append(f"{rest:,} other set{'' if rest == 1 else 's'}")
        heights.append(max(weight.sum() - weight[best].sum(), 0.0))
        colours.append(MUTED)
    ax = axes(ax, 6.0, 1.2 + 0.3 * len(labels))
    rows = np.arange(len(labels))
    ax.barh(rows, heights, color=colours, height=0.7)
    for row, height in zip(rows, heights):
        value = "< 0.001" if 0 < height < 0.001 else f"{height:.3f}"
        ax.annotate(value, (height, row), (4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    ax.set_yticks(rows, labels, fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.15)
    ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
    ax.set_xlabel("weight of the parent set")
    if name is not None:
        ax.set_title(f"Parents of {plain(name)}", fontsize=10)
    unframe(ax)
    return ax
