"""From what chains saw to what a learner tells: parent sets with weights, and posteriors of rates."""

from __future__ import annotations

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.learn.chain import Task
from ctbnlearn.learn.sampling import Sampled
from ctbnlearn.result.rate_table import RateTable
from ctbnlearn.structure.parent_sets import ParentSets

MOST_LISTED = 64  # parent sets of a node
LIGHTEST = 1e-6  # sets of less weight are not listed


def weighed_sets(found: Sampled, node: int, names: tuple[str, ...]) -> tuple[ParentSets, FloatArray]:
    """The heaviest parent sets of a node, heaviest first, with their weights averaged over sweeps."""
    total: dict[tuple[int, ...], float] = {}
    for record in found.records:
        for members, weight in zip(record[node].sets.tolist(), record[node].weights.tolist()):
            key = tuple(j for j in members if j >= 0)
            total[key] = total.get(key, 0.0) + weight / len(found.records)
    order = sorted(total, key=lambda m: (-total[m], m))
    best = [m for m in order[:MOST_LISTED] if total[m] > LIGHTEST] or order[:1]
    held = {record[node].parents for record in found.records}
    if not held.intersection(best):  # many light sets: one that was in force must be there, for its rates
        best.append(next(m for m in order if m in held))
    wide = max(1, *map(len, best))
    sets = ParentSets(np.array([[*m, *[-1] * (wide - len(m))] for m in best], np.int64), names)
    weights = np.array([total[m] for m in best])
    return sets, weights / max(1.0, weights.sum())


def rate_tables(
    found: Sampled, task: Task, node: int, sets: ParentSets, weights: FloatArray, edges: FloatArray
) -> list[RateTable]:
    """Rates under the heaviest set, then under those in which edges of noticeable probability weigh most.

    Only sets that were in force in some sweep that is kept have any; the heaviest of them comes first.
    """
    held: dict[tuple[int, ...], list[int]] = {}
    for r, record in enumerate(found.records):
        held.setdefault(record[node].parents, []).append(r)
    drawn = np.array([sets.numbers(k) in held for k in range(len(sets))])
    best = int(np.argmax(weights * drawn))
    chosen = [best, *(k for k in sets.notable(edges, weights * drawn) if k != best)]
    out = []
    for k in chosen:
        parents = sets.numbers(k)
        problem = task.problem(node, parents, found.alone)
        records = [found.records[r][node] for r in held[parents]]
        out.append(
            RateTable.from_sweeps(
                parents,
                np.stack([r.dwell for r in records]),
                np.stack([r.moves for r in records]),
                (np.stack([r.prior_shape for r in records]), np.stack([r.prior_rate for r in records])),
                problem.possible,
                float(problem.shape[0]),
            )
        )
    return out
