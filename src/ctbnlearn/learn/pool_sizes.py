"""How many candidates of a node are weighed together in a sweep of sampling, and how much work that is."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.structure.problem import EdgeRules

MOST_JOINT = 4096  # joint states of a pool
MOST_SETS = 512  # sets inside a pool
MOST_PUSHED = 4  # parents up to which a set is weighed twice: pushed, and independent
FREE_SECONDS, PUSHED_SECONDS = 8e-8, 2.4e-7  # per joint state of a set, and state of the node but one


def pool_size(rules: EdgeRules, node: int, cards: Sequence[int]) -> int:
    """Candidates whose sets are weighed together: all, or as many as keep joint states and sets few."""
    allowed, limit, need = rules.allowed[node], rules.limit(node), len(rules.required[node])
    largest = sorted((cards[j] for j in allowed), reverse=True)
    size = 0
    while size < len(allowed):
        sets = sum(comb(size + 1 - need, k) for k in range(limit - need + 1)) if size + 1 >= need else 1
        if size >= max(limit if rules.max_parents is not None else 2, need + 2) and (
            np.prod(largest[: size + 1], dtype=float) > MOST_JOINT or sets > MOST_SETS
        ):
            break
        size += 1
    return size


def set_states(rules: EdgeRules, node: int, cards: Sequence[int], size: int) -> FloatArray:
    """Joint states of the sets inside a pool together, by number of members: elementary symmetric polynomials."""
    largest = sorted((cards[j] for j in rules.allowed[node]), reverse=True)[:size]
    states: FloatArray = np.ones(1)
    for card in largest:
        states = np.append(states, 0.0) + np.append(0.0, card * states)
    return states[: rules.limit(node) + 1]


def sets_capacity(rules: EdgeRules, cards: Sequence[int], sizes: Sequence[int]) -> tuple[int, int]:
    """Most sets inside the pool of a node, and numbers in all their tables together."""
    sets = numbers = 1
    for i, size in enumerate(sizes):
        sets = max(sets, sum(comb(size, k) for k in range(rules.limit(i) + 1)))
        numbers = max(numbers, int(set_states(rules, i, cards, size).sum()) * cards[i] * (cards[i] + 1))
    return sets, numbers


def weighing_seconds(rules: EdgeRules, cards: Sequence[int]) -> float:
    """Seconds that weighing the sets of all nodes takes in a sweep, roughly."""
    total = 0.0
    for i, card in enumerate(cards):
        states = set_states(rules, i, cards, pool_size(rules, i, cards))
        total += (card - 1) * (FREE_SECONDS * states.sum() + PUSHED_SECONDS * states[1 : MOST_PUSHED + 1].sum())
    return total
