"""Evidence of blocks of variables on all trajectories, laid out in pieces that fit; see `block_chain`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.block_loops import Loops
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.grid import build_blocks

if TYPE_CHECKING:
    from ctbnlearn.inference.block_kernel import Batches

MOST_CELLS = {"cpu": 400_000, "gpu": 20_000_000}  # cells times trajectories of one piece
TARGET = 6.0  # gamma dt that cells are cut to: long gaps, so that the terms of one do not count for all


class Totals(NamedTuple):
    """Moments of n blocks summed over trajectories, in double precision.

    Attributes
    ----------
    log_evidence : (n, B)
        Log evidence of every trajectory, or of all together, (n, 1).
    flow : (n, k, S)
        Expected moves over their rates.
    dwell : (n, S)
    starts : (n, S)
    """

    log_evidence: FloatArray
    flow: FloatArray
    dwell: FloatArray
    starts: FloatArray


class Evidence(ABC):
    """What blocks are fitted to: sums over trajectories, wherever these are.

    Attributes
    ----------
    cards
        Number of states of every variable.
    n_trajectories
        How many there are.
    """

    cards: tuple[int, ...]
    n_trajectories: int

    @abstractmethod
    def totals(self, members: IntArray, rates: FloatArray, start: FloatArray) -> Totals:
        """Evaluate n blocks of equal shape.

        Parameters
        ----------
        members : (n, m)
            Variables of every block, with the same numbers of states in the same order.
        rates : (n, k, S)
            Rate of every move.
        start : (n, S)
            Initial distributions.
        """

    @abstractmethod
    def score_sums(self, members: IntArray, rates: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums over trajectories of products of scores, (n, k * S, k * S), and of scores, (n, k * S)."""

    @abstractmethod
    def impossible(self, members: IntArray, rates: FloatArray, start: FloatArray) -> int | None:
        """The first trajectory that cannot have happened, if there is one."""

    @abstractmethod
    def add_up(self, function: Callable[..., tuple[FloatArray, ...]], *arguments: Any) -> tuple[FloatArray, ...]:
        """Arrays of function(evidence, *arguments), added up over all parts of the data."""

    def score_products(self, members: IntArray, rates: FloatArray, start: FloatArray) -> FloatArray:
        """Sums over trajectories of products of centred scores, (n, k * S, k * S).

        A score is the gradient of a trajectory's log evidence by the logarithms of the rates. Their products stand for
        minus the Hessian of the log evidence.
        """
        both, total = self.score_sums(members, rates, start)
        return both - total[:, :, None] * total[:, None, :] / self.n_trajectories


@final
class BlockEvidence(Evidence):
    """Observations laid out for blocks of variables.

    Parameters
    ----------
    obs
        What was seen.
    exit_rate
        Typical sum of the exit rates of a block; cells are cut so that few jumps happen in each.
    device
        Where to compute, and how precisely.
    """

    def __init__(self, obs: Observations, exit_rate: float, device: Device) -> None:
        self.device = device
        self.cards = tuple(v.n_states for v in obs.variables)
        self.n_trajectories = obs.n_trajectories
        step = TARGET / max(exit_rate, 1e-12)
        pieces = build_blocks(obs, step, max_cells=MOST_CELLS[device.kind])
        self.trajectories = [piece.trajectories for piece in pieces]
        self.spans = [np.asarray(piece.dt, float)[:, : len(piece.trajectories)] for piece in pieces]
        self.log_scale = np.zeros((len(self.cards), obs.n_trajectories))
        for piece in pieces:
            self.log_scale[:, piece.trajectories] = piece.log_scale[:, : len(piece.trajectories)]
        data = [(piece.dt, piece.likelihood, len(piece.trajectories)) for piece in pieces]
        self.nbytes = self.log_scale.nbytes + sum(dt.nbytes + table.nbytes for dt, table, _ in data)
        self.chains: Loops | Batches
        if device.kind == "cpu":
            self.chains = Loops(self.cards, data, device)
            self.nbytes += sum(looks.nbytes for looks in self.chains.looks)
        else:
            from ctbnlearn.inference.block_kernel import Batches

            self.chains = Batches(self.cards, data, device)

    def totals(
        self, members: IntArray, rates: FloatArray, start: FloatArray, exits: FloatArray | None = None
    ) -> Totals:
        """Evaluate n blocks of equal shape; `exits` (n, S) are exit rates where they exceed the sums of the rates."""
        n, exits = len(start), rates.sum(1) if exits is None else exits
        out = Totals(np.zeros((n, self.n_trajectories)), np.zeros_like(rates), *np.zeros((2, *start.shape)))
        for piece, some, who, found in self.chains.sums(members, rates, exits, start):
            out.log_evidence[np.ix_(some, self.trajectories[piece][who])] = found.log_evidence
            out.flow[some] += found.flow
            out.dwell[some] += found.dwell
            out.starts[some] += found.starts
        out.flow[rates == 0] = 0.0  # of moves that cannot happen
        out.log_evidence[:] += self.log_scale[members].sum(1)
        return out

    def score_sums(self, members: IntArray, rates: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums over trajectories of products of scores, and of scores."""
        n, size = len(rates), rates[0].size
        both, total = np.zeros((n, size, size)), np.zeros((n, size))
        for some, products, sums in self.chains.scores(members, rates, start):
            both[some] += products
            total[some] += sums
        return both, total

    def impossible(self, members: IntArray, rates: FloatArray, start: FloatArray) -> int | None:
        """The first trajectory whose evidence is zero under some block."""
        bad = np.flatnonzero(~np.isfinite(self.totals(members, rates, start).log_evidence).all(0))
        return int(bad[0]) if bad.size else None

    def add_up(self, function: Callable[..., tuple[FloatArray, ...]], *arguments: Any) -> tuple[FloatArray, ...]:
        """All data are here."""
        return function(self, *arguments)
