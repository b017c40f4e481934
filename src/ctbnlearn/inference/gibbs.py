"""Draws of hidden paths, node by node, given everything else: Gibbs sampling by uniformisation (Rao & Teh 2013).

The path of node i given its Markov blanket is a jump process with rates R_i(x, x' | u(t)), weighed at every moment by
its children, exp(-exit_c dt) while they rest and R_c(y, y' | u_c) where they jump, and by its observations. To draw it

1. add virtual jumps to those of its present path, at rate Omega(u) - exit_i(x | u), Omega some times the largest exit;
2. forget the states; on these times x is a discrete chain with transitions I + Q(u) / Omega(u): filter forwards;
3. draw the states backwards, and keep the times at which they change.

This leaves the posterior of the paths as it is, and is exact: nothing is approximated, there is no time grid. Loops are
compiled; every trajectory has its own random stream, and none needs another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import owner
from ctbnlearn.errors import DataError
from ctbnlearn.model.initial import InitialDistribution
from ctbnlearn.streams import choose, compiled, exponential, streams, uniform

UNIFORM = 4.0  # virtual jumps: with 2 a chain takes ten times as long to forget where it began
TINY = 1e-300
LEAST_SLOTS = 8  # jumps a path has room for at first

Array = Any


class Seen(NamedTuple):
    """Windows and informative observations of all trajectories.

    Node i was seen in trajectory b at times[rows[i, b]:rows[i, b + 1]]; the log likelihoods of its states at row r are
    log_likelihood[place[i] + r * cards[i] + x].
    """

    cards: Array  # (N,)
    start: Array  # (B,)
    end: Array
    rows: Array  # (N, B + 1)
    times: Array
    place: Array  # (N,)
    log_likelihood: Array


class Paths(NamedTuple):
    """Present paths: node i of trajectory b begins in begin[b, i]; its jumps stand from first[b, i] on.

    `used` holds how much of `times` and `states` is in use.
    """

    begin: Array  # (B, N)
    first: Array
    count: Array
    slots: Array
    times: Array
    states: Array
    used: Array  # (1,)
    random: Array  # (B, 4)


class Net(NamedTuple):
    """Parents and rates of every node.

    Of node i, the logarithms of its rates stand at log_rate[place[i] + (u * S + x) * S + y], the transitions of the
    uniformised chain, I + Q / Omega, at the same places of `step`, exit rates at exit[leave[i] + u * S + x], Omega at
    omega[bound[i] + u]. Joint states u of the parents are numbered in C order by `stride`.
    """

    n_parents: Array  # (N,)
    parents: Array  # (N, most)
    stride: Array
    place: Array
    leave: Array
    bound: Array
    log_rate: Array
    step: Array
    exit: Array
    omega: Array


class Start(NamedTuple):
    """Initial tables p(x_i | given_i): probability[place[i] + row * S + x]; `children` are those given i."""

    n_given: Array
    given: Array
    place: Array
    probability: Array
    n_children: Array
    children: Array


class Blanket(NamedTuple):
    """Whose jumps matter to a node, and how.

    Node i has children child[child_first[i]:child_first[i + 1]], whose joint parent state it changes by child_stride.
    Its sources are source[first[i]:first[i + 1]]; a jump of one changes the joint state of i's own parents by `own`,
    is a jump of child number `as_child` (or -1), and changes the joint state of the parents of children
    touched[touch_first[s]:touch_first[s + 1]] by touch_stride.
    """

    first: Array
    source: Array
    own: Array
    as_child: Array
    touch_first: Array
    touched: Array
    touch_stride: Array
    child_first: Array
    child: Array
    child_stride: Array


# building ------------------------------------------------------------------------------------------------------------
def gather(obs: Observations) -> Seen:
    """Windows and observations; rows that tell no states apart are left out."""
    cards = np.array([v.n_states for v in obs.variables], np.int64)
    rows, times, place, tables = [], [], [], []
    n_rows = n_numbers = 0
    for series, card in zip(obs.series, cards):
        table = series.log_likelihood()
        told = (table != table[:, :1]).any(1)
        who = owner(series.offsets)[told]
        table = np.ascontiguousarray(table[told], float)
        with np.errstate(invalid="ignore"):
            table -= table.max(1, keepdims=True)
        counts = np.bincount(who, minlength=obs.n_trajectories)
        place.append(n_numbers - n_rows * card)
        rows.append(n_rows + np.concatenate([[0], np.cumsum(counts)]))
        times.append(np.asarray(series.times, float)[told])
        tables.append(table.reshape(-1))
        n_rows, n_numbers = n_rows + len(who), n_numbers + table.size
    return Seen(
        cards,
        np.array(obs.start, float),
        np.array(obs.end, float),
        np.stack(rows).astype(np.int64),
        np.concatenate(times),
        np.array(place, np.int64),
        np.concatenate(tables),
    )


def make_net(cards: Sequence[int], most_parents: int, most_states: Sequence[int]) -> Net:
    """Room for the rates of every node with up to `most_states` joint parent states; no parents, rates zero."""
    size = np.asarray(most_states, np.int64)
    card = np.asarray(cards, np.int64)

    def places(sizes: Array) -> Array:
        return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    n, wide = len(card), max(1, most_parents)
    total = int((size * card**2).sum())
    return Net(
        np.zeros(n, np.int64),
        np.full((n, wide), -1, np.int64),
        np.zeros((n, wide), np.int64),
        places(size * card**2),
        places(size * card),
        places(size),
        np.full(total, -inf),
        np.zeros(total),
        np.zeros(int((size * card).sum())),
        np.zeros(int(size.sum())),
    )


def set_node(net: Net, cards: Sequence[int], node: int, parents: Sequence[int], rates: FloatArray) -> None:
    """Give a node parents and rates (U, S, S)."""
    net.n_parents[node] = len(parents)
    step = 1
    for k in range(len(parents) - 1, -1, -1):
        net.parents[node, k], net.stride[node, k] = parents[k], step
        step *= cards[parents[k]]
    put_rates(net, node, cards[node], np.ascontiguousarray(rates, float).reshape(-1), step)


def make_start(cards: Sequence[int], initial: InitialDistribution) -> Start:
    """Initial tables of all nodes."""
    n = len(cards)
    children: list[list[int]] = [[j for j in range(n) if i in initial.given[j]] for i in range(n)]
    given = np.full((n, max(1, *map(len, initial.given))), -1, np.int64)
    heirs = np.full((n, max(1, *map(len, children))), -1, np.int64)
    for i in range(n):
        given[i, : len(initial.given[i])] = initial.given[i]
        heirs[i, : len(children[i])] = children[i]
    sizes = np.array([t.size for t in initial.tables])
    return Start(
        np.array([len(g) for g in initial.given], np.int64),
        given,
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        np.concatenate([np.asarray(t, float).reshape(-1) for t in initial.tables]),
        np.array([len(c) for c in children], np.int64),
        heirs,
    )


def first_paths(obs: Observations, seen: Seen, seed: Any) -> Paths:
    """Paths at rest with as many virtual jumps in every gap between observations as a node has states.

    The first draw under a network without edges turns them into paths that the observations allow.
    """
    random = streams(seed, obs.n_trajectories)
    n, b = len(seen.cards), obs.n_trajectories
    count = np.ascontiguousarray((np.diff(seen.rows, axis=1).T + 1) * seen.cards)
    slots = np.maximum(2 * count, LEAST_SLOTS)
    first = np.concatenate([[0], np.cumsum(slots.reshape(-1))])
    total = int(first[-1])
    paths = Paths(
        np.zeros((b, n), np.int16),
        first[:-1].reshape(b, n).astype(np.int64),
        count,
        slots,
        np.empty(total + total // 4),
        np.zeros(total + total // 4, np.int16),
        np.array([total], np.int64),
        random,
    )
    _scatter(seen, paths)
    return paths


@compiled
def _scatter(seen: Seen, paths: Paths) -> None:
    n = len(seen.cards)
    for b in range(len(seen.start)):
        for i in range(n):
            low, k = seen.start[b], paths.first[b, i]
            for r in range(seen.rows[i, b], seen.rows[i, b + 1] + 1):
                high = seen.end[b] if r == seen.rows[i, b + 1] else seen.times[r]
                if high > low:
                    for m in range(seen.cards[i]):
                        paths.times[k] = low + (high - low) * (m + uniform(paths.random[b])) / seen.cards[i]
                        k += 1
                low = high
            paths.count[b, i] = k - paths.first[b, i]


@compiled
def put_rates(net: Net, node: int, card: int, rates: Array, size: int) -> None:
    """Rates (U, S, S), flat, of a node; what is worked out from them follows."""
    for u in range(size):
        base, largest = net.place[node] + u * card * card, 0.0
        for x in range(card):
            total = 0.0
            for y in range(card):
                rate = rates[(u * card + x) * card + y] if x != y else 0.0
                net.log_rate[base + x * card + y] = log(rate) if rate > 0.0 else -inf
                net.step[base + x * card + y] = rate
                total += rate
            net.exit[net.leave[node] + u * card + x] = total
            largest = max(largest, total)
        omega = UNIFORM * largest
        net.omega[net.bound[node] + u] = omega
        for x in range(card):
            for y in range(card):
                net.step[base + x * card + y] /= omega if omega > 0.0 else 1.0
            net.step[base + x * card + x] = 1.0 - net.exit[net.leave[node] + u * card + x] / max(omega, TINY)


@compiled
def find_blankets(net: Net) -> Blanket:
    """Sources of every node, for the parents as they are."""
    n, total = len(net.n_parents), 0
    for i in range(n):
        total += net.n_parents[i]
    child_first, at = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        for k in range(net.n_parents[i]):
            child_first[net.parents[i, k] + 1] += 1
    for i in range(n):
        child_first[i + 1] += child_first[i]
        at[i] = child_first[i]
    child, child_stride = np.empty(total, np.int64), np.empty(total, np.int64)
    for i in range(n):
        for k in range(net.n_parents[i]):
            j = net.parents[i, k]
            child[at[j]], child_stride[at[j]] = i, net.stride[i, k]
            at[j] += 1
    bound = total
    for i in range(n):
        for c in range(child_first[i], child_first[i + 1]):
            bound += 1 + net.n_parents[child[c]]
    first, source, own = np.zeros(n + 1, np.int64), np.empty(bound, np.int64), np.empty(bound, np.int64)
    as_child, touch_first = np.empty(bound, np.int64), np.zeros(bound + 1, np.int64)
    touched, touch_stride = np.empty(bound, np.int64), np.empty(bound, np.int64)
    place = np.empty(n, np.int64)
    for k in range(n):
        place[k] = -1
    for k in range(bound):
        as_child[k] = -1
        own[k] = 0
    s = t = 0
    for i in range(n):
        begin = s
        for k in range(net.n_parents[i]):
            place[net.parents[i, k]] = s
            source[s], own[s] = net.parents[i, k], net.stride[i, k]
            s += 1
        for c in range(child_first[i], child_first[i + 1]):
            if place[child[c]] < 0:
                place[child[c]] = s
                source[s] = child[c]
                s += 1
            as_child[place[child[c]]] = c - child_first[i]
            for k in range(net.n_parents[child[c]]):
                j = net.parents[child[c], k]
                if j != i and place[j] < 0:
                    place[j] = s
                    source[s] = j
                    s += 1
        for q in range(begin, s):
            touch_first[q] = t
            for c in range(child_first[i], child_first[i + 1]):
                for k in range(net.n_parents[child[c]]):
                    if net.parents[child[c], k] == source[q]:
                        touched[t], touch_stride[t] = c - child_first[i], net.stride[child[c], k]
                        t += 1
            touch_first[q + 1] = t
            place[source[q]] = -1
        first[i + 1] = s
    return Blanket(first, source, own, as_child, touch_first, touched, touch_stride, child_first, child, child_stride)


# drawing -------------------------------------------------------------------------------------------------------------
NONE, NO_POINTS, NO_SLOTS, IMPOSSIBLE = 0, 1, 2, 3  # what keeps a draw from going on


def draw_paths(
    seen: Seen, paths: Paths, net: Net, start: Start, points: int = 256
) -> tuple[Paths, tuple[int, int] | None]:
    """Draw all nodes of all trajectories once, one after another.

    Returns the paths, whose arrays may have grown, and trajectory and node of observations that are impossible, if any.
    """
    around = find_blankets(net)
    b = i = 0
    while True:
        b, i, trouble, size = _draw(b, i, points, seen, paths, net, start, around)
        if trouble == NONE:
            return paths, None
        if trouble == IMPOSSIBLE:
            return paths, (b, i)
        if trouble == NO_POINTS:
            points *= 2
        else:
            paths = _more_room(paths, b, i, 2 * size)


@compiled
def _draw(
    b0: int, i0: int, points: int, seen: Seen, paths: Paths, net: Net, start: Start, around: Blanket
) -> tuple[int, int, int, int]:
    """Draw from node i0 of trajectory b0 on; returns where it stopped, why, and the jumps it has no room for.

    What is stopped is drawn again with the same random numbers: a path must not depend on the room there is.
    """
    cards, seen_rows, seen_times, log_likelihood = seen.cards, seen.rows, seen.times, seen.log_likelihood
    begin, slot, count, times, states = paths.begin, paths.first, paths.count, paths.times, paths.states
    log_rate, step, exit_rate, omega, leave = net.log_rate, net.step, net.exit, net.omega, net.leave
    first, source, own, as_child = around.first, around.source, around.own, around.as_child
    touch_first, touched, touch_stride = around.touch_first, around.touched, around.touch_stride
    child_first, child, child_stride = around.child_first, around.child, around.child_stride
    n, widest = len(cards), 0
    for i in range(n):
        widest = max(widest, cards[i])
    pointer, last, state = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    child_state, config = np.empty(n, np.int64), np.empty(n, np.int64)  # config: with the node itself in state 0
    alpha, log_weight, hazard, weight = np.empty(widest), np.empty(widest), np.empty(widest), np.empty(widest)
    grid_time, grid_config, grid_alpha = np.empty(points), np.empty(points, np.int64), np.empty(points * widest)
    kept = np.empty(4, np.uint64)
    for b in range(b0, len(begin)):
        random = paths.random[b]
        end = seen.end[b]
        for i in range(i0 if b == b0 else 0, n):
            for k in range(4):
                kept[k] = random[k]
            card, s0, c0 = cards[i], first[i], child_first[i]
            n_sources, n_children = first[i + 1] - s0, child_first[i + 1] - c0
            place, leave_i, bound = net.place[i], leave[i], net.bound[i]
            # where everything stands at the start
            u = 0
            for c in range(n_children):
                config[c] = 0
            t_source, s_next = inf, 0
            for s in range(n_sources):
                j = source[s0 + s]
                x = int(begin[b, j])
                state[s] = x
                pointer[s] = slot[b, j]
                last[s] = pointer[s] + count[b, j]
                u += own[s0 + s] * x
                if as_child[s0 + s] >= 0:
                    child_state[as_child[s0 + s]] = x
                for t in range(touch_first[s0 + s], touch_first[s0 + s + 1]):
                    config[touched[t]] += touch_stride[t] * x
                if pointer[s] < last[s] and times[pointer[s]] < t_source:
                    t_source, s_next = times[pointer[s]], s
            _first_weights(b, i, card, cards, begin, start, alpha)
            for x in range(card):
                log_weight[x] = 0.0
                hazard[x] = 0.0
                for c in range(n_children):
                    j = child[c0 + c]
                    hazard[x] += exit_rate[
                        leave[j] + (config[c] + x * child_stride[c0 + c]) * cards[j] + child_state[c]
                    ]
            # forwards
            now = seen.start[b]
            x_old = int(begin[b, i])
            p_old = slot[b, i]
            p_last = p_old + count[b, i]
            row, last_row = seen_rows[i, b], seen_rows[i, b + 1]
            t_old = times[p_old] if p_old < p_last else inf
            t_row = seen_times[row] if row < last_row else inf
            left = exponential(random)
            k = 0
            while True:
                kind, then = 0, end
                if t_row <= then:
                    kind, then = 1, t_row
                if t_source < then:
                    kind, then = 2, t_source
                if t_old < then:
                    kind, then = 3, t_old
                speed = omega[bound + u] - exit_rate[leave_i + u * card + x_old]
                spent = speed * (then - now)
                if spent > left:
                    kind, then = 4, now + left / speed
                    left = exponential(random)
                else:
                    left -= spent
                for x in range(card):
                    log_weight[x] -= hazard[x] * (then - now)
                now = then
                if kind == 0:
                    break
                if kind == 1:  # the node is seen
                    at = seen.place[i] + row * card
                    for x in range(card):
                        log_weight[x] += log_likelihood[at + x]
                    row += 1
                    t_row = seen_times[row] if row < last_row else inf
                elif kind == 2:  # a source jumps
                    s = s_next
                    before, after = state[s], int(states[pointer[s]])
                    pointer[s] += 1
                    state[s] = after
                    u += own[s0 + s] * (after - before)
                    c = as_child[s0 + s]
                    if c >= 0:
                        j, stride = child[c0 + c], child_stride[c0 + c]
                        child_state[c] = after
                        for x in range(card):
                            at = (config[c] + x * stride) * cards[j]
                            log_weight[x] += log_rate[net.place[j] + (at + before) * cards[j] + after]
                            hazard[x] += exit_rate[leave[j] + at + after] - exit_rate[leave[j] + at + before]
                    for t in range(touch_first[s0 + s], touch_first[s0 + s + 1]):
                        c = touched[t]
                        j, shift = child[c0 + c], touch_stride[t] * (after - before) * cards[child[c0 + c]]
                        at = leave[j] + config[c] * cards[j] + child_state[c]
                        for x in range(card):
                            of_x = at + x * child_stride[c0 + c] * cards[j]
                            hazard[x] += exit_rate[of_x + shift] - exit_rate[of_x]
                        config[c] += touch_stride[t] * (after - before)
                    t_source = inf
                    for s in range(n_sources):
                        if pointer[s] < last[s] and times[pointer[s]] < t_source:
                            t_source, s_next = times[pointer[s]], s
                else:  # a time of the chain, from the present path (3) or virtual (4)
                    full = k >= points
                    if full or not _absorb(alpha, log_weight, card):
                        for k in range(4):
                            random[k] = kept[k]
                        return b, i, NO_POINTS if full else IMPOSSIBLE, 0
                    grid_time[k] = now
                    grid_config[k] = u
                    at = place + u * card * card
                    for x in range(card):
                        grid_alpha[k * card + x] = alpha[x]
                    for y in range(card):
                        total = 0.0
                        for x in range(card):
                            total += grid_alpha[k * card + x] * step[at + x * card + y]
                        alpha[y] = total
                    k += 1
                    if kind == 3:
                        x_old = int(states[p_old])
                        p_old += 1
                        t_old = times[p_old] if p_old < p_last else inf
            if not _absorb(alpha, log_weight, card):
                return b, i, IMPOSSIBLE, 0
            # backwards; jumps take the places, from the end on, of times that are done with
            x_old = choose(random, alpha, card)
            free = n_times = k
            for k in range(n_times - 1, -1, -1):
                at = place + grid_config[k] * card * card + x_old
                for x in range(card):
                    weight[x] = grid_alpha[k * card + x] * step[at + x * card]
                x = choose(random, weight, card)
                if x != x_old:
                    free -= 1
                    grid_time[free], grid_config[free] = grid_time[k], x_old
                    x_old = x
            jumps = n_times - free
            if jumps > paths.slots[b, i]:
                for k in range(4):
                    random[k] = kept[k]
                return b, i, NO_SLOTS, jumps
            begin[b, i] = x_old
            count[b, i] = jumps
            at = slot[b, i]
            for k in range(jumps):
                times[at + k] = grid_time[free + k]
                states[at + k] = grid_config[free + k]
    return 0, 0, NONE, 0


@compiled
def _first_weights(b: int, i: int, card: int, cards: Array, begin: Array, start: Start, alpha: Array) -> None:
    """Probability of the initial states of all nodes as a function of that of node i, up to a factor."""
    kept = begin[b, i]
    for x in range(card):
        begin[b, i] = x
        alpha[x] = 1.0
        for k in range(start.n_children[i] + 1):
            j = i if k == 0 else start.children[i, k - 1]
            row = 0
            for g in range(start.n_given[j]):
                row = row * cards[start.given[j, g]] + begin[b, start.given[j, g]]
            alpha[x] *= start.probability[start.place[j] + row * cards[j] + begin[b, j]]
    begin[b, i] = kept


@compiled
def _absorb(alpha: Array, log_weight: Array, card: int) -> bool:
    """Multiply the weights in; False where nothing is left."""
    peak = -inf
    for x in range(card):
        if alpha[x] > 0.0:
            peak = max(peak, log_weight[x])
    if peak == -inf:
        return False
    total = 0.0
    for x in range(card):
        if log_weight[x] < peak:
            alpha[x] *= exp(log_weight[x] - peak)
        log_weight[x] = 0.0
        total += alpha[x]
    if total < 1e-100:
        for x in range(card):
            alpha[x] /= total
    return total > 0.0


def _more_room(paths: Paths, b: int, i: int, slots: int) -> Paths:
    """Give the path of a node room for more jumps, at the end."""
    used = int(paths.used[0])
    times, states = paths.times, paths.states
    if used + slots > len(times):
        size = used + slots + len(times) // 2
        times, states = np.empty(size), np.zeros(size, np.int16)
        times[:used], states[:used] = paths.times[:used], paths.states[:used]
    at, count = paths.first[b, i], paths.count[b, i]
    times[used : used + count], states[used : used + count] = times[at : at + count], states[at : at + count]
    paths.first[b, i], paths.slots[b, i] = used, slots
    paths.used[0] = used + slots
    return paths._replace(times=times, states=states)


@compiled
def look(paths: Paths, queries: Array, counts: Array) -> None:
    """Add the states at times (B, Q), in increasing order, to counts (B, N, Q, S)."""
    for b in range(counts.shape[0]):
        for i in range(counts.shape[1]):
            x, k = int(paths.begin[b, i]), paths.first[b, i]
            last = k + paths.count[b, i]
            for q in range(queries.shape[1]):
                while k < last and paths.times[k] <= queries[b, q]:
                    x = int(paths.states[k])
                    k += 1
                counts[b, i, q, x] += 1.0


def compact(paths: Paths) -> Paths:
    """The same paths with room for twice the jumps they have, no more."""
    slots = np.maximum(2 * paths.count, LEAST_SLOTS // 2)
    first = np.concatenate([[0], np.cumsum(slots.reshape(-1))])
    total = int(first[-1])
    first = first[:-1].reshape(slots.shape)
    counts = paths.count.reshape(-1)
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    old, new = np.repeat(paths.first.reshape(-1), counts) + within, np.repeat(first.reshape(-1), counts) + within
    times, states = np.empty(total + total // 4), np.zeros(total + total // 4, np.int16)
    times[new], states[new] = paths.times[old], paths.states[old]
    return paths._replace(first=first, slots=slots, times=times, states=states, used=np.array([total], np.int64))


def refuse(obs: Observations, trajectory: int, node: int) -> None:
    """Raise where observations have probability zero."""
    raise DataError(
        f"trajectory {obs.ids[trajectory]!r}: what was seen of variable {obs.names[node]!r} cannot happen: "
        "`transitions` or the initial distribution rule out how its states follow each other; allow it or correct the "
        "data"
    )
