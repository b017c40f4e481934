"""What path draws work on, as flat arrays: observations, present paths, parents and rates, initial tables.

Compiled loops (`inference.gibbs`, `structure.set_draws`) take these tuples; here they are made, filled and looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from ctbnlearn.arguments import AnySeed
from ctbnlearn.arrays import FloatArray, IntArray, WordArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import owner
from ctbnlearn.errors import DataError
from ctbnlearn.model.initial import InitialDistribution
from ctbnlearn.streams import compiled, streams, uniform

UNIFORM = 4.0  # virtual jumps: with 2 a chain takes ten times as long to forget where it began
TINY = 1e-300
LEAST_SLOTS = 8  # jumps a path has room for at first


class Seen(NamedTuple):
    """Windows and informative observations of all trajectories.

    Node i was seen in trajectory b at times[rows[i, b]:rows[i, b + 1]]; the log likelihoods of its states at row r are
    log_likelihood[place[i] + r * cards[i] + x]. It was set from outside from set_start[r] to set_end[r], to the state
    set_value[r] (-1: not known), for r from set_rows[i, b] to set_rows[i, b + 1].
    """

    cards: IntArray  # (N,)
    start: FloatArray  # (B,)
    end: FloatArray
    rows: IntArray  # (N, B + 1)
    times: FloatArray
    place: IntArray  # (N,)
    log_likelihood: FloatArray
    set_rows: IntArray  # (N, B + 1)
    set_start: FloatArray
    set_end: FloatArray
    set_value: IntArray


class Paths(NamedTuple):
    """Present paths: node i of trajectory b begins in begin[b, i]; its jumps stand from first[b, i] on.

    `used` holds how much of `times` and `states` is in use.
    """

    begin: IntArray  # (B, N)
    first: IntArray
    count: Any  # (B, N); typed as an array it would clash with tuple.count
    slots: IntArray
    times: FloatArray
    states: IntArray
    used: IntArray  # (1,)
    random: WordArray  # (B, 4)


class Net(NamedTuple):
    """Parents and rates of every node.

    Of node i, the logarithms of its rates stand at log_rate[place[i] + (u * S + x) * S + y], the transitions of the
    uniformised chain, I + Q / Omega, at the same places of `step`, exit rates at exit[leave[i] + u * S + x], Omega at
    omega[bound[i] + u]. Joint states u of the parents are numbered in C order by `stride`.
    """

    n_parents: IntArray  # (N,)
    parents: IntArray  # (N, most)
    stride: IntArray
    place: IntArray
    leave: IntArray
    bound: IntArray
    log_rate: FloatArray
    step: FloatArray
    exit: FloatArray
    omega: FloatArray


class Start(NamedTuple):
    """Initial tables p(x_i | given_i): probability[place[i] + row * S + x]; `children` are those given i."""

    n_given: IntArray
    given: IntArray
    place: IntArray
    probability: FloatArray
    n_children: IntArray
    children: IntArray


def gather(obs: Observations) -> Seen:
    """Windows and observations; rows that tell no states apart are left out."""
    cards = np.array([v.n_states for v in obs.variables], np.int64)
    rows, times, place, tables = [], [], [], []
    n_rows = n_numbers = 0
    for series, card in zip(obs.series, cards):
        table = series.log_likelihood()
        informative = (table != table[:, :1]).any(1) | series.noise.learned  # what is learned may tell more later
        who = owner(series.offsets)[informative]
        table = np.ascontiguousarray(table[informative], float)
        with np.errstate(invalid="ignore"):
            table -= table.max(1, keepdims=True)
        counts = np.bincount(who, minlength=obs.n_trajectories)
        place.append(n_numbers - n_rows * card)
        rows.append(n_rows + np.concatenate([[0], np.cumsum(counts)]))
        times.append(np.asarray(series.times, float)[informative])
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
        *_gather_interventions(obs),
    )


def _gather_interventions(obs: Observations) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Stretches set from outside, node by node."""
    given, n = obs.interventions, obs.n_trajectories
    rows = np.zeros((len(obs.variables), n + 1), np.int64)
    if given is None or not len(given):
        return rows, np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
    order, total = [], 0
    for i in range(len(rows)):
        mine, bounds = given.of(i, n)
        rows[i] = total + bounds
        order.append(mine)
        total += len(mine)
    index = np.concatenate(order)
    return rows, given.start[index].astype(float), given.end[index].astype(float), given.value[index].astype(np.int64)


def make_net(cards: Sequence[int], most_parents: int, most_states: Sequence[int]) -> Net:
    """Room for the rates of every node with up to `most_states` joint parent states; no parents, rates zero."""
    size = np.asarray(most_states, np.int64)
    card = np.asarray(cards, np.int64)

    def places(sizes: IntArray) -> IntArray:
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


def first_paths(seen: Seen, seed: AnySeed, first_stream: int = 0) -> Paths:
    """Paths at rest with as many virtual jumps in every gap between observations as a node has states.

    Where a node is let go that was set from outside, a gap begins, too: it may have to move before it is seen next.

    The first draw under a network without edges turns them into paths that the observations allow. Random streams are
    those from number `first_stream` on.
    """
    n, b = len(seen.cards), len(seen.start)
    random = streams(seed, b, first_stream)
    gaps = np.diff(seen.rows, axis=1) + np.diff(seen.set_rows, axis=1) + 1
    count = np.ascontiguousarray(gaps.T * seen.cards)
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
            r, s = seen.rows[i, b], seen.set_rows[i, b]
            last, s_last = seen.rows[i, b + 1], seen.set_rows[i, b + 1]
            for _ in range(last - r + s_last - s + 1):
                high = seen.times[r] if r < last else seen.end[b]
                if s < s_last and seen.set_end[s] < high:
                    high = seen.set_end[s]
                    s += 1
                else:
                    r += 1
                if high > low:
                    for m in range(seen.cards[i]):
                        paths.times[k] = low + (high - low) * (m + uniform(paths.random[b])) / seen.cards[i]
                        k += 1
                low = high
            paths.count[b, i] = k - paths.first[b, i]


@compiled
def put_rates(net: Net, node: int, card: int, rates: FloatArray, size: int) -> None:
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


def more_room(paths: Paths, b: int, i: int, slots: int) -> Paths:
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
def look(paths: Paths, queries: FloatArray, counts: FloatArray) -> None:
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


def states_seen(seen: Seen, paths: Paths, node: int) -> IntArray:
    """States of a node's path at the times it was seen, row by row."""
    out = np.empty(int(seen.rows[node, -1] - seen.rows[node, 0]), np.int64)
    _states_seen(seen, paths, node, out)
    return out


@compiled
def _states_seen(seen: Seen, paths: Paths, node: int, out: IntArray) -> None:
    at = seen.rows[node, 0]
    for b in range(len(seen.start)):
        x, k = int(paths.begin[b, node]), paths.first[b, node]
        last = k + paths.count[b, node]
        for r in range(seen.rows[node, b], seen.rows[node, b + 1]):
            while k < last and paths.times[k] <= seen.times[r]:
                x = int(paths.states[k])
                k += 1
            out[r - at] = x


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


def refuse(trajectory: object, variable: str) -> None:
    """Raise because observations have probability zero."""
    raise DataError(
        f"trajectory {trajectory!r}: what was seen of variable {variable!r} cannot happen: `transitions`, the initial "
        "distribution or an intervention rule out how its states follow each other; allow it or correct the data"
    )
