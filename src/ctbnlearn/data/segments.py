"""Continuous evidence: stretches of time during which a variable was watched without a break."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import check_window, offsets_from_counts, owner, take_blocks
from ctbnlearn.data.trajectories import Trajectories
from ctbnlearn.data.variables import Ids, Label, Variable, VariableSpec, as_variables
from ctbnlearn.errors import DataError


@dataclass(frozen=True, eq=False)
class Segments(Trajectories):
    """Stretches during which a variable is known to have stayed in one state.

    Two segments of a variable that touch with different states are a jump seen at that very time; a gap
    between them is an unobserved stretch, in which anything may have happened. A jump at the very end of a
    window is followed by a segment of length zero.

    Parameters
    ----------
    variables
        List of `Variable`, or a mapping from name to states.
    trajectory, node, begin, finish, state : (n_segments,)
        Trajectory number, variable number, first and last time, and state code of every segment.
    start, end : (n_trajectories,)
        The window of each trajectory.
    ids
        Names of the trajectories; default 0, 1, ...

    Examples
    --------
    >>> s = Segments.from_rows({"a": ("off", "on")}, [(0, "a", 0.0, 1.5, "off"), (0, "a", 1.5, 2.0, "on")], end=4.0)
    >>> s
    Segments(1 trajectories, 1 variables, 2 segments)
    """

    variables: tuple[Variable, ...]
    trajectory: IntArray
    node: IntArray
    begin: FloatArray
    finish: FloatArray
    state: IntArray
    start: FloatArray
    end: FloatArray
    ids: Ids = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "variables", as_variables(self.variables))
        for name in ("trajectory", "node", "state"):
            put(self, name, np.asarray(getattr(self, name), np.int64))
        for name in ("begin", "finish", "start", "end"):
            put(self, name, np.asarray(getattr(self, name), float))
        put(self, "ids", self.ids if len(self.ids) else range(len(self.start)))
        check_window(self.ids, self.start, self.end)
        order = np.lexsort((self.begin, self.node, self.trajectory))
        for name in ("trajectory", "node", "begin", "finish", "state"):
            put(self, name, getattr(self, name)[order])
        self._check()

    def _check(self) -> None:
        n = len(self.start)
        cards = np.array([v.n_states for v in self.variables])
        if ((self.trajectory < 0) | (self.trajectory >= n)).any():
            raise DataError(f"a segment names a trajectory outside 0 .. {n - 1}")
        if ((self.node < 0) | (self.node >= len(cards))).any():
            raise DataError(f"a segment names a variable outside 0 .. {len(cards) - 1}")

        def complain(row: int, problem: str) -> None:
            name = self.variables[self.node[row]].name
            who = self.ids[self.trajectory[row]]
            raise DataError(
                f"trajectory {who!r}, variable {name!r}, segment {self.begin[row]} to {self.finish[row]}: {problem}"
            )

        bad = np.flatnonzero((self.state < 0) | (self.state >= cards[self.node]))
        if bad.size:
            complain(bad[0], f"unknown state code {self.state[bad[0]]}")
        same = (np.diff(self.trajectory) == 0) & (np.diff(self.node) == 0)
        closing = (self.begin == self.finish) & (self.begin == self.end[self.trajectory])  # a jump at the end
        closing &= np.append(False, same & (self.finish[:-1] == self.begin[1:]))[: len(closing)]
        bad = np.flatnonzero(~(self.begin < self.finish) & ~closing)
        if bad.size:
            complain(bad[0], "a segment must have a positive length")
        bad = np.flatnonzero((self.begin < self.start[self.trajectory]) | (self.finish > self.end[self.trajectory]))
        if bad.size:
            complain(bad[0], "lies outside the trajectory's window; widen it by start and end")
        bad = np.flatnonzero(same & (self.begin[1:] < self.finish[:-1]))
        if bad.size:
            complain(bad[0] + 1, "overlaps the segment before it")

    @classmethod
    def from_rows(
        cls,
        variables: VariableSpec,
        rows: Iterable[tuple[int, str, float, float, Label]],
        *,
        start: float = 0.0,
        end: float | None = None,
    ) -> Segments:
        """Build from (trajectory, variable, begin, finish, state label); one window for all."""
        variables = as_variables(variables)
        index = {v.name: i for i, v in enumerate(variables)}
        table = list(rows)
        for row in table:
            if row[1] not in index:
                raise DataError(f"segment {row}: unknown variable {row[1]!r}; known: {list(index)}")
        node = [index[row[1]] for row in table]
        n = 1 + max((int(row[0]) for row in table), default=0)
        last = max((row[3] for row in table), default=start) if end is None else end
        return cls(
            variables,
            np.array([row[0] for row in table], dtype=np.int64),
            np.array(node, dtype=np.int64),
            np.array([row[2] for row in table], dtype=float),
            np.array([row[3] for row in table], dtype=float),
            np.array([variables[i].code(row[4]) for i, row in zip(node, table)], dtype=np.int64),
            np.full(n, float(start)),
            np.full(n, float(last)),
        )

    @classmethod
    def from_paths(cls, paths: Paths) -> Segments:
        """Every stretch of complete paths."""
        n, n_variables = paths.n_trajectories, len(paths.variables)
        who = np.concatenate([np.repeat(np.arange(n), n_variables), owner(paths.offsets)])
        node = np.concatenate([np.tile(np.arange(n_variables), n), paths.nodes])
        begin = np.concatenate([np.repeat(paths.start, n_variables), paths.times])
        state = np.concatenate([paths.initial.reshape(-1), paths.targets])
        order = np.lexsort((begin, node, who))
        who, node, begin, state = who[order], node[order], begin[order], state[order]
        last = np.append((np.diff(who) != 0) | (np.diff(node) != 0), True)
        finish = np.where(last, paths.end[who], np.append(begin[1:], 0.0))
        return cls(paths.variables, who, node, begin, finish, state, paths.start, paths.end, paths.ids)

    def select(self, trajectories: ArrayLike) -> Segments:
        """Return the chosen trajectories, by number, in that order."""
        chosen = np.arange(self.n_trajectories)[np.asarray(trajectories)].reshape(-1)
        blocks = offsets_from_counts(np.bincount(self.trajectory, minlength=self.n_trajectories))
        rows, offsets = take_blocks(blocks, chosen)
        return Segments(
            self.variables,
            owner(offsets),
            self.node[rows],
            self.begin[rows],
            self.finish[rows],
            self.state[rows],
            self.start[chosen],
            self.end[chosen],
            [self.ids[k] for k in chosen],
        )

    def __repr__(self) -> str:
        return (
            f"Segments({self.n_trajectories} trajectories, {len(self.variables)} variables, {len(self.begin)} segments)"
        )
