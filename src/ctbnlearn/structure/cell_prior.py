"""Gamma priors of the cells of a node, with a strength that all cells of a parent set share.

Under a parent set every parent state u starts from an imaginary stay in x that shows the node's mean rates mu(x, x'):
r(x, x' | u) ~ Gamma(beta(x) mu(x, x'), beta(x)), beta(x) = a / (mean of mu(x, .) over its targets), so that a is the
number of imaginary transitions per target. One strength a holds for all cells of the set and is summed out over a grid:

    s(m) = ln sum_a p(a) exp s(m | a),   p(a) proportional to 1 / a,   s(m | a) the score of `ctbnlearn.structure.score`

1 / a^(1/2) is the relative spread of the rates under different parent states. Where it is small, a fixed weak prior
makes every nearly empty cell pay for a freedom it does not use, and sets of many parents never win.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import NumberArray
from ctbnlearn.streams import compiled

Floats = NDArray[np.float64]
STRENGTHS = tuple(2.0**k for k in range(-1, 6))
LISTED = 64  # transitions of a cell up to which log Gamma functions are looked up


@dataclass(frozen=True, eq=False)
class CellPrior:
    """Priors of the cells of a node, one for each strength.

    Attributes
    ----------
    shape : (A, S, S)
        Shapes [x, x'], zero where nothing can happen.
    rate : (A, S)
        Rates: imaginary time in x.
    log_weight : (A,)
        Log prior probabilities of the strengths.
    listed : (S, S, L, A)
        ln Gamma(shape + m) - ln Gamma(shape) for whole m below L.
    """

    shape: Floats
    rate: Floats
    log_weight: Floats
    listed: Floats

    @classmethod
    def shared(cls, mean: Floats, possible: NDArray[np.bool_]) -> CellPrior:
        """A strength for all cells, drawn to mean rates (S, S), positive wherever `possible`."""
        grid = np.asarray(STRENGTHS)
        keep = possible & ~np.eye(len(mean), dtype=bool)
        rate = grid[:, None] / typical_rates(mean, possible)
        centre = np.where(keep, mean, 0.0)
        return cls._of(rate[..., None] * centre, rate, -np.log(grid) - np.logaddexp.reduce(-np.log(grid)))

    @classmethod
    def fixed(cls, shape: float, rate: Floats, possible: NDArray[np.bool_]) -> CellPrior:
        """Gamma(shape, rate (S,)) for the cells of every state."""
        keep = possible & ~np.eye(len(possible), dtype=bool)
        return cls._of(np.where(keep, float(shape), 0.0)[None], np.asarray(rate, float)[None], np.zeros(1))

    @classmethod
    def _of(cls, shape: Floats, rate: Floats, log_weight: Floats) -> CellPrior:
        return cls(shape, rate, log_weight, _rising_factorials(shape))

    def given_strength(self, dwell: NumberArray, transitions: NumberArray, tick: float = 1.0) -> Floats:
        """Log evidence and log prior of each strength, (A,).

        Parameters
        ----------
        dwell : (C, K)
            Time in units of `tick`. Rows are joint states of the node and some parents, the node's own varying most
            slowly; columns states of one more parent.
        transitions : (C, K, S)
            Moves to every state.
        tick
            Unit of time.
        """
        return add_evidence(dwell, transitions, self.shape, self.rate, self.listed, tick, self.log_weight.copy())

    def score(self, dwell: NumberArray, transitions: NumberArray, tick: float = 1.0) -> float:
        """Log evidence, with the strength summed out; parameters as in `given_strength`."""
        return float(np.logaddexp.reduce(self.given_strength(dwell, transitions, tick)))

    def best(self, dwell: Floats, transitions: Floats) -> tuple[Floats, Floats]:
        """Shape (S, S) and rate (S,) at the most probable strength, given dwell (U, S) and transitions (U, S, S)."""
        k = int(np.argmax(self.given_strength(*as_cells(dwell, transitions))))
        return self.shape[k], self.rate[k]


def as_cells(dwell: NumberArray, transitions: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Tables (U, S) and (U, S, S) in the form of `CellPrior.given_strength`."""
    return dwell.T.reshape(-1, 1), np.ascontiguousarray(transitions.swapaxes(0, 1)).reshape(-1, 1, dwell.shape[-1])


def mean_rates(dwell: NumberArray, transitions: NumberArray) -> Floats:
    """Mean rates (S, S) of a node from its totals (S,) and (S, S), each with one more move.

    The time of that move is what moves out of the state take on average. Where there was none, it is what those of the
    node take: short stays in a rare state must not be drawn to the long ones elsewhere.
    """
    targets = max(len(dwell) - 1, 1)
    moves, time = transitions.sum(1), float(dwell.sum())
    usual = targets * time / max(float(moves.sum()), 1.0) if time > 0 else 1.0  # per target
    lacking = np.maximum(1.0 - moves, 0.0)
    extra = np.maximum((targets * dwell + lacking * usual) / (moves + lacking), 1e-9 * usual)
    out: Floats = (transitions + 1.0) / (dwell + extra)[:, None]
    return out


def typical_rates(mean: Floats, possible: NDArray[np.bool_] | None = None) -> Floats:
    """Mean rates (S, S) averaged over the states that can be reached, by default all, (S,); one where there are none.

    >>> typical_rates(np.array([[0, 1.0, 3.0], [5.0, 0, 7.0], [0, 0, 0]])).tolist()
    [2.0, 6.0, 0.0]
    """
    keep = ~np.eye(len(mean), dtype=bool) if possible is None else possible & ~np.eye(len(mean), dtype=bool)
    reached = keep.sum(1)
    out: Floats = np.where(reached > 0, np.where(keep, mean, 0.0).sum(1) / np.maximum(reached, 1), 1.0)
    return out


@compiled
def _rising_factorials(shape: Floats) -> Floats:
    """Logs of shape (shape + 1) ... (shape + m - 1), (S, S, m, A); zero where nothing can happen."""
    n_strengths, own = shape.shape[:2]
    out = np.zeros((own, own, LISTED, n_strengths))
    for x in range(own):
        for y in range(own):
            for a in range(n_strengths):
                if shape[a, x, y] > 0.0:
                    for m in range(1, LISTED):
                        out[x, y, m, a] = out[x, y, m - 1, a] + log(shape[a, x, y] + m - 1.0)
    return out


@compiled
def add_evidence(
    dwell: NumberArray,
    transitions: NumberArray,
    shape: Floats,
    rate: Floats,
    listed: Floats,
    tick: float,
    out: Floats,
) -> Floats:
    """Add the closed-form score of all cells to `out` (A,), for every strength; parameters as in `CellPrior`."""
    n_strengths, own = rate.shape
    sums = shape.sum(2)
    each = dwell.shape[0] // own
    for c in range(dwell.shape[0]):
        x = c // each
        for k in range(dwell.shape[1]):
            time = dwell[c, k] * tick
            moves = 0.0
            for y in range(own):
                count = float(transitions[c, k, y])
                if count == 0.0 or shape[0, x, y] == 0.0:
                    continue
                moves += count
                whole = int(count)
                if whole == count and whole < LISTED:
                    for a in range(n_strengths):
                        out[a] += listed[x, y, whole, a]
                else:
                    for a in range(n_strengths):
                        out[a] += lgamma(shape[a, x, y] + count) - lgamma(shape[a, x, y])
            if time == 0.0 and moves == 0.0:
                continue
            for a in range(n_strengths):
                out[a] -= moves * log(rate[a, x]) + (sums[a, x] + moves) * log(1.0 + time / rate[a, x])
    return out
