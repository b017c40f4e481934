"""Exact posterior weights over parent sets: pi(m) proportional to p(m) exp s(m)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import logsumexp

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.structure.score import set_score
from ctbnlearn.structure.tables import Group


def scores(
    groups: Iterable[Group], shape: FloatArray, rate: FloatArray, allowed: BoolArray | None = None
) -> FloatArray:
    """Score of every parent set of a node, shape (n_sets,)."""
    out = np.empty(len(shape))
    for g in groups:
        out[g.index] = set_score(g.dwell, g.transitions, shape[g.index], rate[g.index], allowed)
    return out


def posterior_weights(score: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Normalised weights from scores and log prior.

    Examples
    --------
    >>> posterior_weights(np.array([0.0, np.log(3)]), np.zeros(2)).round(12).tolist()
    [0.25, 0.75]
    """
    log_weight = score + log_prior
    weights = np.exp(log_weight - logsumexp(log_weight))
    return weights / weights.sum()
