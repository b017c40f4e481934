"""The compiled loop of the simulator: Gillespie's direct method over a tree of exit rates.

The leaves of a binary tree hold the exit rates of the nodes, every inner place the sum of the two below it. A jump
descends from the root to the node that jumps, then sets the leaves of that node and of its children, and recomputes
the sums above them from the two places below: O(log N) for each, and no drift, because a sum is a function of the
leaves alone. Importing this module loads numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray, WordArray
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.streams import compiled, exponential, uniform


class Tables(NamedTuple):
    """A network as flat arrays. A cell is a node together with its own and its parents' state.

    Attributes
    ----------
    cards : (n_nodes,)
        Numbers of states.
    first_cell : (n_nodes,)
        Cell of a node where its own state and those of its parents are 0.
    exit : (n_cells,)
        Rate at which the node leaves its state.
    share_base, share
        Cell c of node i jumps to a state <= y with probability share[share_base[i] + cards[i] * c + y].
    child_offsets, children, strides
        Node j owns the rows child_offsets[j]:child_offsets[j+1]: its children, and by how much a child's cell grows
        when the state of j grows by one.
    start_order, given_offsets, given
        The initial distribution: nodes in the order of drawing, and which nodes each depends on.
    start_base, start_share
        Row r of the initial table of node i, cumulated, begins at start_share[start_base[i] + cards[i] * r].
    """

    cards: IntArray
    first_cell: IntArray
    exit: FloatArray
    share_base: IntArray
    share: FloatArray
    child_offsets: IntArray
    children: IntArray
    strides: IntArray
    start_order: IntArray
    given_offsets: IntArray
    given: IntArray
    start_base: IntArray
    start_share: FloatArray


class Work(NamedTuple):
    """Where the loop stands: it returns when its buffers are full, and goes on from here.

    Attributes
    ----------
    states, cells : (n_nodes,)
        The joint state of the current trajectory, and the cell of every node.
    tree : (2 * size,)
        Exit rate of node i at size + i, sum of places 2 k and 2 k + 1 at k; size is a power of two.
    place : (2,)
        Number of the current trajectory, and of its jumps so far; -1 before its initial state is drawn.
    clock : (1,)
        Time of the last jump.
    """

    states: IntArray
    cells: IntArray
    tree: FloatArray
    place: IntArray
    clock: FloatArray


def make_tables(network: CTBN) -> Tables:
    """Flat arrays of a network."""
    cards = network.n_states
    n = len(cards)
    cells = [len(cim) * card for cim, card in zip(network.cims, cards)]
    share = np.concatenate([cim.reshape(-1) for cim in network.cims])
    exit_rate = _cumulate(share, np.array(cards), np.array(cells), True)
    first_cell, first_share = _starts(cells), _starts([cim.size for cim in network.cims])
    edges: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for i, parents in enumerate(network.parents):
        stride = cards[i]
        for j in reversed(parents):
            edges[j].append((i, stride))
            stride *= cards[j]
    pairs = np.array([pair for own in edges for pair in own], np.int64).reshape(-1, 2)
    start = network.initial
    start_share = np.concatenate([table.reshape(-1) for table in start.tables])
    _cumulate(start_share, np.array(cards), np.array([len(table) for table in start.tables]), False)
    return Tables(
        np.array(cards),
        first_cell,
        exit_rate,
        first_share - first_cell * np.array(cards),
        share,
        offsets_from_counts(np.array([len(own) for own in edges])),
        pairs[:, 0].copy(),
        pairs[:, 1].copy(),
        np.array(start.order),
        offsets_from_counts(np.array([len(given) for given in start.given])),
        np.array([g for given in start.given for g in given], np.int64),
        _starts([table.size for table in start.tables]),
        start_share,
    )


def make_work(tables: Tables) -> Work:
    """Before the first trajectory."""
    n = len(tables.cards)
    size = 1 << (n - 1).bit_length()
    return Work(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(2 * size), np.array([0, -1]), np.zeros(1))


def _starts(counts: list[int]) -> IntArray:
    return offsets_from_counts(np.array(counts))[:-1]


@compiled
def _cumulate(weights: FloatArray, cards: IntArray, n_rows: IntArray, skip_own: bool) -> FloatArray:
    """Turn rows of weights into cumulative shares in place, without the own state if skipped; returns the sums."""
    sums = np.empty(n_rows.sum())
    at = cell = 0
    for i in range(len(cards)):
        card = cards[i]
        for row in range(n_rows[i]):
            total = 0.0
            for y in range(card):
                if not (skip_own and y == row % card):
                    total += weights[at + y]
                weights[at + y] = total
            for y in range(card):  # from the last state of positive weight on exactly one
                weights[at + y] = weights[at + y] / total if weights[at + y] < total else 1.0
            sums[cell] = total
            cell += 1
            at += card
    return sums


@compiled
def _draw(s: WordArray, share: FloatArray, at: int, card: int) -> int:
    """A state from the cumulative shares that begin at `at`."""
    u = uniform(s)
    for y in range(card - 1):
        if u < share[at + y]:
            return y
    return card - 1


@compiled
def _sum_all(tree: FloatArray) -> None:
    for at in range(len(tree) // 2 - 1, 0, -1):
        tree[at] = tree[2 * at] + tree[2 * at + 1]


@compiled
def _sum_above(tree: FloatArray, at: int) -> None:
    at >>= 1
    while at:
        tree[at] = tree[2 * at] + tree[2 * at + 1]
        at >>= 1


@compiled
def _descend(tree: FloatArray, left: float) -> int:
    """The leaf at distance `left` from the first; never one of rate zero, whatever the rounding."""
    size = len(tree) // 2
    at = 1
    while at < size:
        at *= 2
        if left >= tree[at] and tree[at + 1] > 0.0:
            left -= tree[at]
            at += 1
    return at - size


@compiled
def _begin(tables: Tables, s: WordArray, work: Work, given: IntArray) -> None:
    """Take the initial state that is given, or draw it where that is negative; set cells and tree."""
    states, cells, tree = work.states, work.cells, work.tree
    size = len(tree) // 2
    for i in tables.start_order:
        if given[i] >= 0:
            states[i] = given[i]
            continue
        row = 0
        for k in range(tables.given_offsets[i], tables.given_offsets[i + 1]):
            row = row * tables.cards[tables.given[k]] + states[tables.given[k]]
        card = tables.cards[i]
        states[i] = _draw(s, tables.start_share, tables.start_base[i] + card * row, card)
    for i in range(len(states)):
        cells[i] = tables.first_cell[i] + states[i]
    for j in range(len(states)):
        for k in range(tables.child_offsets[j], tables.child_offsets[j + 1]):
            cells[tables.children[k]] += tables.strides[k] * states[j]
    for i in range(len(states)):
        tree[size + i] = tables.exit[cells[i]]
    _sum_all(tree)


@compiled
def _jump(tables: Tables, s: WordArray, work: Work) -> int:
    """Draw the node that jumps and its new state; bring cells and tree up to date."""
    states, cells, tree = work.states, work.cells, work.tree
    size = len(tree) // 2
    i = _descend(tree, uniform(s) * tree[1])
    card = tables.cards[i]
    target = _draw(s, tables.share, tables.share_base[i] + card * cells[i], card)
    change = target - states[i]
    states[i] = target
    cells[i] += change
    tree[size + i] = tables.exit[cells[i]]
    low, high = tables.child_offsets[i], tables.child_offsets[i + 1]
    for k in range(low, high):
        child = tables.children[k]
        cells[child] += change * tables.strides[k]
        tree[size + child] = tables.exit[cells[child]]
    if 4 * (high - low) > size:  # most of the tree changes
        _sum_all(tree)
    else:
        _sum_above(tree, size + i)
        for k in range(low, high):
            _sum_above(tree, size + tables.children[k])
    return i


@compiled
def fill(
    tables: Tables,
    work: Work,
    rows: WordArray,
    most: int,
    horizon: float,
    initial: IntArray,
    counts: IntArray,
    end: FloatArray,
    absorbed: BoolArray,
    times: FloatArray,
    nodes: IntArray,
    targets: IntArray,
) -> int:
    """Go on simulating until the columns of jumps are full or every trajectory is drawn; returns the jumps written.

    Trajectory k draws from the stream rows[k] and ends after `most` jumps or at `horizon`, whichever comes first. It
    begins in initial[k]; what is negative there is drawn, and filled in.
    """
    filled = 0
    k, n_jumps, time = work.place[0], work.place[1], work.clock[0]
    while k < len(rows):
        s = rows[k]
        if n_jumps < 0:
            _begin(tables, s, work, initial[k])
            for i in range(len(work.states)):  # assigning the row would compile messages for shapes that do not fit
                initial[k, i] = work.states[i]
            n_jumps, time = 0, 0.0
        while n_jumps < most and filled < len(times):
            total = work.tree[1]
            if not total > 0.0:
                absorbed[k] = True
                break
            later = time + exponential(s) / total
            if later <= time:  # a wait below the clock's resolution
                later = np.nextafter(time, np.inf)
            if later > horizon:
                break
            time = later
            i = _jump(tables, s, work)
            times[filled], nodes[filled], targets[filled] = time, i, work.states[i]
            filled += 1
            n_jumps += 1
        else:
            if n_jumps < most:  # the columns are full
                break
        counts[k] = n_jumps
        end[k] = horizon if horizon < np.inf else time
        k, n_jumps = k + 1, -1
    work.place[0], work.place[1], work.clock[0] = k, n_jumps, time
    return filled
