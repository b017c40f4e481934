"""Closed-form score of a parent set (Nodelman et al. 2003; the paper's marginal likelihood).

s(m) = sum over u_m, x, x' != x of lnGamma(alpha + M) - lnGamma(alpha) + alpha ln beta - (alpha + M) ln(beta + T),
beta a number for each state x of the node: the log of its complete-data likelihood, integrated over its rates.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ctbnlearn.arrays import BoolArray, FloatArray


def cells(
    dwell: FloatArray, transitions: FloatArray, rate: FloatArray, allowed: BoolArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """M(x, x' | u), T(x | u) and beta(x) of every transition x' != x that can happen, (..., U, cells) each.

    `rate` (..., S) is beta; `allowed` (S, S) marks those transitions; by default all.
    """
    n = dwell.shape[-1]
    keep = ~np.eye(n, dtype=bool) if allowed is None else allowed & ~np.eye(n, dtype=bool)
    state = np.nonzero(keep)[0]
    counts = transitions[..., keep]
    return counts, dwell[..., state], np.broadcast_to(rate[..., None, state], counts.shape)


def set_score(
    dwell: FloatArray, transitions: FloatArray, shape: FloatArray, rate: FloatArray, allowed: BoolArray | None = None
) -> FloatArray:
    """Score of parent sets with the same number of parent states.

    Parameters
    ----------
    dwell : (..., U, S)
        T(x | u_m).
    transitions : (..., U, S, S)
        M(x, x' | u_m); the diagonal is ignored.
    shape, rate : (...), (..., S)
        Gamma prior of the cells of the set, its rate by x.
    allowed : (S, S)
        Transitions that can happen; default all.

    Examples
    --------
    >>> set_score(np.array([[2.0, 1.0]]), np.array([[[0, 3.0], [2.0, 0]]]), np.array(1.0), np.ones(2)).round(6)
    np.float64(-3.988984)
    """
    counts, time, beta = cells(
        np.asarray(dwell, float), np.asarray(transitions, float), np.asarray(rate, float), allowed
    )
    alpha = np.asarray(shape, float)[..., None, None]
    terms = gammaln(alpha + counts) - gammaln(alpha) + alpha * np.log(beta) - (alpha + counts) * np.log(beta + time)
    return terms.sum((-2, -1))
