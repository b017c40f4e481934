"""The joint chain of a block in compiled loops, for processors; see `block_chain` for the method.

From a joint state lead as many moves as the variables have further states, so a product with P takes S (k + 1)
operations, not S^2. Trajectories stand side by side in lanes, innermost, which the processor works on together.
Trajectories that look the same to a block, as units do that are seen at the same times, or copies of one, are evaluated
once. Nothing is compiled for a shape. Importing this module loads numba.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, exp, log

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.cores import usable_cores
from ctbnlearn.inference.block_chain import MOST_LOAD, MOST_TERMS, Moments, moves, n_terms
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.looks import Alike, Looks
from ctbnlearn.streams import OPTIONS, compile_by

SUM, TRAJECTORY, CELL = range(3)  # how finely moments are told apart
LANES = 64  # trajectories side by side
MOST_KEPT = 1 << 23  # numbers kept from the pass ahead; fewer lanes where trajectories are long
TOGETHER = 256  # trajectories that one task works on
MOST_BLOCKS = 16  # blocks that one task does at most
ENOUGH = 64  # tasks, to keep many cores busy

compiled = compile_by({**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}})
_n_terms = compiled(n_terms)

# Shapes below: v, old, new, beta, seen and adjoint (S, lanes), kept (terms, S, lanes), weight (terms, lanes), flow
# (k, S, lanes), dwell (S, lanes), stay (S,), and rate, source and to (k, S). Only the first `width` lanes are in use;
# lane w holds trajectory who[first + w], which stands for times[first + w] that look the same.


@compiled
def _poisson(
    weight: FloatArray, dt: FloatArray, c: int, who: IntArray, first: int, width: int, gamma: float, count: int
) -> None:
    """Probabilities of 0, ..., count jumps at rate gamma in cell c of every lane."""
    for w in range(width):
        weight[0, w] = exp(-gamma * dt[c, who[first + w]])
    for i in range(1, count + 1):
        a = gamma / i
        for w in range(width):
            weight[i, w] = weight[i - 1, w] * dt[c, who[first + w]] * a


@compiled
def _fill(out: FloatArray, width: int) -> None:
    for x in range(out.shape[0]):
        for w in range(width):
            out[x, w] = 1.0


@compiled
def _copy(out: FloatArray, v: FloatArray, width: int) -> None:
    for x in range(out.shape[0]):
        for w in range(width):
            out[x, w] = v[x, w]


@compiled
def _likelihood(
    out: FloatArray,
    table: FloatArray,
    c: int,
    who: IntArray,
    first: int,
    width: int,
    members: IntArray,
    cards: IntArray,
) -> None:
    """Likelihood of the joint states at grid point c."""
    states = out.shape[0]
    inner = states
    _fill(out, width)
    for j in range(len(members)):
        inner //= cards[j]
        for x in range(states):
            seen = table[c, members[j], (x // inner) % cards[j]]
            for w in range(width):
                out[x, w] *= seen[who[first + w]]


@compiled
def _ahead(
    new: FloatArray,
    old: FloatArray,
    v: FloatArray,
    weight: FloatArray,
    width: int,
    stay: FloatArray,
    rate: FloatArray,
    source: IntArray,
) -> None:
    """Weighted v plus P^T old: one term of the series."""
    k_moves, states = rate.shape
    for x in range(states):
        a = stay[x]
        for w in range(width):
            new[x, w] = weight[w] * v[x, w] + a * old[x, w]
        for k in range(0, k_moves - 1, 2):
            a, b = rate[k, x], rate[k + 1, x]
            i, j = source[k, x], source[k + 1, x]
            for w in range(width):
                new[x, w] += a * old[i, w] + b * old[j, w]
        if k_moves % 2:
            a, i = rate[k_moves - 1, x], source[k_moves - 1, x]
            for w in range(width):
                new[x, w] += a * old[i, w]


@compiled
def _back(
    new: FloatArray,
    old: FloatArray,
    beta: FloatArray,
    weight: FloatArray,
    width: int,
    stay: FloatArray,
    rate: FloatArray,
    to: IntArray,
) -> None:
    """P old, which is also added to beta with its weight."""
    k_moves, states = rate.shape
    for x in range(states):
        a = stay[x]
        for w in range(width):
            new[x, w] = a * old[x, w]
        for k in range(0, k_moves - 1, 2):
            a, b = rate[k, x], rate[k + 1, x]
            i, j = to[k, x], to[k + 1, x]
            for w in range(width):
                new[x, w] += a * old[i, w] + b * old[j, w]
        if k_moves % 2:
            a, i = rate[k_moves - 1, x], to[k_moves - 1, x]
            for w in range(width):
                new[x, w] += a * old[i, w]
        for w in range(width):
            beta[x, w] += weight[w] * new[x, w]


@compiled
def _series(
    kept: FloatArray,
    v: FloatArray,
    weight: FloatArray,
    count: int,
    width: int,
    stay: FloatArray,
    rate: FloatArray,
    source: IntArray,
) -> None:
    """Horner's scheme for `count` terms: kept[i] after i steps."""
    for x in range(v.shape[0]):
        for w in range(width):
            kept[0, x, w] = weight[count, w] * v[x, w]
    for i in range(count):
        _ahead(kept[i + 1], kept[i], v, weight[count - 1 - i], width, stay, rate, source)


@compiled
def _collect(flow: FloatArray, dwell: FloatArray, y: FloatArray, adjoint: FloatArray, width: int, to: IntArray) -> None:
    """Add what a term of the series contributes to the moments."""
    k_moves, states = to.shape
    for x in range(states):
        for w in range(width):
            dwell[x, w] += y[x, w] * adjoint[x, w]
        for k in range(k_moves):
            i = to[k, x]
            for w in range(width):
                flow[k, x, w] += y[x, w] * adjoint[i, w]


@compiled
def _normalise(v: FloatArray, total: FloatArray, width: int) -> None:
    """Divide every lane by its sum; what was divided by stays in `total`."""
    states = v.shape[0]
    for w in range(width):
        total[w] = 0.0
    for x in range(states):
        for w in range(width):
            total[w] += v[x, w]
    for x in range(states):
        for w in range(width):
            v[x, w] /= total[w]


@compiled
def _multiply(v: FloatArray, other: FloatArray, width: int) -> None:
    for x in range(v.shape[0]):
        for w in range(width):
            v[x, w] *= other[x, w]


@compiled
def _add(out: FloatArray, k: int, v: FloatArray, times: FloatArray, first: int, width: int, scale: float) -> None:
    """Add to out[k] the lanes of v, each as often as it stands for trajectories, times `scale`.

    They are summed in a register: whether a loop that adds to memory is taken lane by lane or several at a time is
    found out while it runs, from where the arrays happen to lie, and the sum would round accordingly.
    """
    total = 0.0
    for w in range(width):
        total += times[first + w] * v[w]
    out[k] += total * scale


@compiled
def _store(
    out_flow: FloatArray,
    out_dwell: FloatArray,
    flow: FloatArray,
    dwell: FloatArray,
    place: int,
    times: FloatArray,
    first: int,
    width: int,
    gamma: float,
    summed: bool,
) -> None:
    """Hand over the moments of some lanes, and clear them; of sums, each as often as it stands for trajectories."""
    k_moves, states = flow.shape[:2]
    for x in range(states):
        if summed:
            _add(out_dwell[place, x], 0, dwell[x], times, first, width, 1.0 / gamma)
            for k in range(k_moves):
                _add(out_flow[place, k, x], 0, flow[k, x], times, first, width, 1.0 / gamma)
        else:
            for w in range(width):
                out_dwell[place, x, first + w] += dwell[x, w] / gamma
            for k in range(k_moves):
                for w in range(width):
                    out_flow[place, k, x, first + w] += flow[k, x, w] / gamma
        for w in range(width):
            dwell[x, w] = 0.0
        for k in range(k_moves):
            for w in range(width):
                flow[k, x, w] = 0.0


@compiled
def evaluate(
    rates: FloatArray,
    exits: FloatArray,
    start: FloatArray,
    members: IntArray,
    cards: IntArray,
    to: IntArray,
    dt: FloatArray,
    table: FloatArray,
    who: IntArray,
    times: FloatArray,
    grain: int,
    log_evidence: FloatArray,
    flow: FloatArray,
    dwell: FloatArray,
    starts: FloatArray,
    most: int,
) -> None:
    """Evaluate one block; what it finds is added to the last arrays but `most`.

    Parameters
    ----------
    rates, exits, start : (k, S), (S,), (S,)
        Rates of moves, exit rates, initial distribution.
    members, cards, to : (m,), (m,), (k, S)
        The block's variables, their numbers of states, and where moves lead.
    dt, table : (C, B), (C + 1, N, c, B)
        Lengths of cells; likelihoods at their ends.
    who, times : (n,), (n,)
        Trajectories to evaluate it on, and how many others that look the same each stands for in sums, with itself.
    grain
        SUM, TRAJECTORY or CELL.
    log_evidence, flow, dwell, starts : (n,), (1 or C, k, S, 1 or n), (1 or C, S, 1 or n), (S,)
        What is found, for n trajectories.
    most
        Terms of the longest series.
    """
    k_moves, states = rates.shape
    cells = dt.shape[0]
    gamma = 1e-20
    for x in range(states):
        total = 0.0
        for k in range(k_moves):
            total += rates[k, x]
        gamma = max(gamma, exits[x], total)
    stay, ahead, back = np.empty(states), np.empty((k_moves, states)), np.empty((k_moves, states))
    source = np.empty((k_moves, states), np.int64)
    for x in range(states):
        stay[x] = 1.0 - exits[x] / gamma
        for k in range(k_moves):
            ahead[k, x] = rates[k, x] / gamma
            back[k, to[k, x]] = rates[k, x] / gamma
            source[k, to[k, x]] = x
    lanes = max(1, min(LANES, len(who), MOST_KEPT // ((cells + 1) * states)))
    before, scale = np.empty((cells + 1, states, lanes)), np.empty((cells + 1, lanes))
    terms, parts = np.zeros(cells, np.int64), np.ones(cells, np.int64)  # a cell of many moves is passed in parts
    longest = 0
    for c in range(cells):
        load = 0.0
        for b in who:
            load = max(load, gamma * dt[c, b])
        if load > 0.0:
            parts[c] = ceil(load / MOST_LOAD)
            terms[c] = min(most, ceil(_n_terms(load / parts[c], k_moves)))
            longest = max(longest, terms[c])
    kept = np.empty((longest + 1, states, lanes))
    weight = np.empty((longest + 1, lanes))
    seen, beta, within = np.empty((states, lanes)), np.empty((states, lanes)), np.empty((states, lanes))
    adjoint, next_one = np.empty((states, lanes)), np.empty((states, lanes))
    own_flow, own_dwell = np.zeros((k_moves, states, lanes)), np.zeros((states, lanes))
    for first in range(0, len(who), lanes):
        width = min(lanes, len(who) - first)
        v = before[0]
        for x in range(states):
            for w in range(width):
                v[x, w] = start[x]
        _likelihood(seen, table, 0, who, first, width, members, cards)
        _multiply(v, seen, width)
        _normalise(v, scale[cells], width)
        for w in range(width):
            log_evidence[first + w] += log(scale[cells, w])
        for c in range(cells):
            v = before[c + 1]
            _copy(v, before[c], width)
            if terms[c] > 0:
                _poisson(weight, dt, c, who, first, width, gamma / parts[c], terms[c])
                for _ in range(parts[c]):
                    _series(kept, v, weight, terms[c], width, stay, back, source)
                    _copy(v, kept[terms[c]], width)
            _likelihood(seen, table, c + 1, who, first, width, members, cards)
            _multiply(v, seen, width)
            _normalise(v, scale[c], width)
            for w in range(width):
                log_evidence[first + w] += log(scale[c, w])
        _fill(beta, width)
        for c in range(cells - 1, -1, -1):
            _likelihood(seen, table, c + 1, who, first, width, members, cards)
            for x in range(states):
                for w in range(width):
                    adjoint[x, w] = beta[x, w] * seen[x, w] / scale[c, w]
            count = terms[c]
            if count == 0:
                _copy(beta, adjoint, width)
                continue
            _poisson(weight, dt, c, who, first, width, gamma / parts[c], count)
            for part in range(parts[c] - 1, -1, -1):
                _copy(within, before[c], width)
                for _ in range(part):
                    _series(kept, within, weight, count, width, stay, back, source)
                    _copy(within, kept[count], width)
                _series(kept, within, weight, count, width, stay, back, source)
                for x in range(states):
                    for w in range(width):
                        beta[x, w] = weight[0, w] * adjoint[x, w]
                one, two = adjoint, next_one
                for i in range(count):
                    _collect(own_flow, own_dwell, kept[count - 1 - i], one, width, to)
                    _back(two, one, beta, weight[i + 1], width, stay, ahead, to)
                    one, two = two, one
                _copy(adjoint, beta, width)
            if grain == CELL:
                _store(flow, dwell, own_flow, own_dwell, c, times, first, width, gamma, False)
        if grain != CELL:
            _store(flow, dwell, own_flow, own_dwell, 0, times, first, width, gamma, grain == SUM)
        _multiply(beta, before[0], width)
        for x in range(states):
            _add(starts, x, beta[x], times, first, width, 1.0)


class Loops:
    """Evaluates blocks of equal shape one by one, in threads; results do not depend on how many.

    Parameters
    ----------
    cards
        Number of states of every variable.
    pieces
        Lengths of cells (C, B), likelihoods (C + 1, N, c, B) and number of trajectories of every piece of the data;
        further columns are padding.
    device
        Whose cores to use.
    """

    def __init__(self, cards: Sequence[int], pieces: Sequence[tuple[FloatArray, FloatArray, int]], device: Device):
        self.cards, self.device = cards, device
        self.pieces = [
            (np.ascontiguousarray(dt, float), np.ascontiguousarray(table, float), n) for dt, table, n in pieces
        ]
        self.looks = [Looks(*piece) for piece in self.pieces]

    def sums(
        self, members: IntArray, rates: FloatArray, exits: FloatArray, start: FloatArray
    ) -> Iterator[tuple[int, IntArray, IntArray, Moments]]:
        """Moments of some blocks summed over some trajectories of a piece: (piece, blocks, trajectories, moments)."""
        for piece, some, alike, found in self._runs(members, rates, exits, start, SUM):
            yield (
                piece,
                some,
                alike.order,
                found._replace(
                    log_evidence=np.repeat(found.log_evidence, np.diff(alike.bounds), 1),
                    flow=found.flow[:, 0, ..., 0],
                    dwell=found.dwell[:, 0, :, 0],
                ),
            )

    def scores(
        self, members: IntArray, rates: FloatArray, start: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Sums over some trajectories of products of scores, and of scores: (blocks, products, sums)."""
        for _, some, alike, found in self._runs(members, rates, rates.sum(1), start, TRAJECTORY):
            scores = rates[some][..., None] * (found.flow[:, 0] - found.dwell[:, 0, None])
            scores = scores.reshape(len(some), -1, scores.shape[-1])
            all_scores = scores * np.diff(alike.bounds)
            yield some, all_scores @ scores.swapaxes(1, 2), all_scores.sum(-1)

    def by_cell(
        self, members: IntArray, rates: FloatArray, start: FloatArray, piece: int
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Moments of every cell of a piece: (blocks, flow (C, n, k, S, B), dwell (C, n, S, B))."""
        for _, some, _, found in self._runs(members, rates, rates.sum(1), start, CELL, [piece], self.pieces[piece][2]):
            yield some, np.moveaxis(found.flow, 1, 0), np.moveaxis(found.dwell, 1, 0)

    def _by_looks(self, piece: int, members: IntArray, apart: bool) -> Iterator[tuple[IntArray, Alike]]:
        """Blocks to which the same trajectories of a piece look the same, and these."""
        looks = self.looks[piece]
        same: dict[tuple[int, ...], list[int]] = {}
        for b, block in enumerate(members.tolist()):
            same.setdefault(tuple(block), []).append(b)
        different: list[int] = []
        for block, some in same.items():
            alike = looks.all_different if apart else looks.alike(block)
            if alike is looks.all_different:
                different += some
            else:
                yield np.array(some), alike
        if different:
            yield np.sort(different), looks.all_different

    def _runs(
        self,
        members: IntArray,
        rates: FloatArray,
        exits: FloatArray,
        start: FloatArray,
        grain: int,
        pieces: Sequence[int] | None = None,
        together: int = TOGETHER,
    ) -> Iterator[tuple[int, IntArray, Alike, Moments]]:
        """Evaluate blocks on some trajectories at a time; a block's results come in the order of these."""
        cards = tuple(self.cards[j] for j in members[0])
        to, sizes = moves(cards)[2], np.array(cards)
        rates, exits, start = (np.ascontiguousarray(a, float) for a in (rates, exits, start))
        parts = [
            (piece, some, alike, low)
            for piece in (range(len(self.pieces)) if pieces is None else pieces)
            for some, alike in self._by_looks(piece, members, grain == CELL)
            for low in range(0, len(alike.bounds) - 1, together)
        ]
        many = min(MOST_BLOCKS, max(1, sum(len(some) for _, some, _, _ in parts) // ENOUGH))
        tasks = [
            (piece, some[first : first + many], alike, low)
            for piece, some, alike, low in parts
            for first in range(0, len(some), many)
        ]

        def work(t: int) -> tuple[int, IntArray, Alike, Moments]:
            piece, some, (order, bounds), low = tasks[t]
            dt, table, _ = self.pieces[piece]
            own = bounds[low : low + together + 1]
            n, width = len(some), len(own) - 1
            places, lanes = len(dt) if grain == CELL else 1, 1 if grain == SUM else width
            evidence, starts = np.zeros((n, width)), np.zeros((n, start.shape[1]))
            flow, dwell = np.zeros((n, places, *to.shape, lanes)), np.zeros((n, places, to.shape[1], lanes))
            data = dt, table, order[own[:-1]], np.diff(own).astype(float)
            for k, b in enumerate(some):
                out = evidence[k], flow[k], dwell[k], starts[k]
                evaluate(rates[b], exits[b], start[b], members[b], sizes, to, *data, grain, *out, MOST_TERMS)
            return piece, some, Alike(order[own[0] : own[-1]], own - own[0]), Moments(evidence, flow, dwell, starts)

        yield from self.device.each(work, len(tasks), usable_cores())
