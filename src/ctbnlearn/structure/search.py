"""Local searches over parent sets: greedy hill-climbing and tabu, on the closed-form score.

The score splits into nodes and cycles are allowed, so each node is searched alone. A step adds, drops or
swaps one parent. Both are baselines: `StructureLearner` weighs all sets instead of picking one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring, overall_rate
from ctbnlearn.structure.tables import Tables, tables_for


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
    scoring = Scoring(rate_prior, structure_prior)
    scoring.check(len(paths.names))
    totals = count_statistics(paths)
    mean_rates = [overall_rate(totals, i) for i in range(len(paths.names))]
    cards = [v.n_states for v in paths.variables]
    scorer = SetScorer(tables_for(paths, rules.allowed, rules.largest), rules, scoring, cards, mean_rates)
    parents, best_scores = {}, {}
    for i, name in enumerate(paths.names):
        best = climb(scorer, i, rules.required[i], walk)
        parents[name] = tuple(paths.names[j] for j in best)
        best_scores[name] = scorer.score(i, [best])[0]
    return SearchResult(paths.names, parents, best_scores, scorer.n_scored)


class SetScorer:
    """Scores parent sets as they are asked for: closed-form score plus log structure prior.

    Parameters
    ----------
    tables
        Where the dwell and transition tables of a set come from, counted or expected.
    rules, scoring
        Which sets there are and how they are judged.
    cards, mean_rates
        Number of states and overall rate of every node.
    possible
        Per node the transitions that can happen; default all.
    """

    def __init__(
        self,
        tables: Tables,
        rules: EdgeRules,
        scoring: Scoring,
        cards: Sequence[int],
        mean_rates: Sequence[float],
        possible: Sequence[BoolArray | None] | None = None,
    ) -> None:
        self.tables, self.rules, self.scoring = tables, rules, scoring
        self.cards, self.mean_rates = list(cards), list(mean_rates)
        self.possible = [None] * len(self.cards) if possible is None else list(possible)
        self._seen: list[dict[tuple[int, ...], float]] = [{} for _ in cards]

    @property
    def n_scored(self) -> int:
        """How many sets were scored so far."""
        return sum(map(len, self._seen))

    def problem(self, node: int, sets: Sequence[tuple[int, ...]]) -> NodeProblem:
        """Priors of some sets of a node."""
        members = np.full((len(sets), max(1, *map(len, sets))), -1)
        for k, s in enumerate(sets):
            members[k, : len(s)] = s
        block = ParentSets(members, self.rules.names)
        mean_rate = self.mean_rates[node]
        return NodeProblem.build(node, block, self.rules, self.cards, self.scoring, mean_rate, self.possible[node])

    def score(self, node: int, sets: Sequence[tuple[int, ...]]) -> list[float]:
        """Scores of some sets of a node; none is scored twice."""
        seen = self._seen[node]
        fresh = [s for s in dict.fromkeys(sets) if s not in seen]
        if fresh:
            problem = self.problem(node, fresh)
            total = problem.scores(self.tables.groups(node, problem.sets)) + problem.log_prior
            seen.update(zip(fresh, map(float, total)))
        return [seen[s] for s in sets]


def climb(scorer: SetScorer, node: int, start: tuple[int, ...], walk: tuple[int, int] | None = None) -> tuple[int, ...]:
    """Best parent set found from `start` by single steps: additions, removals and swaps.

    With `walk` = (tenure, patience) it goes on through worse sets, as `tabu_search` does.
    """
    current = best = start
    value = scorer.score(node, [start])[0]
    recent, idle = deque([start], maxlen=walk[0] if walk else 1), 0
    while True:
        steps = [s for s in neighbours(current, scorer.rules, node) if s not in recent]
        if not steps:
            return best
        reached, current = max(zip(scorer.score(node, steps), steps))
        recent.append(current)
        if reached > value:
            best, value, idle = current, reached, 0
        else:
            idle += 1
            if walk is None or idle >= walk[1]:
                return best


def neighbours(current: tuple[int, ...], rules: EdgeRules, node: int) -> list[tuple[int, ...]]:
    """Sets one addition, removal or swap away."""
    outside = [j for j in rules.allowed[node] if j not in current]
    loose = [j for j in current if j not in rules.required[node]]
    out = [tuple(sorted(set(current) - {j})) for j in loose]
    out += [tuple(sorted((set(current) - {j}) | {k})) for j in loose for k in outside]
    if len(current) < rules.limit(node):
        out += [tuple(sorted((*current, k))) for k in outside]
    return out


def edge_grades(scorer: SetScorer, node: int, parents: tuple[int, ...]) -> FloatArray:
    """How much the score of a node's parents hangs on each single edge, as a number from 0 to 1, (n_variables,).

    1 / (1 + exp(-d)), where d is the score with the edge less the score without it, the other parents held: the
    posterior probability of the edge if nothing else were open. Where no parent may be added, the new one takes the
    place of the one it best replaces. Required edges have 1, edges that are not allowed 0.
    """
    rules = scorer.rules
    full = len(parents) == rules.limit(node)
    steps = [s for s in neighbours(parents, rules, node) if full or len(s) != len(parents)]  # swaps only where full
    held, *reached = scorer.score(node, [parents, *steps])
    with_edge = np.full(len(scorer.cards), -np.inf)
    without = np.full(len(scorer.cards), held)
    for s, value in zip(steps, reached):
        for j in set(s) - set(parents):
            with_edge[j] = max(with_edge[j], value)
        if len(s) < len(parents):
            (j,) = set(parents) - set(s)
            with_edge[j], without[j] = held, value
    out: FloatArray = expit(with_edge - without)
    out[list(rules.required[node])] = 1.0
    return out
