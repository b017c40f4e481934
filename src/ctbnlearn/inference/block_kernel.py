"""The joint chains of many blocks at once on an accelerator, as batches of matrix products; see `block_chain`.

Axes: n blocks of m variables, with S joint states and k moves out of each; N variables in all, of at most c states;
C cells, B trajectories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int
from scipy.special import gammaln

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.block_chain import MOST_TERMS, Moments, moves, n_terms
from ctbnlearn.inference.device import Device, compiled

MOST_KEPT = 1_500_000_000  # numbers that one call may keep
TERMS = (96, MOST_TERMS)  # longest series that code is compiled for
SIZES = (64, 1024)  # blocks in a call
Chains: TypeAlias = Float[Array, "n S B"]
Scales: TypeAlias = Float[Array, "n 1 B"]
Loads: TypeAlias = Float[Array, "n B"]  # gamma dt of one cell
Seen: TypeAlias = Float[Array, "N c B"]  # likelihoods at one grid point
Count: TypeAlias = Int[Array, ""]
Sums: TypeAlias = tuple[Float[Array, "n k S *each"], Float[Array, "n S *each"]]  # flow and dwell; each: B or nothing


def _evaluate(
    rates: Float[Array, "n k S"],
    exits: Float[Array, "n S"],
    start: Float[Array, "n S"],
    members: Int[Array, "n m"],
    dt: Float[Array, "C B"],
    likelihood: Float[Array, "C+1 N c B"],
    *,
    cards: tuple[int, ...],
    grain: str,
    most: int,
) -> Moments:
    """Evaluate blocks on trajectories.

    Parameters
    ----------
    rates
        Rate of every move.
    exits
        Exit rate of every state: the sum of its rates, or more (the chain then loses probability).
    start
        Initial distribution.
    members
        The variables of every block.
    dt
        Length of every cell.
    likelihood
        p(y | x) of every variable at every grid point.
    cards
        Number of states of every member.
    grain : {"sum", "trajectory", "cell"}
        Whether moments are summed over trajectories and cells, over cells, or not at all.
    most
        Terms of the longest series.
    """
    n, size = start.shape
    to = moves(cards)[2].astype(np.int32)
    here = np.arange(size, dtype=np.int32)
    every = np.broadcast_to(here, to.shape)
    gamma = jnp.maximum(jnp.maximum(exits, rates.sum(1)).max(1), 1e-20)
    generator = jnp.zeros((n, size, size), rates.dtype).at[:, every, to].add(rates).at[:, here, here].add(-exits)
    step = jnp.eye(size, dtype=rates.dtype) + generator / gamma[:, None, None]
    turned = jnp.swapaxes(step, 1, 2)
    load = gamma[:, None, None] * dt.T[None].swapaxes(1, 2)  # (n, C, B)
    load = jnp.moveaxis(load, 1, 0)
    terms = jnp.minimum(jnp.ceil(n_terms(load.max((1, 2)), len(to))).astype(jnp.int32), most)
    log_factorials = jnp.asarray(gammaln(np.arange(most + 1) + 1.0), rates.dtype)

    def seen(table: Seen) -> Chains:
        """Likelihood of the joint states from that of the variables."""
        joint = table[members[:, 0], : cards[0]]
        for j, card in enumerate(cards[1:], 1):
            joint = (joint[:, :, None] * table[members[:, j], None, :card]).reshape(n, -1, joint.shape[-1])
        return joint

    def weight(x: Loads, k: Count) -> Scales:
        """Poisson probabilities of k jumps."""
        return jnp.exp(k * jnp.log(jnp.maximum(x, 1e-30)) - x - log_factorials[k])[:, None]

    def forward(v: Chains, cell: tuple[Loads, Seen, Count]) -> tuple[Chains, tuple[Chains, Scales]]:
        x, table, count = cell
        y = jax.lax.fori_loop(0, count, lambda i, y: weight(x, count - 1 - i) * v + turned @ y, weight(x, count) * v)
        y = y * seen(table)
        scale = y.sum(1, keepdims=True)
        return y / scale, (v, scale)

    first = start[:, :, None] * seen(likelihood[0])
    scale0 = first.sum(1, keepdims=True)
    _, (before, scales) = jax.lax.scan(forward, first / scale0, (load, likelihood[1:], terms))
    log_evidence = jnp.log(scale0[:, 0]) + jnp.log(scales[:, :, 0]).sum(0)

    def products(y: Chains, adjoint: Chains) -> Sums:
        if grain == "sum":
            both = jnp.einsum("nxb,nyb->nxy", y, adjoint)
            return both[:, every, to], both[:, here, here]
        return y[:, None] * adjoint[:, to], y * adjoint

    def backward(
        carry: tuple[Chains, Sums], cell: tuple[Chains, Scales, Loads, Seen, Count]
    ) -> tuple[tuple[Chains, Sums], Sums | None]:
        beta, total = carry
        v, scale, x, table, count = cell
        adjoint = beta * seen(table) / scale
        kept = jnp.zeros((most, *v.shape), v.dtype)

        def again(
            i: Count, both: tuple[Chains, Float[Array, "terms n S B"]]
        ) -> tuple[Chains, Float[Array, "terms n S B"]]:
            y, kept = both
            return weight(x, count - 1 - i) * v + turned @ y, kept.at[i].set(y)

        _, kept = jax.lax.fori_loop(0, count, again, (weight(x, count) * v, kept))

        def reverse(i: Count, state: tuple[Chains, Chains, Sums]) -> tuple[Chains, Chains, Sums]:
            adjoint, beta, (flow, dwell) = state
            more = products(kept[count - 1 - i], adjoint)
            return step @ adjoint, beta + weight(x, i) * adjoint, (flow + more[0], dwell + more[1])

        begun = total if grain != "cell" else zero
        adjoint, beta, own = jax.lax.fori_loop(0, count, reverse, (adjoint, jnp.zeros_like(adjoint), begun))
        beta = beta + weight(x, count) * adjoint
        return (beta, own if grain != "cell" else zero), (own if grain == "cell" else None)

    each = () if grain == "sum" else (dt.shape[1],)
    zero: Sums = (
        jnp.zeros((n, len(to), size, *each), rates.dtype),
        jnp.zeros((n, size, *each), rates.dtype),
    )
    carry, by_cell = jax.lax.scan(
        backward, (jnp.ones_like(first), zero), (before, scales, load, likelihood[1:], terms), reverse=True
    )
    beta, total = carry
    flow, dwell = by_cell or total
    wide = gamma.reshape((-1,) + (1,) * (1 + len(each)))
    starts = (first / scale0 * beta).sum(-1)
    return Moments(log_evidence, flow / wide[..., None], dwell / wide, starts)


evaluate = compiled(_evaluate, static_argnames=("cards", "grain", "most"))


def _score_sums(
    rates: Float[Array, "n k S"], flow: Float[Array, "n k S B"], dwell: Float[Array, "n S B"]
) -> tuple[Float[Array, "n k*S k*S"], Float[Array, "n k*S"]]:
    """Sums over trajectories of products of scores, and of scores; zero for moves of rate zero."""
    scores = jnp.where(rates[..., None] > 0, rates[..., None] * (flow - dwell[:, None]), 0.0)
    scores = scores.reshape(len(flow), -1, scores.shape[-1])
    return jnp.einsum("npb,nqb->npq", scores, scores), scores.sum(-1)


score_sums = compiled(_score_sums)


class Batches:
    """Evaluates blocks of equal shape in batches of few sizes, as code is compiled for each.

    Parameters
    ----------
    cards
        Number of states of every variable.
    pieces
        Lengths of cells (C, B), likelihoods (C + 1, N, c, B) and number of trajectories of every piece of the data;
        further columns are padding.
    device
        Where to compute, and how precisely.
    """

    def __init__(self, cards: Sequence[int], pieces: Sequence[tuple[FloatArray, FloatArray, int]], device: Device):
        self.cards, self.device = cards, device
        self.dtype = np.dtype(device.precision)
        with self._context():
            self.pieces = [
                (*(jax.device_put(np.asarray(a, self.dtype), device.handle) for a in (dt, table)), own, float(dt.max()))
                for dt, table, own in pieces
            ]

    @contextmanager
    def _context(self) -> Iterator[None]:
        with jax.enable_x64(self.dtype == np.float64), self.device.here():
            yield

    def sums(
        self, members: IntArray, rates: FloatArray, exits: FloatArray, start: FloatArray
    ) -> Iterator[tuple[int, IntArray, slice, Moments]]:
        """Moments of some blocks summed over some trajectories of a piece: (piece, blocks, trajectories, moments)."""
        for piece, (*_, own, _) in enumerate(self.pieces):
            for some, found in self._runs(members, rates, exits, start, "sum", piece):
                evidence, flow, dwell, starts = (np.asarray(a, float)[: len(some)] for a in found)
                spare = evidence.shape[1] - own  # padded columns: nothing seen in no time
                yield piece, some, slice(0, own), Moments(evidence[:, :own], flow, dwell, starts - spare * start[some])

    def scores(
        self, members: IntArray, rates: FloatArray, start: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Sums over a piece's trajectories of products of scores, and of scores: (blocks, products, sums)."""
        for piece in range(len(self.pieces)):
            for some, found in self._runs(members, rates, rates.sum(1), start, "trajectory", piece):
                padded = np.resize(some, len(found.flow))
                with self._context():
                    products, sums = score_sums(np.asarray(rates[padded], self.dtype), found.flow, found.dwell)
                yield some, np.asarray(products, float)[: len(some)], np.asarray(sums, float)[: len(some)]

    def by_cell(
        self, members: IntArray, rates: FloatArray, start: FloatArray, piece: int
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Moments of every cell of a piece: (blocks, flow (C, n, k, S, B), dwell (C, n, S, B))."""
        own = self.pieces[piece][2]
        for some, found in self._runs(members, rates, rates.sum(1), start, "cell", piece):
            flow, dwell = (np.asarray(a)[:, : len(some), ..., :own] for a in (found.flow, found.dwell))
            yield some, flow, dwell

    def _runs(
        self, members: IntArray, rates: FloatArray, exits: FloatArray, start: FloatArray, grain: str, piece: int
    ) -> Iterator[tuple[IntArray, Moments]]:
        cards = tuple(self.cards[j] for j in members[0])
        dt, table, _, longest = self.pieces[piece]
        gamma = float(np.maximum(exits, rates.sum(1)).max())
        terms = next((t for t in TERMS if t >= n_terms(gamma * longest, rates.shape[1])), MOST_TERMS)
        kept = (terms if grain == "sum" else terms + 3 * rates.shape[1]) * start.shape[1] * dt.shape[1]
        size = SIZES[0] if len(rates) <= SIZES[0] else SIZES[1]
        while size > 1 and size * kept > MOST_KEPT:
            size //= 2
        for low in range(0, len(rates), size):
            some = np.arange(low, min(low + size, len(rates)))
            padded = np.resize(some, size)
            numbers = (np.asarray(a[padded], self.dtype) for a in (rates, exits, start))
            with self._context():
                which = members[padded].astype(np.int32)
                yield some, evaluate(*numbers, which, dt, table, cards=cards, grain=grain, most=terms)
