"""Rate matrices of one variable, one for every joint state of its parents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.clock import per_unit
from ctbnlearn.errors import ParameterError
from ctbnlearn.report.learned import Learned as Result
from ctbnlearn.report.learned import is_learned, node_of
from ctbnlearn.report.style import FAINT, INK, MUTED, PROBABILITY, axes, plain

BLOCKS = 36
GAP = 0.9


def plot_rates(
    rates: Result | ArrayLike,
    states: Sequence[object] | None = None,
    parent_states: Sequence[object] | None = None,
    name: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rates from every state (row) to every other (column), darker the larger, with the numbers in them.

    Parameters
    ----------
    rates : Result or (n_parent_states, n_states, n_states)
        What was learned, or intensity matrices, also with one axis per parent as `CTBN.rates` gives them; the diagonal
        is not drawn. NaN means unknown.
    states
        Labels of the variable's states; not needed with a `Result`.
    parent_states
        What to write over each matrix, e.g. "rain=yes, sun=no"; needed where there is more than one, but not with a
        `Result`.
    name
        Name of the variable: which one of a `Result`, and for the title.
    ax : Axes or None
        Where to draw; None makes a new figure, found as `.figure` of the Axes returned.

    Returns
    -------
    Axes
    """
    unit = ""
    if is_learned(rates):
        unit = f", {per_unit(rates.time_unit)}" if rates.time_unit else ""
        rates, states, parent_states = _learned_rates(rates, node_of(rates, name))
    elif states is None:
        raise ParameterError("states: give the labels of the states with an array, or pass a Result and a name")
    matrices = np.asarray(rates, float)
    n_states = len(states)
    if matrices.shape[-2:] != (n_states, n_states) or not matrices.size:
        raise ParameterError(
            f"rates must be (n_parent_states, {n_states}, {n_states}), as there are {n_states} states, not "
            f"{matrices.shape}"
        )
    matrices = matrices.reshape(-1, n_states, n_states)
    if parent_states is None and len(matrices) == 1:
        parent_states = ["" if name is None else "whatever the others do"]
    if parent_states is None or len(parent_states) != len(matrices):
        raise ParameterError(f"parent_states must say what each of the {len(matrices)} matrices is for")
    total = len(matrices)
    matrices = np.where(np.eye(n_states, dtype=bool), np.nan, matrices)[:BLOCKS]
    columns = min(len(matrices), max(1, 12 // n_states), 6)
    rows = -(-len(matrices) // columns)
    pitch = n_states + GAP
    ax = axes(ax, 1.6 + 0.55 * pitch * columns, 0.9 + 0.5 * (pitch + 0.2) * rows)
    finite = matrices[np.isfinite(matrices)]
    top = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    labels = [plain(state, 10) for state in states]
    for block, matrix in enumerate(matrices):
        left, down = pitch * (block % columns), (pitch + 0.2) * (block // columns)
        for (a, b), rate in np.ndenumerate(matrix):
            _cell(ax, left + b, down + a, rate, top, a == b)
        heading = plain(parent_states[block], max(10, 7 * n_states))
        ax.text(left + (n_states - 1) / 2, down - 0.62, heading, ha="center", va="bottom", fontsize=8, color=INK)
    starts = pitch * np.arange(columns)[:, None] + np.arange(n_states)
    ax.set_xticks(starts.ravel(), labels * columns, fontsize=8, rotation=90 if max(map(len, labels)) > 5 else 0)
    starts = (pitch + 0.2) * np.arange(rows)[:, None] + np.arange(n_states)
    ax.set_yticks(starts.ravel(), labels * rows, fontsize=8)
    ax.set_xlim(-0.55, pitch * columns - GAP - 0.45)
    ax.set_ylim((pitch + 0.2) * rows - GAP - 0.65, -1.15)
    ax.set_aspect("equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("to state")
    ax.set_ylabel("from state")
    title = "Rates" if name is None else f"Rates of {plain(name)}"
    title += unit
    if total > BLOCKS:
        title += f" (the first {BLOCKS} of {total} parent states)"
    ax.set_title(title, fontsize=10)
    return ax


def _learned_rates(learned: Result, i: int) -> tuple[FloatArray, Sequence[object], list[str] | None]:
    """Mean rates of a variable under its best parent set, its states, and what the parents are in each matrix."""
    if not learned.rate_tables[i]:
        raise ParameterError(f"no rates of {learned.names[i]!r} were kept; learn again, or choose another variable")
    table = learned.rate_tables[i][0]
    parents = [learned.variables[j] for j in table.parents]
    held = product(*(v.states for v in parents))
    words = [", ".join(f"{v.name}={state}" for v, state in zip(parents, each)) for each in held]
    return table.mean, learned.variables[i].states, words if parents else None


def _cell(ax: Axes, x: float, y: float, rate: float, top: float, diagonal: bool) -> None:
    known = np.isfinite(rate)
    shade = float(rate) / top if known else 0.0
    colour = FAINT if diagonal else PROBABILITY(0.85 * shade) if known else "white"
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, facecolor=colour, edgecolor="white", linewidth=1.0))
    if not diagonal:
        text = f"{rate:.3g}" if known else "?"
        tone = MUTED if not known else "white" if shade > 0.65 else INK
        ax.text(x, y, text, ha="center", va="center", fontsize=8, color=tone)
