"""Gillespie's direct method by plain loops: every rate looked up anew before every jump, no tables and no tree.

The stream is asked for numbers in the order of the package's loop: the initial states, then for every jump the wait,
the node and the new state.
"""

from __future__ import annotations

import itertools
import math


def _choose(u, weights):
    """First place whose cumulated weight exceeds u times the sum."""
    cumulated = list(itertools.accumulate(weights))
    return next(k for k, c in enumerate(cumulated) if u * cumulated[-1] < c)


def path(net, stream, n_transitions=math.inf, horizon=math.inf):
    """Initial state, jumps [(time, node, target)], and whether the path was absorbed."""
    cards, state = net.n_states, [0] * len(net.variables)
    for i in net.initial.order:
        row = 0
        for g in net.initial.given[i]:
            row = row * cards[g] + state[g]
        state[i] = _choose(stream.uniform(), net.initial.tables[i][row].tolist())
    initial, jumps, time = list(state), [], 0.0
    while len(jumps) < n_transitions:
        moves = [_moves(net, cards, i, state) for i in range(len(state))]
        exits = [sum(m) for m in moves]
        if sum(exits) == 0:
            return initial, jumps, True
        time += stream.exponential() / math.fsum(exits)
        if time > horizon:
            break
        node = _choose(stream.uniform(), exits)
        state[node] = _choose(stream.uniform(), moves[node])
        jumps.append((time, node, state[node]))
    return initial, jumps, False


def _moves(net, cards, i, state):
    row = 0
    for j in net.parents[i]:
        row = row * cards[j] + state[j]
    rates = net.cims[i][row, state[i]].tolist()
    rates[state[i]] = 0.0
    return rates
