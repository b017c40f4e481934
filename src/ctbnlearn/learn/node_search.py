"""Search the parent sets of every node of complete data, several nodes at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.structure.near_sets import near_sets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring, centre
from ctbnlearn.structure.search import Members, SetScorer
from ctbnlearn.structure.tables import EventTables

LISTED = 64  # sets of a node that are kept

Find = Callable[[SetScorer, int, Members], Members]  # best set of a node found from a first one


@dataclass(frozen=True, eq=False)
class FoundNode:
    """What the search of one node ends with.

    Attributes
    ----------
    problem
        The heaviest sets, heaviest first, and their priors.
    scores, weights : (n_sets,)
        Their scores plus log prior, and posterior weights among all sets that were scored.
    edges : (n_variables,)
        Probability of an edge from every variable.
    tables
        Number, dwell (U, S) and transitions (U, S, S) of the best set, then of those in which edges of noticeable
        probability weigh most.
    coverage : float
        As in `NearSets`.
    n_scored : int
        How many sets were scored.
    """

    problem: NodeProblem
    scores: FloatArray
    weights: FloatArray
    edges: FloatArray
    tables: list[tuple[int, FloatArray, FloatArray]]
    coverage: float
    n_scored: int


def search_nodes(
    paths: Paths,
    totals: Statistics,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    find: Find,
    n_near: int,
    threads: int,
) -> list[FoundNode]:
    """Search every node from its required parents, then weigh the sets around the best.

    Parameters
    ----------
    paths, totals
        The data, and their statistics without parents.
    rules, scoring, possible
        Which sets there are, how they are judged, which transitions can happen.
    find
        The search.
    n_near
        As `most` of `near_sets`.
    threads
        Nodes searched at a time; counting runs outside Python's lock.
    """
    tables = EventTables(paths)
    nodes = range(len(rules.names))
    means = [centre(totals, i) for i in nodes]
    scorer = SetScorer(tables, rules, scoring, tables.cards, means, possible)

    def search(node: int) -> FoundNode:
        best = find(scorer, node, rules.required[node])
        near = near_sets(scorer, node, best, n_near)
        edges = near.sets.edge_probabilities(near.weights)
        edges[list(rules.required[node])] = 1.0
        notable = [0, *(k for k in near.sets.notable(edges, near.weights) if k != 0)]
        kept = [*range(min(LISTED, len(near.sets))), *(k for k in notable if k >= LISTED)]
        members = [near.sets.numbers(k) for k in kept]
        counts, counted = tables.counts(node), []
        for k in notable:
            dwell, moves = counts.table(near.sets.numbers(k))
            counted.append((kept.index(k), (dwell * tables.events.tick).astype(float), moves.astype(float)))
        n_scored = len(scorer.scored(node))
        scorer.forget(node)
        scores, weights = near.scores[kept], near.weights[kept]
        return FoundNode(scorer.problem(node, members), scores, weights, edges, counted, near.coverage, n_scored)

    with ThreadPoolExecutor(min(threads, len(nodes))) as pool:
        return list(pool.map(search, nodes))
