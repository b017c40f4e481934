"""Complete trajectories: an initial state and every transition, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.clock import NO_CLOCK, Clock
from ctbnlearn.data.ragged import check_times, check_window, owner, take_blocks
from ctbnlearn.data.trajectories import Trajectories
from ctbnlearn.data.variables import Ids, Variable, VariableSpec, as_variables
from ctbnlearn.errors import DataError


@dataclass(frozen=True, eq=False)
class Intervals:
    """The stretches of a set of paths between one transition and the next, one row each.

    Attributes
    ----------
    states : (n_rows, n_variables)
        State codes held during the row.
    duration : (n_rows,)
        Length of the row.
    node, target : (n_rows,)
        The variable that jumps at the end of the row and its new state; -1 where the path ends.
    before : (n_rows,)
        Row that holds the joint state just before the jump: the row itself, or the first of several
        jumps at one time, so that simultaneous jumps do not see each other.
    """

    states: IntArray
    duration: FloatArray
    node: IntArray
    target: IntArray
    before: IntArray


@dataclass(frozen=True, eq=False)
class Paths(Trajectories):
    """Complete trajectories of all variables, many and of unequal length.

    Parameters
    ----------
    variables
        List of `Variable`, or a mapping from name to states.
    initial : (n_trajectories, n_variables)
        State codes at the start.
    offsets : (n_trajectories + 1,)
        Trajectory k owns the transitions offsets[k]:offsets[k+1].
    times, nodes, targets : (n_transitions,)
        When which variable jumped and its new state code, in time order within a trajectory.
    start, end : (n_trajectories,)
        The window in which the trajectory was followed.
    ids
        Names of the trajectories; default 0, 1, ...
    absorbed : (n_trajectories,)
        True where a simulated path ended early in a joint state that no variable leaves.
    clock
        As in `Observations`.

    Examples
    --------
    >>> paths = Paths.from_trajectories({"a": (0, 1)}, [([0], [(0.5, "a", 1), (2.0, "a", 0)], 3.0)])
    >>> paths.n_transitions, paths.states_at([1.0])["a"].tolist()
    (2, [[1]])
    """

    variables: tuple[Variable, ...]
    initial: IntArray
    offsets: IntArray
    times: FloatArray
    nodes: IntArray
    targets: IntArray
    start: FloatArray
    end: FloatArray
    ids: Ids = ()
    absorbed: Any = ()
    clock: Clock = NO_CLOCK

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "variables", as_variables(self.variables))
        put(self, "initial", np.ascontiguousarray(self.initial, dtype=np.int32))
        put(self, "offsets", np.asarray(self.offsets, dtype=np.int64))
        for name in ("times", "start", "end"):
            put(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        for name in ("nodes", "targets"):
            put(self, name, np.asarray(getattr(self, name), dtype=np.int32))
        n = len(self.start)
        put(self, "ids", self.ids if len(self.ids) else range(n))
        put(self, "absorbed", np.asarray(self.absorbed, bool) if len(self.absorbed) else np.zeros(n, bool))
        self._check()

    def _check(self) -> None:
        n, n_variables = len(self.start), len(self.variables)
        if n == 0:
            raise DataError("no trajectories: at least one is needed")
        shapes = (self.initial.shape, self.end.shape, self.offsets.shape, len(self.ids), np.shape(self.absorbed))
        if shapes != ((n, n_variables), (n,), (n + 1,), n, (n,)):
            raise DataError(
                f"{n} trajectories of {n_variables} variables need initial ({n}, {n_variables}), end ({n},), offsets "
                f"({n + 1},) and {n} ids and absorbed marks; got {shapes}"
            )
        total = len(self.times)
        if self.offsets[0] != 0 or self.offsets[-1] != total or (np.diff(self.offsets) < 0).any():
            raise DataError(f"offsets must rise from 0 to the number of transitions, {total}")
        if not len(self.nodes) == len(self.targets) == total:
            raise DataError("times, nodes and targets must have one entry per transition")
        check_window(self.ids, self.start, self.end)
        check_times(self.ids, self.offsets, self.times, self.start, self.end, "transition", ties=True)
        cards = np.array([v.n_states for v in self.variables])
        bad = np.argwhere((self.initial < 0) | (self.initial >= cards))
        if bad.size:
            k, i = bad[0]
            raise DataError(
                f"trajectory {self.ids[k]!r}: initial state code {self.initial[k, i]} is not one of variable "
                f"{self.variables[i].name!r}"
            )
        who = owner(self.offsets)
        rows = np.flatnonzero((self.nodes < 0) | (self.nodes >= n_variables))
        if rows.size:
            raise DataError(f"trajectory {self.ids[who[rows[0]]]!r}: unknown variable number {self.nodes[rows[0]]}")
        rows = np.flatnonzero((self.targets < 0) | (self.targets >= cards[self.nodes]))
        if rows.size:
            r = rows[0]
            raise DataError(
                f"trajectory {self.ids[who[r]]!r}, time {self.times[r]}: state code {self.targets[r]} is not one of "
                f"variable {self.variables[self.nodes[r]].name!r}"
            )
        self._check_jumps(who)

    def _check_jumps(self, who: IntArray) -> None:
        """Every jump must change its variable, and a variable jumps once at a time."""
        order = np.lexsort((np.arange(len(who)), self.nodes, who))
        same = (who[order][1:] == who[order][:-1]) & (self.nodes[order][1:] == self.nodes[order][:-1])
        previous = np.empty(len(who), np.int64)
        previous[order[1:]] = np.where(same, self.targets[order][:-1], -1)
        if len(order):
            previous[order[0]] = -1
        first = previous < 0
        previous[first] = self.initial[who[first], self.nodes[first]]
        bad = np.flatnonzero(previous == self.targets)
        if bad.size:
            r = bad[0]
            v = self.variables[self.nodes[r]]
            raise DataError(
                f"trajectory {self.ids[who[r]]!r}, time {self.times[r]}: variable {v.name!r} jumps to the state "
                f"{v.states[self.targets[r]]!r} it is already in; leave that row out"
            )
        twice = np.flatnonzero(same & (np.diff(self.times[order]) == 0))
        if twice.size:
            r = order[1:][twice[0]]
            raise DataError(
                f"trajectory {self.ids[who[r]]!r}, time {self.times[r]}: variable "
                f"{self.variables[self.nodes[r]].name!r} jumps twice at one time"
            )

    @classmethod
    def from_trajectories(cls, variables: VariableSpec, trajectories: Iterable[Sequence[Any]], ids: Ids = ()) -> Paths:
        """Build from labels.

        Parameters
        ----------
        variables
            List of `Variable`, or a mapping from name to states.
        trajectories
            For each trajectory (initial labels in variable order, [(time, variable, label), ...], end), or
            with the start as a fourth entry.
        ids
            Names of the trajectories.
        """
        variables = as_variables(variables)
        index = {v.name: i for i, v in enumerate(variables)}
        initial: list[list[int]] = []
        offsets: list[int] = [0]
        start: list[float] = []
        end: list[float] = []
        times: list[float] = []
        nodes: list[int] = []
        targets: list[int] = []
        for labels, jumps, stop, *begin in trajectories:
            if len(labels) != len(variables):
                raise DataError(f"trajectory {len(start)}: give one initial label per variable")
            initial.append([v.code(label) for v, label in zip(variables, labels)])
            for time, name, label in jumps:
                if name not in index:
                    raise DataError(f"trajectory {len(start)}, time {time}: unknown variable {name!r}")
                times.append(time)
                nodes.append(index[name])
                targets.append(variables[index[name]].code(label))
            offsets.append(len(times))
            start.append(begin[0] if begin else 0.0)
            end.append(stop)
        shaped = np.array(initial, dtype=np.int32).reshape(len(start), len(variables))
        return cls(
            variables,
            shaped,
            np.array(offsets),
            np.array(times, dtype=float),
            np.array(nodes, dtype=np.int32),
            np.array(targets, dtype=np.int32),
            np.array(start, dtype=float),
            np.array(end, dtype=float),
            ids,
        )

    @property
    def n_transitions(self) -> int:
        """Number of transitions over all trajectories."""
        return len(self.times)

    def __repr__(self) -> str:
        early = f", {int(self.absorbed.sum())} absorbed" if self.absorbed.any() else ""
        return (
            f"Paths({self.n_trajectories} trajectories, {len(self.variables)} variables, "
            f"{self.n_transitions} transitions{early})"
        )

    def select(self, trajectories: ArrayLike) -> Paths:
        """Return the chosen trajectories, by number, in that order."""
        chosen = np.arange(self.n_trajectories)[np.asarray(trajectories)].reshape(-1)
        rows, offsets = take_blocks(self.offsets, chosen)
        return Paths(
            self.variables,
            self.initial[chosen],
            offsets,
            self.times[rows],
            self.nodes[rows],
            self.targets[rows],
            self.start[chosen],
            self.end[chosen],
            [self.ids[k] for k in chosen],
            self.absorbed[chosen],
            self.clock.select(chosen),
        )

    def blocks(self, max_cells: int = 50_000_000) -> Iterator[Paths]:
        """Split into runs of trajectories whose state matrix stays under `max_cells` entries."""
        rows = (np.diff(self.offsets) + 1) * len(self.variables)
        cut = (np.cumsum(rows) - rows) // max_cells
        for value in np.unique(cut):
            chosen = np.flatnonzero(cut == value)
            yield self if len(chosen) == self.n_trajectories else self.select(chosen)

    def intervals(self) -> Intervals:
        """Joint state between successive transitions, one row each (`Intervals`)."""
        n, total = self.n_trajectories, self.n_transitions
        n_rows = n + total
        opening = self.offsets[:-1] + np.arange(n)  # first row of every trajectory
        who = owner(self.offsets)
        after = np.arange(total) + who + 1  # the row a transition opens
        begin = np.empty(n_rows)
        begin[opening], begin[after] = self.start, self.times
        duration = np.empty(n_rows)
        duration[:-1] = begin[1:] - begin[:-1]
        duration[opening[1:] - 1] = 0.0
        closing = np.append(opening[1:], n_rows) - 1
        duration[closing] = self.end - begin[closing]
        node = np.full(n_rows, -1, np.int32)
        target = np.full(n_rows, -1, np.int32)
        node[after - 1], target[after - 1] = self.nodes, self.targets
        small = np.min_scalar_type(max(v.n_states for v in self.variables))
        states = np.empty((n_rows, len(self.variables)), small, order="F")  # filled by column
        order = np.argsort(self.nodes, kind="stable")
        bounds = np.searchsorted(self.nodes[order], np.arange(len(self.variables) + 1))
        for i in range(len(self.variables)):
            mine = order[bounds[i] : bounds[i + 1]]
            place = np.concatenate([opening, after[mine]])
            value = np.concatenate([self.initial[:, i], self.targets[mine]])
            by_place = np.argsort(place, kind="stable")
            place, value = place[by_place], value[by_place]
            states[:, i] = np.repeat(value, np.diff(np.append(place, n_rows)))
        row = np.arange(n_rows)
        tied = np.zeros(n_rows, bool)  # opened by a jump at the very time its predecessor was opened by one
        if total > 1:
            again = (who[1:] == who[:-1]) & (self.times[1:] == self.times[:-1])
            tied[after[1:][again] - 1] = True
        before = np.maximum.accumulate(np.where(tied, 0, row))
        return Intervals(states, duration, node, target, before)

    def states_at(self, times: ArrayLike) -> dict[str, IntArray]:
        """State codes at common times, per variable an array (n_trajectories, n_times).

        At the time of a jump the new state counts. Times must lie inside every window.
        """
        grid = np.asarray(times, float)
        if grid.ndim != 1 or not np.isfinite(grid).all():
            raise DataError("times must be a list of finite numbers")
        if grid.size and (grid.min() < self.start.max() or grid.max() > self.end.min()):
            raise DataError(f"times must lie inside every trajectory's window: {self.start.max()} to {self.end.min()}")
        who = np.repeat(np.arange(self.n_trajectories), len(grid))
        codes = self.lookup(who, np.tile(grid, self.n_trajectories))
        shape = (self.n_trajectories, len(grid))
        return {v.name: codes[:, i].reshape(shape) for i, v in enumerate(self.variables)}

    def lookup(self, trajectory: IntArray, times: FloatArray) -> IntArray:
        """State codes (n_queries, n_variables) of given trajectories at given times."""
        jump_owner = owner(self.offsets)
        n, n_queries = self.n_trajectories, len(times)
        out = np.empty((n_queries, len(self.variables)), np.int32)
        order = np.argsort(self.nodes, kind="stable")
        bounds = np.searchsorted(self.nodes[order], np.arange(len(self.variables) + 1))
        for i in range(len(self.variables)):
            mine = order[bounds[i] : bounds[i + 1]]
            who = np.concatenate([np.arange(n), jump_owner[mine], trajectory])
            when = np.concatenate([np.full(n, -np.inf), self.times[mine], times])
            is_query = np.arange(len(who)) >= n + len(mine)
            merged = np.lexsort((is_query, when, who))  # a query at a jump's time comes after the jump
            last = merged[np.maximum.accumulate(np.where(is_query[merged], 0, np.arange(len(who))))]
            value = np.concatenate([self.initial[:, i], self.targets[mine]])
            hits = is_query[merged]
            out[merged[hits] - n - len(mine), i] = value[last[hits]]
        return out
