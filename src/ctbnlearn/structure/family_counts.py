"""Counts of the parent sets of one node as a search asks for them: a set with each of many further members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ctbnlearn.structure.cell_prior import CellPrior, Floats
from ctbnlearn.structure.event_streams import Codes, EventStreams, Stream, Ticks, tally
from ctbnlearn.structure.extension_scores import score_extensions

MOST_STATES = 1 << 20  # joint states of a family beyond which those that do not occur are left out
KEPT = 64  # families kept to be extended


@dataclass(frozen=True, eq=False)
class Family:
    """A node and some parents.

    Attributes
    ----------
    members
        The parents, as they came in; their joint states u are numbered in C order.
    stream
        Joint state over time, the node's own state varying most slowly.
    at_moves
        Joint state before every move of the node.
    occurring
        Numbers u of the parent states that are told apart, in increasing order; None where all are.
    size
        Number of joint states told apart, with the node's own.
    """

    members: tuple[int, ...]
    stream: Stream
    at_moves: Codes
    occurring: Codes | None
    size: int


class FamilyCounts:
    """Dwell and transitions of parent sets of one node.

    Parameters
    ----------
    events
        The data.
    node
        The node.
    """

    def __init__(self, events: EventStreams, node: int) -> None:
        self.events, self.node = events, node
        self.own = events.cards[node]
        self._moves = events.moves(node)
        self._cards = np.array(events.cards)
        self._at_moves = np.empty((len(events.cards), len(self._moves.before)), np.int64)
        self._known: set[int] = set()  # rows of it that are filled
        alone = Family((), events.streams[node], self._moves.source, None, self.own)
        self._families: dict[frozenset[int], Family] = {frozenset(): alone}

    def table(self, members: Sequence[int]) -> tuple[Ticks, Ticks]:
        """Dwell (U, S) in ticks and transitions (U, S, S) of a parent set, its states in C order of `members`."""
        if not members:
            alone = self._families[frozenset()]
            dwell, moves = np.zeros((1, self.own), np.int64), np.zeros((1, self.own, self.own), np.int64)
            np.add.at(dwell[0], alone.stream.code, np.diff(alone.stream.at))
            np.add.at(moves[0], (self._moves.source, self._moves.target), 1)
            return dwell, moves
        base = self._family(frozenset(members[:-1]))
        ((dwell, moves),) = self.extensions(members[:-1], members[-1:])
        order = [*base.members, members[-1]]
        cards = [self.events.cards[j] for j in order]
        axes = [1 + order.index(j) for j in members]

        def whole(table: Ticks) -> Ticks:
            """In C order of `members`, the node's own state behind; zeros where a state does not occur."""
            tail = table.shape[2:]
            shaped = table.reshape(self.own, -1, *table.shape[1:])
            if base.occurring is not None:
                full = np.zeros((self.own, int(np.prod(cards[:-1], dtype=int)), *table.shape[1:]), np.int64)
                full[:, base.occurring] = shaped
                shaped = full
            rest = range(1 + len(cards), 1 + len(cards) + len(tail))
            out = shaped.reshape(self.own, *cards, *tail).transpose(*axes, 0, *rest)
            return np.ascontiguousarray(out).reshape(-1, self.own, *tail)

        return whole(dwell), whole(moves)

    def extensions(self, members: Sequence[int], more: Sequence[int]) -> Iterator[tuple[Ticks, Ticks]]:
        """Tables of a set with each of `more` as a further member: dwell (C, K) in ticks and transitions (C, K, S).

        C numbers joint states of the set and the node, the node's own varying most slowly, K states of the newcomer.
        """
        family = self._family(frozenset(members))
        for j in more:
            card = self.events.cards[j]
            dwell = self.events.dwell(family.stream, family.size, j)
            yield dwell, tally(family.at_moves, self._before(j), card, self._moves.target, self.own, family.size)

    def extension_scores(self, members: Sequence[int], more: Sequence[int], prior: CellPrior) -> Floats:
        """Scores of a set with each of `more` as a further member, (len(more),)."""
        family, events = self._family(frozenset(members)), self.events
        for j in more:
            self._before(j)
        out: Floats = score_extensions(
            (family.stream.at, family.stream.code, family.at_moves),
            family.size,
            self.own,
            (events.at, events.code, events.first),
            np.array(more, np.int64),
            self._cards,
            self._at_moves,
            self._moves.target,
            (prior.shape, prior.rate, prior.listed, prior.log_weight),
            events.tick,
        )
        return out

    def _before(self, node: int) -> Codes:
        """State of another variable before every move."""
        if node not in self._known:
            self._at_moves[node] = self.events.states_at(node, self._moves.before)
            self._known.add(node)
        row: Codes = self._at_moves[node]
        return row

    def _family(self, members: frozenset[int]) -> Family:
        """A family, grown from the largest one known that lies inside it."""
        family = max((f for known, f in self._families.items() if known <= members), key=lambda f: len(f.members))
        for j in sorted(members - set(family.members)):
            family = self._extended(family, j)
            if len(self._families) >= KEPT:
                del self._families[list(self._families)[1]]  # the oldest but for the node alone
            self._families[frozenset(family.members)] = family
        return family

    def _extended(self, family: Family, node: int) -> Family:
        """A family with one parent more."""
        card, own = self.events.cards[node], self.own
        stream, at_moves = self.events.extend(family.stream, node), family.at_moves * card + self._before(node)
        size, occurring = family.size * card, family.occurring
        if occurring is not None:
            occurring = (occurring[:, None] * card + np.arange(card)).reshape(-1)
        if size > MOST_STATES:
            each = size // own
            seen = np.unique(np.concatenate([stream.code, at_moves]) % each)

            def renumbered(codes: Codes) -> Codes:
                mine, parents = np.divmod(codes, each)
                return mine * len(seen) + np.searchsorted(seen, parents)

            stream, at_moves = Stream(stream.at, renumbered(stream.code)), renumbered(at_moves)
            size, occurring = len(seen) * own, seen if occurring is None else occurring[seen]
        return Family((*family.members, node), stream, at_moves, occurring, size)
