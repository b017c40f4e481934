"""Dwell and transition tables of many parent sets of a node at once.

Two ways lead there. Sets of up to two parents come from matrix products over one-hot states, all pairs at
once (`PairTables`); larger sets are counted from the events of the node and its parents (`EventTables`).
Sets with tables of one shape are kept together as a `Group`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.structure.event_streams import EventStreams, Ticks
from ctbnlearn.structure.family_counts import FamilyCounts
from ctbnlearn.structure.parent_sets import ParentSets


@dataclass(frozen=True, eq=False)
class Group:
    """Tables of the parent sets `index`, all with the same number of parent states U.

    dwell (G, U, S), transitions (G, U, S, S).
    """

    index: IntArray
    dwell: FloatArray
    transitions: FloatArray


def table_of(groups: Iterable[Group], number: int) -> tuple[FloatArray, FloatArray]:
    """Tables (U, S) and (U, S, S) of one parent set."""
    for group in groups:
        at = int(np.searchsorted(group.index, number))
        if at < len(group.index) and group.index[at] == number:
            return group.dwell[at], group.transitions[at]
    raise KeyError(number)


class Tables(Protocol):
    """What delivers tables of parent sets."""

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of all the sets of a node."""


class EventTables:
    """Tables of any parent sets, counted from events.

    Where the parents in play have few joint states, their joint table is counted once and summed over those that a set
    leaves out; otherwise every set is counted from its own events.
    """

    def __init__(self, paths: Paths) -> None:
        self.events = EventStreams(paths)
        self.cards = self.events.cards
        self._counts: dict[int, FamilyCounts] = {}

    def counts(self, node: int) -> FamilyCounts:
        """Counts of a node, kept until `forget`."""
        if node not in self._counts:
            self._counts[node] = FamilyCounts(self.events, node)
        return self._counts[node]

    def forget(self, node: int) -> None:
        """Drop what is kept of a node."""
        self._counts.pop(node, None)

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of all the sets of a node, one group per number of parent states."""
        own = self.cards[node]
        union = tuple(int(j) for j in np.unique(sets.members) if j >= 0)
        cells = float(np.prod([float(self.cards[j]) for j in (*union, node)]))
        whole = None
        if len(sets) > 1 and cells * (own + 1) < sum(len(self.events.streams[j].code) for j in (*union, node)):
            whole = self.counts(node).table(union)
        sizes = np.append(np.asarray(self.cards), 1)[sets.members].prod(1)
        for size in np.unique(sizes):
            index = np.flatnonzero(sizes == size)
            dwell = np.empty((len(index), size, own))
            transitions = np.empty((len(index), size, own, own))
            for g, k in enumerate(index):
                members = sets.numbers(int(k))
                time, moves = self.counts(node).table(members) if whole is None else self._sum(whole, union, members)
                dwell[g], transitions[g] = time * self.events.tick, moves
            yield Group(index, dwell, transitions)

    def _sum(self, whole: tuple[Ticks, Ticks], union: tuple[int, ...], members: tuple[int, ...]) -> tuple[Ticks, Ticks]:
        """Tables of some members from the tables of all: the others summed over."""
        left_out = tuple(a for a, j in enumerate(union) if j not in members)
        shape = tuple(self.cards[j] for j in union)
        dwell, moves = (t.reshape(*shape, *t.shape[1:]).sum(left_out) for t in whole)
        return dwell.reshape(-1, whole[0].shape[-1]), moves.reshape(-1, *whole[1].shape[1:])


class PairTables:
    """Tables of all parent sets of size two or less, by matrix products.

    With Z the one-hot states of all variables (the first state of each left out, a column of ones added) and
    w the dwell time of the rows in which node i is in state x, Z' diag(w) Z holds T_i(x | u) of every pair of
    parents; the left-out states follow by differences. Rows that end in a jump of i give M_i the same way.
    """

    def __init__(self, paths: Paths) -> None:
        self.cards = [v.n_states for v in paths.variables]
        self._blocks = []
        for block in paths.blocks():
            rows = block.intervals()
            self._blocks.append((rows, _one_hot(rows.states, self.cards)))
        self._expand = expansion(self.cards)

    def _moments(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Moments of the reduced one-hot columns: dwell (S, F, F) and transitions (S, S, F, F)."""
        card, width = self.cards[node], self._expand.shape[0]
        dwell = np.zeros((card, width, width))
        transitions = np.zeros((card, card, width, width))
        for rows, z in self._blocks:
            own = rows.states[:, node]
            for x in range(card):
                here = np.flatnonzero(own == x)
                part = z[here]
                part *= np.sqrt(rows.duration[here])[:, None]
                dwell[x] += part.T @ part  # one matrix with itself: half the work of a general product
            mine = np.flatnonzero(rows.node == node)
            before, target = rows.before[mine], rows.target[mine]
            for x in range(card):
                for y in range(card):
                    part = z[before[(own[before] == x) & (target == y)]]
                    if x != y and len(part):
                        transitions[x, y] += part.T @ part
        return dwell, transitions

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of all the sets of a node, one group per pair of numbers of states."""
        return pair_groups(*self._moments(node), self._expand, self.cards, sets)


def pair_groups(
    dwell: FloatArray, transitions: FloatArray, expand: FloatArray, cards: Sequence[int], sets: ParentSets
) -> Iterator[Group]:
    """Tables of sets of up to two parents from their moments.

    Parameters
    ----------
    dwell : (S, F, F)
        Moments of pairs of reduced one-hot columns, weighted with the time in each state of the node.
    transitions : (S, S, F, F)
        The same for every transition of the node.
    expand
        Matrix of `expansion`.
    cards, sets
        Numbers of states of all variables, and the parent sets.
    """
    # differences of sums may fall short of zero by rounding
    time = np.maximum(expand.T @ dwell @ expand, 0.0)
    moves = np.maximum(expand.T @ transitions @ expand, 0.0)
    # a missing parent is the column of ones: a variable with a single state, behind all others
    own = dwell.shape[0]
    sizes = np.append(np.asarray(cards), 1)
    place = np.concatenate([[0], np.cumsum(cards)])
    pairs = np.full((len(sets), 2), -1)
    pairs[:, : sets.members.shape[1]] = sets.members
    shapes = sizes[pairs]
    for first, second in np.unique(shapes, axis=0):
        index = np.flatnonzero((shapes[:, 0] == first) & (shapes[:, 1] == second))
        rows = (place[pairs[index, 0]][:, None] + np.arange(first))[:, :, None]
        columns = (place[pairs[index, 1]][:, None] + np.arange(second))[:, None, :]
        shape = (len(index), first * second)
        yield Group(
            index,
            np.moveaxis(time[:, rows, columns], 0, -1).reshape(*shape, own),
            np.moveaxis(moves[:, :, rows, columns], (0, 1), (-2, -1)).reshape(*shape, own, own),
        )


def _one_hot(states: IntArray, cards: Sequence[int]) -> FloatArray:
    """A column of ones, then for every variable the indicators of its states but the first."""
    out = np.ones((len(states), 1 + sum(cards) - len(cards)))
    k = 1
    for j, card in enumerate(cards):
        for s in range(1, card):
            out[:, k] = states[:, j] == s
            k += 1
    return out


def expansion(cards: Sequence[int]) -> FloatArray:
    """Matrix that turns reduced one-hot columns into all of them, the column of ones last."""
    reduced = 1 + sum(cards) - len(cards)
    out = np.zeros((reduced, sum(cards) + 1))
    k, at = 1, 0
    for card in cards:
        out[0, at] = 1.0
        for s in range(1, card):
            out[k, at + s] = 1.0
            out[k, at] = -1.0
            k += 1
        at += card
    out[0, at] = 1.0
    return out


def tables_for(paths: Paths, largest: int) -> Tables:
    """The quicker way to the tables of sets up to size `largest`."""
    return PairTables(paths) if largest <= 2 else EventTables(paths)
