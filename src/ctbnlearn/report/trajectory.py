"""Posterior state probabilities of one unit over time, a strip per variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ctbnlearn.errors import ParameterError
from ctbnlearn.report.learned import Learned as Result
from ctbnlearn.report.learned import is_learned
from ctbnlearn.report.marks import as_marks
from ctbnlearn.report.style import INK, axes, plain, state_colours, unframe

STRIP = 0.72
LISTED = 6


def plot_trajectory(
    times: Result | ArrayLike,
    probabilities: Mapping[str, ArrayLike] | None = None,
    states: Mapping[str, Sequence[object]] | None = None,
    observations: Mapping[str, Iterable[tuple[float, object]]] | None = None,
    ax: Axes | None = None,
    *,
    unit: object = None,
) -> Axes:
    """Draw the state probabilities of every variable, stacked, with the observations as marks.

    Parameters
    ----------
    times : Result or (n,)
        What was learned and saved with units, or increasing times.
    probabilities
        Variable -> state probabilities (n, n_states); not needed with a `Result`.
    states
        Variable -> labels of its states; not needed with a `Result`.
    observations
        Variable -> pairs (time, value). A state that was seen is a triangle above the strip in that state's colour; a
        measured number is a dot within it, the smallest at the bottom and the largest at the top.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.
    unit
        Which unit of a `Result` is drawn, by its id; default: the first that was saved.

    Returns
    -------
    Axes
    """
    axis = "time"
    if is_learned(times):
        axis = f"time ({times.time_unit})" if times.time_unit else "time"
        states = {v.name: v.states for v in times.variables}
        times, probabilities, observations = _smoothed(times, unit)
    elif probabilities is None or states is None:
        raise ParameterError("give probabilities and states with times, or pass a Result")
    grid = np.asarray(times, float)
    if grid.ndim != 1 or not len(grid) or not probabilities:
        raise ParameterError("plot_trajectory needs at least one time and one variable")
    names = list(probabilities)
    ax = axes(ax, 8.0, 0.9 + 0.62 * len(names))
    for row, name in enumerate(names):
        share = np.asarray(probabilities[name], float)
        if name not in states:
            raise ParameterError(f"states: no labels for {name!r}; give the list of its states")
        labels = [str(label) for label in states[name]]
        if share.shape != (len(grid), len(labels)):
            raise ParameterError(
                f"probabilities of {name!r} must be ({len(grid)}, {len(labels)}), one row per time and one column per "
                f"state, not {share.shape}"
            )
        floor = len(names) - 1 - row
        edges = floor + STRIP * np.column_stack([np.zeros(len(grid)), share.cumsum(1)])
        colours = state_colours(len(labels))
        for k, colour in enumerate(colours):
            ax.fill_between(grid, edges[:, k], edges[:, k + 1], color=colour, alpha=0.75, linewidth=0)
        _name_states(ax, labels, colours, floor)
        for mark in as_marks((observations or {}).get(name, ()), labels, name):
            ax.plot(
                mark.time,
                floor + STRIP * mark.height,
                marker="o" if mark.state is None else "v",
                markersize=4.5,
                color=INK if mark.state is None else colours[mark.state],
                markeredgecolor="white" if mark.state is None else INK,
                markeredgewidth=0.6,
                linestyle="none",
                clip_on=False,
                zorder=3,
            )
    ax.set_yticks(np.arange(len(names))[::-1] + STRIP / 2, [plain(name, 24) for name in names], fontsize=9)
    ax.set_ylim(-0.08, len(names) - 1 + STRIP + 0.2)
    if grid[-1] > grid[0]:
        ax.set_xlim(grid[0], grid[-1])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(axis)
    unframe(ax, "top", "right", "left")
    return ax


def _smoothed(learned: Result, wanted: object) -> tuple[Any, Any, Any]:
    """Times, probabilities and observations of one of the units kept in a result."""
    if not learned.units:
        raise ParameterError("this result holds no units; `ctbnlearn learn` keeps some, or use learner.smooth")
    for unit in learned.units:
        if wanted is None or str(unit.id) == str(wanted):
            return unit.times, unit.probabilities, unit.observations
    raise ParameterError(f"unit: this result holds {[unit.id for unit in learned.units]}, not {wanted!r}")


def _name_states(ax: Axes, labels: list[str], colours: list[str], floor: int) -> None:
    """Write the states beside their strip, in the order of the stack and in their colours."""
    listed = list(zip(labels, colours))[:LISTED]

    def write(k: int, text: str, offset: int, size: float, colour: str) -> None:
        ax.annotate(
            text,
            (1.0, floor + STRIP * (k + 0.5) / len(listed)),
            (offset, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=size,
            color=colour,
        )

    few = len(listed) <= 3
    more = len(labels) - LISTED
    for k, (label, colour) in enumerate(listed):
        last = more > 0 and k == LISTED - 1
        write(k, f"and {more + 1} more" if last else plain(label, 18), 14, 8 if few else 5.5, INK)
        if not last:
            write(k, "■", 5, 7 if few else 5, colour)
