"""The objective of a fit, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from ctbnlearn.errors import ParameterError
from ctbnlearn.report.learned import Learned as Result
from ctbnlearn.report.learned import is_learned
from ctbnlearn.report.style import BLUE, MUTED, VERMILLION, axes, unframe


def plot_convergence(
    objective: Result | ArrayLike, phases: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the objective by step and mark the steps that changed the weights of the parent sets.

    Parameters
    ----------
    objective : Result or (n,)
        What was learned, or the objective after every step, as in `history_.objective`.
    phases
        What each step changed, as in `history_.phase`; steps named "weights" are marked.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.

    Returns
    -------
    Axes
    """
    if is_learned(objective):
        history = objective.history
        objective, phases = history.objective, history.phase
    values = np.asarray(objective, float)
    if values.ndim != 1 or not len(values):
        raise ParameterError(f"objective must be one number per step, not an array of shape {values.shape}")
    if phases is not None and len(phases) != len(values):
        raise ParameterError(f"there are {len(values)} values of the objective but {len(phases)} phases; one each")
    ax = axes(ax, 6.0, 3.6)
    steps = np.arange(1, len(values) + 1)
    ax.plot(steps, values, color=MUTED, linewidth=1.2, zorder=1)
    marked = np.array([phase == "weights" for phase in phases or []] or [False] * len(values))
    ax.scatter(steps[~marked], values[~marked], s=12, color=BLUE, zorder=2, label="paths and rates")
    if marked.any():
        ax.scatter(steps[marked], values[marked], s=34, marker="D", color=VERMILLION, zorder=3, label="weights updated")
        ax.legend(frameon=False, fontsize=8, loc="lower right")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("step")
    ax.set_ylabel("objective (nats)")
    unframe(ax)
    return ax
