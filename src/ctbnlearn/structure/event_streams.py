"""Counts of complete paths by merging streams of events: dwell T(x | u) and transitions M(x, x' | u) of any parent set.

All trajectories laid end to end make one line of time, and every variable a step function on it. The joint state of a
family, a node and some parents, steps where one of them does, so its dwell times come from the events of the family
alone; transitions need only the rows in which the node moves. A family is extended by one parent at a time: its
stream of joint states is merged with that of the newcomer.

Time is counted in whole ticks, far below the rounding of the durations themselves. Sums of ticks are exact, so a
family has the same tables, bit for bit, whatever the order in which its members came in and however work was split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.data.paths import Paths
from ctbnlearn.streams import compiled

Ticks = NDArray[np.int64]
Codes = NDArray[np.int64]
MOST_TICKS = 62  # binary digits of the whole time in ticks


@dataclass(frozen=True, eq=False)
class Stream:
    """A step function: from time at[k] until at[k + 1] it has the value code[k]; at[-1] is the end."""

    at: Ticks
    code: Codes


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves of one variable, in time order.

    Attributes
    ----------
    before : (n,)
        Row that holds the joint state just before the move.
    source, target : (n,)
        State left and state entered.
    """

    before: Codes
    source: Codes
    target: Codes


class EventStreams:
    """Complete paths as one stream of events per variable.

    Parameters
    ----------
    paths
        Complete trajectories.

    Attributes
    ----------
    cards
        Number of states of every variable.
    tick : float
        Length of a tick, a power of two.
    at, code, first
        The streams of all variables one behind the other: that of variable i has the codes first[i]:first[i + 1] and
        begins at first[i] + i in `at`, which has an end for each.
    streams : list of Stream
        Per variable its states, as views of these.
    """

    def __init__(self, paths: Paths) -> None:
        self.cards = [v.n_states for v in paths.variables]
        n, total = paths.n_trajectories, paths.n_transitions
        lengths = np.diff(paths.offsets)
        owner = np.repeat(np.arange(n), lengths)
        opening = paths.offsets[:-1] + np.arange(n)  # first row of every trajectory
        after = np.arange(total) + owner + 1  # the row a transition opens
        begin = np.empty(n + total)
        begin[opening], begin[after] = paths.start, paths.times
        stop = np.append(begin[1:], 0.0)
        stop[np.append(opening[1:], n + total) - 1] = paths.end
        whole = float((paths.end - paths.start).sum())
        self.tick = float(2.0 ** (np.ceil(np.log2(whole)) - MOST_TICKS)) if whole > 0 else 1.0
        ticks = np.rint((stop - begin) / self.tick).astype(np.int64)
        clock = np.concatenate([[0], np.cumsum(ticks)])
        tied = np.zeros(n + total, bool)  # rows opened at the very time the next one is: jumps at one time
        if total > 1:
            again = (owner[1:] == owner[:-1]) & (paths.times[1:] == paths.times[:-1])
            tied[after[1:][again] - 1] = True
        before = np.maximum.accumulate(np.where(tied, 0, np.arange(n + total)))
        order = np.argsort(paths.nodes, kind="stable")
        bounds = np.searchsorted(paths.nodes[order], np.arange(len(self.cards) + 1))
        n_variables = len(self.cards)
        self.first: Codes = np.arange(n_variables + 1) * n + bounds
        self.at: Ticks = np.empty(self.first[-1] + n_variables, np.int64)
        self.code: Codes = np.empty(self.first[-1], np.int64)
        self.streams: list[Stream] = []
        self._rows: list[Codes] = []
        self._moved: list[tuple[Codes, Codes]] = []
        for i, (begins, ends) in enumerate(zip(self.first[:-1], self.first[1:])):
            mine = order[bounds[i] : bounds[i + 1]]
            rows = np.concatenate([opening, after[mine]])
            code = np.concatenate([paths.initial[:, i], paths.targets[mine]]).astype(np.int64)
            sort = np.argsort(rows, kind="stable")
            self._rows.append(rows[sort])
            stream = Stream(self.at[begins + i : ends + i + 1], self.code[begins:ends])
            stream.code[:] = code[sort]
            stream.at[:-1], stream.at[-1] = clock[rows[sort]], clock[-1]
            self.streams.append(stream)
            self._moved.append((before[after[mine] - 1], paths.targets[mine].astype(np.int64)))

    def moves(self, node: int) -> Moves:
        """The moves of a variable."""
        before, target = self._moved[node]
        return Moves(before, self.states_at(node, before), target)

    def states_at(self, node: int, rows: Codes) -> Codes:
        """States of a variable in some rows, which do not decrease."""
        return _look_up(self._rows[node], self.streams[node].code, rows)

    def dwell(self, stream: Stream, size: int, node: int) -> Ticks:
        """Ticks spent in every joint state of a stream of `size` states and a variable, (size, states)."""
        other, card = self.streams[node], self.cards[node]
        out = merged_dwell(stream.at, stream.code, other.at, other.code, card, np.zeros(size * card, np.int64))
        return out.reshape(size, card)

    def extend(self, stream: Stream, node: int) -> Stream:
        """The stream of the joint states of a stream and a variable, the variable's varying fastest."""
        other = self.streams[node]
        capacity = len(stream.code) + len(other.code)
        at, code = np.empty(capacity + 1, np.int64), np.empty(capacity, np.int64)
        used = _merge(stream.at, stream.code, other.at, other.code, self.cards[node], at, code)
        return Stream(at[: used + 1], code[:used])


def tally(base: Codes, state: Codes, card: int, target: Codes, own: int, size: int) -> Ticks:
    """Moves by joint state before and target: base codes below `size` joined with a variable's, (size, card, own)."""
    out = tally_moves(base, state, card, target, own, np.zeros(size * card * own, np.int64))
    return out.reshape(size, card, own)


@compiled
def merged_dwell(at: Ticks, code: Codes, other_at: Ticks, other_code: Codes, card: int, out: Ticks) -> Ticks:
    """Add the time of every joint state of two step functions that begin and end together."""
    a, b, now = 0, 0, np.int64(0)
    last = at[len(code)]
    while now < last:
        cell = code[a] * card + other_code[b]
        one, two = at[a + 1], other_at[b + 1]
        until = min(one, two)
        out[cell] += until - now
        now = until
        a += one == until
        b += two == until
    return out


@compiled
def _merge(
    at: Ticks, code: Codes, other_at: Ticks, other_code: Codes, card: int, out_at: Ticks, out_code: Codes
) -> int:
    """Joint stream of two step functions; returns its number of steps, at least one."""
    a, b, used, now = 0, 0, 0, np.int64(0)
    last = at[len(code)]
    out_at[0], out_code[0] = 0, code[0] * card + other_code[0]
    while now < last:
        out_at[used], out_code[used] = now, code[a] * card + other_code[b]
        one, two = at[a + 1], other_at[b + 1]
        until = min(one, two)
        used += until > now
        now = until
        a += one == until
        b += two == until
    used = max(used, 1)
    out_at[used] = last
    return used


@compiled
def _look_up(rows: Codes, code: Codes, wanted: Codes) -> Codes:
    """Value of a step function on rows, whose steps are at `rows`, in rows that do not decrease."""
    out = np.empty(len(wanted), np.int64)
    k = 0
    for w in range(len(wanted)):
        while k + 1 < len(rows) and rows[k + 1] <= wanted[w]:
            k += 1
        out[w] = code[k]
    return out


@compiled
def tally_moves(base: Codes, state: Codes, card: int, target: Codes, own: int, out: Ticks) -> Ticks:
    """Count moves by joint state and target."""
    for k in range(len(base)):
        out[(base[k] * card + state[k]) * own + target[k]] += 1
    return out
