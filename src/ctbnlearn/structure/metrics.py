"""How well edge probabilities find a known graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.errors import ParameterError
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.graph import as_adjacency, is_matrix


def edge_scores(truth: Any, edge_probabilities: ArrayLike, *, names: Sequence[str] | None = None) -> dict[str, float]:
    """Compare edge probabilities with the true graph, self pairs left out.

    Parameters
    ----------
    truth
        The true graph: CTBN, networkx DiGraph, 0/1 matrix [source, target] or list of (source, target) names.
    edge_probabilities : (n, n)
        Probabilities [source, target].
    names
        Names of the variables in the order of the matrix; needed for graphs given by names, and taken from
        `truth` where it is a CTBN or comes from its `to_networkx`.

    Returns
    -------
    dict
        auroc, aupr (average precision), prevalence (share of true edges), shd (wrong edges at threshold 0.5),
        log_loss (mean, natural logarithm), calibration_error (expected, ten bins). AUROC and AUPR are NaN
        where the truth has no edge or every edge.

    Examples
    --------
    >>> edge_scores([[0, 1], [0, 0]], [[0.0, 0.9], [0.2, 0.0]])["auroc"]
    1.0
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    probabilities = np.asarray(edge_probabilities, float)
    n = len(probabilities)
    if probabilities.shape != (n, n) or n < 2:
        raise ParameterError(f"edge_probabilities must be a square matrix [source, target], not {probabilities.shape}")
    if names is None:
        if isinstance(truth, CTBN):
            names = list(truth.names)
        elif hasattr(truth, "nodes") and all("states" in mark for _, mark in truth.nodes(data=True)):
            names = list(truth.nodes)  # made by CTBN.to_networkx, in the order of the variables
        elif hasattr(truth, "nodes") or not is_matrix(truth):
            raise ParameterError(
                "truth is given by names: say in which order by names=, e.g. learner.feature_names_in_"
            )
        else:
            names = [str(i) for i in range(n)]
    if len(names) != n:
        raise ParameterError(f"the truth has {len(names)} variables, edge_probabilities {n}")
    off = ~np.eye(n, dtype=bool)
    label, p = as_adjacency(truth, names, "truth")[off], probabilities[off]
    if not np.isfinite(p).all() or (p < -1e-9).any() or (p > 1 + 1e-9).any():
        raise ParameterError("edge_probabilities must lie between 0 and 1")
    p = np.clip(p, 0.0, 1.0)
    mixed = 0 < label.sum() < len(label)
    likelihood = np.where(label, p, 1 - p)
    bins = np.minimum((p * 10).astype(int), 9)
    gap = np.abs(np.bincount(bins, p, 10) - np.bincount(bins, label, 10))
    return {
        "auroc": float(roc_auc_score(label, p)) if mixed else float("nan"),
        "aupr": float(average_precision_score(label, p)) if mixed else float("nan"),
        "prevalence": float(label.mean()),
        "shd": float(np.sum((p > 0.5) != label)),
        "log_loss": float(-np.log(np.maximum(likelihood, np.finfo(float).eps)).mean()),
        "calibration_error": float(gap.sum() / len(p)),
    }
