"""The joint chain of a few variables, for many such blocks at once: log evidence, its gradient, expected statistics.

A block of m variables has S joint states. Its generator G has one rate for every move: state x, and variable j stepping
on by s states (cyclically); `rates[k, x]` is that of move k = (j, s) out of x. Over a cell of length dt,

    exp(G^T dt) v = sum_k Pois(k; gamma dt) (P^T)^k v,    P = I + G / gamma,

with gamma the largest exit rate or row sum; Horner's scheme needs one product a term. One pass back yields
D = d ln Z / d G, and with it all expected statistics: moves G_xy D_xy, dwell times D_xx. Blocks of equal shape are one
batch of products.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from ctbnlearn.arrays import IntArray
from ctbnlearn.inference.device import compiled

MOST_TERMS = 512  # of the series


class Moments(NamedTuple):
    """What one evaluation finds, for every block.

    Attributes
    ----------
    log_evidence : (n, B)
        Log evidence of every trajectory.
    flow : (n, k, S), (n, k, S, B) or (C, n, k, S, B)
        D of every move; times its rate, the expected number of moves. By trajectory or by cell if asked for.
    dwell : (n, S), (n, S, B) or (C, n, S, B)
        Expected time in every state.
    starts : (n, S)
        Expected number of trajectories that begin in each state.
    """

    log_evidence: Any
    flow: Any
    dwell: Any
    starts: Any


@lru_cache(maxsize=256)
def moves(cards: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Moves of a block: which variable (k,), by how many states (k,), and where each leads from every state (k, S)."""
    states = np.stack(np.unravel_index(np.arange(prod(cards)), cards), 1)
    who, step, to = [], [], []
    for j, card in enumerate(cards):
        for s in range(1, card):
            moved = states.copy()
            moved[:, j] = (moved[:, j] + s) % card
            who.append(j)
            step.append(s)
            to.append(np.ravel_multi_index(tuple(moved.T), cards))
    return np.array(who), np.array(step), np.array(to)


def n_terms(load: Any) -> Any:
    """Terms of the series after which less than 1e-9 is left, for gamma dt = `load`."""
    return load + 5.5 * load**0.5 + 6.0


def _evaluate(
    rates: Any,
    exits: Any,
    start: Any,
    members: Any,
    dt: Any,
    likelihood: Any,
    *,
    cards: tuple[int, ...],
    grain: str,
    most: int,
) -> Moments:
    """Evaluate n blocks on B trajectories of C cells.

    Parameters
    ----------
    rates : (n, k, S)
        Rate of every move.
    exits : (n, S)
        Exit rate of every state: the sum of its rates, or more (the chain then loses probability).
    start : (n, S)
        Initial distribution.
    members : (n, m)
        The variables of every block.
    dt : (C, B)
        Length of every cell.
    likelihood : (C + 1, N, c, B)
        p(y | x) of every variable at every grid point, c the largest number of states.
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
    terms = jnp.minimum(jnp.ceil(n_terms(load.max((1, 2)))).astype(jnp.int32), most)
    log_factorials = jnp.asarray(gammaln(np.arange(most + 1) + 1.0), rates.dtype)

    def seen(table: Any) -> Any:
        """Likelihood of the joint states, (n, S, B), from that of the variables, (N, c, B)."""
        joint = table[members[:, 0], : cards[0]]
        for j, card in enumerate(cards[1:], 1):
            joint = (joint[:, :, None] * table[members[:, j], None, :card]).reshape(n, -1, joint.shape[-1])
        return joint

    def weight(x: Any, k: Any) -> Any:
        """Poisson probabilities of k jumps, (n, 1, B)."""
        return jnp.exp(k * jnp.log(jnp.maximum(x, 1e-30)) - x - log_factorials[k])[:, None]

    def forward(v: Any, cell: Any) -> Any:
        x, table, count = cell
        y = jax.lax.fori_loop(0, count, lambda i, y: weight(x, count - 1 - i) * v + turned @ y, weight(x, count) * v)
        y = y * seen(table)
        scale = y.sum(1, keepdims=True)
        return y / scale, (v, scale)

    first = start[:, :, None] * seen(likelihood[0])
    scale0 = first.sum(1, keepdims=True)
    _, (before, scales) = jax.lax.scan(forward, first / scale0, (load, likelihood[1:], terms))
    log_evidence = jnp.log(scale0[:, 0]) + jnp.log(scales[:, :, 0]).sum(0)

    def products(y: Any, adjoint: Any) -> tuple[Any, Any]:
        if grain == "sum":
            both = jnp.einsum("nxb,nyb->nxy", y, adjoint)
            return both[:, every, to], both[:, here, here]
        return y[:, None] * adjoint[:, to], y * adjoint

    def backward(carry: Any, cell: Any) -> Any:
        beta, total = carry
        v, scale, x, table, count = cell
        adjoint = beta * seen(table) / scale
        kept = jnp.zeros((most, *v.shape), v.dtype)

        def again(i: Any, both: Any) -> Any:
            y, kept = both
            return weight(x, count - 1 - i) * v + turned @ y, kept.at[i].set(y)

        _, kept = jax.lax.fori_loop(0, count, again, (weight(x, count) * v, kept))

        def reverse(i: Any, state: Any) -> Any:
            adjoint, beta, flow, dwell = state
            more = products(kept[count - 1 - i], adjoint)
            return step @ adjoint, beta + weight(x, i) * adjoint, flow + more[0], dwell + more[1]

        begun = total if grain != "cell" else zero
        adjoint, beta, *own = jax.lax.fori_loop(0, count, reverse, (adjoint, jnp.zeros_like(adjoint), *begun))
        beta = beta + weight(x, count) * adjoint
        return (beta, tuple(own) if grain != "cell" else zero), (tuple(own) if grain == "cell" else None)

    each = () if grain == "sum" else (dt.shape[1],)
    zero = (jnp.zeros((n, len(to), size, *each), rates.dtype), jnp.zeros((n, size, *each), rates.dtype))
    carry, by_cell = jax.lax.scan(
        backward, (jnp.ones_like(first), zero), (before, scales, load, likelihood[1:], terms), reverse=True
    )
    beta, total = carry
    flow, dwell = by_cell if grain == "cell" else total
    wide = gamma.reshape((-1,) + (1,) * (1 + len(each)))
    starts = (first / scale0 * beta).sum(-1)
    return Moments(log_evidence, flow / wide[..., None], dwell / wide, starts)


evaluate = compiled(_evaluate, static_argnames=("cards", "grain", "most"))


def _score_sums(rates: Any, flow: Any, dwell: Any) -> tuple[Any, Any]:
    """Sums over trajectories of products of scores (n, k * S, k * S), and of scores; zero for moves of rate zero."""
    scores = jnp.where(rates[..., None] > 0, rates[..., None] * (flow - dwell[:, None]), 0.0)
    scores = scores.reshape(len(flow), -1, scores.shape[-1])
    return jnp.einsum("npb,nqb->npq", scores, scores), scores.sum(-1)


score_sums = compiled(_score_sums)
