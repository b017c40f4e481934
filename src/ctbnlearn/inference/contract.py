"""What learning asks of path inference: expected statistics of all trajectories under given path rates.

To add an engine, derive from `PathInference` in a file of its own; learning knows of nothing else. Path rates are
averages over what is believed: off-diagonals R~ (geometric) and exit rates e, the sums of R (arithmetic).
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.model.ctbn import CTBN


@dataclass(frozen=True, eq=False)
class PathRates:
    """Path rates of every node on the joint states of its active parents.

    Attributes
    ----------
    cards
        Number of states of every node.
    parents
        Active parents of every node.
    geometric, arithmetic
        Per node R~ and R, each (U, S, S) with joint parent states in C order; diagonals are ignored.
    initial
        Per node, the initial distribution (S,).
    """

    cards: Sequence[int]
    parents: Sequence[tuple[int, ...]]
    geometric: Sequence[FloatArray]
    arithmetic: Sequence[FloatArray]
    initial: Sequence[FloatArray]

    @classmethod
    def of_network(cls, network: CTBN) -> PathRates:
        """The rates of a known network: both means are the rates themselves."""
        initial = network.initial.marginals(network.variables)
        return cls(network.n_states, network.parents, network.cims, network.cims, initial)

    @property
    def sizes(self) -> list[int]:
        """Per node, the number of joint states of its active parents."""
        return [int(np.prod([self.cards[j] for j in ps], dtype=int)) for ps in self.parents]


class Effort(NamedTuple):
    """When an iterative update of the paths ends: no trajectory gains more than `tol` nats, or `max_sweeps`."""

    tol: float
    max_sweeps: int


@dataclass(frozen=True, eq=False)
class PathPosterior:
    """Path posteriors of all trajectories after an update: for which rates, by which effort.

    `states` is what the engine keeps, block by block of trajectories, to go on from; None where it is recomputed.
    """

    rates: PathRates
    effort: Effort
    states: tuple[Any, ...] = ()


class Expectation(NamedTuple):
    """What an E-step found.

    Attributes
    ----------
    values : (n_trajectories,)
        F of every trajectory: its log evidence, or what approximates it.
    statistics
        Expected statistics, per node on the joint states of its active parents.
    paths
        The path posteriors they come from.
    """

    values: FloatArray
    statistics: Statistics
    paths: PathPosterior


class PathInference(abc.ABC):
    """Infers the paths of all trajectories of one set of observations; the state of a fit is handed in and out."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Describe briefly how paths are inferred."""

    @abc.abstractmethod
    def expect(self, rates: PathRates, effort: Effort, start: PathPosterior | None = None) -> Expectation:
        """The E-step under given rates, from paths known before if any."""

    @abc.abstractmethod
    def marginals_of(self, paths: PathPosterior) -> FloatArray:
        """State probabilities at the times the engine was asked to look at, (n_trajectories, n_times, N, S)."""

    @abc.abstractmethod
    def see(self, obs: Observations) -> None:
        """From now on take the same values as seen through other observation models."""

    @abc.abstractmethod
    def arrays(self, paths: PathPosterior) -> dict[str, NDArray[Any]]:
        """The numbers of path posteriors by name, for a checkpoint."""

    @abc.abstractmethod
    def restore(self, arrays: Mapping[str, NDArray[Any]], rates: PathRates, effort: Effort) -> PathPosterior:
        """The path posteriors whose numbers `arrays` gave."""
