"""Draws of parent sets and rates given complete paths: the other half of Gibbs sampling over networks.

Given the paths, nodes are independent and everything is in closed form: the weight of a set is p(m) exp s_i(m), with
the score of `ctbnlearn.structure.score`, its rates are Gamma(alpha + M, beta + T). Where parents may push a node
(`ctbnlearn.structure.pushes`), whether and how they do is summed out of the weights and drawn before the rates; then
the share of nodes that are pushed is drawn, Beta(1 + those, 1 + the others with parents).

A node's sets are made of a pool of candidates, whose joint states are counted in one pass over the events. Where there
are more candidates than a pool holds, it is redrawn in every sweep: the present parents m, and every other candidate j
with a chance q_j of its own. Given the pool A, a set m inside has weight p(m) exp s_i(m) p(A | m), and p(A | m) is the
product of 1 / q_j over the members of m, up to a constant: an exact Gibbs step over the pair (m, A). Where more come
together than a pool holds, the parents stay as they are.
"""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray, WordArray
from ctbnlearn.inference.path_state import Net, Paths, Seen, put_rates
from ctbnlearn.streams import choose, compiled, gamma, uniform
from ctbnlearn.structure.pushes import (
    MOST_PARENTS,
    PULL,
    SHAPES,
    all_matter,
    n_pushes,
    push_step,
    pushed_evidence,
    weigh_pushes,
)


class Pools(NamedTuple):
    """Candidates of every node whose sets are weighed in a sweep, in increasing order.

    `stride` numbers their joint states, counted in dwell[dwell_place[i] + code * S + x] and
    moves[move_place[i] + (code * S + x) * S + y].
    """

    capacity: IntArray  # (N,): most candidates
    size: IntArray  # (N,)
    members: IntArray  # (N, P)
    stay: BoolArray  # (N,): whether the members are the present parents, which stay
    stride: IntArray  # (N, N)
    joint: IntArray  # (N,)
    dwell_place: IntArray
    move_place: IntArray
    dwell: FloatArray
    moves: FloatArray


class Priors(NamedTuple):
    """Priors of the sets and rates of every node.

    A set m has log prior by_size[i, |m|] + sum of odds[i, j]; its rates out of x are Gamma(shape f, rate[x] f), with
    ln f = full[i] - sum of share[i, j] over its members (zero unless the prior is projected).
    """

    required: BoolArray  # (N, N)
    limit: IntArray  # (N,)
    by_size: FloatArray
    odds: FloatArray  # (N, N)
    shape: FloatArray  # (N,)
    rate: FloatArray  # (N, widest)
    full: FloatArray
    share: FloatArray  # (N, N)
    possible: BoolArray  # (N, widest, widest)


class Drawn(NamedTuple):
    """What a sweep found: statistics of the present sets, weights of all.

    dwell[leave[i] + ...] and moves[place[i] + ...] of the present set, laid out as in `Net`, and the Gamma priors that
    its rates were drawn with, shape and rate [place[i] + ...]; the share of nodes that their parents push, 0 if none
    are; `edges` [source, target] adds up weights; the heaviest sets of every node with their weights.
    """

    dwell: FloatArray
    moves: FloatArray
    shape: FloatArray
    rate: FloatArray
    pushed: FloatArray  # (1,)
    edges: FloatArray
    top: IntArray  # (N, TOP, most)
    top_weight: FloatArray  # (N, TOP)
    weight: FloatArray  # (N,): of the set drawn


@compiled
def count_paths(seen: Seen, paths: Paths, pools: Pools) -> None:
    """Dwell times and transitions of every node per joint state of its pool, over all trajectories.

    Those of a node while it is set from outside do not count.
    """
    n, cards, stride = len(seen.cards), seen.cards, pools.stride
    begin, first, count, times, states = paths.begin, paths.first, paths.count, paths.times, paths.states
    dwell, moves = pools.dwell, pools.moves
    for k in range(len(dwell)):
        dwell[k] = 0.0
    for k in range(len(moves)):
        moves[k] = 0.0
    capacity = 256
    when, node, target = np.empty(capacity), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    change, pointer, state = np.empty(capacity, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for b in range(len(begin)):
        total = 0
        for i in range(n):
            total += count[b, i]
            pointer[i], state[i] = first[b, i], begin[b, i]
        if total > capacity:
            capacity = 2 * total
            when, node, target = np.empty(capacity), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
            change = np.empty(capacity, np.int64)
        for e in range(total):  # jumps of all nodes in order of time
            soonest, j = inf, 0
            for i in range(n):
                if pointer[i] < first[b, i] + count[b, i] and times[pointer[i]] < soonest:
                    soonest, j = times[pointer[i]], i
            x = int(states[pointer[j]])
            when[e], node[e], target[e], change[e] = soonest, j, x, x - state[j]
            state[j] = x
            pointer[j] += 1
        for i in range(n):
            card, code, x, now = cards[i], 0, int(begin[b, i]), seen.start[b]
            for k in range(pools.size[i]):
                j = pools.members[i, k]
                code += stride[i, j] * begin[b, j]
            at_dwell, at_moves = pools.dwell_place[i], pools.move_place[i]
            s, s_last = seen.set_rows[i, b], seen.set_rows[i, b + 1]
            for e in range(total + 1):
                then = when[e] if e < total else seen.end[b]
                j = node[e] if e < total else i
                if j != i and stride[i, j] == 0:
                    continue
                while s < s_last and seen.set_end[s] <= then:  # let go before
                    dwell[at_dwell + code * card + x] += max(seen.set_start[s] - now, 0.0)
                    now = max(now, seen.set_end[s])
                    s += 1
                held = s < s_last and seen.set_start[s] <= then
                at = code * card + x
                dwell[at_dwell + at] += max((seen.set_start[s] if held else then) - now, 0.0)
                now = then
                if e == total:
                    break
                if j == i:
                    x = target[e]
                    if not held:
                        moves[at_moves + at * card + x] += 1.0
                else:
                    code += stride[i, j] * change[e]


@compiled
def draw_pools(pools: Pools, chance: FloatArray, net: Net, cards: IntArray, random: WordArray) -> None:
    """Fill the pools that do not hold all candidates: present parents, and others by their chance [source, target]."""
    n = len(cards)
    present = np.empty(n, np.bool_)
    for i in range(n):
        if chance[0, i] < 0.0:  # all candidates are there
            continue
        for j in range(n):
            present[j] = False
        for k in range(net.n_parents[i]):
            present[net.parents[i, k]] = True
        size = 0
        for j in range(n):
            if present[j] or uniform(random) < chance[j, i]:
                if size < pools.capacity[i]:
                    pools.members[i, size] = j
                size += 1
        pools.stay[i] = size > pools.capacity[i]
        if pools.stay[i]:
            size = 0
            for j in range(n):
                if present[j]:
                    pools.members[i, size] = j
                    size += 1
        pools.size[i] = size
        number_joint(pools, i, cards)


@compiled
def number_joint(pools: Pools, i: int, cards: IntArray) -> None:
    """Strides of the joint states of a pool, in C order."""
    for j in range(len(cards)):
        pools.stride[i, j] = 0
    step = 1
    for k in range(pools.size[i] - 1, -1, -1):
        j = pools.members[i, k]
        pools.stride[i, j] = step
        step *= cards[j]
    pools.joint[i] = step


@compiled
def draw_sets(
    cards: IntArray,
    pools: Pools,
    chance: FloatArray,
    priors: Priors,
    net: Net,
    drawn: Drawn,
    capacity: tuple[int, int],
    empty: bool,
    random: WordArray,
) -> float:
    """Weigh the sets of every node, draw one, and its rates; returns the log evidence of the complete paths.

    Weights are added to `drawn.edges`. `chance` is what pools were drawn by, `capacity` the largest number of sets of a
    node, and of numbers in their tables. With `empty`, sets hold required parents alone.

    Sets are visited depth first along the members of the pool. Numbers are kept as (states of the members taken) x
    (joint states of those to come) x cells, so that taking a member changes nothing, and leaving it out is a sum over
    its states; once a set is full, all that is to come is summed at once.
    """
    n, most, wide, n_top = len(cards), pools.members.shape[1], drawn.top.shape[2], drawn.top.shape[1]
    members, sizes, weight = (
        np.empty((capacity[0], wide), np.int64),
        np.empty(capacity[0], np.int64),
        np.empty(capacity[0]),
    )
    factors, place, tables = np.empty(capacity[0]), np.empty(capacity[0] + 1, np.int64), np.empty(capacity[1])
    pushing, none, push = np.empty(capacity[0]), np.empty(priors.possible.shape[1]), np.zeros(len(net.omega), np.int64)
    own_cards, most_joint = np.empty(wide, np.int64), 1
    for i in range(n if drawn.pushed[0] > 0.0 else 0):
        most_joint = max(most_joint, (net.bound[i + 1] if i + 1 < n else len(net.omega)) - net.bound[i])
    pushes = n_pushes(max(3, priors.possible.shape[1]))  # two states have fewer
    weights, group = np.empty((most_joint, pushes)), np.empty(most_joint * pushes)
    largest = 1
    for i in range(n):
        largest = max(largest, pools.joint[i] * cards[i] * (cards[i] + 1))
    sums = np.empty((most + 1, largest))
    taken = np.empty((most + 2, most + 1), np.int64)  # per entry of the stack the members taken, and its state:
    stack = np.empty((most + 2, 7), np.int64)  # decided, taken, required to come, states, to come, level, to leave out
    share, n_pushed, n_free = drawn.pushed[0], 0, 0
    total = 0.0
    for i in range(n):
        card, size, must = cards[i], pools.size[i], 0
        cells = card * (card + 1)
        for code in range(pools.joint[i]):
            for x in range(card):
                sums[0, code * cells + x] = pools.dwell[pools.dwell_place[i] + code * card + x]
            for x in range(card * card):
                sums[0, code * cells + card + x] = pools.moves[pools.move_place[i] + code * card * card + x]
        for p in range(size):
            must += pools.stay[i] or priors.required[i, pools.members[i, p]]
        limit = must if empty else min(priors.limit[i], size)
        n_sets, place[0], top = 0, 0, 0
        entry = stack[0]
        entry[0], entry[1], entry[2], entry[3] = 0, 0, must, 1
        entry[4], entry[5], entry[6] = pools.joint[i], 0, 0
        while top >= 0:
            entry = stack[top]
            d, k, need, states, rest, level = entry[0], entry[1], entry[2], entry[3], entry[4], entry[5]
            if entry[6] == 1:  # leave member d out
                rest //= cards[pools.members[i, d]]
                _sum_out(sums[level], sums[level + 1], states, cards[pools.members[i, d]], rest * cells)
                d, level = d + 1, level + 1
            if d == size or k == limit:
                base = place[n_sets]
                _sum_out(sums[level], tables[base:], states, rest, cells)
                log_prior, log_factor = priors.by_size[i, k], priors.full[i]
                for m in range(k):
                    j = pools.members[i, taken[top, m]]
                    members[n_sets, m] = j
                    log_prior += priors.odds[i, j]
                    log_factor -= priors.share[i, j]
                    if chance[j, i] > 0.0:
                        log_prior -= log(chance[j, i])
                factors[n_sets], sizes[n_sets] = exp(log_factor), k
                score, pushing[n_sets] = _score(tables[base:], card, states, i, factors[n_sets], priors), 0.0
                if share > 0.0 and 0 < k <= MOST_PARENTS:
                    for m in range(k):
                        own_cards[m] = cards[members[n_sets, m]]
                    for u in range(states):
                        at = tables[base + u * cells :]
                        weigh_pushes(at, card, priors.rate[i], priors.possible[i], weights[u], none)
                    odds = log(share / (1.0 - share)) - score
                    odds += pushed_evidence(weights[:states], own_cards[:k], card, group)
                    more = max(odds, 0.0) + log1p(exp(-abs(odds)))
                    score, pushing[n_sets] = score + log(1.0 - share) + more, exp(odds - more)
                weight[n_sets] = log_prior + score
                n_sets += 1
                place[n_sets] = base + states * cells
                top -= 1
                continue
            j = pools.members[i, d]
            required = int(pools.stay[i] or priors.required[i, j])
            if required == 0:  # this entry leaves it out; the next one, done first, takes it
                entry[0], entry[4], entry[5], entry[6] = d, rest, level, 1
                if k + need == limit:
                    continue
                for m in range(k):
                    taken[top + 1, m] = taken[top, m]
                top += 1
            taken[top, k] = d
            entry = stack[top]
            entry[0], entry[1], entry[2], entry[3] = d + 1, k + 1, need - required, states * cards[j]
            entry[4], entry[5], entry[6] = rest // cards[j], level, 0
        peak = -inf
        for k in range(n_sets):
            peak = max(peak, weight[k])
        summed = 0.0
        for k in range(n_sets):
            weight[k] = exp(weight[k] - peak)
            summed += weight[k]
        total += peak + log(summed)
        for t in range(n_top):
            drawn.top_weight[i, t] = 0.0
        for k in range(n_sets):
            weight[k] /= summed
            for m in range(sizes[k]):
                drawn.edges[members[k, m], i] += weight[k]
            at = n_top
            while at > 0 and drawn.top_weight[i, at - 1] < weight[k]:
                at -= 1
            if at < n_top:  # among the heaviest
                for t in range(n_top - 1, at, -1):
                    drawn.top_weight[i, t] = drawn.top_weight[i, t - 1]
                    for m in range(wide):
                        drawn.top[i, t, m] = drawn.top[i, t - 1, m]
                drawn.top_weight[i, at] = weight[k]
                for m in range(wide):
                    drawn.top[i, at, m] = members[k, m] if m < sizes[k] else -1
        pick = choose(random, weight, n_sets)
        drawn.weight[i] = weight[pick]
        net.n_parents[i], states = sizes[pick], 1
        for m in range(sizes[pick] - 1, -1, -1):
            net.parents[i, m], net.stride[i, m] = members[pick, m], states
            states *= cards[members[pick, m]]
        rates = sums[0]
        pushed = pushing[pick] > 0.0 and uniform(random) < pushing[pick]
        n_pushed += pushed
        n_free += not pushed and sizes[pick] > 0
        if pushed:
            for m in range(sizes[pick]):
                own_cards[m] = cards[members[pick, m]]
            for u in range(states):
                at = tables[place[pick] + u * cells :]
                weigh_pushes(at, card, priors.rate[i], priors.possible[i], weights[u], none)
            pushed_evidence(weights[:states], own_cards[: sizes[pick]], card, group)
            while True:
                for u in range(states):
                    push[u] = choose(random, weights[u], n_pushes(card))
                if all_matter(push[:states], own_cards[: sizes[pick]]):
                    break
        for u in range(states):
            base = place[pick] + u * cells
            for x in range(card):
                time = tables[base + x]
                drawn.dwell[net.leave[i] + u * card + x] = time
                for y in range(card):
                    at = (u * card + x) * card + y
                    moves, rate = tables[base + card + x * card + y], 0.0
                    shape, prior = priors.shape[i] * factors[pick], priors.rate[i, x] * factors[pick]
                    if pushed:
                        step = push_step(card, push[u], x, y)
                        shape, prior = SHAPES[step], priors.rate[i, x] * PULL[step]
                    drawn.moves[net.place[i] + at] = moves
                    drawn.shape[net.place[i] + at], drawn.rate[net.place[i] + at] = shape, prior
                    if priors.possible[i, x, y]:
                        rate = gamma(random, shape + moves) / (prior + time)
                    rates[at] = rate
        put_rates(net, i, card, rates, states)
    if share > 0.0:
        one, two = gamma(random, 1.0 + n_pushed), gamma(random, 1.0 + n_free)
        drawn.pushed[0] = min(max(one / (one + two), 1e-9), 1.0 - 1e-9)
    return total


@compiled
def _sum_out(values: FloatArray, out: FloatArray, outer: int, summed: int, inner: int) -> None:
    """Sum (outer, summed, inner) numbers over the middle."""
    for o in range(outer):
        for k in range(inner):
            out[o * inner + k] = values[o * summed * inner + k]
        for s in range(1, summed):
            base = (o * summed + s) * inner
            for k in range(inner):
                out[o * inner + k] += values[base + k]


@compiled
def _score(table: FloatArray, card: int, states: int, i: int, factor: float, priors: Priors) -> float:
    """Log evidence of a set's statistics: per joint state of its members the dwell times, then the transitions."""
    total, alpha = 0.0, priors.shape[i] * factor
    for x in range(card):
        beta = priors.rate[i, x] * factor
        base = alpha * log(beta) - lgamma(alpha)
        for u in range(states):
            at = u * card * (card + 1)
            after = log(beta + table[at + x])
            for y in range(card):
                if priors.possible[i, x, y]:
                    moves = table[at + card + x * card + y]
                    total += base + lgamma(alpha + moves) - (alpha + moves) * after
    return total


@compiled
def draw_initial(
    cards: IntArray, starts: FloatArray, place: IntArray, probability: FloatArray, random: WordArray
) -> None:
    """Draw the initial distribution of every node, Dirichlet(1 + number of starts in each state), as a product.

    `starts` (N, widest) are how many trajectories start in each state.
    """
    for i in range(len(cards)):
        at, total = place[i], 0.0
        for x in range(cards[i]):
            probability[at + x] = gamma(random, 1.0 + starts[i, x])
            total += probability[at + x]
        for x in range(cards[i]):
            probability[at + x] /= total


@compiled
def count_starts(cards: IntArray, begin: IntArray, starts: FloatArray) -> None:
    """How many trajectories start in each state of every node, (N, widest)."""
    for i in range(len(cards)):
        for x in range(starts.shape[1]):
            starts[i, x] = 0.0
        for b in range(len(begin)):
            starts[i, begin[b, i]] += 1.0
