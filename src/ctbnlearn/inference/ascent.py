"""Many small maximisations at once: L-BFGS, each problem with its own steps, one evaluation of all a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray

MEMORY = 8  # pairs of steps and changes of the gradient that are kept
LONGEST_STEP = 1.5  # in any coordinate


class Value(NamedTuple):
    """Of every problem: its value (n,), gradient (n, p), and a guess of minus the diagonal of its Hessian (n, p)."""

    value: FloatArray
    gradient: FloatArray
    curvature: FloatArray


class Maximum(NamedTuple):
    """Where every problem ended: point (n, p), value and gradient there, and which settled."""

    point: FloatArray
    value: FloatArray
    gradient: FloatArray
    settled: BoolArray


def maximise(
    evaluate: Callable[[IntArray, FloatArray], Value], start: FloatArray, *, gain: float = 0.05, most: int = 60
) -> Maximum:
    """Climb until no problem expects to gain more than `gain`, or `most` evaluations.

    Parameters
    ----------
    evaluate
        Of the problems with given numbers, at given points (n, p).
    start : (n, p)
        Where to begin.
    """
    n, p = start.shape
    every = np.arange(n)
    point = start.copy()
    value, gradient, curvature = (np.array(a, float) for a in evaluate(every, point))
    steps, changes = np.zeros((MEMORY, n, p)), np.zeros((MEMORY, n, p))
    settled = np.zeros(n, bool)
    direction = _direction(gradient, curvature, steps, changes)
    length = np.ones(n)
    for _ in range(most):
        expected = 0.5 * (gradient * direction).sum(1)
        settled |= (expected * length < gain) | (length < 1e-3)
        left = np.flatnonzero(~settled)
        if not left.size:
            break
        tried = point[left] + length[left, None] * direction[left]
        found = Value(*(np.array(a, float) for a in evaluate(left, tried)))
        rise = found.value - value[left]
        good = np.isfinite(found.value) & (rise >= 1e-4 * length[left] * (gradient * direction).sum(1)[left] - 1e-6)
        bad = left[~good]
        length[bad] *= 0.3
        took = left[good]
        if not took.size:
            continue
        step, change = tried[good] - point[took], gradient[took] - found.gradient[good]
        usable = (step * change).sum(1) > 1e-8 * np.sqrt((step**2).sum(1) * (change**2).sum(1))
        keep = took[usable]
        steps[:, keep], changes[:, keep] = np.roll(steps[:, keep], 1, 0), np.roll(changes[:, keep], 1, 0)
        steps[0, keep], changes[0, keep] = step[usable], change[usable]
        point[took], value[took] = tried[good], found.value[good]
        gradient[took], curvature[took] = found.gradient[good], found.curvature[good]
        direction[took] = _direction(gradient[took], curvature[took], steps[:, took], changes[:, took])
        length[took] = 1.0
    return Maximum(point, value, gradient, settled)


def _direction(gradient: FloatArray, curvature: FloatArray, steps: FloatArray, changes: FloatArray) -> FloatArray:
    """Quasi-Newton directions (two-loop recursion), no coordinate further than the longest step."""
    inner = (steps * changes).sum(-1)
    rho = np.divide(1.0, inner, out=np.zeros_like(inner), where=inner > 0)
    q, alphas = gradient.copy(), []
    for s, y, r in zip(steps, changes, rho):
        alphas.append(r * (s * q).sum(1))
        q -= alphas[-1][:, None] * y
    # curvature pairs scale the guess, which is that of complete data and so too steep
    scaled = (changes[0] ** 2 / curvature).sum(1)
    scale = np.divide(inner[0], scaled, out=np.ones_like(scaled), where=(scaled > 0) & (rho[0] > 0))
    q *= np.clip(scale, 0.2, 20.0)[:, None] / curvature
    for s, y, r, a in zip(steps[::-1], changes[::-1], rho[::-1], alphas[::-1]):
        q += s * (a - r * (y * q).sum(1))[:, None]
    uphill = (q * gradient).sum(1) > 0
    q[~uphill] = (gradient / curvature)[~uphill]
    longest = np.abs(q).max(1, initial=0.0)
    return q * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))[:, None]
