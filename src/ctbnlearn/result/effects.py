r"""Which way, and how strongly, a parent pushes a node: posterior log rate ratios.

Node i has states in an order; a transition x -> x' is up where x' > x. Under a parent set that holds j, and for a state
v of the other parents, the logarithm of a rate has posterior mean psi(a) - ln b and variance psi'(a), for
q(r) = Gamma(a, b). Let D(x, x' | v) = ln r(x, x' | j = y, v) - ln r(x, x' | j = first state, v) be the log rate ratio
between two states of j. For every pair of states x < x' and every v

    push  = 1/2 [D(x, x' | v) - D(x', x | v)]      (D or -D alone where only one of the two can happen)
    speed = 1/2 [D(x, x' | v) + D(x', x | v)]

so that push > 0 says: j in state y, rather than in its first one, drives i up; for two states 2 push is the log odds
ratio of i's equilibrium. speed says that i moves faster whichever way. Pairs and v are averaged with the inverse of
their posterior variance as weights, so that combinations that hardly occur have little say. Where j has more than two
states, y is the one with the largest |push|.

States without an order (words, say) give no sign: of two states the push is told as they are listed, of more not at
all, since up and down mean nothing there.

The parent set is the most probable one that holds j. A learner keeps the rates of a node's most probable set, and for
every further edge with a probability above 0.05 those of the heaviest set with that edge. The interval at 95 % is that
of the rates under this one set: from draws of the rates where they were sampled; else the normal approximation, which
for incomplete data is that at the expected statistics, and so too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.variables import Variable
from ctbnlearn.result.rate_table import RateTable

NORMAL_975 = 1.959963984540054


class Effect(NamedTuple):
    """The push of a parent, its 95 % interval, and the change of speed; whether the states of both have an order."""

    effect: float
    low: float
    high: float
    speed: float
    ordered: bool = True

    @property
    def sign(self) -> str:
        """A plus or a minus; empty where the interval holds zero, or states have no order."""
        return "" if not self.ordered else "+" if self.low > 0 else "-" if self.high < 0 else ""

    def between(self, source: Variable, target: Variable) -> Effect:
        """As it can be told of two variables: without an order there is no sign, and of several states no push."""
        loose = [v for v in (source, target) if not v.ordered]
        if not loose:
            return self
        if any(v.n_states > 2 for v in loose):
            return Effect(_NAN, _NAN, _NAN, self.speed, False)
        return self._replace(ordered=False)


_NAN = float("nan")
UNKNOWN = Effect(_NAN, _NAN, _NAN, _NAN)


def log_rates(
    table: RateTable, source: int, n_states: Sequence[int]
) -> tuple[FloatArray, FloatArray, FloatArray | None, BoolArray]:
    """Posterior of the log rates by states of a source.

    Returns
    -------
    mean, variance : (Y, V, S, S)
        By states of the source, joint states of the other parents, from, to.
    draws : (D, Y, V, S, S) or None
        Draws, where rates were sampled.
    possible : (V, S, S)
        Whether the transition can happen whatever the source does.
    """
    axis = table.parents.index(source)
    cards = [n_states[j] for j in table.parents]
    size = table.rate.shape[-1]

    def by_source(values: FloatArray) -> FloatArray:
        """Of values (.., U, S, S) those of each state of the source, (.., Y, V, S, S)."""
        before = values.shape[:-3]
        shaped = np.moveaxis(values.reshape(*before, *cards, size, size), len(before) + axis, len(before))
        return shaped.reshape(*before, cards[axis], -1, size, size)

    shape = by_source(table.shape)
    possible: BoolArray = np.all(shape > 0, axis=0)
    if table.draws is None:
        safe = np.where(shape > 0, shape, 1.0)
        mean = digamma(safe) - by_source(np.log(np.broadcast_to(table.rate[..., None], table.shape.shape)))
        return mean, polygamma(1, safe), None, possible
    positive = np.maximum(np.where(table.possible, table.draws, 1.0), 1e-300)
    draws = by_source(np.log(positive, dtype=float))
    return draws.mean(0), draws.var(0) + 1e-12, draws, possible


def edge_effect(table: RateTable, source: int, n_states: Sequence[int]) -> Effect:
    """Effect of one of the parents of a table on its node; all NaN where no transition can happen.

    Parameters
    ----------
    table
        Rate posteriors under a parent set that holds `source`.
    source
        The parent, as node number.
    n_states
        Number of states of every node.
    """
    log_rate, variance, draws, possible = log_rates(table, source, n_states)
    size, count_of_source = table.rate.shape[-1], len(log_rate)
    below, above = np.triu_indices(size, 1)
    up, down = possible[:, below, above], possible[:, above, below]  # (V, pairs)
    exists = up | down
    if not exists.any():
        return UNKNOWN
    best: Effect | None = None
    for y in range(1, count_of_source):
        ratio, spread = log_rate[y] - log_rate[0], variance[y] + variance[0]
        both = np.where(up, ratio[:, below, above], 0.0), np.where(down, ratio[:, above, below], 0.0)
        count = (up.astype(float) + down)[exists]
        share = np.where(up, spread[:, below, above], 0.0) + np.where(down, spread[:, above, below], 0.0)
        weight = count**2 / share[exists]  # inverse variance of a mean of one or two ratios
        push = float((weight * (both[0] - both[1])[exists] / count).sum() / weight.sum())
        speed = float((weight * (both[0] + both[1])[exists] / count).sum() / weight.sum())
        margin = NORMAL_975 / float(np.sqrt(weight.sum()))
        low, high = push - margin, push + margin
        if draws is not None:  # the rates of a sweep belong together
            each = draws[:, y] - draws[:, 0]
            sides = np.where(up, each[..., below, above], 0.0) - np.where(down, each[..., above, below], 0.0)
            pushes = (sides[:, exists] / count * weight).sum(-1) / weight.sum()
            low, high = np.quantile(pushes, [0.025, 0.975]).tolist()
        found = Effect(push, low, high, speed)
        if best is None or abs(found.effect) > abs(best.effect):
            best = found
    assert best is not None  # a variable has two or more states
    return best
