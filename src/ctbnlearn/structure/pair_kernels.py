"""Moments and scores of all sets of up to two parents, for a batch of nodes at once (jax).

Columns are the states of all variables but each one's first, variables of one size side by side; first states follow by
differences.

Axes: n nodes of the batch; T transitions of a node; W its moments, which are the time in each state but the first, then
the transitions; V variables and F columns (v, or va and vb, Fa and Fb: those of one block, or of blocks a and b); k
listed sets; s and t states of their two members but the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Shaped

from ctbnlearn.arrays import AnyArray
from ctbnlearn.inference.device import compiled

HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
Cells: TypeAlias = Float[Array, "*#cells"]  # any shapes that broadcast
Prior: TypeAlias = tuple[Float[Array, " n"], Float[Array, "n T"]]  # shape and rate of the cells


def log_gamma(a: Float[Array, "*cells"]) -> Float[Array, "*cells"]:
    """Logarithm of Gamma for a > 0, by Stirling's series after a shift; two logarithms per value.

    Relative error some 1e-14 in double precision up to a = 1e40, 1e-7 in single precision up to a = 1e12.
    """
    shift, series = _stirling(a)
    z = a + shift
    product = a
    for k in range(1, shift):
        product = product * (a + k)
    return (z - 0.5) * jnp.log(z) - z + HALF_LOG_TAU + series - jnp.log(product)


def _stirling(a: Float[Array, "*cells"]) -> tuple[int, Float[Array, "*cells"]]:
    """By how much to shift, and what the series adds at a + shift."""
    shift = 7 if a.dtype == jnp.float64 else 3
    inverse = 1 / (a + shift)
    square = inverse * inverse
    terms = 1 / 1260 if shift == 3 else 1 / 1260 - square * (1 / 1680 - square * (1 / 1188 - square * (691 / 360360)))
    return shift, inverse * (1 / 12 - square * (1 / 360 - square * terms))


def cell_term(counts: Cells, time: Cells, shape: Cells, rate: Cells, usual: Cells) -> Cells:
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


def cell_constant(
    n_cells: int,
    total: Float[Array, "n T"],
    shape: Float[Array, "n 1"],
    rate: Float[Array, "n T"],
    usual: Float[Array, "n T"],
    kind: np.dtype[np.floating[Any]],
) -> Float[Array, "n T"]:
    """What `cell_term` leaves out, summed over the cells of a set, with `total` transitions in all."""
    shift = 7 if kind == jnp.float64 else 3
    weight = n_cells * (shape + shift) + total
    return weight * (jnp.log(usual) - 1) + n_cells * (HALF_LOG_TAU - log_gamma(shape) + shape * jnp.log(rate))


class Reference(NamedTuple):
    """The empty set of a batch: score, overall rate and number of every transition."""

    score: Float[Array, " n"]
    usual: Float[Array, "n T"]
    total: Float[Array, "n T"]


@partial(compiled, static_argnames=("card",))
def reference(
    total: Float[Array, "n W"], everyone: Float[Array, ""], prior: Prior, possible: Bool[Array, "n T"], *, card: int
) -> Reference:
    """Scores of the empty set."""
    others, counts = total[:, : card - 1], total[:, card - 1 :]
    time = jnp.concatenate([everyone - jnp.sum(others, axis=1, keepdims=True), others], axis=1)
    shape, rate = prior[0][:, None], prior[1]
    a, b = shape + counts, rate + jnp.repeat(time, card - 1, axis=1)
    cells = log_gamma(a) - log_gamma(shape) + shape * jnp.log(rate) - a * jnp.log(b)
    return Reference(jnp.sum(jnp.where(possible, cells, 0.0), axis=1), a / b, counts)


def _scores(
    cells: Sequence[tuple[Float[Array, "n W *sets"], Float[Array, "*sets"]]],
    empty: Reference,
    prior: Prior,
    possible: Bool[Array, "n T"],
    card: int,
    kind: str,
) -> Float[Array, " n *sets"]:
    """Scores relative to the empty set.

    `cells` has, for every joint state of the parents, the moments and what the states of a node add up to.
    """
    beyond = [1] * (cells[0][0].ndim - 2)

    def wide(x: Shaped[Array, "n ..."]) -> Float[Array, "n ..."]:
        return x.astype(kind).reshape(len(x), -1, *beyond)

    out = jnp.zeros((), kind)
    for moments, everyone in cells:
        others, counts = moments[:, : card - 1], moments[:, card - 1 :]
        for x in range(card):
            mine = slice(x * (card - 1), (x + 1) * (card - 1))  # transitions out of x
            time = others[:, x - 1] if x else everyone - jnp.sum(others, axis=1)
            # differences of sums may fall short of zero by rounding
            known, spent = (jnp.maximum(t, 0.0).astype(kind) for t in (counts[:, mine], time[:, None]))
            term = cell_term(known, spent, wide(prior[0]), wide(prior[1][:, mine]), wide(empty.usual[:, mine]))
            out = out + jnp.sum(jnp.where(wide(possible[:, mine]) > 0, term, 0.0), axis=1)
    constant = cell_constant(len(cells), empty.total, prior[0][:, None], prior[1], empty.usual, jnp.dtype(kind))
    rest = jnp.sum(jnp.where(possible, constant, 0.0), axis=1) - empty.score
    return out + rest.astype(kind).reshape(-1, *beyond)


def _states(others: Float[Array, "*others"], total: Cells, axis: int) -> list[Cells]:
    """Moments of every state of a variable, from those of all but the first (along an axis) and of all together."""
    known = [jax.lax.index_in_dim(others, k, axis, keepdims=False) for k in range(others.shape[axis])]
    return _rest_first(known, total)


@partial(compiled, static_argnames=("card", "sa", "sb", "kind"))
def pair_scores(
    pair: Float[Array, "n W Fa Fb"],
    single_a: Float[Array, "n W Fa"],
    single_b: Float[Array, "n W Fb"],
    total: Float[Array, "n W"],
    everyone: tuple[Float[Array, "Fa Fb"], Float[Array, " Fa"], Float[Array, " Fb"], Float[Array, ""]],
    empty: Reference,
    prior: Prior,
    possible: Bool[Array, "n T"],
    *,
    card: int,
    sa: int,
    sb: int,
    kind: str,
) -> Float[Array, "n va vb"]:
    """Scores, relative to the empty set, of all pairs of a variable of block a and one of block b.

    Parameters
    ----------
    pair, single_a, single_b, total
        Moments of the batch.
    everyone
        The same four, weighted with the length of the rows: what the states of a node add up to.
    empty
        The empty set.
    prior
        Shape and rate of the cells.
    possible
        Transitions that can happen.
    card, sa, sb
        States of the nodes, and of the variables of either block.
    kind
        "float64" or "float32": precision of the scores.
    """

    def cells(
        pair: Float[Array, "*lead Fa Fb"],
        single_a: Float[Array, "*lead Fa"],
        single_b: Float[Array, "*lead Fb"],
        total: Float[Array, "*lead"],
    ) -> list[Float[Array, "*lead va vb"]]:
        """Moments of every joint state."""
        lead = pair.shape[:-2]
        pair = pair.reshape(*lead, -1, sa - 1, single_b.shape[-1] // (sb - 1), sb - 1)
        a = _states(single_a.reshape(*lead, -1, sa - 1), total[..., None], -1)
        b = _states(single_b.reshape(*lead, -1, sb - 1), total[..., None], -1)
        by_b = [_states(part, y[..., None, :], -2) for y, part in zip(b[1:], jnp.moveaxis(pair, -1, 0))]
        return [cell for u, x in enumerate(a) for cell in _rest_first([part[u] for part in by_b], x[..., None])]

    every = zip(cells(pair, single_a, single_b, total), cells(*everyone))
    return _scores(list(every), empty, prior, possible, card, kind)


def _rest_first(known: list[Cells], total: Cells) -> list[Cells]:
    """What the known ones leave of the total, then they."""
    return [total - sum(known[1:], known[0]), *known]


@partial(compiled, static_argnames=("card", "states", "kind"))
def single_scores(
    single: Float[Array, "n W F"],
    total: Float[Array, "n W"],
    everyone: tuple[Float[Array, " F"], Float[Array, ""]],
    empty: Reference,
    prior: Prior,
    possible: Bool[Array, "n T"],
    *,
    card: int,
    states: int,
    kind: str,
) -> Float[Array, "n v"]:
    """Scores, relative to the empty set, of sets of one variable with `states` states."""

    def cells(single: Float[Array, "*lead F"], total: Float[Array, "*lead"]) -> list[Float[Array, "*lead v"]]:
        return _states(single.reshape(*single.shape[:-1], -1, states - 1), total[..., None], -1)

    every = zip(cells(single, total), cells(*everyone))
    return _scores(list(every), empty, prior, possible, card, kind)


class SetPrior(NamedTuple):
    """Log prior of the sets of a batch: by size, plus odds of each member; -inf where not allowed.

    A set is admitted if it holds all required variables: `need`.
    """

    by_size: Float[AnyArray, "n 3"]
    odds: Float[AnyArray, "n V"]
    need: Bool[AnyArray, "n V"]


class PairPosterior(NamedTuple):
    """Posterior of a batch: log evidence and edges; also the heaviest sets, V for none, and their weights."""

    log_evidence: Float[AnyArray, " n"]
    edges: Float[AnyArray, "n V"]
    members: Int[AnyArray, "n k 2"]
    weights: Float[AnyArray, "n k"]


@partial(compiled, static_argnames=("keep", "required"))
def pair_posterior(
    empty: Float[Array, " n"],
    singles: list[Float[Array, "n _"]],
    pairs: list[list[Float[Array, "n _ _"]]],
    prior: SetPrior,
    *,
    keep: int,
    required: bool,
) -> PairPosterior:
    """Weigh all sets and keep the `keep` heaviest.

    Scores come in blocks and are relative to `empty`: `singles` a block of variables, `pairs` for a block and itself
    and each block after it, of which the part above the diagonal counts. `required`: whether any variable is.
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
    evidence = empty + top + jnp.log(mass.astype(float))
    return PairPosterior(evidence, (alone + rows + columns) / mass[:, None], members, weights)


@compiled
def pick_pairs(
    pair: Float[Array, "n W Fa Fb"], first: Int[Array, "n k s"], second: Int[Array, "n k t"]
) -> Float[Array, "n W k s t"]:
    """Moments at columns `first` and `second` of a block; zero beyond it."""
    n = jnp.arange(len(pair))[:, None, None, None]
    found = jnp.moveaxis(pair, 1, 3).at[n, first[..., None], second[:, :, None]].get(mode="fill", fill_value=0.0)
    return jnp.moveaxis(found, 4, 1)


@compiled
def pick_singles(single: Float[Array, "n W F"], columns: Int[Array, "n k s"]) -> Float[Array, "n W k s"]:
    """Moments at `columns`; zero beyond all columns."""
    n = jnp.arange(len(single))[:, None, None]
    found = jnp.moveaxis(single, 1, 2).at[n, columns].get(mode="fill", fill_value=0.0)
    return jnp.moveaxis(found, 3, 1)
