"""Draws of hidden paths, node by node, given everything else: Gibbs sampling by uniformisation (Rao & Teh 2013).

The path of node i given its Markov blanket is a jump process with rates R_i(x, x' | u(t)), weighed at every moment by
its children, exp(-exit_c dt) while they rest and R_c(y, y' | u_c) where they jump, and by its observations. To draw it

1. add virtual jumps to those of its present path, at rate Omega(u) - exit_i(x | u), Omega some times the largest exit;
2. forget the states; on these times x is a discrete chain with transitions I + Q(u) / Omega(u): filter forwards;
3. draw the states backwards, and keep the times at which they change.

Where a node is set from outside, its own rates have no say: it takes a state at the start, any or a given one, then
moves at a rate of its own that is next to nothing (`CALM` moves expected in the longest trajectory; never, if its value
is given), and as a child it says nothing.

This leaves the posterior of the paths as it is, and is exact: nothing is approximated, there is no time grid. Loops are
compiled; every trajectory has its own random stream, and none needs another.
"""

from __future__ import annotations

from math import exp, inf
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.inference.path_state import UNIFORM, Net, Paths, Seen, Start, more_room
from ctbnlearn.streams import choose, compiled, exponential


class Blanket(NamedTuple):
    """Whose jumps matter to a node, and how.

    Node i has children child[child_first[i]:child_first[i + 1]], whose joint parent state it changes by child_stride.
    Its sources are source[first[i]:first[i + 1]]; a jump of one changes the joint state of i's own parents by `own`,
    is a jump of child number `as_child` (or -1), and changes the joint state of the parents of children
    touched[touch_first[s]:touch_first[s + 1]] by touch_stride.
    """

    first: IntArray
    source: IntArray
    own: IntArray
    as_child: IntArray
    touch_first: IntArray
    touched: IntArray
    touch_stride: IntArray
    child_first: IntArray
    child: IntArray
    child_stride: IntArray


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


NONE, NO_POINTS, NO_SLOTS, IMPOSSIBLE = 0, 1, 2, 3  # what keeps a draw from going on
# in place of the parents' state at a time of the chain: set to any state, resting there, set to state x (-4 - x), fixed
ANY, REST, FIXED, FIRST_SET = -1, -2, -3, -4
CALM = 0.01


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
            paths = more_room(paths, b, i, 2 * size)


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
    any_set, calm = len(seen.set_start) > 0, 0.0
    set_at, set_last, held = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.zeros(n + 1, np.bool_)
    if any_set:
        longest = 0.0
        for b in range(len(begin)):
            longest = max(longest, seen.end[b] - seen.start[b])
        calm = CALM / longest
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
            k = resting = 0
            t_set, e_set = inf, 0
            if any_set:  # entry e: child e, or after the children the node itself
                for e in range(n_children + 1):
                    j = child[c0 + e] if e < n_children else i
                    set_at[e], set_last[e], held[e] = seen.set_rows[j, b], seen.set_rows[j, b + 1], False
                t_set, e_set = _next_set(seen, n_children + 1, set_at, set_last, held)
            while True:
                kind, then = 0, end
                if t_row <= then:
                    kind, then = 1, t_row
                if t_set <= then:
                    kind, then = 5, t_set
                if t_source < then:
                    kind, then = 2, t_source
                if t_old < then:
                    kind, then = 3, t_old
                if resting == 0:
                    speed = omega[bound + u] - exit_rate[leave_i + u * card + x_old]
                else:
                    speed = (UNIFORM - 1.0) * calm if resting == REST else 0.0
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
                        for x in range(0 if held[c] else card):
                            at = (config[c] + x * stride) * cards[j]
                            log_weight[x] += log_rate[net.place[j] + (at + before) * cards[j] + after]
                            hazard[x] += exit_rate[leave[j] + at + after] - exit_rate[leave[j] + at + before]
                    for t in range(touch_first[s0 + s], touch_first[s0 + s + 1]):
                        c = touched[t]
                        j, shift = child[c0 + c], touch_stride[t] * (after - before) * cards[child[c0 + c]]
                        at = leave[j] + config[c] * cards[j] + child_state[c]
                        for x in range(0 if held[c] else card):
                            of_x = at + x * child_stride[c0 + c] * cards[j]
                            hazard[x] += exit_rate[of_x + shift] - exit_rate[of_x]
                        config[c] += touch_stride[t] * (after - before)
                    t_source = inf
                    for s in range(n_sources):
                        if pointer[s] < last[s] and times[pointer[s]] < t_source:
                            t_source, s_next = times[pointer[s]], s
                elif kind == 5 and (e_set < n_children or held[e_set]):  # a child is set or let go, or the node let go
                    if e_set < n_children:
                        j = child[c0 + e_set]
                        for x in range(card):
                            at = (config[e_set] + x * child_stride[c0 + e_set]) * cards[j] + child_state[e_set]
                            hazard[x] += exit_rate[leave[j] + at] if held[e_set] else -exit_rate[leave[j] + at]
                    else:
                        resting = 0
                    set_at[e_set] += held[e_set]
                    held[e_set] = not held[e_set]
                    t_set, e_set = _next_set(seen, n_children + 1, set_at, set_last, held)
                else:  # a time of the chain: from the present path (3), virtual (4), or the node is set (5)
                    full = k >= points
                    if full or not _absorb(alpha, log_weight, card):
                        for k in range(4):
                            random[k] = kept[k]
                        return b, i, NO_POINTS if full else IMPOSSIBLE, 0
                    grid_time[k] = now
                    code = u if resting == 0 else resting
                    if kind == 5:
                        held[e_set], value = True, seen.set_value[set_at[e_set]]
                        code, resting = (ANY, REST) if value < 0 else (FIRST_SET - value, FIXED)
                        t_set, e_set = _next_set(seen, n_children + 1, set_at, set_last, held)
                    grid_config[k] = code
                    at = place + u * card * card
                    for x in range(card):
                        grid_alpha[k * card + x] = alpha[x]
                    for y in range(card):
                        total = 0.0
                        for x in range(card):
                            move = step[at + x * card + y] if code >= 0 else _set_step(code, x, y, card)
                            total += grid_alpha[k * card + x] * move
                        alpha[y] = total
                    k += 1
                    if kind == 3 or (kind == 5 and t_old == now):  # the jump to what it was set to before
                        x_old = int(states[p_old])
                        p_old += 1
                        t_old = times[p_old] if p_old < p_last else inf
            if not _absorb(alpha, log_weight, card):
                return b, i, IMPOSSIBLE, 0
            # backwards; jumps take the places, from the end on, of times that are done with
            x_old = choose(random, alpha, card)
            free = n_times = k
            for k in range(n_times - 1, -1, -1):
                code = grid_config[k]
                at = place + code * card * card + x_old
                for x in range(card):
                    move = step[at + x * card] if code >= 0 else _set_step(code, x, x_old, card)
                    weight[x] = grid_alpha[k * card + x] * move
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
def _next_set(seen: Seen, n: int, set_at: IntArray, set_last: IntArray, held: BoolArray) -> tuple[float, int]:
    """When the next of some nodes is set from outside or let go, and its number."""
    soonest, which = inf, 0
    for e in range(n):
        if set_at[e] < set_last[e]:
            t = seen.set_end[set_at[e]] if held[e] else seen.set_start[set_at[e]]
            if t < soonest:
                soonest, which = t, e
    return soonest, which


@compiled
def _set_step(code: int, x: int, y: int, card: int) -> float:
    """Probability of a transition of a node that is set from outside."""
    if code == ANY:
        return 1.0 / card
    if code == REST:
        return 1.0 - 1.0 / UNIFORM if x == y else 1.0 / (UNIFORM * (card - 1))
    if code == FIXED:
        return 1.0 if x == y else 0.0
    return 1.0 if y == FIRST_SET - code else 0.0


@compiled
def _first_weights(
    b: int, i: int, card: int, cards: IntArray, begin: IntArray, start: Start, alpha: FloatArray
) -> None:
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
def _absorb(alpha: FloatArray, log_weight: FloatArray, card: int) -> bool:
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
