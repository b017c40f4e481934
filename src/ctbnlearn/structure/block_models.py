"""Networks inside a block of variables, judged from one fit of the full block.

The full block gives every variable all others as parents: one rate a move and joint state. A network inside it says
that rates of a variable are equal wherever its parents agree: theta = A phi, a linear constraint on the logarithms of
the rates. With the log evidence near its top as a quadratic,

    ln Z(theta) = value + g.(theta - top) - (theta - top)^T J (theta - top) / 2,

Laplace's method gives the evidence of every network inside: max over phi of ln Z(A phi) + ln p(phi), and half the
logarithm of the determinant of A^T J A plus the curvature of the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.inference.block_chain import moves

NEWTON_STEPS = 3

Sets = tuple[tuple[int, ...], ...]  # per member, its parents as positions in the block


class Quadratic(NamedTuple):
    """Log evidence of the full block near its top.

    Attributes
    ----------
    top : (P,)
        Logarithms of the rates, moves by joint states.
    value : ()
        Log evidence there.
    gradient : (P,)
    information : (P, P)
        Minus the Hessian, or what stands for it; without negative directions.
    """

    top: FloatArray
    value: FloatArray
    gradient: FloatArray
    information: FloatArray


class Laplace(NamedTuple):
    """Log evidence of some networks, (q,); logarithms of their rates at the top, one a group of cells, (q, p).

    `curvature` is minus the Hessian of the log posterior density near there, (q, p, p).
    """

    log_evidence: FloatArray
    log_rates: FloatArray
    curvature: FloatArray


@lru_cache(maxsize=65536)
def groups(cards: tuple[int, ...], member: int, parents: tuple[int, ...]) -> IntArray:
    """Which rates of a member are equal given its parents: (own moves, S), numbered from 0; [move, own state, u]."""
    _, _, to = moves(cards)
    states = np.unravel_index(np.arange(to.shape[1]), cards)
    u = np.zeros(to.shape[1], np.int64)
    for j in parents:
        u = u * cards[j] + states[j]
    width = int(np.prod([cards[j] for j in parents], dtype=int))
    own = np.arange(cards[member] - 1)[:, None]
    return ((own * cards[member] + states[member]) * width + u).astype(np.int64)


@lru_cache(maxsize=16384)
def labels(cards: tuple[int, ...], sets: Sets) -> IntArray:
    """Number of the group that every rate of the full block belongs to, (k, S)."""
    out, count = [], 0
    for member, parents in enumerate(sets):
        own = groups(cards, member, parents)
        out.append(own + count)
        count += int(own.max()) + 1
    return np.concatenate(out)


def subsets(pool: Sequence[int], required: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Every subset of a pool that holds what is required, smallest first."""
    free = [j for j in pool if j not in set(required)]
    most = min(len(free), max(0, limit - len(required)))
    return [tuple(sorted([*required, *more])) for k in range(most + 1) for more in combinations(free, k)]


def prior_constant(shape: FloatArray, rate: FloatArray) -> FloatArray:
    """Constant of the log density of ln(rate) under a Gamma prior; zero where there is none (shape 0)."""
    return shape * np.log(rate) - gammaln(np.where(shape > 0, shape, 1.0))


def laplace(top: Quadratic, label: IntArray, shape: FloatArray, rate: FloatArray, used: BoolArray) -> Laplace:
    """Evidence of q networks by the quadratic; all arrays may have further axes in front, for several blocks.

    Parameters
    ----------
    top
        The full block.
    label : (q, P)
        Group of every rate.
    shape, rate : (q, P)
        Gamma prior of the group it belongs to.
    used : (P,)
        Rates that are not fixed at zero.
    """
    p = int(label.max()) + 1
    one = (label[..., None] == np.arange(p)) & used[..., None, :, None]
    there, one = one.any(-2), one.astype(float)
    turned = one.swapaxes(-1, -2)
    j = np.where(used[..., :, None] & used[..., None, :], top.information, 0.0)[..., None, :, :]
    slope, peak = (top.gradient * used)[..., None, :], (top.top * used)[..., None, :]
    curved = turned @ (j @ one)
    pulled = (turned @ (slope[..., None] + j @ peak[..., None]))[..., 0]
    a, b = np.zeros(there.shape), np.ones(there.shape)
    np.put_along_axis(a, label, shape, -1)
    np.put_along_axis(b, label, rate, -1)
    weight = np.diagonal(j, axis1=-2, axis2=-1) + 1e-9
    x = (turned @ (weight * peak)[..., None])[..., 0] / ((turned @ weight[..., None])[..., 0] + ~there)
    diagonal = np.arange(p)
    for _ in range(NEWTON_STEPS):
        pull = np.where(there, b * np.exp(np.clip(x, -50.0, 50.0)), 1.0)
        gradient = np.where(there, pulled - (curved @ x[..., None])[..., 0] + a - pull, 0.0)
        hessian = curved.copy()
        hessian[..., diagonal, diagonal] += pull
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        x = x + step * np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300))
    off = (one @ x[..., None])[..., 0] - peak
    value = top.value[..., None] + (off * slope).sum(-1) - 0.5 * ((off[..., None, :] @ j)[..., 0, :] * off).sum(-1)
    pull = b * np.exp(np.clip(x, -50.0, 50.0))
    prior = np.where(there, a * x - pull + prior_constant(a, b) + 0.5 * np.log(2 * np.pi), 0.0).sum(-1)
    return Laplace(value + prior - 0.5 * np.linalg.slogdet(hessian)[1], x, hessian)
