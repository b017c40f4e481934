"""Moments of every two columns of complete paths, from their events alone.

A column is a state of a variable; z(t) is one while the variable is in that state. With A_g(t) the time up to t that
node i has spent in state s together with column g,

    int 1[x_i = s] z_f z_g dt = sum over stretches of z_f of A_g(end) - A_g(begin),

and A_g is linear between events of g and i. So an event costs one line of the table, F numbers, where a sum over the
stretches between any two events costs the whole table, F^2 numbers, for each.
Importing this module loads numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.cores import usable_cores
from ctbnlearn.data.paths import Paths
from ctbnlearn.streams import compiled

TILE = 128  # columns whose part of the table stays in the processor's cache
EVERYONE = -1  # in place of a node: all the time


@compiled
def _pair_times(
    table: FloatArray,
    tile: int,
    offsets: IntArray,
    times: FloatArray,
    nodes: IntArray,
    targets: IntArray,
    off: IntArray,
    on: IntArray,
    length: FloatArray,
    first_states: IntArray,
    first_columns: IntArray,
    node: int,
    state: int,
) -> float:
    """Add the times of all columns before a tile's end with the columns of the tile: table (F, width)."""
    low, width = tile * TILE, table.shape[1]
    high = low + width
    a, b = np.empty(width), np.empty(width)
    inside, where = np.empty(width, np.bool_), np.empty(first_columns.shape[1], np.int64)
    total = 0.0
    for trajectory in range(len(offsets) - 1):
        own = node == EVERYONE or first_states[trajectory, max(node, 0)] == state
        entered = 0.0
        for g in range(width):
            a[g], b[g], inside[g] = 0.0, 0.0, False
        for k in range(len(where)):
            f = first_columns[trajectory, k]
            where[k] = f
            if low <= f < high:
                inside[f - low] = True
                b[f - low] = 1.0 if own else 0.0
        for e in range(offsets[trajectory], offsets[trajectory + 1]):
            t, gone, come = times[e], off[e], on[e]
            if 0 <= gone < high:
                for g in range(width):
                    table[gone, g] += a[g] + b[g] * t
            if 0 <= come < high:
                for g in range(width):
                    table[come, g] -= a[g] + b[g] * t
            where[nodes[e]] = come
            if nodes[e] == node and (targets[e] == state) != own:
                own = not own
                if own:
                    entered = t
                else:
                    total += t - entered
                for g in range(width):
                    if inside[g]:
                        a[g] += -t if own else t
                        b[g] = 1.0 if own else 0.0
            if low <= gone < high:
                inside[gone - low] = False
                if own:
                    a[gone - low] += t
                    b[gone - low] = 0.0
            if low <= come < high:
                inside[come - low] = True
                if own:
                    a[come - low] -= t
                    b[come - low] = 1.0
        t = length[trajectory]
        if own:
            total += t - entered
        for k in range(len(where)):
            f = where[k]
            if 0 <= f < high:
                for g in range(width):
                    table[f, g] += a[g] + b[g] * t
    return total


@compiled
def _states_at_moves(
    out: NDArray[np.float32],
    kinds: IntArray,
    offsets: IntArray,
    times: FloatArray,
    nodes: IntArray,
    targets: IntArray,
    place: IntArray,
    first_states: IntArray,
    chosen: IntArray,
    card: int,
    begin: IntArray,
) -> None:
    """Columns just before every move of the chosen nodes: out (moves, F), and which move it was."""
    n = first_states.shape[1]
    states, before = np.empty(n, np.int64), np.empty(n, np.int64)
    at = begin.copy()
    for trajectory in range(len(offsets) - 1):
        for k in range(n):
            states[k] = before[k] = first_states[trajectory, k]
        first = offsets[trajectory]
        for e in range(offsets[trajectory], offsets[trajectory + 1]):
            if times[e] > times[first]:  # moves at one time do not see each other
                for past in range(first, e):
                    before[nodes[past]] = states[nodes[past]]
                first = e
            node = nodes[e]
            if chosen[node] >= 0:
                row = at[chosen[node]]
                at[chosen[node]] += 1
                for k in range(n):
                    f = place[k, before[k]]
                    if f >= 0:
                        out[row, f] = 1.0
                x, y = before[node], targets[e]
                kinds[row] = x * (card - 1) + y - (1 if y > x else 0)
            states[node] = targets[e]


class PathMoments:
    """Complete paths, ready for the moments of any node.

    Parameters
    ----------
    paths
        The paths.
    place : (N, S)
        Column of every state of every variable; -1 where it has none.
    width
        Number of columns, F.
    """

    def __init__(self, paths: Paths, place: IntArray, width: int) -> None:
        self.width, self.place = width, np.ascontiguousarray(place, np.int64)
        self.first = np.ascontiguousarray(paths.initial, np.int64)
        self.offsets, self.nodes = (np.ascontiguousarray(a, np.int64) for a in (paths.offsets, paths.nodes))
        self.targets = np.ascontiguousarray(paths.targets, np.int64)
        owner = np.repeat(np.arange(paths.n_trajectories), np.diff(self.offsets))
        self.times = np.ascontiguousarray(paths.times - paths.start[owner], float)
        self.length = np.ascontiguousarray(paths.end - paths.start, float)
        self.moves = np.bincount(self.nodes, minlength=self.first.shape[1])
        variables = np.arange(self.first.shape[1])
        self.first_columns = self.place[variables, self.first]
        previous = np.empty_like(self.targets)
        order = np.lexsort((np.arange(len(owner)), owner, self.nodes))  # by node, then trajectory, then time
        same = (np.diff(self.nodes[order]) == 0) & (np.diff(owner[order]) == 0)
        previous[order[1:]] = np.where(same, self.targets[order[:-1]], -1)
        previous[order[:1]] = -1
        begins = previous < 0
        previous[begins] = self.first[owner[begins], self.nodes[begins]]
        self.off, self.on = self.place[self.nodes, previous], self.place[self.nodes, self.targets]

    def everyone(self) -> list[FloatArray]:
        """Time of every two columns (F, F), of every column (F,), and in all."""
        table = np.zeros((self.width, self.width))
        total = self._times(table, EVERYONE, 0)
        return [table, np.diag(table).copy(), np.asarray(total)]

    def of(self, nodes: Sequence[int] | IntArray, card: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Moments of nodes with `card` states: of columns (n, W, F), in all (n, W), of two columns (n, W, F, F).

        W: time in every state but the first, then transitions (from, to) without the diagonal.
        """
        n, wide = len(nodes), card * card - 1
        pair, total = np.zeros((n, wide, self.width, self.width)), np.zeros((n, wide))
        chosen = np.full(self.first.shape[1], -1, np.int64)
        which, place = np.unique(nodes, return_inverse=True)
        chosen[which] = np.arange(len(which))
        begin = np.concatenate([[0], np.cumsum(self.moves[which])])
        seen, kinds = np.zeros((begin[-1], self.width), np.float32), np.zeros(begin[-1], np.int64)
        events = self.offsets, self.times, self.nodes, self.targets
        _states_at_moves(seen, kinds, *events, self.place, self.first, chosen, card, begin[:-1].copy())

        def work(k: int) -> None:
            for state in range(1, card):
                total[k, state - 1] = self._times(pair[k, state - 1], int(nodes[k]), state)
            rows = slice(begin[place[k]], begin[place[k] + 1])
            for kind in range(card * (card - 1)):
                z = seen[rows][kinds[rows] == kind]
                pair[k, card - 1 + kind], total[k, card - 1 + kind] = z.T @ z, len(z)

        with ThreadPoolExecutor(usable_cores()) as pool:
            list(pool.map(work, range(n)))
        return np.diagonal(pair, axis1=2, axis2=3).copy(), total, pair

    def _times(self, table: FloatArray, node: int, state: int) -> float:
        total = 0.0
        for tile in range(-(-self.width // TILE)):
            own = np.zeros((self.width, min(TILE, self.width - tile * TILE)))
            events = self.offsets, self.times, self.nodes, self.targets, self.off, self.on, self.length
            total = _pair_times(own, tile, *events, self.first, self.first_columns, node, state)
            table[:, tile * TILE : tile * TILE + own.shape[1]] = own
        upper = np.triu_indices(self.width, 1)
        table.T[upper] = table[upper]
        return total
