"""Posterior of a node's rates under one of its parent sets: q(r(x, x' | u)) = Gamma(shape, rate)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.errors import ParameterError


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
        (alpha, beta) of every cell, where known.
    """

    parents: tuple[int, ...]
    shape: FloatArray
    rate: FloatArray
    prior: tuple[float, float] | None = None

    @classmethod
    def from_statistics(
        cls,
        parents: Sequence[int],
        dwell: FloatArray,
        transitions: FloatArray,
        prior: tuple[float, float],
        possible: BoolArray,
    ) -> RateTable:
        """From dwell times (U, S), transitions (U, S, S), the prior of a cell and what can happen, (S, S)."""
        alpha, beta = float(prior[0]), float(prior[1])
        possible = possible & ~np.eye(len(possible), dtype=bool)
        shape = (alpha + np.asarray(transitions, float)) * possible
        return cls(tuple(int(j) for j in parents), shape, beta + np.asarray(dwell, float), (alpha, beta))

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
        safe = np.where(self.possible, self.shape, 1.0)
        return gammaincinv(safe, probability) / self.rate[..., None] * self.possible

    @property
    def expected_transitions(self) -> float:
        """Transitions seen or expected, summed; NaN where the prior is not known."""
        if self.prior is None:
            return float("nan")
        return float((self.shape - self.prior[0] * self.possible).sum())
