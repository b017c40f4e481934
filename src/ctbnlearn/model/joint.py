"""Amalgamation: a CTBN as one Markov chain on the joint states of its variables.

Joint states are numbered in C order (the last variable varies fastest). The generator is kept by its
structure: from a joint state only one variable moves at a time, so each state has sum_i (S_i - 1)
neighbours, and only a sparse matrix with as many entries per row is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ModelError
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.initial import InitialDistribution

MAX_STATES = 1 << 22


@dataclass(frozen=True, eq=False)
class Generator:
    """Generator on the joint states that agree with some variables held fixed.

    Attributes
    ----------
    states : (n,)
        Joint state numbers, increasing.
    matrix : sparse (n, n)
        Rates between them; the diagonal also holds the exits of the fixed variables.
    rate
        The largest exit rate.
    moves
        Per move out of a state: node, target state of every row (n,), and the row it leads to (n,).
    """

    states: IntArray
    matrix: sparse.csr_matrix
    rate: float
    moves: tuple[tuple[int, IntArray, IntArray], ...]

    @cached_property
    def uniformised(self) -> sparse.csr_matrix:
        """P = I + matrix / rate."""
        return (sparse.identity(len(self.states), format="csr") + self.matrix / self.rate).tocsr()

    @cached_property
    def uniformised_transposed(self) -> sparse.csr_matrix:
        """P transposed, by rows."""
        return self.uniformised.T.tocsr()


class Chain(Protocol):
    """What is used of a CTBN; rows of the matrices may sum to less than zero, so that probability is lost."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables."""

    @property
    def n_states(self) -> tuple[int, ...]:
        """Number of states of every variable."""

    @property
    def parents(self) -> Sequence[tuple[int, ...]]:
        """Parents of every variable, by number."""

    @property
    def cims(self) -> Sequence[FloatArray]:
        """Per variable its intensity matrices (U, S, S), joint states of the parents in C order."""

    @property
    def initial(self) -> InitialDistribution:
        """Distribution at the start."""


class JointSpace:
    """Joint states of a network, with the digits and parent states of every one of them."""

    def __init__(self, network: Chain) -> None:
        size = float(np.prod([float(c) for c in network.n_states]))
        if size > MAX_STATES:
            raise ModelError(
                f"exact inference needs all joint states at once: {len(network.variables)} variables have {size:.3g}, "
                f"the limit is {MAX_STATES}; use fewer variables"
            )
        self.network = network
        self.cards = network.n_states
        self.n = int(size)
        self.strides = [int(np.prod(self.cards[i + 1 :], dtype=int)) for i in range(len(self.cards))]
        self._cache: dict[tuple[tuple[int, int], ...], Generator] = {}

    def digit(self, i: int, states: IntArray | None = None) -> IntArray:
        """State of variable i in the given joint states (all by default)."""
        states = np.arange(self.n) if states is None else states
        return states // self.strides[i] % self.cards[i]

    def configuration(self, nodes: Sequence[int], states: IntArray | None = None) -> IntArray:
        """Number of the joint state of `nodes`, in C order."""
        states = np.arange(self.n) if states is None else states
        row = np.zeros(len(states), np.int64)
        for j in nodes:
            row = row * self.cards[j] + self.digit(j, states)
        return row

    def initial(self) -> FloatArray:
        """Initial probability of every joint state."""
        digits = {i: self.digit(i) for i in range(len(self.cards))}
        return self.network.initial.probability(digits, self.cards, range(len(self.cards)))

    def marginal(self, i: int, weights: FloatArray) -> FloatArray:
        """Sum weights (n, ...) over joint states to those of variable i: (S_i, ...)."""
        shape = (-1, self.cards[i], self.strides[i], *weights.shape[1:])
        return weights.reshape(shape).sum(axis=(0, 2))

    def generator(self, fixed: Mapping[int, int] | None = None) -> Generator:
        """Generator with some variables held in a state: they neither move nor may they leave unpunished."""
        fixed = fixed or {}
        key = tuple(sorted(fixed.items()))
        if key not in self._cache:
            self._cache[key] = self._build(fixed)
        return self._cache[key]

    def _build(self, fixed: Mapping[int, int]) -> Generator:
        states = np.zeros(1, np.int64)
        for i, card in enumerate(self.cards):
            digits = np.array([fixed[i]]) if i in fixed else np.arange(card)
            states = (states[:, None] + digits * self.strides[i]).reshape(-1)
        free = [i for i in range(len(self.cards)) if i not in fixed]
        inner = {}  # stride of every free variable among the states kept
        step = 1
        for i in reversed(free):
            inner[i] = step
            step *= self.cards[i]
        here = np.arange(len(states))
        leaving = np.zeros(len(states))
        moves, columns, rates = [], [], []
        for i, card in enumerate(self.cards):
            own, parents = self.digit(i, states), self.configuration(self.network.parents[i], states)
            cim = self.network.cims[i]
            leaving -= cim[parents, own, own]
            if i in fixed:
                continue
            for shift in range(1, card):
                target = (own + shift) % card
                to = here + (target - own) * inner[i]
                moves.append((i, target, to))
                columns.append(to)
                rates.append(cim[parents, own, target])
        columns.append(here)
        rates.append(-leaving)
        indptr = np.arange(len(states) + 1) * len(columns)
        matrix = sparse.csr_matrix(
            (np.stack(rates, 1).reshape(-1), np.stack(columns, 1).reshape(-1), indptr), shape=(len(states),) * 2
        )
        matrix.sort_indices()
        return Generator(states, matrix, float(leaving.max()), tuple(moves))


def amalgamate(network: CTBN) -> sparse.csr_matrix:
    """Sparse generator (n, n) of the joint chain, states in C order of the variables.

    Parameters
    ----------
    network
        The network; n is the product of the numbers of states.

    Examples
    --------
    >>> from ctbnlearn.model.random_network import random_network
    >>> amalgamate(random_network(3, rng=0)).shape
    (8, 8)
    """
    return JointSpace(network).generator().matrix
