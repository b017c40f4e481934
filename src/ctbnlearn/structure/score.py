"""Closed-form score of a parent set (Nodelman et al. 2003; the paper's marginal likelihood).

s(m) = sum over u_m, x, x' != x of lnGamma(alpha + M) - lnGamma(alpha) + alpha ln beta - (alpha + M) ln(beta + T),
the log of the complete-data likelihood of the node integrated over its rates.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ctbnlearn.arrays import FloatArray


def off_diagonal(transitions: FloatArray) -> FloatArray:
    """Entries x' != x of (..., S, S), as (..., S, S - 1)."""
    n = transitions.shape[-1]
    return transitions[..., ~np.eye(n, dtype=bool)].reshape(*transitions.shape[:-1], n - 1)


def set_score(dwell: FloatArray, transitions: FloatArray, shape: FloatArray, rate: FloatArray) -> FloatArray:
    """Score of parent sets with the same number of parent states.

    Parameters
    ----------
    dwell : (..., U, S)
        T(x | u_m).
    transitions : (..., U, S, S)
        M(x, x' | u_m); the diagonal is ignored.
    shape, rate : (...)
        Gamma prior of every cell of the set.

    Examples
    --------
    >>> set_score(np.array([[2.0, 1.0]]), np.array([[[0, 3.0], [2.0, 0]]]), np.array(1.0), np.array(1.0)).round(6)
    np.float64(-3.988984)
    """
    counts = off_diagonal(np.asarray(transitions, float))
    alpha = np.asarray(shape, float)[..., None, None, None]
    beta = np.asarray(rate, float)[..., None, None, None]
    time = np.asarray(dwell, float)[..., None]
    terms = gammaln(alpha + counts) - gammaln(alpha) + alpha * np.log(beta) - (alpha + counts) * np.log(beta + time)
    return terms.sum((-3, -2, -1))
