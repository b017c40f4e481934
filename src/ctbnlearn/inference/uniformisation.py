"""Action of a Markov generator's exponential by uniformisation, and integrals of products of two of them.

With P = I + G / rate, exp(G t) v = sum_k Poisson(k; rate t) P^k v: sums of positive terms only, hence
stable at any step. For a_k = P'^k alpha and b_l = P^l beta,

    int_0^t (exp(G' s) alpha)[x] (exp(G (t - s)) beta)[y] ds = sum_kl a_k[x] b_l[y] Poisson(k + l + 1; rate t) / rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, pdtrc

from ctbnlearn.arrays import FloatArray
from ctbnlearn.errors import ParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_JUMPS = 1e6  # uniformised jumps between two boundaries up to which they are followed
LONGEST = 16.0  # mean number of uniformised jumps covered by one series


def n_substeps(rate: float, dt: FloatArray) -> int:
    """Number of equal substeps that keep every series short; raise where no machine could take them all."""
    longest = float(dt.max(initial=0.0))
    if rate * longest > MOST_JUMPS:
        raise ParameterError(
            f"a stretch of {longest:.3g} without observations holds more than {MOST_JUMPS:,.0f} mean dwell times "
            f"(the shortest is {1 / rate:.3g}); ask for times nearer to the observations, or check the unit of time"
        )
    return max(1, int(np.ceil(rate * float(dt.max(initial=0.0)) / LONGEST)))


def n_terms(mean: float, at_least: int) -> int:
    """Terms after which the Poisson tail is below rounding.

    `at_least` covers the moves between the two most distant states, so that even very short steps give
    every reachable state its leading-order probability.
    """
    k = np.arange(at_least, at_least + 200)
    return int(k[np.argmax(pdtrc(k, mean) < 1e-18)]) + 1


def poisson_weights(mean: FloatArray, n: int) -> FloatArray:
    """Poisson(k; mean_b) for k < n, shape (n, B)."""
    k = np.arange(n)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_power = np.where((k == 0) | (mean > 0), k * np.log(np.maximum(mean, 1e-300)), -np.inf)
        return np.where((mean == 0) & (k > 0), 0.0, np.exp(log_power - mean - gammaln(k + 1)))


def series(matrix: csr_matrix, vectors: FloatArray, n: int) -> FloatArray:
    """Powers P^k v for k < n, shape (n, states, B)."""
    out = np.empty((n, *vectors.shape))
    out[0] = vectors
    for k in range(1, n):
        out[k] = matrix @ out[k - 1]
    return out


def propagate(matrix: csr_matrix, rate: float, vectors: FloatArray, dt: FloatArray, at_least: int) -> FloatArray:
    """exp(G dt_b) applied to column b of `vectors` (states, B), where `matrix` = I + G / rate."""
    if rate == 0 or not dt.any():
        return vectors
    steps = n_substeps(rate, dt)
    mean = rate * dt / steps
    n = n_terms(float(mean.max()), at_least)
    weights = poisson_weights(mean, n)
    for _ in range(steps):
        power = vectors
        total = weights[0] * power
        for k in range(1, n):
            power = matrix @ power
            total += weights[k] * power
        vectors = total
    return vectors


def cross_weights(mean: FloatArray, n: int) -> FloatArray:
    """Hankel matrices Poisson(k + l + 1; mean_b), shape (B, n, n)."""
    flat = poisson_weights(mean, 2 * n)
    index = np.arange(n)[:, None] + np.arange(n) + 1
    return np.moveaxis(flat[index], -1, 0)
