"""Closed-form score of a parent set (Nodelman et al. 2003; the paper's marginal likelihood).

s(m) = sum over u_m, x, x' != x of lnGamma(alpha + M) - lnGamma(alpha) + alpha ln beta - (alpha + M) ln(beta + T),
the log of the complete-data likelihood of the node integrated over its rates.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ctbnlearn.arrays import BoolArray, FloatArray


def cells(
    dwell: FloatArray, transitions: FloatArray, allowed: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """M(x, x' | u) and T(x | u) of every transition x' != x that can happen, each (..., U, cells).

    `allowed` (S, S) marks those transitions; by default all.
    """
    n = dwell.shape[-1]
    keep = ~np.eye(n, dtype=bool) if allowed is None else allowed & ~np.eye(n, dtype=bool)
    return transitions[..., keep], dwell[..., np.nonzero(keep)[0]]


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
    shape, rate : (...)
        Gamma prior of every cell of the set.
    allowed : (S, S)
        Transitions that can happen; default all.

    Examples
    --------
    >>> set_score(np.array([[2.0, 1.0]]), np.array([[[0, 3.0], [2.0, 0]]]), np.array(1.0), np.array(1.0)).round(6)
    np.float64(-3.988984)
    """
    counts, time = cells(np.asarray(dwell, float), np.asarray(transitions, float), allowed)
    alpha = np.asarray(shape, float)[..., None, None]
    beta = np.asarray(rate, float)[..., None, None]
    terms = gammaln(alpha + counts) - gammaln(alpha) + alpha * np.log(beta) - (alpha + counts) * np.log(beta + time)
    return terms.sum((-2, -1))
