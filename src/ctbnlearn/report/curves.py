"""How well edge probabilities find a known graph, as curves: ROC, precision and recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.errors import ParameterError
from ctbnlearn.model.graph import Graph, as_adjacency
from ctbnlearn.report.check import probability_matrix
from ctbnlearn.report.style import BLUE, MUTED, axes, unframe


def plot_edge_scores(
    truth: Graph, edge_probabilities: ArrayLike, names: Sequence[str], ax: Sequence[Axes] | None = None
) -> FloatArray:
    """Draw the ROC curve and the precision-recall curve of edge probabilities, self pairs left out.

    Parameters
    ----------
    truth
        The true graph: CTBN, networkx DiGraph, 0/1 matrix [source, target] or list of (source, target) names.
    edge_probabilities : (n, n)
        Probability of the edge [source, target].
    names
        Names of the variables.
    ax : two Axes or None
        Where to draw the two curves; None makes a new figure, found as `.figure` of either Axes returned.

    Returns
    -------
    array of two Axes
        ROC, precision-recall.
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

    names = [str(name) for name in names]
    probability = probability_matrix(edge_probabilities, names)
    off = ~np.eye(len(names), dtype=bool)
    real, p = as_adjacency(truth, names, "truth")[off], probability[off]
    if not 0 < real.sum() < len(real):
        raise ParameterError(
            f"truth has {real.sum()} of {len(real)} possible edges; curves need pairs with and without an edge"
        )
    if ax is None:
        left, right = Figure(figsize=(8.4, 4.2), layout="constrained").subplots(1, 2)
    else:
        if isinstance(ax, Axes) or len(ax) != 2:
            raise ParameterError("ax must be two Axes, for the ROC and for the precision-recall curve; or None")
        left, right = (axes(a, 4.2, 4.2) for a in ax)
    false, true, _ = roc_curve(real, p)
    left.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle="--")
    left.plot(false, true, color=BLUE, linewidth=1.8)
    left.set(xlabel="false positive rate", ylabel="true positive rate", title=f"ROC: area {roc_auc_score(real, p):.3f}")
    precision, recall, _ = precision_recall_curve(real, p)
    right.axhline(real.mean(), color=MUTED, linewidth=0.8, linestyle="--")
    right.step(recall, precision, where="post", color=BLUE, linewidth=1.8)
    area = average_precision_score(real, p)
    right.set(xlabel="recall", ylabel="precision", title=f"Precision and recall: area {area:.3f}")
    for a in (left, right):
        a.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        a.title.set_fontsize(10)
        unframe(a)
    return np.array([left, right])
