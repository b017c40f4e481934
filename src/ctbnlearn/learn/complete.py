"""Learning from complete data: every parent set is scored in closed form.

Where there are too many sets to list, all of up to two parents are weighed without listing them (`AllPairs`). Larger
ones are searched for, and the sets around the best weighed (`search_nodes`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.inference.statistics import Statistics, count_statistics
from ctbnlearn.learn.fitted import check_allowed
from ctbnlearn.learn.progress import Progress
from ctbnlearn.structure.parent_sets import MOST_LISTED, ParentSets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring, centre
from ctbnlearn.structure.tables import table_of, tables_for

Tabled = list[tuple[int, FloatArray, FloatArray]]  # number of a set, its dwell (U, S) and transitions (U, S, S)


@dataclass(frozen=True, eq=False)
class CompleteFit:
    """What complete data say.

    Attributes
    ----------
    totals
        Statistics without parents.
    problems, weights
        Per node its sets, and their weights.
    edges : (N, N)
        Probability of [source, target].
    tables
        Per node the best set, then those in which edges of noticeable probability weigh most, with their statistics.
    value
        Log evidence, or the objective of the mixture weights.
    coverage : (N,)
        Per node how much of the weight was explored (`NearSets`), where sets were searched for.
    """

    totals: Statistics
    problems: list[NodeProblem]
    weights: list[FloatArray]
    edges: FloatArray
    tables: list[Tabled]
    value: float
    coverage: FloatArray | None = None


def fit_complete(
    paths: Paths,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    *,
    precision: str = "auto",
    device: str = "auto",
    progress: Progress | None = None,
) -> CompleteFit:
    """Weigh the parent sets of every node; parameters are those of `StructureLearner`."""
    totals = count_statistics(paths)
    check_allowed(totals, possible)
    progress = progress or Progress()
    many = scoring.mixture is None and number_of_sets(rules) > MOST_LISTED
    if many and (scoring.shared or rules.largest > 2):
        return _fit_searched(paths, rules, scoring.settled("sparse", "shared"), possible, totals, progress)
    scoring = scoring.settled("sparse" if scoring.shared else "size")
    build = partial(_problem, rules, scoring, possible, totals)
    if many:
        return _fit_pairs(paths, rules, scoring, possible, totals, build, precision, device, progress)
    return _fit_listed(paths, rules, totals, build)


def number_of_sets(rules: EdgeRules) -> int:
    """Parent sets of all nodes that the rules admit."""
    total = 0
    for i, (allowed, required) in enumerate(zip(rules.allowed, rules.required)):
        free, more = len(allowed) - len(required), rules.limit(i) - len(required)
        total += sum(comb(free, k) for k in range(more + 1))
    return total


def _problem(
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    totals: Statistics,
    node: int,
    sets: ParentSets,
) -> NodeProblem:
    cards = [v.n_states for v in totals.variables]
    return NodeProblem.build(node, sets, rules, cards, scoring, centre(totals, node), possible[node])


def _fit_listed(
    paths: Paths, rules: EdgeRules, totals: Statistics, build: Callable[[int, ParentSets], NodeProblem]
) -> CompleteFit:
    """Weigh every set that the rules admit."""
    tables = tables_for(paths, rules.largest)
    problems, weights, edges, chosen = [], [], [], []
    value = 0.0
    for i in range(len(rules.names)):
        problem = build(i, rules.sets(i))
        groups = list(tables.groups(i, problem.sets))
        if problem.barrier is None:
            value += float(np.logaddexp.reduce(problem.scores(groups) + problem.log_prior))
            weights.append(problem.weights(groups))
        else:
            weights.append(problem.weights(groups))
            value += float(problem.mixture(groups).value(weights[-1]))
        problems.append(problem)
        edges.append(problem.sets.edge_probabilities(weights[-1]))
        chosen.append([(k, *table_of(groups, k)) for k in _notable(problem.sets, edges[-1], weights[-1])])
    return CompleteFit(totals, problems, weights, np.stack(edges, axis=1), chosen, value)


def _fit_searched(
    paths: Paths,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    totals: Statistics,
    progress: Progress,
) -> CompleteFit:
    """Climb to the best set of every node and weigh those around it."""
    from ctbnlearn.learn.node_search import search_nodes
    from ctbnlearn.structure.search import NEAR, climb

    progress.tell(
        "start", f"{len(rules.names)} variables: more parent sets than can be listed, searching for those that weigh"
    )
    threads = os.cpu_count() or 1
    found = search_nodes(paths, totals, rules, scoring, possible, climb, NEAR, threads)
    least = min(f.coverage for f in found)
    progress.tell("done", f"{sum(f.n_scored for f in found)} sets scored, {least:.3f} or more of the weight explored")
    return CompleteFit(
        totals,
        [f.problem for f in found],
        [f.weights for f in found],
        np.stack([f.edges for f in found], axis=1),
        [f.tables for f in found],
        float(sum(f.scores[0] - np.log(f.weights[0]) for f in found)),
        coverage=np.array([f.coverage for f in found]),
    )


def _notable(sets: ParentSets, edges: FloatArray, weights: FloatArray) -> list[int]:
    """The best set, then those in which edges of noticeable probability weigh most."""
    best = int(np.argmax(weights))
    return [best, *(k for k in sets.notable(edges, weights) if k != best)]


def _fit_pairs(
    paths: Paths,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    totals: Statistics,
    build: Callable[[int, ParentSets], NodeProblem],
    precision: str,
    device: str,
    progress: Progress,
) -> CompleteFit:
    """Weigh all sets of up to two parents by products."""
    from ctbnlearn.inference.device import Device, products_precision
    from ctbnlearn.structure.all_pairs import AllPairs

    cards = [v.n_states for v in paths.variables]
    n = len(cards)
    where = Device.find(device, precision)
    kind = products_precision(precision, where, n)
    mean_rates = [centre(totals, i) for i in range(n)]
    pairs = AllPairs(cards, rules, scoring, mean_rates, possible, kind, where)

    progress.tell("start", f"{n} variables, {paths.n_transitions} transitions: all pairs of parents, {where.kind}")
    result = pairs.run(paths)
    problems = [build(i, sets) for i, sets in enumerate(result.sets)]
    tables: list[Tabled] = []
    for i, (sets, weights) in enumerate(zip(result.sets, result.weights)):
        tables.append([(k, *result.table(i, k, cards)) for k in _notable(sets, result.edges[:, i], weights)])
    return CompleteFit(totals, problems, result.weights, result.edges, tables, float(result.log_evidence.sum()))
