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
        What scores the sets of which node; `start`, which is opened first, should be the best set known.
    start
        A set that the rules admit.
    most
        No set is opened any more once that many were scored here.
    """
    scorer.score(node, [start])
    before = len(scorer.scored(node))
    waiting = [(-value, s) for s, value in scorer.scored(node).items()]
    heapify(waiting)
    opened: set[Members] = set()
    while waiting:
        if opened and (_share(scorer, node, opened) >= 1 - CLOSED or len(scorer.scored(node)) - before >= most):
            break
        _, current = heappop(waiting)
        opened.add(current)
        fresh = [s for s in single_steps(current, scorer.rules, node) if s not in scorer.scored(node)]
        for s, value in zip(fresh, scorer.score(node, fresh) if fresh else []):
            heappush(waiting, (-value, s))
    ranked = sorted(scorer.scored(node).items(), key=lambda item: (-item[1], item[0]))
    scores = np.array([value for _, value in ranked])
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    weights /= weights.sum()
    return NearSets(scorer.problem(node, [s for s, _ in ranked]).sets, scores, weights, _share(scorer, node, opened))


def _share(scorer: SetScorer, node: int, opened: set[Members]) -> float:
    """Share of the weight of all scored sets that lies in some."""
    scored = scorer.scored(node)
    total = np.logaddexp.reduce(list(scored.values()))
    return float(np.exp([scored[s] for s in opened] - total).sum())
