"""Incomplete data: what was seen of each variable at which times, with holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arguments import AnySeed, generator, whole
from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.clock import NO_CLOCK, Clock
from ctbnlearn.data.interventions import Interventions, read_interventions
from ctbnlearn.data.noise import NoiseModel, RawLikelihoods, bind_noise, check_likelihoods
from ctbnlearn.data.noise.choice import NoiseSpec
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import (
    check_times,
    check_window,
    keep,
    offsets_from_counts,
    owner,
)
from ctbnlearn.data.series import Series, Shared
from ctbnlearn.data.trajectories import Trajectories
from ctbnlearn.data.variables import Ids, Variable, VariableSpec, as_variables, check_unique
from ctbnlearn.errors import DataError, ParameterError
from ctbnlearn.notebook import page_part

if TYPE_CHECKING:
    from ctbnlearn.data.opening import Table


@dataclass(frozen=True, eq=False)
class Observations(Trajectories):
    """Point observations of all variables, each at its own times, in many trajectories.

    Usually made by `read_table`, `observe` or `Observations.from_likelihoods`.

    Parameters
    ----------
    variables
        List of `Variable`, or a mapping from name to states.
    series
        One `Series` per variable, in the same order.
    start, end : (n_trajectories,)
        The window of each trajectory; the initial distribution holds at `start`.
    ids
        Names of the trajectories; default 0, 1, ...
    clock
        What times mean: their unit, and the date at time 0 where they were dates. Default: unknown.
    interventions
        When variables were set from outside; see `with_interventions`.
    """

    variables: tuple[Variable, ...]
    series: tuple[Series, ...]
    start: FloatArray
    end: FloatArray
    ids: Ids = ()
    clock: Clock = NO_CLOCK
    interventions: Interventions | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "variables", as_variables(self.variables))
        put(self, "series", tuple(self.series))
        put(self, "start", np.asarray(self.start, float))
        put(self, "end", np.asarray(self.end, float))
        n = len(self.start)
        put(self, "ids", self.ids if len(self.ids) else range(n))
        if n == 0:
            raise DataError("no trajectories: at least one is needed")
        if len(self.series) != len(self.variables) or len(self.end) != n or len(self.ids) != n:
            raise DataError("Observations needs one series per variable, and one start, end and id per trajectory")
        check_window(self.ids, self.start, self.end)
        checked: set[tuple[int, ...]] = set()  # series without holes share their arrays
        for variable, s in zip(self.variables, self.series):
            times = s.times
            fits = len(s.offsets) == n + 1 and s.offsets[0] == 0 and s.offsets[-1] == len(times) == len(s.values)
            if not fits or (np.diff(s.offsets) < 0).any():
                raise DataError(f"variable {variable.name!r}: offsets, times and values do not fit together")
            if s.key not in checked:
                what = f"variable {variable.name!r}, observation"
                check_times(self.ids, s.offsets, times, self.start, self.end, what, ties=False)
                checked.add(s.key)

    @classmethod
    def from_likelihoods(
        cls,
        times: Sequence[ArrayLike],
        likelihoods: Sequence[Sequence[ArrayLike]],
        variables: VariableSpec | Sequence[str],
        *,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        ids: Ids = (),
    ) -> Observations:
        """Build from raw likelihoods p(y | x).

        Parameters
        ----------
        times
            Per trajectory, the observation times (n,).
        likelihoods
            Per trajectory and variable, an array (n, n_states); equal entries mean 'not seen'.
        variables
            Names (states become 0, 1, ...), `Variable` objects, or a mapping from name to states.
        start, end
            Windows, one number for all or one per trajectory; default first and last observation.
        ids
            Names of the trajectories.

        Examples
        --------
        >>> obs = Observations.from_likelihoods([[0.0, 1.0]], [[[[1, 0], [0.3, 0.7]]]], ["a"])
        >>> obs
        Observations(1 trajectories, 1 variables, 2 values seen)
        """
        if len(times) != len(likelihoods):
            raise DataError(f"{len(times)} lists of times but {len(likelihoods)} of likelihoods; give one each")
        if len(times) == 0:
            raise DataError("no trajectories: at least one is needed")
        grids = [np.asarray(t, float).reshape(-1) for t in times]
        offsets = offsets_from_counts(np.array([len(g) for g in grids]))
        flat = np.concatenate(grids)
        variables = _named_variables(variables, likelihoods[0])
        for k, block in enumerate(likelihoods):
            if len(block) != len(variables):
                raise DataError(f"trajectory {k}: {len(block)} likelihood arrays for {len(variables)} variables")
        series = []
        for i, v in enumerate(variables):
            parts = [
                check_likelihoods(block[i], f"trajectory {k}, variable {v.name!r}", v.n_states)
                for k, block in enumerate(likelihoods)
            ]
            for k, (part, grid) in enumerate(zip(parts, grids)):
                if len(part) != len(grid):
                    raise DataError(
                        f"trajectory {k}, variable {v.name!r}: {len(part)} likelihood rows for {len(grid)} times"
                    )
            series.append(Series(offsets, flat, np.concatenate(parts), RawLikelihoods()))
        start, end = default_window(offsets, flat, start, end, ids if len(ids) else range(len(grids)))
        return cls(variables, tuple(series), start, end, ids)

    @property
    def n_values(self) -> int:
        """Number of values seen, over all variables."""
        return sum(len(s.values) for s in self.series)

    @property
    def n_informative(self) -> int:
        """Number of values that tell states apart; equal likelihoods say 'not seen'."""
        tables = (s.log_likelihood() for s in self.series)
        return sum(int((t != t[:, :1]).any(1).sum()) for t in tables)

    def __repr__(self) -> str:
        return (
            f"Observations({self.n_trajectories} trajectories, {len(self.variables)} variables, "
            f"{self.n_values} values seen)"
        )

    def _repr_html_(self) -> str:
        rows = [
            [v.name, ", ".join(map(str, v.states)), "yes" if v.ordered else "no", f"{len(s.values):,}", repr(s.noise)]
            for v, s in zip(self.variables, self.series)
        ]
        return page_part(repr(self), ["variable", "states", "ordered", "values seen", "seen through"], rows)

    def log_likelihood(self, variable: str) -> FloatArray:
        """Log p(y | x) of every value seen of a variable, shape (n_rows, n_states)."""
        if variable not in self.names:
            raise ParameterError(f"unknown variable {variable!r}; known: {list(self.names)}")
        return self.series[self.names.index(variable)].log_likelihood()

    def part(self, first: int, last: int) -> Observations:
        """Trajectories from one number up to another."""
        return self if (first, last) == (0, self.n_trajectories) else self.select(np.arange(first, last))

    def observations(self) -> Observations:
        """Itself: parts of a scan are read by this name where the work is."""
        return self

    def select(self, trajectories: ArrayLike) -> Observations:
        """Return the chosen trajectories, by number, in that order."""
        chosen = np.arange(self.n_trajectories)[np.asarray(trajectories)].reshape(-1)
        shared: Shared = {}
        series = [s.select(chosen, shared) for s in self.series]
        ids = [self.ids[k] for k in chosen]
        clock, given = self.clock.select(chosen), self.interventions
        given = None if given is None else given.select(chosen)
        return Observations(self.variables, tuple(series), self.start[chosen], self.end[chosen], ids, clock, given)

    def with_interventions(self, source: Table, trajectory: str | None = None) -> Observations:
        """The same data, of which some variables were set from outside at times.

        While a variable is set, its moves say nothing about what drives it, but it drives others.

        Parameters
        ----------
        source
            A table, as in `read_table`, with the columns trajectory, start, end, variable and, where known, value: the
            state it was set to; otherwise what was seen says it. A blank start or end is that of the trajectory.
        trajectory
            Column of the trajectories' names; default: the one that is left beside the others.

        Examples
        --------
        >>> import pyarrow as pa
        >>> obs = Observations.from_likelihoods([[0.0, 1.0]], [[[[1, 0], [0.3, 0.7]]]], ["a"])
        >>> set_to = pa.table({"unit": [0], "start": [0.5], "end": [0.8], "variable": ["a"], "value": [1]})
        >>> len(obs.with_interventions(set_to).interventions)
        1
        """
        window = self.start, self.end
        found = read_interventions(source, self.ids, self.variables, window, self.clock, trajectory)
        return replace(self, interventions=found)

    def with_noise(self, models: Mapping[str, NoiseModel]) -> Observations:
        """The same values seen through other observation models, {variable: model}.

        Models that are to be learned start from the values.
        """
        series = list(self.series)
        for i, (v, own) in enumerate(zip(self.variables, self.series)):
            if v.name in models:
                series[i] = own.through(models[v.name].begin(own.values, f"variable {v.name!r}").bind(v))
        return replace(self, series=tuple(series))


def _named_variables(variables: Any, first: Sequence[ArrayLike]) -> tuple[Variable, ...]:
    """Variables from bare names: as many states as the first trajectory's likelihoods have columns."""
    if isinstance(variables, (list, tuple)) and all(isinstance(v, str) for v in variables):
        check_unique(variables, "variable")
        if len(first) != len(variables):
            raise DataError(f"trajectory 0: {len(first)} likelihood arrays for {len(variables)} variables")
        out = []
        for name, block in zip(variables, first):
            shape = np.shape(block)
            if len(shape) != 2:
                raise DataError(f"trajectory 0, variable {name!r}: likelihoods need shape (n_times, n_states)")
            out.append(Variable(name, tuple(range(shape[1]))))
        return as_variables(out)
    return as_variables(variables)


def default_window(
    offsets: IntArray, times: FloatArray, start: ArrayLike | None, end: ArrayLike | None, ids: Ids
) -> tuple[FloatArray, FloatArray]:
    """First and last time of every trajectory where the window is not given."""
    n = len(offsets) - 1
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if empty.size and (start is None or end is None):
        raise DataError(f"trajectory {ids[empty[0]]!r} is empty; leave it out, or give its window by start and end")

    def given_or(value: ArrayLike | None, extreme: np.ufunc) -> FloatArray:
        if value is None:
            return extreme.reduceat(times, offsets[:-1])
        return np.broadcast_to(np.asarray(value, float), (n,)).copy()

    return given_or(start, np.minimum), given_or(end, np.maximum)


def _lists(times: object) -> bool:
    """Whether times are given as one list per trajectory."""
    return isinstance(times, (list, tuple)) and any(np.ndim(t) == 1 for t in times)


def observe(
    paths: Paths,
    n_times: int | None = None,
    *,
    times: ArrayLike | Sequence[ArrayLike] | None = None,
    noise: NoiseSpec = None,
    missing: float = 0.0,
    rng: AnySeed = None,
) -> Observations:
    """Look at complete paths only now and then, through noise and with holes.

    Parameters
    ----------
    paths
        The complete trajectories.
    n_times
        Number of uniformly random observation times per trajectory.
    times
        Instead of `n_times`: common times (n,), or one list per trajectory.
    noise
        Observation model: one for all variables, a mapping from name to model, or None.
    missing
        Probability that a single entry is not seen.
    rng
        Seed or `numpy.random.Generator`.

    Examples
    --------
    >>> paths = Paths.from_trajectories({"a": (0, 1)}, [([0], [(0.5, "a", 1)], 3.0)])
    >>> observe(paths, times=[0.0, 1.0]).series[0].values.tolist()
    [0, 1]
    """
    if (n_times is None) == (times is None):
        raise ParameterError("observe: give either n_times or times")
    if not 0 <= missing <= 1:
        raise ParameterError(f"observe: missing is a probability, not {missing!r}")
    rng = generator(rng)
    n = paths.n_trajectories
    if n_times is not None:
        whole(n_times, "observe: n_times", 0)
        span = (paths.end - paths.start)[:, None]
        grid = np.sort(paths.start[:, None] + span * rng.random((n, n_times)), axis=1)
        grid = np.minimum(grid, paths.end[:, None])
        flat, offsets = grid.reshape(-1), offsets_from_counts(np.full(n, n_times))
        if n_times > 1 and not (span > 0).all():
            k = int(np.argmin(span))
            raise DataError(f"trajectory {paths.ids[k]!r} has length zero: it has no {n_times} different times")
    else:
        given: Any = times
        if np.ndim(given if isinstance(given, np.ndarray) else 0) == 2 or _lists(given):
            parts = [np.asarray(t, float) for t in given]
        else:
            parts = [np.asarray(given, float).reshape(-1)] * n
        if len(parts) != n:
            raise ParameterError(f"observe: {len(parts)} lists of times for {n} trajectories")
        flat, offsets = np.concatenate(parts), offsets_from_counts(np.array([len(p) for p in parts]))
    check_times(paths.ids, offsets, flat, paths.start, paths.end, "observation", ties=False)
    codes = paths.lookup(owner(offsets), flat)
    models = bind_noise(noise, paths.variables)
    series = []
    for i, model in enumerate(models):
        values = model.sample(codes[:, i], rng)
        if missing > 0:
            seen = rng.random(len(flat)) >= missing
            series.append(Series(keep(offsets, seen), flat[seen], values[seen], model))
        else:
            series.append(Series(offsets, flat, values, model))
    return Observations(paths.variables, tuple(series), paths.start, paths.end, paths.ids, paths.clock)
