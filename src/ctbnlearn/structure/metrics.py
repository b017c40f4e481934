"""How well edge probabilities find a known graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.errors import ParameterError
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.graph import Graph, as_adjacency, is_matrix


def edge_scores(
    truth: Graph, edge_probabilities: ArrayLike, *, names: Sequence[str] | None = None, self_pairs: bool = False
) -> dict[str, float]:
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
    self_pairs
        Count the n self pairs, too, as absent edges of probability 0 ranked after all others, whatever the diagonal
        holds. Of no use but to compare with figures reckoned that way, as the paper's on IRMA, where a random ranking
        of 8 edges among 20 pairs has AUROC (12 x 0.5 + 5) / 17 = 0.647. AUPR does not change.

    Returns
    -------
    dict
        auroc, aupr (average precision), aupr_interpolated (see `interpolated_aupr`), prevalence (share of true edges),
        shd (wrong edges at threshold 0.5), log_loss (mean, natural logarithm), calibration_error (expected, ten bins).
        AUROC and AUPR are NaN where the truth has no edge or every edge.

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
    p = rank = np.clip(p, 0.0, 1.0)
    if self_pairs:
        label = np.append(label, np.zeros(n, bool))
        p, rank = np.append(p, np.zeros(n)), np.append(p, np.full(n, -1.0))
    mixed = 0 < label.sum() < len(label)
    likelihood = np.where(label, p, 1 - p)
    bins = np.minimum((p * 10).astype(int), 9)
    gap = np.abs(np.bincount(bins, p, 10) - np.bincount(bins, label, 10))
    return {
        "auroc": float(roc_auc_score(label, rank)) if mixed else float("nan"),
        "aupr": float(average_precision_score(label, rank)) if mixed else float("nan"),
        "aupr_interpolated": interpolated_aupr(label, rank) if mixed else float("nan"),
        "prevalence": float(label.mean()),
        "shd": float(np.sum((p > 0.5) != label)),
        "log_loss": float(-np.log(np.maximum(likelihood, np.finfo(float).eps)).mean()),
        "calibration_error": float(gap.sum() / len(p)),
    }


def interpolated_aupr(label: ArrayLike, score: ArrayLike) -> float:
    """Area under the precision-recall curve, interpolated as by Davis & Goadrich (2006) and the DREAM2 evaluation.

    From one point (TP, FP) of the ranking to the next, FP grows linearly in TP and precision is TP / (TP + FP); the
    area under that is exact. Without ties, FP is constant while the k-th item turns out true, which adds
    (1 - FP ln(k / (k - 1))) / P. Lower than average precision: a random ranking of 8 edges among 20 pairs has 0.445
    against 0.482.

    Parameters
    ----------
    label : (n,)
        Which pairs are edges.
    score : (n,)
        The larger, the earlier in the ranking; equal scores make one step.

    Examples
    --------
    >>> round(interpolated_aupr([1, 0, 1], [3, 2, 1]), 4)  # (1 + 1 - ln(3 / 2)) / 2
    0.7973
    """
    label, score = np.asarray(label, bool), np.asarray(score, float)
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)  # of every step of equal scores
    tp = np.append(0.0, np.cumsum(label[order])[last])
    fp = np.append(0.0, np.cumsum(~label[order])[last])
    rising = np.diff(tp) > 0
    low, high, false = tp[:-1][rising], tp[1:][rising], fp[:-1][rising]
    growth = np.diff(fp)[rising] / (high - low)
    a, b = 1 + growth, false - growth * low  # TP + FP = a TP + b
    log = np.log((a * high + b) / np.where(b == 0, 1, a * low + b))
    return float(np.sum((high - low) / a - np.where(b == 0, 0, b / a**2 * log)) / label.sum())
