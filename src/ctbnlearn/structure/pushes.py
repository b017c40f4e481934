"""A prior in which parents push a variable: rates into one of its states rise as those out of that state fall.

With independent priors of all rates (`ctbnlearn.structure.prior`) a parent that makes a variable merely livelier is as
likely as one that favours a state: a risk factor, a drug, a repressor. Where visits are few, mere liveliness hardly
shows in the data, and most chance findings look like it. Here every parent state u has a push c of its own: none, or by
e^t towards a state k (away from it, if t < 0). Given that,

    r(x, y | u) ~ Gamma(A, A / (mu(x) e^s)),   s = t ([y = k] - [x = k]),

mu(x) the mean rate out of x that independent priors are centred on. How far rates stray from that grows with the push:
the standard deviation of their logarithms is about half of |t| (that of the smallest where there is no push), so that
the two sides of a strong push need not be alike. What differs from independent priors is how rates hang together; a
single rate is somewhat more uncertain: the standard deviation of its logarithm is 1.7 with two states, and 1.3 there.

Pushes of the parent states are independent but for one thing: every parent must make a difference. With f_c(u) the
probability of push c times the evidence of what was seen in state u, that is, by inclusion and exclusion over the
subsets S of the parents,

    sum over S of (-1)^(parents not in S)  prod over u_S  sum over c  prod over u that agree with u_S  f_c(u),

divided by the same sum of the probabilities alone.

Whether the parents of a variable push it or its rates are independent is left open. The share of variables that are
pushed is one number for the whole network, uniform in advance: some variables tell what to expect of others.
"""

from __future__ import annotations

from math import exp, inf, lgamma, log

import numpy as np
from scipy.special import gammaln

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.streams import compiled

MOST_PARENTS = 4  # with more, rates are independent
EVEN = 0.5  # the share to begin with
STEPS = np.array([-2.4, -1.2, -0.6, 0.0, 0.6, 1.2, 2.4])  # t, all equally likely
SHAPES = np.array([1.0, 3.6, 14.0, 14.0, 14.0, 3.6, 1.0])  # A of rates that are changed so
NONE, N_STEPS = 3, 7  # the step of no push, and how many there are
PULL = SHAPES * np.exp(-STEPS)  # rates of these Gammas, for a mean rate of one
LOG_PULL = np.log(PULL)
LISTED = 256  # transitions up to which log Gamma functions are looked up
RISING = np.zeros((N_STEPS, LISTED))  # ln Gamma(A + m) - ln Gamma(A)
RISING[:, 1:] = np.cumsum(np.log(SHAPES[:, None] + np.arange(LISTED - 1)), 1)
LEAST = 1e-6  # share of pushes in which every parent matters, below which none are taken: they could not be drawn


@compiled
def n_pushes(card: int) -> int:
    """Pushes of a variable: none, and six by every state; with two states, those by one are those by the other."""
    return N_STEPS if card == 2 else 1 + (N_STEPS - 1) * card


@compiled
def push_step(card: int, push: int, x: int, y: int) -> int:
    """Number of the step by which a push changes the rate from x to y."""
    if push == 0:
        return NONE
    k, step = 1 if card == 2 else (push - 1) // (N_STEPS - 1), (push - 1) % (N_STEPS - 1)
    step += step >= NONE
    return step if y == k else N_STEPS - 1 - step if x == k else NONE


@compiled
def log_chance(card: int, push: int) -> float:
    """Log probability of a push; those of different states share that of their step."""
    return -log(N_STEPS) if push == 0 or card == 2 else -log(N_STEPS * card)


@compiled
def weigh_pushes(
    table: FloatArray, card: int, rate: FloatArray, possible: BoolArray, out: FloatArray, none: FloatArray
) -> None:
    """Log evidence of the statistics of one parent state under every push, with the probability of that.

    Parameters
    ----------
    table
        Dwell times (S,), then transitions (S, S), in one array.
    card
        States of the variable.
    rate : (S,)
        One over the mean rates, 1 / mu.
    possible : (S, S)
        Transitions that can happen.
    out
        Filled, one number a push.
    none : (S,)
        Scratch.
    """
    count, total, each = n_pushes(card), 0.0, N_STEPS - 1
    for c in range(count):
        out[c] = log_chance(card, c)
    for x in range(card):
        log_rate = log(rate[x])
        for step in range(-1, each):  # no push comes first
            g = NONE if step < 0 else step + (step >= NONE)
            shape = SHAPES[g]
            before, after = shape * (log_rate + LOG_PULL[g]), log(rate[x] * PULL[g] + table[x])
            for y in range(card):
                if not possible[x, y]:
                    continue
                m = table[card + x * card + y]
                whole = int(m)
                known = whole == m and whole < LISTED
                value = before - (shape + m) * after
                value += RISING[g, whole] if known else lgamma(shape + m) - lgamma(shape)
                if step < 0:
                    total += value
                    none[y] = value
                    continue
                if card > 2 or y == 1:  # towards y
                    out[1 + step + (0 if card == 2 else each * y)] += value - none[y]
                if card > 2 or x == 1:  # away from x
                    out[each - step + (0 if card == 2 else each * x)] += value - none[y]
    for c in range(count):
        out[c] += total


@compiled
def pushed_evidence(table: FloatArray, cards: IntArray, card: int, group: FloatArray) -> float:
    """Log evidence of a parent set whose members all matter, from that of its parent states.

    Parameters
    ----------
    table : (U, pushes)
        As `weigh_pushes` has it; becomes the weights of the pushes of every parent state, up to a factor.
    cards
        Numbers of states of the parents, in the order in which u counts them.
    card
        States of the variable.
    group
        Scratch, as large as the table.
    """
    states, count, k = table.shape[0], n_pushes(card), len(cards)
    peaks = 0.0
    for u in range(states):
        peak = table[u, 0]
        for c in range(1, count):
            peak = max(peak, table[u, c])
        peaks += peak
        summed = 0.0
        for c in range(count):
            table[u, c] = exp(table[u, c] - peak)
            summed += table[u, c]
        for c in range(count):
            table[u, c] /= summed
        peaks += log(summed)
    total = norm = 0.0
    for held in range(1 << k):  # by bits the members that pushes may depend on
        size, sign = 1, 1.0
        for j in range(k):
            if held >> j & 1:
                size *= cards[j]
            else:
                sign = -sign
        for at in range(size * count):
            group[at] = 1.0
        for u in range(states):
            code, rest, step = 0, u, 1
            for j in range(k - 1, -1, -1):
                if held >> j & 1:
                    code += step * (rest % cards[j])
                    step *= cards[j]
                rest //= cards[j]
            for c in range(count):
                group[code * count + c] *= table[u, c]
        part = 1.0
        for g in range(size):
            summed = 0.0
            for c in range(count):
                summed += group[g * count + c]
            part *= summed
        total += sign * part
        alike = exp(log_chance(card, 0) * (states // size)) + (count - 1) * exp(log_chance(card, 1) * (states // size))
        norm += sign * alike**size
    return peaks + log(total) - log(norm) if total > LEAST else -inf


@compiled
def all_matter(push: IntArray, cards: IntArray) -> bool:
    """Whether the pushes of the parent states (U,) depend on every parent."""
    step = 1
    for j in range(len(cards) - 1, -1, -1):
        differs = False
        for u in range(len(push)):
            if u // step % cards[j] > 0 and push[u] != push[u - step]:
                differs = True
        if not differs:
            return False
        step *= cards[j]
    return True


def log_ratios(log_rates: FloatArray, rate: FloatArray, possible: BoolArray) -> FloatArray:
    """Log density of rates under every push, with its probability, less that under Gamma(1, rate), (..., U, pushes).

    Parameters
    ----------
    log_rates : (..., U, S, S)
        Logarithms of the rates.
    rate : (S,)
        One over the mean rates.
    possible : (S, S)
        Transitions that can happen.
    """
    card = len(rate)
    keep = (possible & ~np.eye(card, dtype=bool)).reshape(-1)
    beta = np.repeat(np.asarray(rate, float), card)
    step = np.array(
        [[push_step(card, c, x, y) for x in range(card) for y in range(card)] for c in range(n_pushes(card))]
    )
    shape = np.where(keep, SHAPES[step], 0.0)  # of the Gammas, (pushes, S * S)
    pull = np.where(keep, beta * PULL[step], 0.0)
    constant = (shape * np.log(pull, where=keep, out=np.zeros_like(pull)) - gammaln(SHAPES[step]) * keep).sum(1)
    constant += [log_chance(card, c) for c in range(len(pull))]
    logs = np.where(keep, log_rates.reshape(*log_rates.shape[:-2], -1), 0.0)
    rates = np.exp(np.clip(logs, -50.0, 50.0)) * keep
    free = (np.log(beta) * keep).sum() + logs.sum(-1) - rates @ beta
    out: FloatArray = constant + logs @ shape.T - rates @ pull.T - free[..., None]
    return out


def mixed(gain: FloatArray | float, share: float) -> FloatArray:
    """Log evidence of a set, less that with independent rates, if pushes gain so much and have such a share."""
    out: FloatArray = np.logaddexp(np.log1p(-share), np.log(share) + gain)
    return out
