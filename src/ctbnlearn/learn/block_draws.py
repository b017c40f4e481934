"""Draws of the rates of a block's first member, and what Laplace's method does not see of them.

Laplace's method takes the posterior of the logarithms theta of the rates for normal. Their Gamma prior is not, where
data are few: with d = theta - top and p = beta e^top, it is exp(-p (e^d - 1 - d - d^2 / 2)) times its quadratic, which
weighs the draws. Their mean weight corrects the evidence, and the mean of weights times density ratios
(`ctbnlearn.structure.pushes`) gives what pushes gain. Rates under different parent states are taken for independent: a
mean over all at once would hang on few draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.structure.pushes import log_ratios, pushed_evidence

NEVER = -1e6  # nats; a number that files can hold


class RateDraws(NamedTuple):
    """Draws of the rates of a variable.

    Attributes
    ----------
    logs : (D, U, S, S)
        Their logarithms, [u, from, to].
    log_weight : (D, U)
        Log weights by the prior that is no normal.
    log_ratio : (D, U, pushes)
        Log density ratios of pushes, as in `log_ratios`.
    """

    logs: FloatArray
    log_weight: FloatArray
    log_ratio: FloatArray

    @property
    def bend(self) -> float:
        """What the evidence lacks because the prior is no normal."""
        return float((logsumexp(self.log_weight, axis=0) - np.log(len(self.logs))).sum())

    def gain(self, cards: Sequence[int]) -> float:
        """Log evidence if parents with such numbers of states push the variable, less that with independent rates."""
        table = logsumexp(self.log_weight[..., None] + self.log_ratio, axis=0)
        table -= logsumexp(self.log_weight, axis=0)[:, None]
        found = pushed_evidence(table, np.array(cards, np.int64), self.logs.shape[-1], np.empty(table.size))
        return max(found, NEVER)

    def pushed(self) -> FloatArray:
        """Probabilities of the draws if parents push the variable, (D, U)."""
        log_weight = self.log_weight + logsumexp(self.log_ratio, axis=-1)
        out: FloatArray = np.exp(log_weight - logsumexp(log_weight, axis=0))
        return out


def draw_rates(
    log_rates: FloatArray, covariance: FloatArray, rate: FloatArray, states: int, possible: BoolArray, count: int
) -> RateDraws:
    """Draw from normal posteriors, always with the same random numbers.

    Parameters
    ----------
    log_rates, covariance : (p,), (p, p)
        As in `Fit`; the first numbers are those of the first member.
    rate : (S,)
        Of its Gamma prior.
    states
        Joint states of its parents, U.
    possible : (S, S)
        Transitions that can happen.
    count
        Draws, D.
    """
    card = len(rate)
    size = (card - 1) * card * states
    spread = np.linalg.cholesky(covariance[:size, :size] + 1e-12 * np.eye(size))
    off = as_tables(_normal(count, size) @ spread.T, card)
    top = as_tables(log_rates[:size], card)
    pull = rate[:, None] * np.exp(np.clip(top, -50.0, 50.0)) * possible
    bent = -pull * (np.expm1(off) - off - 0.5 * off**2)
    return RateDraws(top + off, bent.sum((-1, -2)), log_ratios(top + off, rate, possible))


def as_tables(flat: FloatArray, card: int) -> FloatArray:
    """From numbers of a member's groups, [..., move, from, u] in a row, to [..., u, from, to] with a zero diagonal."""
    table = flat.reshape(*flat.shape[:-1], card - 1, card, -1)
    out = np.zeros((*flat.shape[:-1], table.shape[-1], card, card))
    for s in range(1, card):
        for x in range(card):
            out[..., x, (x + s) % card] = table[..., s - 1, x, :]
    return out


@lru_cache(maxsize=64)
def _normal(count: int, size: int) -> FloatArray:
    """Standard normal numbers, one row a draw."""
    return np.random.default_rng(0).standard_normal((count, size))
