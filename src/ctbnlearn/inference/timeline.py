"""Evidence laid out along time: what happens at which instant of which trajectory.

A timeline covers a block of trajectories. Boundary k carries likelihoods of the point observations made
then and, for continuous evidence, the jump seen then; between boundaries k and k + 1 lies cell k, in which
some variables may be held in a known state. Trajectories are padded with cells of length zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import owner
from ctbnlearn.data.segments import Segments
from ctbnlearn.data.variables import Ids, Variable
from ctbnlearn.errors import ImpossibleEvidenceError, ParameterError


def query_grid(times: ArrayLike, start: FloatArray, ids: Ids) -> FloatArray:
    """Times asked for as (n_trajectories, n_times), checked: finite, none before the start of a trajectory."""
    n = len(start)
    try:
        grid = np.asarray(times, float)
    except (TypeError, ValueError, OverflowError):
        grid = np.full((), np.nan)
    if grid.ndim not in (1, 2) or (grid.ndim == 2 and len(grid) != n) or not np.isfinite(grid).all():
        raise ParameterError(f"times must be finite numbers of shape (n_times,) or ({n}, n_times)")
    grid = np.broadcast_to(grid, (n, grid.shape[-1]))
    early = np.argwhere(grid < start[:, None])
    if early.size:
        b, k = early[0]
        raise ParameterError(
            f"time {grid[b, k]} lies before the start {start[b]} of trajectory {ids[b]!r}; ask for later times"
        )
    return grid


Given: TypeAlias = Observations | Segments | Paths | Sequence[Observations | Segments | Paths]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Evidence of a block of trajectories.

    Attributes
    ----------
    trajectories : (B,)
        Numbers of the trajectories in the whole data.
    times : (K, B)
        Time of every boundary.
    log_likelihood
        Per variable (K, B, S), zero where nothing was seen; None where the variable is never seen.
    queries : (n_queries, B)
        Boundary at which each asked-for time stands.
    fixed
        Variables held in a state from boundary k to k + 1; none after the last.
    jumps
        Per boundary, the jump seen there: (node, from, to), or None.
    """

    trajectories: IntArray
    times: FloatArray
    log_likelihood: tuple[FloatArray | None, ...]
    queries: IntArray
    fixed: tuple[dict[int, int], ...]
    jumps: tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Point observations and continuous evidence about the same trajectories; both hold."""

    observations: Observations | None
    segments: Segments | None

    @classmethod
    def gather(cls, evidence: Given, variables: Sequence[Variable]) -> Evidence:
        """From Observations, Segments, Paths, or a list of them about the same trajectories."""
        items = list(evidence) if isinstance(evidence, (list, tuple)) else [evidence]
        points, stretches = None, None
        for item in items:
            if isinstance(item, Observations) and points is None:
                points = item
            elif isinstance(item, (Segments, Paths)) and stretches is None:
                stretches = Segments.from_paths(item) if isinstance(item, Paths) else item
            else:
                raise ParameterError(
                    "evidence must be Observations, Segments or Paths, or a list with one Observations and one of the "
                    f"others; got {[type(i).__name__ for i in items]}"
                )
        if points is None and stretches is None:
            raise ParameterError("no evidence given: pass Observations, Segments or Paths")
        for part in (points, stretches):
            if part is not None and tuple(part.variables) != tuple(variables):
                raise ParameterError(
                    f"the data's variables {[(v.name, v.states) for v in part.variables]} are not the network's "
                    f"{[(v.name, v.states) for v in variables]}; they must agree in name, order and states"
                )
        if points is not None and stretches is not None and len(points) != len(stretches):
            raise ParameterError(f"{len(points)} trajectories of observations but {len(stretches)} of segments")
        return cls(points, stretches)

    @property
    def parts(self) -> list[Observations | Segments]:
        """What there is."""
        return [p for p in (self.observations, self.segments) if p is not None]

    @property
    def start(self) -> FloatArray:
        """Start of every trajectory."""
        return np.min([p.start for p in self.parts], axis=0)

    @property
    def end(self) -> FloatArray:
        """End of every trajectory."""
        return np.max([p.end for p in self.parts], axis=0)

    @property
    def ids(self) -> Ids:
        """Names of the trajectories."""
        return self.parts[0].ids

    def timelines(self, queries: FloatArray, width: int) -> Iterator[Timeline]:
        """Timelines of at most `width` trajectories; one each where there is continuous evidence.

        `queries` (n_trajectories, n_queries) are times at which the posterior is wanted.
        """
        n = len(self.start)
        if self.segments is not None:
            width = 1
            bounds = np.searchsorted(self.segments.trajectory, np.arange(n + 1))
        for low in range(0, n, width):
            chosen = np.arange(low, min(low + width, n))
            rows = slice(0, 0) if self.segments is None else slice(bounds[low], bounds[low + 1])
            yield self._lay_out(chosen, queries[chosen], rows)

    def _lay_out(self, chosen: IntArray, queries: FloatArray, rows: slice) -> Timeline:
        size = len(chosen)
        block = None if self.observations is None else self.observations.select(chosen)
        parts: list[tuple[IntArray, FloatArray]] = [
            (np.arange(size), self.start[chosen]),
            (np.arange(size), self.end[chosen]),
        ]
        parts.append((np.repeat(np.arange(size), queries.shape[1]), queries.reshape(-1)))
        if block is not None:
            # variables of a wide table share their times: lay each array out once
            distinct = {s.key: s for s in block.series}
            parts += [(owner(s.offsets), s.times) for s in distinct.values()]
        if self.segments is not None:
            for column in (self.segments.begin[rows], self.segments.finish[rows]):
                parts.append((np.zeros(len(column), np.int64), column))
        who = np.concatenate([p[0] for p in parts])
        when = np.concatenate([p[1] for p in parts])
        order = np.lexsort((when, who))
        fresh = np.ones(len(order), bool)
        fresh[1:] = (np.diff(who[order]) != 0) | (np.diff(when[order]) != 0)
        first = np.searchsorted(who[order][fresh], np.arange(size + 1))
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(fresh) - 1 - first[who[order]]
        n_boundaries = int(np.diff(first).max())
        row = np.minimum(first[:-1] + np.arange(n_boundaries)[:, None], first[1:] - 1)  # the last one fills up
        times = when[order][fresh][row]
        begin = np.cumsum([0, *(len(p[0]) for p in parts)])
        seen: list[FloatArray | None] = []
        if block is None:
            seen = [None] * len(self.segments.variables)  # type: ignore[union-attr]
        else:
            where = {key: begin[3 + k] for k, key in enumerate(distinct)}
            for s in block.series:
                if not len(s.values):
                    seen.append(None)
                    continue
                log_likelihood = s.log_likelihood()
                table = np.zeros((n_boundaries, size, log_likelihood.shape[1]))
                at = where[s.key]
                table[place[at : at + len(s.values)], owner(s.offsets)] = log_likelihood
                seen.append(table)
        asked = place[begin[2] : begin[3]].reshape(size, -1).T
        fixed, jumps = self._continuous(times[:, 0], rows) if self.segments is not None else (None, None)
        return Timeline(
            chosen,
            times,
            tuple(seen),
            asked,
            fixed or ({},) * n_boundaries,
            jumps or (None,) * n_boundaries,
        )

    def _continuous(
        self, times: FloatArray, rows: slice
    ) -> tuple[tuple[dict[int, int], ...], tuple[tuple[int, int, int] | None, ...]]:
        """States held in every cell and jumps seen at every boundary of one trajectory."""
        segments = self.segments
        assert segments is not None
        n = len(times)
        fixed: list[dict[int, int]] = [{} for _ in range(n)]
        jumps: list[tuple[int, int, int] | None] = [None] * n
        who = segments.trajectory[rows][0] if rows.stop > rows.start else 0
        for r in range(rows.start, rows.stop):
            node, state = int(segments.node[r]), int(segments.state[r])
            low = int(np.searchsorted(times, segments.begin[r]))
            high = int(np.searchsorted(times, segments.finish[r]))
            for k in range(low, high):
                fixed[k][node] = state
            touches = r > rows.start and segments.node[r - 1] == node and segments.finish[r - 1] == segments.begin[r]
            if touches and segments.state[r - 1] != state:
                if jumps[low] is not None:
                    raise ImpossibleEvidenceError(
                        f"trajectory {segments.ids[who]!r}: two variables jump at the same time {times[low]}, which "
                        "has probability zero in a CTBN; move one of the jumps"
                    )
                jumps[low] = (node, int(segments.state[r - 1]), state)
        return tuple(fixed), tuple(jumps)
