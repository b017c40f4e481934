"""Fig. 4 and appendix C.2: the network of a household panel (K = 2, 600 persons) and how stable it is.

There is no truth: networks from more and more persons, drawn anew each time, are set against the one from the first
draw of the largest number, by the Hamming distance of their edges at probability 0.5. Variables that never change in
the whole table drive others and are driven by none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ctbnlearn.data.tables import read_table
from ctbnlearn.errors import DataError
from ctbnlearn.experiments import protocol
from ctbnlearn.experiments.comparison import Claim, Comparison
from ctbnlearn.experiments.frame import Experiment, Options
from ctbnlearn.experiments.measured import fingerprint, read_columns
from ctbnlearn.experiments.rows import Cell, Row, Tables, difference, group, mean, quartiles, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ctbnlearn.learn.learner import StructureLearner

UNIT, TIME = "id", "t"
NOT_VARIABLES = (UNIT, TIME, "year", "wave")
PERSONS = (50, 100, 200, 400, 600)
DRAWS = 3
STEP = (
    0.5  # of the time grid, in years: half the time between interviews, as answers that come and go ask for tiny cells
)
MAX_PARENTS = 2
WEIGHTS = ("mixture", "posterior")


def plan(options: Options) -> list[Cell]:
    """One cell per number of persons, draw and kind of weights."""
    assert options.data is not None
    if options.data.is_dir():
        raise DataError(f"{options.data}: this is a folder; --data must name {NEEDS}")
    wanted, draws = ((34, 40), 2) if options.quick else (PERSONS, DRAWS)
    there = len(pc.unique(read_panel(options.data)[0][UNIT]))
    sizes = [n for n in wanted if n <= there]
    if len(sizes) < 2:
        raise DataError(
            f"{options.data}: {there} persons are seen more than once; at least {wanted[1]} are needed to compare draws"
        )
    mark = fingerprint(options.data)
    return [
        {"persons": n, "draw": d, "weights": w, "quick": options.quick, "data": mark}
        for n in sizes
        for d in range(draws)
        for w in WEIGHTS
    ]


def read_panel(file: Path) -> tuple[pa.Table, list[str], list[str]]:
    """The table without persons seen once, its variables, and those of them that never change."""
    table = read_columns(file, (UNIT, TIME))
    table = table.filter(pc.is_valid(table[UNIT]))  # a row of nobody
    variables = [name for name in table.column_names if name not in NOT_VARIABLES]
    if len(variables) < 2:
        raise DataError(f"{file}: two or more variables are needed beside {', '.join(NOT_VARIABLES)}")
    waves = table.group_by(UNIT).aggregate([(TIME, "count")])
    often = waves.filter(pc.greater(waves[f"{TIME}_count"], 1))[UNIT]
    table = table.filter(pc.is_in(table[UNIT], value_set=pc.cast(often, table[UNIT].type).combine_chunks()))
    spread = table.group_by(UNIT).aggregate([(name, "count_distinct") for name in variables])
    still = [name for name in variables if (pc.max(spread[f"{name}_count_distinct"]).as_py() or 0) < 2]
    return table, variables, still


def choose(table: pa.Table, persons: int, draw: int) -> pa.Table:
    """The rows of a random draw of persons."""
    every = np.sort(np.asarray(pc.unique(table[UNIT]).to_pylist(), dtype=object))
    rng = np.random.default_rng([protocol.SEED, persons, draw])
    chosen = rng.choice(len(every), persons, replace=False)
    wanted = pa.array(every[chosen].tolist(), table[UNIT].type)
    return table.filter(pc.is_in(table[UNIT], value_set=wanted))


def estimator(weights: str, quick: bool, still: list[str]) -> StructureLearner:
    """What learns; variables that are `still` are driven by nothing."""
    settings: dict[str, Any] = {"exogenous": still, "transitions": {name: [] for name in still}} if still else {}
    if weights == "mixture" and not quick:
        settings["step"] = STEP
    return protocol.learner(weights, MAX_PARENTS, quick, **settings)


def run(cell: Cell, options: Options) -> Tables:
    """Learn from one draw of persons."""
    assert options.data is not None
    table, variables, still = read_panel(options.data)
    states = {name: sorted(pc.unique(table[name]).drop_null().to_pylist()) for name in variables}
    if cell["quick"]:  # few variables of few states: little to compile
        variables = [name for name in variables if len(states[name]) <= 3][:6]
        still = [name for name in still if name in variables]
        states = {name: states[name] for name in variables}
    obs = read_table(
        choose(table, cell["persons"], cell["draw"]).select([UNIT, TIME, *variables]),
        trajectory=UNIT,
        time=TIME,
        variables=variables,
        states=states,
        sort=True,
        allow_unseen=True,
    )
    learner = estimator(cell["weights"], cell["quick"], still).fit(obs)
    probability = learner.edge_probabilities_
    where = {key: cell[key] for key in ("persons", "draw", "weights")}
    edges = [
        {**where, "source": variables[i], "target": variables[j], "probability": float(probability[i, j])}
        for i, j in np.argwhere(~np.eye(len(variables), dtype=bool)).tolist()
        if variables[j] not in still
    ]
    score = {
        **where,
        "values_seen": int(obs.n_informative),
        "edges": int((probability > 0.5).sum()),
        "rounds": learner.n_iter_,
        "converged": learner.converged_,
        "still": " ".join(still),
    }
    return {"scores": [score], "edges": edges}


def distances(tables: Tables) -> list[Row]:
    """Distance of every network from the first one of the most persons, for each kind of weights."""
    out: list[Row] = []
    most = max(row["persons"] for row in tables["scores"])
    for weights in WEIGHTS:
        cells = {
            key: _vector(rows)
            for key, rows in group(select(tables["edges"], weights=weights), "persons", "draw").items()
        }
        first = cells[most, 0]
        for (persons, draw), p in cells.items():
            if (persons, draw) == (most, 0):
                continue
            hamming, edges = int(((p > 0.5) != (first > 0.5)).sum()), int((p > 0.5).sum() + (first > 0.5).sum())
            out.append(
                {
                    "weights": weights,
                    "persons": persons,
                    "draw": draw,
                    "hamming": hamming,
                    "share": hamming / max(edges, 1),
                    "mean_difference": float(np.abs(p - first).mean()),
                    "edges": int((p > 0.5).sum()),
                    "pairs": len(p),
                }
            )
    return out


def _vector(rows: list[Row]) -> np.ndarray:
    ordered = sorted(rows, key=lambda row: (row["source"], row["target"]))
    return np.array([row["probability"] for row in ordered])


def draw(tables: Tables) -> Figure:
    """The network of posterior weights from the most persons, and the distances."""
    from ctbnlearn.experiments.drawing import LOOKS, bands, labels, legend, panels
    from ctbnlearn.report.network import plot_network

    most = max(row["persons"] for row in tables["scores"])
    rows = select(tables["edges"], weights="posterior", persons=most, draw=0)
    names = list(dict.fromkeys(row["source"] for row in rows))
    matrix = np.zeros((len(names),) * 2)
    for row in rows:
        matrix[names.index(row["source"]), names.index(row["target"])] = row["probability"]
    figure, axes = panels(2, width=5.2, height=4.4)
    plot_network(matrix, names, threshold=0.5, ax=axes[0])
    axes[0].set_title(f"posterior weights, {most} persons", fontsize=9)
    far = distances(tables)
    for weights in WEIGHTS:
        bands(axes[1], select(far, weights=weights), "persons", "hamming", LOOKS[weights])
    labels(axes[1], "persons", f"Hamming distance from a network of {most} persons")
    axes[1].set_ylim(bottom=0)
    axes[1].set_xticks(sorted(group(far, "persons")))
    legend(axes[1])
    return figure


def compare(tables: Tables) -> Comparison:
    """Distances by number of persons, the edges found, and the paper's sentences."""
    far = distances(tables)
    sizes = sorted(group(far, "persons"))
    lines = []
    for (weights, persons), here in sorted(group(far, "weights", "persons").items()):
        low, middle, high = quartiles(here, "hamming")
        lines.append(
            (
                *(weights, persons, mean(here, "edges"), middle, f"{low:g} to {high:g}"),
                *(mean(here, "share"), mean(here, "mean_difference")),
            )
        )
    claims = []
    for weights in WEIGHTS:
        at = {n: mean(select(far, weights=weights, persons=n), "hamming") for n in sizes}
        ends = [select(far, weights=weights, persons=n) for n in (sizes[0], sizes[-1])]
        fall, error = difference(ends[0], ends[1], "hamming")
        few, many = (mean(rows, "edges") for rows in ends)
        apart = ", ".join(f"{mean(rows, 'share'):.2f} at {rows[0]['persons']}" for rows in ends)
        figures = ", ".join(f"{n}: {value:.1f}" for n, value in at.items())
        claims.append(
            Claim(
                f"The Hamming distance falls with the number of persons, {weights} weights",
                fall > 2 * error,
                f"mean distance by persons {figures}; it falls by {fall:.1f} ± {error:.1f}; as a share of the edges of "
                f"both networks {apart}",
                f"There are {few:.1f} edges above 0.5 from {sizes[0]} persons and {many:.1f} from {sizes[-1]}: a "
                "network without edges is no further away than the reference has edges, so the share tells more.",
            )
        )
        claims.append(
            Claim(
                f"It settles at a value that is not zero, {weights} weights",
                at[sizes[-1]] > 0,
                f"{at[sizes[-1]]:.1f} between draws of {sizes[-1]} persons, among {far[0]['pairs']} pairs",
                "The draws of the most persons agree on every edge.",
            )
        )
    most = max(row["persons"] for row in tables["scores"])
    found = {
        weights: ", ".join(
            f"{row['source']} → {row['target']}"
            for row in select(tables["edges"], weights=weights, persons=most, draw=0)
            if row["probability"] > 0.5
        )
        or "none"
        for weights in WEIGHTS
    }
    settings = {
        **{f"edges above 0.5 from {most} persons, {weights} weights": text for weights, text in found.items()},
        "distance": "edges above 0.5 in one network and not in the other; as a share of the edges of both; and the "
        "mean difference of the edges' probabilities",
        "variables that never change": tables["scores"][0]["still"] or "none",
        "persons": f"{', '.join(map(str, sizes))}, drawn from those seen more than once, "
        f"{len(group(tables['scores'], 'draw'))} draws each",
        "learners": f"as in all experiments, K = {MAX_PARENTS}, time grid of {STEP} years (one cell a wave with "
        "--quick); states seen exactly, holes left open",
        "seed": protocol.SEED,
    }
    header = ("weights", "persons", "edges", "median distance", "quartiles", "share of both", "mean difference")
    return Comparison(header, lines, claims, settings)


NEEDS = f"a CSV file with the columns {UNIT} (person), {TIME} (time) and one column per variable, blank where not seen"
EXPERIMENT = Experiment(
    "panel",
    "A household panel: its network and how stable it is (Fig. 4, appendix C.2)",
    plan,
    run,
    draw,
    compare,
    needs=NEEDS,
)
