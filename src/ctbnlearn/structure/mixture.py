"""Mixture weights (eq. 5 of the paper): maximise F(pi) on the simplex of parent sets of a node.

F(pi) = sum_m f_m(pi_m) + lambda sum_m ln pi_m,
f_m(p) = sum over u_m, x, x' != x of lnGamma(a) - a ln b,   a = p M + alpha_m,   b = p T + beta_m.

The paper writes the last term as a Dirichlet log density with c = 0.9; as printed it would send F to infinity
at every face. Its appendix and code mean lambda = 1 - c > 0, a weak barrier towards the interior.

Each f_m is convex (it is the log of an integral of exponentials linear in p), so f_m lies above its tangents, and
maximising tangents plus barrier, p_m = lambda / (nu - f_m'(p)) with nu fixed by sum p = 1, never lowers F.
At a local maximum at most one coordinate sits where its own term is convex: either one set dominates or none
does. Hence the starts: near every promising vertex, half way to it, and the middle. All starts run side by
side, with Newton steps (the Hessian is diagonal) once the tangent steps have settled down. Deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln, zeta

from ctbnlearn.arguments import finite
from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.errors import ParameterError
from ctbnlearn.structure.score import cells
from ctbnlearn.structure.tables import Group

MOST_VERTICES = 32  # vertices tried, best first
LEVELS = (0.999, 0.5)  # share of the dominating set at a start
WARM_UP = 4  # tangent steps before Newton steps are tried
CELL_BUDGET = 20_000_000  # cells evaluated at a time


@dataclass(frozen=True)
class Mixture:
    """The paper's mixture weights.

    Parameters
    ----------
    concentration : float
        The paper's c: the weights are kept off the faces of the simplex by a barrier of strength 1 - c.
    scaled : bool
        Whether the barrier shrinks as 16 / (number of sets); in the paper it does not.
    """

    concentration: float = 0.9
    scaled: bool = True

    def check(self) -> None:
        """Raise where a setting is not one."""
        finite(self.concentration, "Mixture: concentration", positive=False)
        if not isinstance(self.scaled, bool):
            raise ParameterError(f"Mixture: scaled must be True or False, not {self.scaled!r}")

    def barrier(self, n_sets: int) -> float:
        """Strength of the barrier for so many sets."""
        return (1.0 - self.concentration) * (16 / n_sets if self.scaled else 1.0)


def as_mixture(weights: str | Mixture) -> Mixture | None:
    """The mixture weights asked for, checked; None for posterior weights."""
    if isinstance(weights, Mixture):
        weights.check()
        return weights
    if not isinstance(weights, str) or weights not in ("posterior", "mixture"):
        raise ParameterError(f'weights must be "posterior", "mixture" or Mixture(), not {weights!r}')
    return Mixture() if weights == "mixture" else None


class MixtureObjective:
    """F and its derivatives for one node.

    Parameters
    ----------
    groups
        Tables of all parent sets.
    shape, rate : (n_sets,), (n_sets, S)
        Gamma prior of the cells of a set, its rate by the node's state.
    barrier
        lambda.
    allowed : (S, S)
        Transitions that can happen; default all.
    """

    def __init__(
        self,
        groups: Iterable[Group],
        shape: FloatArray,
        rate: FloatArray,
        barrier: float,
        allowed: BoolArray | None = None,
    ) -> None:
        owner, counts, times, rates = [], [], [], []
        for g in groups:
            m, t, beta = cells(g.dwell, g.transitions, rate[g.index], allowed)
            counts.append(m.reshape(-1))
            times.append(t.reshape(-1))
            rates.append(beta.reshape(-1))
            owner.append(np.repeat(g.index, m[0].size))
        whose = np.concatenate(owner)
        order = np.argsort(whose, kind="stable")
        self.owner = whose[order]
        self.counts = np.concatenate(counts)[order]
        self.times = np.concatenate(times)[order]
        self.shape, self.rate = shape[self.owner], np.concatenate(rates)[order]
        self.first = np.searchsorted(self.owner, np.arange(len(shape)))
        self.n_sets = len(shape)
        self.barrier = barrier

    def _bars(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        spread = p[..., self.owner]
        return spread * self.counts + self.shape, spread * self.times + self.rate

    def _sum(self, cells: FloatArray) -> FloatArray:
        if not len(self.owner):  # a variable that cannot move
            return np.zeros((*cells.shape[:-1], self.n_sets))
        return np.add.reduceat(cells, self.first, axis=-1)

    def terms(self, p: FloatArray) -> FloatArray:
        """f_m(p_m) of every set; p and result have shape (..., n_sets)."""
        a, b = self._bars(p)
        return self._sum(gammaln(a) - a * np.log(b))

    def slopes(self, p: FloatArray) -> FloatArray:
        """f_m'(p_m)."""
        a, b = self._bars(p)
        return self._sum(self.counts * (digamma(a) - np.log(b)) - a * self.times / b)

    def curvatures(self, p: FloatArray) -> FloatArray:
        """f_m''(p_m), never negative."""
        a, b = self._bars(p)
        return self._sum(self.counts**2 * zeta(2.0, a) - 2 * self.counts * self.times / b + a * (self.times / b) ** 2)

    def value(self, p: FloatArray) -> FloatArray:
        """F(p); without a barrier (lambda <= 0) its last term is left out."""
        total = self.terms(p).sum(-1)
        if self.barrier > 0:
            total = total + self.barrier * np.log(np.maximum(p, 1e-300)).sum(-1)
        return total

    def gradient(self, p: FloatArray) -> FloatArray:
        """Derivative of F with respect to every weight."""
        return self.slopes(p) + self.barrier / p


def tangent_step(slopes: FloatArray, barrier: float) -> FloatArray:
    """Maximiser of slopes . p + barrier sum ln p on the simplex, row by row."""
    n = slopes.shape[-1]
    gap = slopes.max(-1, keepdims=True) - slopes
    low, high = np.full((*gap.shape[:-1], 1), barrier), np.full((*gap.shape[:-1], 1), n * barrier)
    nu = low  # from here Newton's steps on a convex decreasing function rise monotonically to the root
    for _ in range(60):
        inverse = 1 / (nu + gap)
        excess = barrier * inverse.sum(-1, keepdims=True) - 1
        step = excess / (barrier * (inverse**2).sum(-1, keepdims=True))
        nu = np.clip(nu + step, low, high)
        if (np.abs(step) <= 1e-15 * nu).all():
            break
    p = barrier / (nu + gap)
    return p / p.sum(-1, keepdims=True)


def mixture_weights(objective: MixtureObjective) -> FloatArray:
    """Weights that maximise F.

    Without a barrier (lambda <= 0, the textbook's c >= 1) a convex function is maximised, and the best vertex
    wins: one set takes all the weight.
    """
    n = objective.n_sets
    gain = objective.terms(np.ones(n)) - objective.terms(np.zeros(n))
    if objective.barrier <= 0 or n == 1:
        return np.eye(n)[np.argmax(gain)]
    starts = _starts(gain)
    width = max(1, CELL_BUDGET // max(1, len(objective.counts)))
    found = np.concatenate([_ascend(objective, starts[k : k + width]) for k in range(0, len(starts), width)])
    return found[int(np.argmax(objective.value(found)))]


def _starts(gain: FloatArray) -> FloatArray:
    n = len(gain)
    rows = [np.full(n, 1 / n)]
    for k in np.argsort(-gain)[:MOST_VERTICES]:
        for level in LEVELS:
            if level > 1 / n:
                row = np.full(n, (1 - level) / (n - 1))
                row[k] = level
                rows.append(row)
    return np.array(rows)


def _ascend(objective: MixtureObjective, p: FloatArray, max_iter: int = 300, tol: float = 1e-11) -> FloatArray:
    """Local maxima reached from every row of p; rows that meet are merged.

    A few tangent steps first; then Newton steps where they do better than a tangent step would.
    """
    done: list[FloatArray] = []
    for iteration in range(max_iter):
        slopes = objective.slopes(p)
        q = tangent_step(slopes, objective.barrier)
        if iteration >= WARM_UP:
            newton = _newton(objective, p, slopes)
            plain = objective.value(q)
            better = objective.value(newton) > plain - 1e-14 * np.abs(plain)  # a tie: trust the faster step
            outside = (newton == p).all(-1)
            q = np.where((better & ~outside)[:, None], newton, q)
        moving = np.abs(q - p).max(-1) > tol
        done += list(q[~moving])
        p = q[moving]
        if not len(p):
            break
        _, kept = np.unique(np.round(p, 6), axis=0, return_index=True)
        p = p[np.sort(kept)]
    return np.array([*done, *p])


def _newton(objective: MixtureObjective, p: FloatArray, slopes: FloatArray) -> FloatArray:
    """Newton's point on the simplex for every row, or the row itself where that point lies outside."""
    gradient = slopes + objective.barrier / p
    curvature = objective.curvatures(p) - objective.barrier / p**2
    with np.errstate(all="ignore"):
        nu = (gradient / curvature).sum(-1, keepdims=True) / (1 / curvature).sum(-1, keepdims=True)
        q = p - (gradient - nu) / curvature
        inside = np.isfinite(q).all(-1, keepdims=True) & (q > 0).all(-1, keepdims=True)
        return np.where(inside, q / q.sum(-1, keepdims=True), p)
