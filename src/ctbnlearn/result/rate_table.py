"""Posterior of a node's rates under one of its parent sets: Gamma(shape, rate), or draws where it was sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.errors import ParameterError

DRAWS = 50, 400  # draws kept of a table: at least, at most
MOST_NUMBERS = 200_000  # in the draws of one table


@dataclass(frozen=True, eq=False)
class RateTable:
    """Gamma posteriors of the rates of one node under one parent set.

    Attributes
    ----------
    parents
        The parents as node numbers; their joint states u are numbered in C order.
    shape : (U, S, S)
        Shapes [u, from, to], alpha + E[M]; zero where nothing can happen (the diagonal, impossible transitions).
    rate : (U, S)
        Rates [u, from], beta + E[T].
    prior
        Transitions that the prior counts as seen in every cell, alpha, where they are known.
    draws : (D, U, S, S) or None
        Draws from the posterior, where it was sampled. Shapes and rates then give their means, and the spread of the
        exit rates.
    transitions : float or None
        Transitions expected, where `shape` does not tell.
    """

    parents: tuple[int, ...]
    shape: FloatArray
    rate: FloatArray
    prior: float | None = None
    draws: FloatArray | None = None
    transitions: float | None = None

    @classmethod
    def from_statistics(
        cls,
        parents: Sequence[int],
        dwell: FloatArray,
        transitions: FloatArray,
        prior: tuple[float, float | FloatArray],
        possible: BoolArray,
    ) -> RateTable:
        """From dwell times (U, S), transitions (U, S, S), the prior and what can happen, (S, S).

        `prior` is the shape of all cells, and their rate, one for all or one for each state [from].
        """
        alpha, beta = prior
        possible = possible & ~np.eye(len(possible), dtype=bool)
        shape = (alpha + np.asarray(transitions, float)) * possible
        return cls(tuple(int(j) for j in parents), shape, beta + np.asarray(dwell, float), alpha)

    @classmethod
    def from_sweeps(
        cls,
        parents: Sequence[int],
        dwell: FloatArray,
        transitions: FloatArray,
        prior: tuple[FloatArray, FloatArray],
        possible: BoolArray,
        counted: float,
    ) -> RateTable:
        """From the statistics of several sweeps, (R, U, S) and (R, U, S, S): the posterior is a mixture of Gammas.

        `prior` has the shapes and rates of all cells, (R, U, S, S) each; `counted` is how many transitions it counts as
        seen in a cell.
        """
        alpha, beta = prior
        possible = possible & ~np.eye(len(possible), dtype=bool)
        a, b = alpha + transitions, beta + dwell[..., None]
        n_draws = int(np.clip(MOST_NUMBERS // transitions[0].size, *DRAWS))
        sweeps = np.arange(n_draws) * len(dwell) // n_draws if len(dwell) > n_draws else np.arange(n_draws) % len(dwell)
        draws = np.random.default_rng(0).gamma(a[sweeps]) / b[sweeps] * possible
        mean = (a / b).mean(0) * possible
        leave = mean.sum(-1)
        # variance of the exit rates: within sweeps, and between them
        spread = ((a / b**2 * possible).sum(-1)).mean(0) + ((a / b * possible).sum(-1)).var(0)
        rate = np.divide(leave, spread, out=beta.mean((0, 3)), where=leave > 0)
        seen = float((transitions * possible).sum((1, 2, 3)).mean())
        own = tuple(int(j) for j in parents)
        return cls(own, mean * rate[..., None], rate, counted, draws.astype(np.float32), seen)

    def check(self, node: int, n_states: Sequence[int], where: str) -> None:
        """Raise unless the table fits a node of a network with these numbers of states."""
        known = all(0 <= j < len(n_states) and j != node for j in self.parents)
        if not known or len(set(self.parents)) != len(self.parents):
            raise ParameterError(f"{where}: the parents {self.parents} are not other nodes, each once")
        s, u = n_states[node], int(np.prod([n_states[j] for j in self.parents], dtype=int))
        if self.shape.shape != (u, s, s) or self.rate.shape != (u, s):
            raise ParameterError(
                f"{where}: shape and rate must be ({u}, {s}, {s}) and ({u}, {s}), not {self.shape.shape} and "
                f"{self.rate.shape}"
            )
        if self.draws is not None and (self.draws.shape[1:] != (u, s, s) or not len(self.draws)):
            raise ParameterError(f"{where}: draws must be (draws, {u}, {s}, {s}), one or more, not {self.draws.shape}")
        finite = np.isfinite(self.shape).all() and np.isfinite(self.rate).all()
        if not finite or (self.shape < 0).any() or not (self.rate > 0).all():
            raise ParameterError(f"{where}: shapes must be finite and not negative, rates finite and positive")
        if np.diagonal(self.shape, axis1=1, axis2=2).any():
            raise ParameterError(f"{where}: the diagonal of the shapes must be zero, a state does not jump to itself")

    @property
    def possible(self) -> BoolArray:
        """Which transitions can happen, (U, S, S)."""
        return self.shape > 0

    @property
    def mean(self) -> FloatArray:
        """Posterior mean rates (U, S, S)."""
        return self.shape / self.rate[..., None]

    def quantile(self, probability: float) -> FloatArray:
        """Posterior quantiles of the rates (U, S, S), zero where nothing can happen."""
        if self.draws is not None:
            return np.quantile(self.draws.astype(float), probability, axis=0) * self.possible
        safe = np.where(self.possible, self.shape, 1.0)
        return gammaincinv(safe, probability) / self.rate[..., None] * self.possible

    @property
    def expected_transitions(self) -> float:
        """Transitions seen or expected, summed; NaN where the prior is not known."""
        if self.transitions is not None:
            return self.transitions
        if self.prior is None:
            return float("nan")
        return float((self.shape - self.prior * self.possible).sum())
