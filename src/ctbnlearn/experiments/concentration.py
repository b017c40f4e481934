"""Appendix C.1: what the concentration c does to the profile of F, two nodes that drive each other.

The profile is exp F(pi) over the weight pi of "no parent" (the truth is 0), normalised on a grid. The printed Dirichlet
term has the sign of the paper's text only as lambda = 1 - c: c = 2 draws towards the corners, c = 0 away from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from ctbnlearn.arrays import FloatArray
from ctbnlearn.experiments import protocol, two_nodes
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.rows import Cell, Tables, group, mean, select
from ctbnlearn.structure.mixture import MixtureObjective

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONCENTRATIONS = (0.0, 0.9, 1.0, 2.0)
TRAJECTORIES = (1, 2, 5, 10, 20, 40, 80, 160, 320)
GRID = (np.arange(100) + 0.5) / 100  # weight of "no parent"; for c = 2 the profile has no integral without a margin
COLUMNS = [f"{weight:.3f}" for weight in GRID]
CORNER = 0.05  # a weight within this of 0 or 1 counts as a choice


def profile(objective: MixtureObjective, concentration: float) -> FloatArray:
    """Normalised exp F on the grid."""
    at = np.stack([GRID, 1 - GRID], axis=1)
    log_value = objective.terms(at).sum(1) + (1 - concentration) * np.log(at).sum(1)
    density: FloatArray = np.exp(log_value - logsumexp(log_value))
    return density


def plan(options: Options) -> list[Cell]:
    """One cell per draw of the data."""
    draws = 5 if options.quick else protocol.GRAPHS
    return [
        {"draw": d, "trajectories": list(TRAJECTORIES), "concentrations": list(CONCENTRATIONS)} for d in range(draws)
    ]


def run(cell: Cell, options: Options) -> Tables:
    """Profiles for every concentration and amount of data."""
    every = two_nodes.draw_paths(cell["draw"], max(cell["trajectories"]))
    scores, profiles = [], []
    for size in cell["trajectories"]:
        objective = two_nodes.mixture_objective(*two_nodes.node_tables(every.select(np.arange(size))))
        for c in cell["concentrations"]:
            density = profile(objective, c)
            corner = (GRID < CORNER) | (GRID > 1 - CORNER)
            where = {"draw": cell["draw"], "c": c, "trajectories": size}
            found = {"mean": density @ GRID, "mode": GRID[np.argmax(density)], "near_a_corner": density[corner].sum()}
            scores.append({**where, **found})
            profiles.append({**where, **dict(zip(COLUMNS, density))})
    return {"scores": scores, "profiles": profiles}


def draw(tables: Tables) -> Figure:
    """One panel per concentration: mean profile in colour, mean weight dashed."""
    from ctbnlearn.experiments.drawing import labels, panels
    from ctbnlearn.report.style import PROBABILITY, VERMILLION

    sizes = sorted(group(tables["scores"], "trajectories"))
    every = sorted(group(tables["scores"], "c"))
    figure, axes = panels(len(every), width=2.9, height=3.0)
    for ax, c in zip(axes, every):
        image, means = [], []
        for size in sizes:
            here = select(tables["profiles"], c=c, trajectories=size)
            stack = np.array([mean(here, name) for name in COLUMNS])
            image.append(stack / stack.max())
            means.append(mean(select(tables["scores"], c=c, trajectories=size), "mean"))
        at = np.arange(len(sizes))
        ax.pcolormesh(GRID, at, np.array(image), cmap=PROBABILITY, vmin=0, vmax=1, shading="nearest", rasterized=True)
        ax.plot(means, at, color=VERMILLION, linestyle="--", linewidth=1.6)
        ax.set_yticks(at, [str(size) for size in sizes])
        ax.set_xlim(0, 1)
        labels(ax, "weight of “no parent”", "trajectories" if ax is axes[0] else "", f"c = {c:g}")
    return figure


def compare(tables: Tables) -> Comparison:
    """Mean weight and share of the profile near a corner, and the paper's sentences on them."""
    rows = tables["scores"]
    sizes, every = sorted(group(rows, "trajectories")), sorted(group(rows, "c"))
    lines = []
    for c in every:
        for size in (sizes[0], sizes[len(sizes) // 2], sizes[-1]):
            here = select(rows, c=c, trajectories=size)
            lines.append((c, size, mean(here, "mean"), mean(here, "near_a_corner")))
    few = {c: mean(select(rows, c=c, trajectories=sizes[0]), "near_a_corner") for c in every}
    many = {c: mean(select(rows, c=c, trajectories=sizes[-1]), "mean") for c in every}
    uniform = float(((GRID < CORNER) | (GRID > 1 - CORNER)).mean())
    inside = np.mean([CORNER < row["mode"] < 1 - CORNER for row in select(rows, c=every[0], trajectories=sizes[0])])
    claims = [
        Claim(
            "With many trajectories the mass lies at the truth for every c",
            all(value < 0.1 for value in many.values()),
            f"mean weight of the wrong set with {sizes[-1]} trajectories: "
            + ", ".join(f"c={c:g} {value:.3f}" for c, value in many.items()),
            "More data would be needed for the largest of them.",
        ),
        Claim(
            "With few trajectories c = 2 forces a selection",
            few[every[-1]] > 2 * uniform,
            f"share of the profile within {CORNER} of a corner with {sizes[0]} trajectory, c={every[-1]:g}: "
            f"{few[every[-1]]:.2f} (a flat profile: {uniform:.2f})",
        ),
        Claim(
            "With few trajectories c = 0 forces a mixture",
            few[every[0]] < uniform and inside > 0.5,
            f"share near a corner, c={every[0]:g}: {few[every[0]]:.3f}; the mode lies inside in {100 * inside:.0f} % "
            "of the draws",
        ),
    ]
    settings = {
        "draws of the data": len(group(rows, "draw")),
        "network": f"two binary nodes driving each other, Glauber dynamics, coupling {protocol.COUPLING}, "
        f"{two_nodes.TRANSITIONS} transitions a trajectory",
        "prior of the rates": "Gamma(5, 10), projected",
        "sign of the concentration": "F gets (1 - c) sum ln pi; as printed, (c - 1), c = 2 would mix and c = 0 select",
        "seed": protocol.SEED,
    }
    return Comparison(("c", "trajectories", "mean weight of “no parent”", "near a corner"), lines, claims, settings)


EXPERIMENT = Experiment(
    "concentration", "The concentration of the Dirichlet prior (appendix C.1)", plan, run, draw, compare
)
