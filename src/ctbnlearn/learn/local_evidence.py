"""Weights of a node's parent sets from its own evidence under each of them.

EM reinforces itself: the expected statistics of a set in force are filled in with its own rates, those of other sets
with averages. Here every set gets its chance: with the other nodes' paths held as they are, the node's paths and rates
are fitted under set m alone, by a few passes of

    paths:  r~ = E_u[exp(psi(a_m) - ln b_m)], e = E_u[a_m / b_m], child response as it stands  ->  ln Z_i(m), M, T
    rates:  a_m = alpha_m + M, b_m = beta_m + T

and the weights are pi(m) ~ p(m) exp{ sum over trajectories of ln Z_i(m) - KL(q(r | m) || p(r)) }.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import digamma

from ctbnlearn.arrays import FloatArray
from ctbnlearn.inference.engine import PathEngine, PathRates
from ctbnlearn.structure.belief import NodeBelief, gamma_divergence
from ctbnlearn.structure.weights import posterior_weights

PASSES = 5
WIDTH = 32  # parent sets fitted side by side


def local_weights(engine: PathEngine, rates: PathRates, beliefs: Sequence[NodeBelief]) -> list[FloatArray]:
    """Per node, weights of the sets in its belief from their local evidence; `rates` are those of the paths."""
    around = engine.surroundings(rates)
    width = min(WIDTH, max(len(belief.problem.sets) for belief in beliefs))
    return [_node_weights(engine, around, rates, i, belief, width) for i, belief in enumerate(beliefs)]


def _node_weights(
    engine: PathEngine, around: Any, rates: PathRates, node: int, belief: NodeBelief, width: int
) -> FloatArray:
    problem, projection = belief.problem, belief.projection
    n_sets, size, card = len(problem.sets), rates.sizes[node], rates.cards[node]
    tall, wide = rates.tables.exit.shape[1:]
    alpha, beta = (prior[projection.owner][:, None, None] for prior in (problem.shape, problem.rate))
    evidence = np.empty(n_sets)
    for low in range(0, n_sets, width):
        chosen = np.arange(low, min(low + width, n_sets))
        rows = [np.arange(projection.first[k], projection.first[k] + projection.sizes[k]) for k in chosen]
        maps = [projection.matrix[r] for r in rows]  # states of one set by joint states of the pool
        a, b = [belief.a[r] for r in rows], [belief.b[r] for r in rows]
        for _ in range(PASSES):
            geometric = np.zeros((width, tall, wide, wide))
            leave = np.zeros((width, tall, wide))
            for k, (m, x, y) in enumerate(zip(maps, a, b)):
                geometric[k, :size, :card, :card] = np.tensordot(
                    m.T, np.exp(digamma(x) - np.log(y)) * problem.possible, 1
                )
                leave[k, :size, :card] = m.T @ (x / y * problem.possible).sum(-1)
            value, dwell, moves = engine.local(around, rates.tables.initial[node], node, geometric, leave)
            for k, (c, r) in enumerate(zip(chosen, rows)):
                evidence[c] = value[k] - (gamma_divergence(a[k], b[k], alpha[r], beta[r]) * problem.possible).sum()
                a[k] = alpha[r] + np.tensordot(maps[k], moves[k, :size, :card, :card], 1)
                b[k] = beta[r] + (maps[k] @ dwell[k, :size, :card])[..., None]
    return posterior_weights(evidence, problem.log_prior)
