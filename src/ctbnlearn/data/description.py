"""What data look like before anything is learned: visits, gaps, and how fast variables move between visits.

How fast a variable moves is a rough guess from pairs of neighbouring values at their most likely states: as if it
forgot its state at rate r and drew a new one with the frequencies f of its states, so that it differs after a gap t
with probability D (1 - exp(-r t)), D = 1 - sum f^2, and moves r D times in a unit of time. Near one move in a gap,
which of two variables moved first is barely in the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.clock import per_unit
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import owner
from ctbnlearn.data.series import Series
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import ParameterError

MOST_MOVES = 1.0  # in a gap, above which directions are barely in the data
FLEETING = 3.0  # times that a state would be left in a gap, above which it hardly shows how soon it is
MANY_STATES, MANY_MOVES = 3, 0.3  # and moves in a gap from which on chains of sampled paths get stuck
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class VariableDescription:
    """One variable in numbers.

    Attributes
    ----------
    name, states
        Its name and states.
    seen, missing
        Values seen, and the share of all visits at which it was not.
    changes
        Pairs of neighbouring values that differ.
    gap
        Mean time between two of its values; NaN where it was never seen twice.
    dwell
        Mean time between two moves, roughly; infinite where it never changed, 0 where neighbours are unrelated.
    moves_per_gap
        Moves between two of its values, roughly.
    """

    name: str
    states: tuple[Label, ...]
    seen: int
    missing: float
    changes: int
    gap: float
    dwell: float
    moves_per_gap: float

    @property
    def too_fast(self) -> bool:
        """Whether it moves too fast for the visits to tell which of two variables moved first."""
        return self.moves_per_gap > MOST_MOVES

    @property
    def sticky(self) -> bool:
        """Whether sampling may find its edges late or never: many states, and many moves in a gap."""
        return len(self.states) >= MANY_STATES and self.moves_per_gap >= MANY_MOVES


@dataclass(frozen=True)
class Description:
    """What data look like; print it, or draw it with `ctbnlearn.plot.plot_description`.

    Attributes
    ----------
    trajectories, visits
        Numbers of trajectories and of their visits: times at which anything was seen.
    missing
        Share of cells not seen.
    visits_per_trajectory, gaps
        Quantiles (5, 50 and 95 %) over trajectories, and over the times between neighbouring visits.
    time_unit
        Of gaps and dwell times; None if unknown.
    variables
        One entry each.
    """

    trajectories: int
    visits: int
    missing: float
    visits_per_trajectory: tuple[float, float, float]
    gaps: tuple[float, float, float]
    time_unit: str | None
    variables: tuple[VariableDescription, ...]

    @property
    def too_fast(self) -> list[str]:
        """Variables that move too fast for the visits to tell direction."""
        return [v.name for v in self.variables if v.too_fast]

    def lines(self) -> list[str]:
        """The description in words."""
        unit = f" {self.time_unit}" if self.time_unit else ""
        low, middle, high = self.visits_per_trajectory
        gap = [f"{g:.3g}" for g in self.gaps]
        out = [
            f"visits:        {self.visits}, {middle:g} in a typical trajectory ({low:g} to {high:g})",
            f"gaps:          {gap[1]}{unit} between visits ({gap[0]} to {gap[2]})",
        ]
        width = max(8, *(len(v.name) for v in self.variables))
        for v in self.variables:
            line = f"  {v.name:<{width}}  {v.missing:.1%} missing; "
            if not v.changes:
                line += "never changes"
            elif v.dwell == 0:
                line += "neighbouring values are unrelated: it moves many times between visits"
            else:
                line += f"a move every {v.dwell:.3g}{unit}, {v.moves_per_gap:.2g} moves in a gap"
            out.append(line)
        if self.too_fast:
            out.append(
                f"too fast:      {', '.join(self.too_fast)}: about a move or more between visits, so that which of two "
                "variables moved first is barely in the data"
            )
        return out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> Mapping[str, Any]:
        """The same in JSON types."""

        def plain(number: float) -> float | None:
            return float(number) if np.isfinite(number) else None

        return {
            "visits": self.visits,
            "visits_per_trajectory": [plain(v) for v in self.visits_per_trajectory],
            "gaps": [plain(g) for g in self.gaps],
            "rate": per_unit(self.time_unit),
            "variables": {
                v.name: {"gap": plain(v.gap), "dwell": plain(v.dwell), "moves_per_gap": plain(v.moves_per_gap)}
                for v in self.variables
            },
            "too_fast": self.too_fast,
        }


def describe(obs: Observations) -> Description:
    """Describe data before learning from them: holes, visits, gaps against dwell times, moves in a gap.

    Parameters
    ----------
    obs
        The data.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> paths = cl.simulate(cl.random_network(2, rng=0), n_trajectories=50, horizon=4.0, rng=1)
    >>> found = describe(cl.observe(paths, n_times=10, rng=2))
    >>> found.visits, found.too_fast
    (500, [])
    """
    if not isinstance(obs, Observations):
        raise ParameterError(f"describe needs Observations, not {type(obs).__name__}; make them with read_table")
    who = np.concatenate([owner(s.offsets) for s in obs.series])
    when = np.concatenate([s.times for s in obs.series])
    order = np.lexsort((when, who))
    who, when = who[order], when[order]
    fresh = np.append(True, (np.diff(who) != 0) | (np.diff(when) != 0))[: len(who)]
    who, when = who[fresh], when[fresh]
    gaps = np.diff(when)[np.diff(who) == 0]
    counts = np.bincount(who, minlength=obs.n_trajectories)
    variables = tuple(describe_variable(v.name, v.states, s, len(when)) for v, s in zip(obs.variables, obs.series))
    return Description(
        obs.n_trajectories,
        len(when),
        1 - obs.n_values / max(len(when) * len(obs.variables), 1),
        _quantiles(counts),
        _quantiles(gaps),
        obs.clock.unit,
        variables,
    )


def _quantiles(values: FloatArray | IntArray) -> tuple[float, float, float]:
    if not len(values):
        return float("nan"), float("nan"), float("nan")
    low, middle, high = np.quantile(values, QUANTILES).tolist()
    return low, middle, high


def describe_variable(name: str, states: tuple[Label, ...], series: Series, visits: int) -> VariableDescription:
    """One variable, of whose values as many could have been seen as there were visits."""
    state = series.log_likelihood().argmax(1) if len(series.values) else np.zeros(0, int)
    who = owner(series.offsets)
    pairs = who[1:] == who[:-1]
    gaps = np.diff(series.times)[pairs]
    differs = (state[1:] != state[:-1])[pairs]
    rate = move_rate(gaps, differs, np.bincount(state, minlength=len(states)) / max(len(state), 1))
    gap = float(gaps.mean()) if len(gaps) else float("nan")
    dwell = np.inf if rate == 0 else 1 / rate
    moves = rate * gap if rate > 0 else 0.0
    seen = len(series.values)
    return VariableDescription(name, states, seen, 1 - seen / max(visits, 1), int(differs.sum()), gap, dwell, moves)


def move_rate(gaps: FloatArray, differs: FloatArray, share: FloatArray) -> float:
    """Moves in a unit of time from gaps between values and whether they differ; see the top of this module.

    Infinite where values differ as often as if they were unrelated.
    """
    spread = 1 - float((share**2).sum())
    changes = float(differs.sum())
    if changes == 0:
        return 0.0
    if changes >= 0.98 * spread * len(gaps):
        return float("inf")
    scale = float(gaps.mean())

    def missing(rate: float) -> float:
        return float(spread * -np.expm1(-rate * gaps / scale).sum()) - changes

    return spread * float(brentq(missing, 0.0, 1e6)) / scale
