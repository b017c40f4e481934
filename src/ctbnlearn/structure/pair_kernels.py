"""Moments and scores of all sets of up to two parents, for a batch of nodes at once (jax).

Columns are the states of all variables but each one's first, variables of one size side by side. With w the weight of
a row (time in state x, or transitions x -> y, of node i), (Z w)' Z holds the pair tables of every two columns; first
states follow by differences. Products may run in single precision; sums of them and all scores are double.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ctbnlearn.inference.variational import Tables, parent_states

Array = Any
SHIFT = 7  # lnGamma by Stirling's series at a + SHIFT


def log_gamma(a: Array) -> Array:
    """Logarithm of Gamma for a > 0, by Stirling's series after a shift; two logarithms a value.

    Relative error some 1e-14 in double precision, up to a = 1e40.
    """
    product = a
    for k in range(1, SHIFT):
        product = product * (a + k)
    z = a + SHIFT
    inverse = 1 / z
    square = inverse * inverse
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188))))
    return (z - 0.5) * jnp.log(z) - z + 0.5 * np.log(2 * np.pi) + inverse * series - jnp.log(product)


def cell_score(counts: Array, time: Array, shape: Array, rate: Array) -> Array:
    """One cell's share of the score: see `structure.score`."""
    a = shape + counts
    return log_gamma(a) - log_gamma(shape) + shape * jnp.log(rate) - a * jnp.log(rate + time)


class Weighted(NamedTuple):
    """Row weights of a batch of nodes, and what their active parents look like at their transitions.

    Attributes
    ----------
    rows : (n, W, R)
        Time in every state but the first, then transitions (from, to) without the diagonal.
    tilted : (n, T, P, R)
        Weighted columns of the active parents at each of the T transitions.
    columns : (n, P)
        Which columns those are; a number beyond all columns for none.
    joint : (n, T, P, P)
        Moments of two active parents.
    """

    rows: Array
    tilted: Array
    columns: Array
    joint: Array


@partial(jax.jit, static_argnames=("card",))
def weigh(
    q: Array, dt: Array, transitions: Array, nodes: Array, tables: Tables, place: Array, *, card: int
) -> Weighted:
    """Row weights of nodes with `card` states.

    Parameters
    ----------
    q : (N, S, R)
        Marginals of all nodes.
    dt : (R,)
        Length of the rows.
    transitions : (n, S, S, R)
        Expected transitions of the batch.
    nodes : (n,)
        Which nodes these are.
    tables
        Path rates of the batch; parents stay numbers among all nodes.
    place : (N + 1, S)
        Column of every state of every variable; beyond all columns where it has none.
    card
        Number of states of the nodes.
    """
    n, tall = tables.geometric.shape[:2]
    moves = np.nonzero(~np.eye(card, dtype=bool))
    jumps = transitions[:, moves[0], moves[1]]
    rows = jnp.concatenate([q[nodes, 1:card] * dt, jumps], axis=1)
    u = parent_states(q[..., None], tables)[..., 0]  # (n, U, R)
    rate = jnp.swapaxes(tables.geometric[:, :, moves[0], moves[1]], 1, 2)  # (n, T, U)
    total = jnp.matmul(rate, u)
    scale = jnp.where(total > 0, jumps / jnp.where(total > 0, total, 1.0), 0.0)
    hot = jnp.moveaxis(tables.select[..., 1:], 0, 2).reshape(n, tall, -1)  # (n, U, P (S - 1))
    weighted = rate[:, :, None] * jnp.swapaxes(hot, 1, 2)[:, None]  # (n, T, P, U)
    tilted = jnp.einsum("ntpu,nur->ntpr", weighted, u) * scale[:, :, None]
    mass = jnp.einsum("nur,ntr->ntu", u, scale) * rate
    joint = jnp.einsum("nup,ntu,nuo->ntpo", hot, mass, hot)
    return Weighted(rows, tilted, place[tables.parents][:, :, 1:].reshape(n, -1), joint)


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST).astype(float)


@jax.jit
def single_moments(z: Array, weighted: Weighted) -> tuple[Array, Array]:
    """Weight of every column (n, W, F), and of all rows together (n, W); `z` (F, R) are the columns."""
    rows, n_jumps = weighted.rows.astype(float), weighted.tilted.shape[1]
    single = _product(rows, z.astype(float).T)
    n = jnp.arange(len(rows))[:, None, None]
    jump = rows.shape[1] - n_jumps + jnp.arange(n_jumps)[:, None]
    at = jnp.sum(weighted.tilted.astype(float), -1)
    return single.at[n, jump, weighted.columns[:, None]].set(at, mode="drop"), jnp.sum(rows, axis=-1)


@jax.jit
def pair_moments(za: Array, zb: Array, weighted: Weighted, first_a: Array, first_b: Array) -> Array:
    """Moments (n, W, Fa, Fb) of two blocks of columns, (Fa, R) and (Fb, R), which begin at `first_a` and `first_b`."""
    n, wide, n_rows = weighted.rows.shape
    n_jumps, kind = weighted.tilted.shape[1], za.dtype
    rows, tilted = weighted.rows.astype(kind), weighted.tilted.astype(kind)
    base = _product((rows[:, :, None] * za).reshape(-1, n_rows), zb.T).reshape(n, wide, len(za), len(zb))
    # columns of active parents, replaced: those in neither block point beyond it and are dropped
    in_a, in_b = (
        jnp.where((weighted.columns >= first) & (weighted.columns < first + size), weighted.columns - first, size)
        for first, size in ((first_a, len(za)), (first_b, len(zb)))
    )
    batch = jnp.arange(n)[:, None, None]
    jump = wide - n_jumps + jnp.arange(n_jumps)[:, None]
    base = base.at[batch, jump, in_a[:, None]].set(_product(tilted, zb.T), mode="drop")
    across = jnp.swapaxes(base, 2, 3).at[batch, jump, in_b[:, None]].set(_product(tilted, za.T), mode="drop")
    both = batch[..., None], jump[..., None], in_b[:, None, :, None], in_a[:, None, None]
    return jnp.swapaxes(across.at[both].set(weighted.joint.astype(float), mode="drop"), 2, 3)


def _with_first(others: Array, total: Array, axis: int) -> Array:
    """Put the first state before the others along an axis: what they leave of the total."""
    first = jnp.expand_dims(total, axis) - jnp.sum(others, axis=axis, keepdims=True)
    return jnp.concatenate([first, others], axis=axis)


def _tables(moments: Array, everyone: Array, card: int) -> tuple[Array, Array]:
    """Time in each state (n, S, ...) and transitions (n, T, ...) from moments (n, W, ...), clipped at zero."""
    time = _with_first(moments[:, : card - 1], everyone, 1)
    # laid out before use: fused into the scores, the differences would be taken anew in every cell
    return jax.lax.optimization_barrier((jnp.maximum(time, 0.0), jnp.maximum(moments[:, card - 1 :], 0.0)))


def _sum_cells(moments: Array, everyone: Array, prior: tuple[Array, Array], possible: Array, card: int) -> Array:
    """Score from moments (n, W, ...) by adding up the cells of all transitions."""
    time, counts = _tables(moments, everyone, card)
    shape, rate = (p.reshape(-1, *[1] * (moments.ndim - 2)) for p in prior)
    out = jnp.zeros((len(moments), *moments.shape[2:]), moments.dtype)
    for k, x in enumerate(np.nonzero(~np.eye(card, dtype=bool))[0]):
        allowed = possible[:, k].reshape(shape.shape)
        out = out + jnp.where(allowed, cell_score(counts[:, k], time[:, x], shape, rate), 0.0)
    return out


@partial(jax.jit, static_argnames=("card", "sa", "sb"))
def pair_scores(
    pair: Array,
    single_a: Array,
    single_b: Array,
    total: Array,
    everyone: tuple[Array, Array, Array, Array],
    prior: tuple[Array, Array],
    possible: Array,
    *,
    card: int,
    sa: int,
    sb: int,
) -> Array:
    """Scores (n, va, vb) of all pairs of one variable of block a (sa states each) and one of block b.

    Parameters
    ----------
    pair, single_a, single_b, total
        Moments of the batch: (n, W, Fa, Fb), (n, W, Fa), (n, W, Fb), (n, W).
    everyone
        The same four, weighted with the length of the rows: what the states of a node add up to.
    prior
        Shape and rate (n,) of the cells.
    possible : (n, T)
        Transitions that can happen.
    card, sa, sb
        States of the nodes, and of the variables of either block.
    """

    def full(pair: Array, single_a: Array, single_b: Array, total: Array) -> Array:
        """All states, in front of the variables: (..., sa, sb, va, vb)."""
        lead = pair.shape[:-2]
        pair = pair.reshape(*lead, -1, sa - 1, single_b.shape[-1] // (sb - 1), sb - 1)
        pair = jnp.moveaxis(pair, (-3, -1), (-4, -3))
        a = jnp.moveaxis(single_a.reshape(*lead, -1, sa - 1), -1, -2)[..., None]
        b = jnp.moveaxis(single_b.reshape(*lead, -1, sb - 1), -1, -2)
        some = _with_first(pair, jnp.broadcast_to(a, (*pair.shape[:-3], *pair.shape[-2:])), -3)
        b = _with_first(b, jnp.broadcast_to(total[..., None], (*lead, b.shape[-1])), -2)
        return _with_first(some, jnp.broadcast_to(b[..., None, :], some.shape[:-4] + some.shape[-3:]), -4)

    cells = _sum_cells(full(pair, single_a, single_b, total), full(*everyone), prior, possible, card)
    return jnp.sum(cells, axis=(1, 2))


@partial(jax.jit, static_argnames=("card", "states"))
def single_scores(
    single: Array,
    total: Array,
    everyone: tuple[Array, Array],
    prior: tuple[Array, Array],
    possible: Array,
    *,
    card: int,
    states: int,
) -> Array:
    """Scores (n, v) of sets of one variable with `states` states each, from moments (n, W, F)."""

    def full(single: Array, total: Array) -> Array:
        single = single.reshape(*single.shape[:-1], -1, states - 1)
        return _with_first(single, jnp.broadcast_to(total[..., None], single.shape[:-1]), -1)

    return jnp.sum(_sum_cells(full(single, total), full(*everyone), prior, possible, card), axis=-1)


@partial(jax.jit, static_argnames=("card",))
def empty_scores(total: Array, everyone: Array, prior: tuple[Array, Array], possible: Array, *, card: int) -> Array:
    """Scores (n,) of the empty set."""
    return _sum_cells(total, everyone, prior, possible, card)


class SetPrior(NamedTuple):
    """Log prior of the sets of a batch: by size (n, 3), plus odds (n, V) of each member; -inf where not allowed.

    A set is admitted if it holds all required variables: `need` (n, V).
    """

    by_size: Array
    odds: Array
    need: Array


class PairPosterior(NamedTuple):
    """Posterior of a batch: log evidence (n,), edges and log weight of the best set with each variable (n, V).

    Also the heaviest sets (n, k, 2), V for none, and their weights (n, k).
    """

    log_evidence: Array
    edges: Array
    reach: Array
    members: Array
    weights: Array


@partial(jax.jit, static_argnames=("keep",))
def pair_posterior(empty: Array, single: Array, pair: Array, prior: SetPrior, *, keep: int) -> PairPosterior:
    """Weigh all sets; of `pair` (n, V, V) the part above the diagonal counts. Keeps the `keep` heaviest sets."""
    n, v = single.shape
    required = jnp.sum(prior.need, axis=1)
    none = jnp.where(required == 0, empty + prior.by_size[:, 0], -jnp.inf)
    one = single + prior.by_size[:, 1:2] + prior.odds
    one = jnp.where(prior.need == required[:, None], one, -jnp.inf)
    two = pair + prior.by_size[:, 2][:, None, None] + prior.odds[:, :, None] + prior.odds[:, None]
    held = prior.need[:, :, None].astype(int) + prior.need[:, None]
    above = jnp.arange(v)[:, None] < jnp.arange(v)
    two = jnp.where(above & (held == required[:, None, None]), two, -jnp.inf)
    top = jnp.maximum(jnp.maximum(none, one.max(1)), two.max((1, 2)))
    share_none, share_one, share_two = (jnp.exp(x - top.reshape(-1, *[1] * (x.ndim - 1))) for x in (none, one, two))
    mass = share_none + share_one.sum(1) + share_two.sum((1, 2))
    edges = (share_one + share_two.sum(1) + share_two.sum(2)) / mass[:, None]
    # the heaviest pairs lie in the rows with the largest maxima
    rows = min(keep, v)
    _, best = jax.lax.top_k(two.max(2), rows)
    inside = jnp.take_along_axis(two, best[:, :, None], axis=1).reshape(n, -1)
    listed = jnp.concatenate([none[:, None], one, inside], axis=1)
    first = jnp.concatenate([jnp.full((n, 1), v), jnp.tile(jnp.arange(v), (n, 1)), jnp.repeat(best, v, axis=1)], axis=1)
    second = jnp.concatenate([jnp.full((n, 1 + v), v), jnp.tile(jnp.arange(v), (n, rows))], axis=1)
    value, chosen = jax.lax.top_k(listed, min(keep, listed.shape[1]))
    members = jnp.stack([jnp.take_along_axis(m, chosen, axis=1) for m in (first, second)], axis=-1)
    reach = jnp.maximum(one, jnp.maximum(two.max(1), two.max(2)))
    return PairPosterior(top + jnp.log(mass), edges, reach, members, jnp.exp(value - top[:, None]) / mass[:, None])
