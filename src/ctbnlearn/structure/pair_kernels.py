"""Moments and scores of all sets of up to two parents, for a batch of nodes at once (jax).

Columns are the states of all variables but each one's first, variables of one size side by side. With w the weight of
a row (time in state x, or transitions x -> y, of node i), (Z w)' Z holds the pair tables of every two columns; first
states follow by differences. Products may run in single precision; sums of them and all scores are double.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ctbnlearn.inference.device import compiled
from ctbnlearn.inference.variational import Tables, parent_states

Array = Any
HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


def log_gamma(a: Array) -> Array:
    """Logarithm of Gamma for a > 0, by Stirling's series after a shift; two logarithms a value.

    Relative error some 1e-14 in double precision up to a = 1e40, 1e-7 in single precision up to a = 1e12.
    """
    shift, series = _stirling(a)
    z = a + shift
    product = a
    for k in range(1, shift):
        product = product * (a + k)
    return (z - 0.5) * jnp.log(z) - z + HALF_LOG_TAU + series - jnp.log(product)


def _stirling(a: Array) -> tuple[int, Array]:
    """By how much to shift, and what the series adds at a + shift."""
    shift = 7 if a.dtype == jnp.float64 else 3
    inverse = 1 / (a + shift)
    square = inverse * inverse
    terms = 1 / 1260 if shift == 3 else 1 / 1260 - square * (1 / 1680 - square * (1 / 1188 - square * (691 / 360360)))
    return shift, inverse * (1 / 12 - square * (1 / 360 - square * terms))


def cell_term(counts: Array, time: Array, shape: Array, rate: Array, usual: Array) -> Array:
    """The part of a cell's score that stays small: scores are taken relative to the empty set.

    With a = shape + M, b = rate + T, z = a + shift and `usual` the rate x -> y whatever the parents do, r0,

        lnGamma(a) - a ln b = z ln(z / (b r0)) + ln[b^shift / (sqrt(z) a (a + 1) ...)] + series
                              + z (ln r0 - 1) + ln sqrt(2 pi);

    the last line adds up over the cells of a set to what `cell_constant` gives.
    """
    a, b = shape + counts, rate + time
    shift, series = _stirling(a)
    z = a + shift
    above, below = b, a
    for k in range(1, shift):
        above, below = above * b, below * (a + k)
    return z * jnp.log(z / (b * usual)) + jnp.log(above / below * jax.lax.rsqrt(z)) + series


def cell_constant(n_cells: int, total: Array, shape: Array, rate: Array, usual: Array, kind: Any) -> Array:
    """What `cell_term` leaves out, summed over the cells of a set, with `total` transitions in all."""
    shift = 7 if kind == jnp.float64 else 3
    weight = n_cells * (shape + shift) + total
    return weight * (jnp.log(usual) - 1) + n_cells * (HALF_LOG_TAU - log_gamma(shape) + shape * jnp.log(rate))


@partial(compiled, static_argnames=("states", "kind"))
def columns_of(q: Array, variables: list[Array], *, states: tuple[int, ...], kind: str) -> tuple[list[Array], Array]:
    """Columns of blocks of variables, each (F, R), and of all together, from marginals (N, S, R).

    A variable beyond all nodes has zeros.
    """
    extended = jnp.concatenate([q, jnp.zeros((1, *q.shape[1:]), q.dtype)]).astype(kind)
    blocks = [extended[v, 1:s].reshape(-1, q.shape[-1]) for v, s in zip(variables, states)]
    return blocks, jnp.concatenate(blocks)


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


@partial(compiled, static_argnames=("card",))
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
    transitions : (N, S, S, R)
        Expected transitions of all nodes.
    nodes : (n,)
        The batch.
    tables
        Path rates of the batch; parents stay numbers among all nodes.
    place : (N + 1, S)
        Column of every state of every variable; beyond all columns where it has none.
    card
        Number of states of the nodes.
    """
    n, tall = tables.geometric.shape[:2]
    moves = np.nonzero(~np.eye(card, dtype=bool))
    jumps = transitions[nodes][:, moves[0], moves[1]]
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
    return jnp.matmul(a, b).astype(float)


@compiled
def single_moments(z: Array, weighted: Weighted) -> tuple[Array, Array, Array]:
    """Weight of every column (n, W, F), of all rows together (n, W), and of every column with each tilted one.

    `z` (F, R) are the columns; the last has shape (n, T, P, F).
    """
    rows, n_jumps = weighted.rows.astype(float), weighted.tilted.shape[1]
    single = _product(rows, z.astype(float).T)
    n = jnp.arange(len(rows))[:, None, None]
    jump = rows.shape[1] - n_jumps + jnp.arange(n_jumps)[:, None]
    at = jnp.sum(weighted.tilted.astype(float), -1)
    single = single.at[n, jump, weighted.columns[:, None]].set(at, mode="drop")
    return single, jnp.sum(rows, axis=-1), _product(weighted.tilted.astype(z.dtype), z.T)


@compiled
def pair_moments(za: Array, zb: Array, weighted: Weighted, tilted: Array, first_a: Array, first_b: Array) -> Array:
    """Moments (n, W, Fa, Fb) of two blocks of columns, (Fa, R) and (Fb, R), which begin at `first_a` and `first_b`.

    `tilted` are the moments of the tilted columns with all others, from `single_moments`.
    """
    n, wide, n_rows = weighted.rows.shape
    n_jumps = tilted.shape[1]
    rows = weighted.rows.astype(za.dtype)
    base = _product((rows[:, :, None] * za).reshape(-1, n_rows), zb.T).reshape(n, wide, len(za), len(zb))
    # columns of active parents, replaced: those in neither block point beyond it and are dropped
    in_a, in_b = (
        jnp.where((weighted.columns >= first) & (weighted.columns < first + size), weighted.columns - first, size)
        for first, size in ((first_a, len(za)), (first_b, len(zb)))
    )
    batch = jnp.arange(n)[:, None, None]
    jump = wide - n_jumps + jnp.arange(n_jumps)[:, None]
    with_a = jax.lax.dynamic_slice_in_dim(tilted, first_a, len(za), axis=3)
    with_b = jax.lax.dynamic_slice_in_dim(tilted, first_b, len(zb), axis=3)
    base = base.at[batch, jump, in_a[:, None]].set(with_b, mode="drop")
    across = jnp.swapaxes(base, 2, 3).at[batch, jump, in_b[:, None]].set(with_a, mode="drop")
    both = batch[..., None], jump[..., None], in_b[:, None, :, None], in_a[:, None, None]
    return jnp.swapaxes(across.at[both].set(weighted.joint.astype(float), mode="drop"), 2, 3)


class Reference(NamedTuple):
    """The empty set of a batch: score (n,), overall rate (n, T) and number (n, T) of every transition."""

    score: Array
    usual: Array
    total: Array


@partial(compiled, static_argnames=("card",))
def reference(total: Array, everyone: Array, prior: tuple[Array, Array], possible: Array, *, card: int) -> Reference:
    """Scores of the empty set from moments (n, W)."""
    others, counts = total[:, : card - 1], total[:, card - 1 :]
    time = jnp.concatenate([everyone - jnp.sum(others, axis=1, keepdims=True), others], axis=1)
    shape, rate = (p[:, None] for p in prior)
    a, b = shape + counts, rate + jnp.repeat(time, card - 1, axis=1)
    cells = log_gamma(a) - log_gamma(shape) + shape * jnp.log(rate) - a * jnp.log(b)
    return Reference(jnp.sum(jnp.where(possible, cells, 0.0), axis=1), a / b, counts)


def _scores(
    cells: Sequence[tuple[Array, Array]],
    empty: Reference,
    prior: tuple[Array, Array],
    possible: Array,
    card: int,
    kind: str,
) -> Array:
    """Scores (n, ...) relative to the empty set.

    `cells` has, for every joint state of the parents, the moments (n, W, ...) and what the states of a node add up to.
    """
    beyond = [1] * (cells[0][0].ndim - 2)

    def wide(x: Array) -> Array:
        return x.astype(kind).reshape(len(x), -1, *beyond)

    out = jnp.zeros((), kind)
    for moments, everyone in cells:
        others, counts = moments[:, : card - 1], moments[:, card - 1 :]
        for x in range(card):
            mine = slice(x * (card - 1), (x + 1) * (card - 1))  # transitions out of x
            time = others[:, x - 1] if x else everyone - jnp.sum(others, axis=1)
            # differences of sums may fall short of zero by rounding
            known, spent = (jnp.maximum(t, 0.0).astype(kind) for t in (counts[:, mine], time[:, None]))
            term = cell_term(known, spent, wide(prior[0]), wide(prior[1]), wide(empty.usual[:, mine]))
            out = out + jnp.sum(jnp.where(wide(possible[:, mine]) > 0, term, 0.0), axis=1)
    shape, rate = (p[:, None] for p in prior)
    constant = cell_constant(len(cells), empty.total, shape, rate, empty.usual, jnp.dtype(kind))
    rest = jnp.sum(jnp.where(possible, constant, 0.0), axis=1) - empty.score
    return out + rest.astype(kind).reshape(-1, *beyond)


def _states(others: Array, total: Array, axis: int) -> list[Array]:
    """Moments of every state of a variable, from those of all but the first (along an axis) and of all together."""
    known = [jax.lax.index_in_dim(others, k, axis, keepdims=False) for k in range(others.shape[axis])]
    return _rest_first(known, total)


@partial(compiled, static_argnames=("card", "sa", "sb", "kind"))
def pair_scores(
    pair: Array,
    single_a: Array,
    single_b: Array,
    total: Array,
    everyone: tuple[Array, Array, Array, Array],
    empty: Reference,
    prior: tuple[Array, Array],
    possible: Array,
    *,
    card: int,
    sa: int,
    sb: int,
    kind: str,
) -> Array:
    """Scores (n, va, vb), relative to the empty set, of all pairs of a variable of block a and one of block b.

    Parameters
    ----------
    pair, single_a, single_b, total
        Moments of the batch: (n, W, Fa, Fb), (n, W, Fa), (n, W, Fb), (n, W).
    everyone
        The same four, weighted with the length of the rows: what the states of a node add up to.
    empty
        The empty set.
    prior
        Shape and rate (n,) of the cells.
    possible : (n, T)
        Transitions that can happen.
    card, sa, sb
        States of the nodes, and of the variables of either block.
    kind
        "float64" or "float32": precision of the scores.
    """

    def cells(pair: Array, single_a: Array, single_b: Array, total: Array) -> list[Array]:
        """Moments (..., va, vb) of every joint state."""
        lead = pair.shape[:-2]
        pair = pair.reshape(*lead, -1, sa - 1, single_b.shape[-1] // (sb - 1), sb - 1)
        a = _states(single_a.reshape(*lead, -1, sa - 1), total[..., None], -1)
        b = _states(single_b.reshape(*lead, -1, sb - 1), total[..., None], -1)
        by_b = [_states(part, y[..., None, :], -2) for y, part in zip(b[1:], jnp.moveaxis(pair, -1, 0))]
        return [cell for u, x in enumerate(a) for cell in _rest_first([part[u] for part in by_b], x[..., None])]

    every = zip(cells(pair, single_a, single_b, total), cells(*everyone))
    return _scores(list(every), empty, prior, possible, card, kind)


def _rest_first(known: list[Array], total: Array) -> list[Array]:
    """What the known ones leave of the total, then they."""
    return [total - sum(known[1:], known[0]), *known]


@partial(compiled, static_argnames=("card", "states", "kind"))
def single_scores(
    single: Array,
    total: Array,
    everyone: tuple[Array, Array],
    empty: Reference,
    prior: tuple[Array, Array],
    possible: Array,
    *,
    card: int,
    states: int,
    kind: str,
) -> Array:
    """Scores (n, v), relative to the empty set, of sets of one variable with `states` states; moments (n, W, F)."""

    def cells(single: Array, total: Array) -> list[Array]:
        return _states(single.reshape(*single.shape[:-1], -1, states - 1), total[..., None], -1)

    every = zip(cells(single, total), cells(*everyone))
    return _scores(list(every), empty, prior, possible, card, kind)


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


@partial(compiled, static_argnames=("keep", "required"))
def pair_posterior(
    empty: Array, singles: list[Array], pairs: list[list[Array]], prior: SetPrior, *, keep: int, required: bool
) -> PairPosterior:
    """Weigh all sets and keep the `keep` heaviest.

    Scores come in blocks and are relative to `empty` (n,): `singles` (n, v) a block of variables, `pairs` (n, v, w) for
    a block and itself and each block after it, of which the part above the diagonal counts. `required`: whether any
    variable is.
    """
    single = jnp.concatenate(singles, axis=1)
    n, v = single.shape
    kind = single.dtype
    full = [
        jnp.concatenate(
            [jnp.full((n, row[0].shape[1], v - sum(p.shape[2] for p in row)), -jnp.inf, kind), *row], axis=2
        )
        for row in pairs
    ]
    pair = jnp.concatenate(full, axis=1)
    none = prior.by_size[:, 0].astype(kind)
    odds = prior.odds.astype(kind)
    one = single + prior.by_size[:, 1:2].astype(kind) + odds
    below = jnp.where(jnp.arange(v)[:, None] < jnp.arange(v), 0.0, -jnp.inf).astype(kind)
    two = pair + (odds + prior.by_size[:, 2:].astype(kind))[:, :, None] + odds[:, None] + below
    if required:
        count = jnp.sum(prior.need, axis=1)
        held = prior.need[:, :, None].astype(int) + prior.need[:, None]
        none = jnp.where(count == 0, none, -jnp.inf)
        one = jnp.where(prior.need == count[:, None], one, -jnp.inf)
        two = jnp.where(held == count[:, None, None], two, -jnp.inf)
    row_top = two.max(2)
    top = jnp.maximum(jnp.maximum(none, one.max(1)), row_top.max(1))
    share = jnp.exp(two - top[:, None, None])
    rows, columns = share.sum(2), share.sum(1)
    alone = jnp.exp(one - top[:, None])
    mass = jnp.exp(none - top) + alone.sum(1) + rows.sum(1)
    # the heaviest pairs lie in the rows with the largest maxima
    n_rows = min(keep, v)
    _, best = jax.lax.top_k(row_top, n_rows)
    inside = jnp.take_along_axis(two, best[:, :, None], axis=1).reshape(n, -1)
    listed = jnp.concatenate([none[:, None], one, inside], axis=1)
    first = jnp.concatenate([jnp.full((n, 1), v), jnp.tile(jnp.arange(v), (n, 1)), jnp.repeat(best, v, axis=1)], axis=1)
    second = jnp.concatenate([jnp.full((n, 1 + v), v), jnp.tile(jnp.arange(v), (n, n_rows))], axis=1)
    value, chosen = jax.lax.top_k(listed, min(keep, listed.shape[1]))
    members = jnp.stack([jnp.take_along_axis(m, chosen, axis=1) for m in (first, second)], axis=-1)
    weights = jnp.exp(value.astype(float) - top[:, None]) / mass[:, None]
    reach = jnp.maximum(one, jnp.maximum(row_top, two.max(1)))
    evidence = empty + top + jnp.log(mass.astype(float))
    return PairPosterior(evidence, (alone + rows + columns) / mass[:, None], reach, members, weights)


@compiled
def pick_pairs(pair: Array, first: Array, second: Array) -> Array:
    """Moments (n, W, k, s, t) at columns `first` (n, k, s) and `second` (n, k, t) of a block; zero beyond it."""
    n = jnp.arange(len(pair))[:, None, None, None]
    found = jnp.moveaxis(pair, 1, 3).at[n, first[..., None], second[:, :, None]].get(mode="fill", fill_value=0.0)
    return jnp.moveaxis(found, 4, 1)


@compiled
def pick_singles(single: Array, columns: Array) -> Array:
    """Moments (n, W, k, s) at `columns` (n, k, s); zero beyond all columns."""
    n = jnp.arange(len(single))[:, None, None]
    found = jnp.moveaxis(single, 1, 2).at[n, columns].get(mode="fill", fill_value=0.0)
    return jnp.moveaxis(found, 3, 1)
