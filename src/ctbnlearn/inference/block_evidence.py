"""Evidence of blocks of variables on all trajectories: the kernel of `block_kernel` fed in pieces that fit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.block_kernel import MOST_TERMS, Moments, evaluate, n_terms, score_sums
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.grid import build_blocks

ROOM = {"cpu": 4_000_000, "gpu": 1_500_000_000}  # numbers that one call may keep
MOST_CELLS = {"cpu": 400_000, "gpu": 20_000_000}  # cells times trajectories of one piece
TARGET = 3.0  # gamma dt that cells are cut to: few terms, not many more cells


class Totals(NamedTuple):
    """Moments of n blocks summed over trajectories, in double precision.

    Attributes
    ----------
    log_evidence : (n, B)
        Log evidence of every trajectory.
    flow : (n, k, S)
        Expected moves over their rates.
    dwell : (n, S)
    starts : (n, S)
    """

    log_evidence: FloatArray
    flow: FloatArray
    dwell: FloatArray
    starts: FloatArray


class BlockEvidence:
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
        self.dtype = np.dtype(device.precision)
        most = MOST_CELLS[device.kind]
        self.pieces: list[tuple[Any, Any, IntArray, float]] = []
        self.terms = (24, 64, 192, MOST_TERMS) if device.kind == "cpu" else (32, 128, MOST_TERMS)
        self._sizes: dict[Hashable, int] = {}
        self.spans: list[FloatArray] = []
        self.log_scale = np.zeros((len(self.cards), obs.n_trajectories))
        with self._context():
            for piece in build_blocks(obs, TARGET / max(exit_rate, 1e-12), max_cells=most):
                table = np.asarray(piece.likelihood, self.dtype)
                self.pieces.append(
                    (
                        jax.device_put(np.asarray(piece.dt, self.dtype), device.handle),
                        jax.device_put(table, device.handle),
                        piece.trajectories,
                        float(piece.dt.max()),
                    )
                )
                self.spans.append(np.asarray(piece.dt, float))
                self.log_scale[:, piece.trajectories] = piece.log_scale[:, : len(piece.trajectories)]

    @contextmanager
    def _context(self) -> Iterator[None]:
        with jax.enable_x64(self.dtype == np.float64), self.device.here():
            yield

    def totals(
        self, members: IntArray, rates: FloatArray, start: FloatArray, exits: FloatArray | None = None
    ) -> Totals:
        """Evaluate n blocks of equal shape.

        Parameters
        ----------
        members : (n, m)
            Variables of every block, with the same numbers of states in the same order.
        rates : (n, k, S)
            Rate of every move.
        start : (n, S)
            Initial distributions.
        exits : (n, S), optional
            Exit rates where they exceed the sums of the rates.
        """
        n, count = len(start), self.n_trajectories
        out = Totals(np.zeros((n, count)), np.zeros_like(rates), np.zeros_like(start), np.zeros_like(start))
        for some, piece, moments in self._runs(members, rates, start, "sum", exits=exits):
            count, who = len(some), self.pieces[piece][2]
            own = len(who)
            out.log_evidence[np.ix_(some, who)] = np.asarray(moments.log_evidence, float)[:count, :own]
            out.flow[some] += np.asarray(moments.flow, float)[:count]
            dwell, starts = (np.asarray(a, float)[:count] for a in (moments.dwell, moments.starts))
            out.dwell[some] += dwell
            spare = self.pieces[piece][0].shape[1] - own  # padded columns: nothing seen in no time
            out.starts[some] += starts - spare * start[some]
        out.flow[rates == 0] = 0.0  # of moves that cannot happen
        out.log_evidence[:] += self.log_scale[members].sum(1)
        return out

    def score_products(self, members: IntArray, rates: FloatArray, start: FloatArray) -> FloatArray:
        """Sums over trajectories of products of centred scores, (n, k * S, k * S).

        A score is the gradient of a trajectory's log evidence by the logarithms of the rates. Their products stand for
        minus the Hessian of the log evidence.
        """
        n, size = len(rates), rates[0].size
        both, total = np.zeros((n, size, size)), np.zeros((n, size))
        for some, _, moments in self._runs(members, rates, start, "trajectory"):
            with self._context():
                padded = np.append(some, np.full(len(moments.flow) - len(some), some[0]))
                products, sums = score_sums(rates[padded].astype(self.dtype), moments.flow, moments.dwell)
            both[some] += np.asarray(products, float)[: len(some)]
            total[some] += np.asarray(sums, float)[: len(some)]
        return both - total[:, :, None] * total[:, None, :] / self.n_trajectories

    def by_cell(self, members: IntArray, rates: FloatArray, start: FloatArray, piece: int) -> Any:
        """Moments of every cell of a piece of the trajectories: (blocks, flow, dwell) with the cells' axis first."""
        for some, _, moments in self._runs(members, rates, start, "cell", [piece]):
            yield some, np.asarray(moments.flow)[:, : len(some)], np.asarray(moments.dwell)[:, : len(some)]

    def _runs(
        self,
        members: IntArray,
        rates: FloatArray,
        start: FloatArray,
        grain: str,
        pieces: Sequence[int] = (),
        exits: FloatArray | None = None,
    ) -> Iterator[tuple[IntArray, int, Moments]]:
        """Moments of some blocks on a piece of the trajectories: (blocks, piece, moments)."""
        n, states = start.shape
        cards = tuple(self.cards[j] for j in members[0])
        exits = rates.sum(1) if exits is None else exits
        gamma = float(np.maximum(exits, rates.sum(1)).max())
        tasks: list[tuple[int, IntArray, int, int]] = []
        for p in pieces or range(len(self.pieces)):
            dt, _, _, longest = self.pieces[p]
            terms = next((t for t in self.terms if t >= n_terms(gamma * longest)), MOST_TERMS)
            kept = (terms if grain == "sum" else terms + 3 * rates.shape[1]) * states * dt.shape[1]
            size = self._batch_size((cards, grain, p), n, max(1, ROOM[self.device.kind] // kept))
            tasks += [(p, np.arange(low, min(low + size, n)), size, terms) for low in range(0, n, size)]

        def work(k: int) -> tuple[IntArray, int, Moments]:
            p, some, size, terms = tasks[k]
            padded = np.append(some, np.full(size - len(some), some[0]))
            numbers = (np.asarray(a[padded], self.dtype) for a in (rates, exits, start))
            dt, table, _, _ = self.pieces[p]
            with self._context():
                own = members[padded].astype(np.int32)
                moments = evaluate(*numbers, own, dt, table, cards=cards, grain=grain, most=terms)
                return some, p, jax.block_until_ready(moments)

        yield from self.device.each(work, len(tasks))

    def _batch_size(self, kind: Hashable, n: int, most: int) -> int:
        """Blocks in a call: few sizes, as code is compiled for each; on an accelerator, where that takes long, one."""
        steps, first = (8, 1) if self.device.kind == "cpu" else (2, 64)
        last = self._sizes.get(kind, 0)
        if first < n <= last and (self.device.kind != "cpu" or n > last // steps):
            return last
        size = first
        while size < n and size * steps <= most:
            size *= steps
        self._sizes[kind] = max(size, last)
        return size
