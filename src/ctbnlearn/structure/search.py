"""Local searches over the parent sets of a node: hill-climbing and tabu, on the closed-form score.

The score splits into nodes and cycles are allowed, so each node is searched alone. Hill-climbing adds, drops or swaps
one parent as long as the score rises, then looks further: where a node's rates are scrambled by many parents at once,
none of them says much alone, and only several together do.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import expit

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.structure.cell_prior import CellPrior, as_cells
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring
from ctbnlearn.structure.tables import EventTables, Tables

Members = tuple[int, ...]
LOOKAHEAD = 1000  # sets of further parents tried at once where single steps end
NEAR = 500  # sets around the best that are scored for the probabilities of edges
BEAM = 10  # sets of a size that are grown where nothing was found
DEPTH = 4  # sizes they are grown by


class SetScorer:
    """Scores parent sets as they are asked for: closed-form score plus log structure prior.

    Parameters
    ----------
    tables
        Where the dwell and transition tables of a set come from, counted or expected.
    rules, scoring
        Which sets there are and how they are judged.
    cards, mean_rates
        Number of states of every node, and what the priors of its rates are centred on (`problem.centre`).
    possible
        Per node the transitions that can happen; default all.
    """

    def __init__(
        self,
        tables: Tables,
        rules: EdgeRules,
        scoring: Scoring,
        cards: Sequence[int],
        mean_rates: Sequence[FloatArray],
        possible: Sequence[BoolArray | None] | None = None,
    ) -> None:
        self.tables, self.rules, self.scoring = tables, rules, scoring
        self.cards, self.mean_rates = list(cards), list(mean_rates)
        self.possible = [None] * len(self.cards) if possible is None else list(possible)
        self._seen: list[dict[Members, float]] = [{} for _ in cards]

    def scored(self, node: int) -> dict[Members, float]:
        """Scores of all sets of a node that were asked for."""
        return self._seen[node]

    def forget(self, node: int) -> None:
        """Drop what is kept of a node."""
        self._seen[node] = {}
        if isinstance(self.tables, EventTables):
            self.tables.forget(node)

    def problem(self, node: int, sets: Sequence[Members]) -> NodeProblem:
        """Priors of some sets of a node."""
        members = np.full((len(sets), max(1, *map(len, sets))), -1)
        for k, s in enumerate(sets):
            members[k, : len(s)] = s
        block = ParentSets(members, self.rules.names)
        mean_rate = self.mean_rates[node]
        return NodeProblem.build(node, block, self.rules, self.cards, self.scoring, mean_rate, self.possible[node])

    def score(self, node: int, sets: Sequence[Members]) -> list[float]:
        """Scores of some sets of a node; none is scored twice."""
        seen = self._seen[node]
        fresh = [s for s in dict.fromkeys(sets) if s not in seen]
        if fresh:
            problem = self.problem(node, fresh)
            if isinstance(self.tables, EventTables):
                score = counted_scores(self.tables, node, problem)
            else:
                score = problem.scores(self.tables.groups(node, problem.sets))
            seen.update(zip(fresh, map(float, score + problem.log_prior)))
        return [seen[s] for s in sets]


def counted_scores(tables: EventTables, node: int, problem: NodeProblem) -> FloatArray:
    """Scores of the sets of a problem, straight from counts."""
    counts, tick = tables.counts(node), tables.events.tick
    out = np.empty(len(problem.sets))
    members = [problem.sets.numbers(k) for k in range(len(out))]
    number = {m: k for k, m in enumerate(members)}
    for base, lasts in shared_bases(members).items():
        numbers = [number[tuple(sorted((*base, last)))] for last in lasts]
        priors: dict[CellPrior, list[int]] = {}  # most often the same for all
        for at, k in enumerate(numbers):
            priors.setdefault(problem.cell_prior(k), []).append(at)
        for prior, places in priors.items():
            found = counts.extension_scores(base, [lasts[at] for at in places], prior)
            out[[numbers[at] for at in places]] = found
    if () in number:
        dwell, moves = counts.table(())
        out[number[()]] = problem.cell_prior(number[()]).score(*as_cells(dwell, moves), tick)
    return out


def shared_bases(sets: Iterable[Members]) -> dict[Members, list[int]]:
    """Sets that are not empty as what they share and the member that comes in last: the rarest among all the sets."""
    sets = [s for s in sets if s]
    common = Counter(j for s in sets for j in s)
    out: dict[Members, list[int]] = {}
    for s in sets:
        last = min(s, key=lambda j: (common[j], j))
        out.setdefault(tuple(j for j in s if j != last), []).append(last)
    return out


def climb(scorer: SetScorer, node: int, start: Members, lookahead: int = LOOKAHEAD) -> Members:
    """Best parent set found from `start`: single additions and removals, then swaps, then pairs of additions.

    A node for which that finds nothing is tried with several parents at once (`_beam`). `lookahead` bounds the number
    of pairs, or larger sets, that are tried; 0: single steps and swaps only.
    """
    best = _ascend(scorer, node, start, lookahead)
    if best == start and lookahead:
        best = _beam(scorer, node, start, lookahead)
    return best if best == start else _ascend(scorer, node, best, lookahead)


def _beam(scorer: SetScorer, node: int, start: Members, lookahead: int) -> Members:
    """Best set among all larger by 3, 4 ..., as long as there are at most `lookahead`, then those grown from the best.

    Each size is made of the best `BEAM` sets of the size before, better than `start` or not: the less a set says, the
    more it may still lack. Ends `DEPTH` sizes after the last one of which all sets were tried.
    """
    rules = scorer.rules
    free, left = [j for j in rules.allowed[node] if j not in start], rules.limit(node) - len(start)
    size, best, level = 3, start, []
    while size <= left and comb(len(free), size) <= lookahead:
        level, size = _joined(start, combinations(free, size)), size + 1
        best = max([best, *level], key=dict(zip([best, *level], scorer.score(node, [best, *level]))).__getitem__)
    for _ in range(DEPTH if level else 0):
        ranked = sorted(zip(scorer.score(node, level), level), reverse=True)[:BEAM]
        level = list(dict.fromkeys(s for _, one in ranked for s in additions(one, rules, node)))
        if not level:
            break
        best = max([best, *level], key=dict(zip([best, *level], scorer.score(node, [best, *level]))).__getitem__)
    return best


Steps = Callable[[Members, EdgeRules, int], list[Members]]


def _ascend(
    scorer: SetScorer, node: int, start: Members, lookahead: int, kinds: tuple[Steps, ...] | None = None
) -> Members:
    """Take the best step of the first kind that has one upwards, until none has."""
    rules, best = scorer.rules, start
    tried = kinds or (single_steps, swaps, pairs)
    (value,) = scorer.score(node, [best])
    while True:
        for kind in tried:
            if kind is pairs and comb(len(rules.allowed[node]) - len(best), 2) > lookahead:
                continue
            steps = kind(best, rules, node)
            if not steps:
                continue
            reached, step = max(zip(scorer.score(node, steps), steps))
            if reached > value:
                best, value = step, reached
                break
        else:
            return best


def tabu(scorer: SetScorer, node: int, start: Members, tenure: int, patience: int) -> Members:
    """Best set seen on a walk by single steps that goes on through worse sets, never back to one of the last `tenure`.

    Ends after `patience` steps without a new best set.
    """
    current = best = start
    (value,) = scorer.score(node, [start])
    recent, idle = deque([start], maxlen=min(tenure, sys.maxsize)), 0
    while idle < patience:
        steps = [s for s in single_steps(current, scorer.rules, node) if s not in recent]
        steps = steps or [s for s in swaps(current, scorer.rules, node) if s not in recent]
        if not steps:
            break
        reached, current = max(zip(scorer.score(node, steps), steps))
        recent.append(current)
        idle += 1
        if reached > value:
            best, value, idle = current, reached, 0
    return best


def additions(current: Members, rules: EdgeRules, node: int) -> list[Members]:
    """Sets with one member more."""
    outside = [j for j in rules.allowed[node] if j not in current]
    return _joined(current, ((j,) for j in outside)) if len(current) < rules.limit(node) else []


def removals(current: Members, rules: EdgeRules, node: int) -> list[Members]:
    """Sets with one member less, required ones kept."""
    return [tuple(k for k in current if k != j) for j in current if j not in rules.required[node]]


def single_steps(current: Members, rules: EdgeRules, node: int) -> list[Members]:
    """Sets one addition or removal away."""
    return removals(current, rules, node) + additions(current, rules, node)


def swaps(current: Members, rules: EdgeRules, node: int) -> list[Members]:
    """Sets in which one member is replaced."""
    outside = [j for j in rules.allowed[node] if j not in current]
    return [s for rest in removals(current, rules, node) for s in _joined(rest, ((j,) for j in outside))]


def pairs(current: Members, rules: EdgeRules, node: int) -> list[Members]:
    """Sets with two members more."""
    outside = [j for j in rules.allowed[node] if j not in current]
    return _joined(current, combinations(outside, 2)) if len(current) + 1 < rules.limit(node) else []


def _joined(current: Members, more: Iterable[Members]) -> list[Members]:
    return [tuple(sorted((*current, *extra))) for extra in more]


def edge_grades(scorer: SetScorer, node: int, parents: Members) -> FloatArray:
    """How much the score of a node's parents hangs on each single edge, as a number from 0 to 1, (n_variables,).

    1 / (1 + exp(-d)), where d is the score with the edge less the score without it, the other parents held: the
    posterior probability of the edge if nothing else were open. Where no parent may be added, the new one takes the
    place of the one it best replaces. Required edges have 1, edges that are not allowed 0.
    """
    rules = scorer.rules
    full = len(parents) == rules.limit(node)
    steps = single_steps(parents, rules, node) + (swaps(parents, rules, node) if full else [])
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
