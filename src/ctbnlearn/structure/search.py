"""Local searches over parent sets: greedy hill-climbing and tabu, on the closed-form score.

The score splits into nodes and cycles are allowed, so each node is searched alone. A step adds, drops or
swaps one parent. Both are baselines: `StructureLearner` weighs all sets instead of picking one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, Judgement, NodeProblem, overall_rate
from ctbnlearn.structure.tables import tables_for


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Parents found by a search.

    Attributes
    ----------
    names
        The variables.
    parents
        Per variable, the names of the parents found.
    scores
        Per variable, score plus log structure prior of that set.
    n_scored
        How many parent sets were scored.
    """

    names: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]
    scores: dict[str, float]
    n_scored: int

    @property
    def score(self) -> float:
        """Total over the variables."""
        return sum(self.scores.values())

    @property
    def adjacency(self) -> IntArray:
        """0/1 matrix [source, target]."""
        out = np.zeros((len(self.names),) * 2, dtype=np.int64)
        for i, name in enumerate(self.names):
            for parent in self.parents[name]:
                out[self.names.index(parent), i] = 1
        return out


def hill_climb(
    paths: Paths,
    max_parents: int | None = None,
    *,
    candidates: Any = None,
    forbidden: Any = None,
    required: Any = None,
    exogenous: Any = None,
    rate_prior: Any = "auto",
    structure_prior: Any = "size",
) -> SearchResult:
    """Climb from the required parents by the best single step until none improves the score.

    Parameters are those of `StructureLearner`.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> paths = cl.simulate(cl.random_network(4, rng=1), 200, n_transitions=10, rng=2)
    >>> hill_climb(paths, max_parents=2).parents["x0"]
    ('x2',)
    """
    rules = max_parents, candidates, forbidden, required, exogenous
    return _search(paths, rules, rate_prior, structure_prior, None)


def tabu_search(
    paths: Paths,
    max_parents: int | None = None,
    *,
    tenure: int = 10,
    patience: int = 20,
    candidates: Any = None,
    forbidden: Any = None,
    required: Any = None,
    exogenous: Any = None,
    rate_prior: Any = "auto",
    structure_prior: Any = "size",
) -> SearchResult:
    """Like `hill_climb`, but walk on through worse sets, never back to one of the last `tenure` sets.

    Ends after `patience` steps without a new best set; returns the best one seen.
    """
    whole(tenure, "tabu_search: tenure", 1)
    whole(patience, "tabu_search: patience", 1)
    rules = max_parents, candidates, forbidden, required, exogenous
    return _search(paths, rules, rate_prior, structure_prior, (tenure, patience))


def _search(
    paths: Paths,
    edge_rules: tuple[Any, ...],
    rate_prior: Any,
    structure_prior: Any,
    walk: tuple[int, int] | None,
) -> SearchResult:
    if not isinstance(paths, Paths):
        raise ParameterError(f"the search needs complete data (Paths), not {type(paths).__name__}")
    rules = EdgeRules.build(paths.names, *edge_rules)
    judgement = Judgement(rate_prior, structure_prior)
    judgement.check(len(paths.names))
    scorer = _Scorer(paths, rules, judgement)
    parents, best_scores, n_scored = {}, {}, 0
    for i, name in enumerate(paths.names):
        seen: dict[tuple[int, ...], float] = {}
        current = rules.required[i]
        scorer.score(i, [current], seen)
        best, recent, idle = current, deque([current], maxlen=walk[0] if walk else 1), 0
        while True:
            steps = [s for s in _neighbours(current, rules, i) if s not in recent]
            scorer.score(i, steps, seen)
            if not steps:
                break
            current = max(steps, key=lambda s: (seen[s], s))
            recent.append(current)
            if seen[current] > seen[best]:
                best, idle = current, 0
            else:
                idle += 1
                if walk is None or idle >= walk[1]:
                    break
        parents[name] = tuple(paths.names[j] for j in best)
        best_scores[name] = seen[best]
        n_scored += len(seen)
    return SearchResult(paths.names, parents, best_scores, n_scored)


def _neighbours(current: tuple[int, ...], rules: EdgeRules, node: int) -> list[tuple[int, ...]]:
    """Sets one addition, removal or swap away."""
    outside = [j for j in rules.allowed[node] if j not in current]
    loose = [j for j in current if j not in rules.required[node]]
    out = [tuple(sorted(set(current) - {j})) for j in loose]
    out += [tuple(sorted((set(current) - {j}) | {k})) for j in loose for k in outside]
    if len(current) < rules.limit(node):
        out += [tuple(sorted((*current, k))) for k in outside]
    return out


class _Scorer:
    """Scores parent sets as they are asked for."""

    def __init__(self, paths: Paths, rules: EdgeRules, judgement: Judgement) -> None:
        self.rules, self.judgement = rules, judgement
        self.cards = [v.n_states for v in paths.variables]
        self.totals = count_statistics(paths)
        self.tables = tables_for(paths, rules.allowed, rules.largest)

    def score(self, node: int, sets: list[tuple[int, ...]], seen: dict[tuple[int, ...], float]) -> None:
        """Put score plus log prior of every set into `seen`; those already there are not scored again."""
        fresh = [s for s in dict.fromkeys(sets) if s not in seen]
        if not fresh:
            return
        members = np.full((len(fresh), max(1, *(len(s) for s in fresh))), -1)
        for k, s in enumerate(fresh):
            members[k, : len(s)] = s
        block = ParentSets(members, self.rules.names)
        mean_rate = overall_rate(self.totals, node)
        problem = NodeProblem.build(node, block, self.rules, self.cards, self.judgement, mean_rate)
        total = problem.scores(self.tables.groups(node, block)) + problem.log_prior
        seen.update(zip(fresh, map(float, total)))
