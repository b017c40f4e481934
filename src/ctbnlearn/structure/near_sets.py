"""Posterior weights of the parent sets of a node around the best ones, where there are too many to list them all.

Sets are opened best first: to open one is to score every set one addition or removal away. All that were scored share
the weight. It stops when little of it lies in sets that were not opened, since what was never scored is then far from
all that weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.search import Members, SetScorer, single_steps

CLOSED = 1e-3  # weight of sets not opened at which to stop


@dataclass(frozen=True, eq=False)
class NearSets:
    """Sets of a node with their weights.

    Attributes
    ----------
    sets
        The sets, heaviest first.
    scores, weights : (n_sets,)
        Score plus log prior, and weight.
    coverage : float
        Share of the weight in sets all of whose neighbours were scored. Near one: sets left out weigh little, unless
        they lie beyond a wide valley.
    """

    sets: ParentSets
    scores: FloatArray
    weights: FloatArray
    coverage: float


def near_sets(scorer: SetScorer, node: int, start: Members, most: int) -> NearSets:
    """Weigh the sets around those scored so far, after scoring at most about `most` further ones.

    Parameters
    ----------
    scorer, node
        What scores the sets of which node.
    start
        A set to begin with, besides those scored before.
    most
        No set is opened any more once that many were scored here.
    """
    scorer.score(node, [start])
    scored = scorer.scored(node)
    waiting = [(-value, s) for s, value in scored.items()]
    heapify(waiting)
    total, inside, fresh_ones, opened = np.logaddexp.reduce(list(scored.values())), -np.inf, 0, False
    while waiting and not (opened and (np.exp(inside - total) >= 1 - CLOSED or fresh_ones >= most)):
        less, current = heappop(waiting)
        inside, opened = np.logaddexp(inside, -less), True
        fresh = [s for s in single_steps(current, scorer.rules, node) if s not in scored]
        if fresh:
            values = scorer.score(node, fresh)
            total = np.logaddexp.reduce([total, *values])
            fresh_ones += len(fresh)
            for s, value in zip(fresh, values):
                heappush(waiting, (-value, s))
    ranked = sorted(scored.items(), key=lambda item: (-item[1], item[0]))
    scores = np.array([value for _, value in ranked])
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    weights /= weights.sum()
    sets = scorer.problem(node, [s for s, _ in ranked]).sets
    return NearSets(sets, scores, weights, float(min(np.exp(inside - total), 1.0)))
