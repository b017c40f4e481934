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

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.contract import PathPosterior, PathRates
from ctbnlearn.inference.engine import PathEngine, by_states
from ctbnlearn.structure.belief import NodeBelief, gamma_divergence
from ctbnlearn.structure.weights import posterior_weights

PASSES = 5
MOST_JOBS = {"cpu": 32, "gpu": 4096}  # side by side; few sizes, as each is compiled


class _Job:
    """Rates of one node under one parent set, as they are fitted."""

    def __init__(self, node: int, number: int, belief: NodeBelief) -> None:
        problem, projection = belief.problem, belief.projection
        rows = slice(projection.first[number], projection.first[number] + projection.sizes[number])
        self.node, self.possible = node, problem.possible
        self.map = projection.matrix[rows]  # states of the set by joint states of the active parents
        self.alpha, self.beta = problem.shape[number], problem.rate[number]
        self.a, self.b = belief.a[rows], belief.b[rows]
        self.evidence = 0.0

    def path_rates(self) -> tuple[FloatArray, FloatArray]:
        """Geometric rates (U, S, S) and exit rates (U, S) on the joint states of the active parents."""
        geometric = np.exp(digamma(self.a) - np.log(self.b)) * self.possible
        spread = self.map.T @ geometric.reshape(len(geometric), -1)
        return spread.reshape(-1, *geometric.shape[1:]), self.map.T @ (self.a / self.b * self.possible).sum(-1)

    def update(self, log_z: float, dwell: FloatArray, moves: FloatArray) -> None:
        """Evidence at the rates held, then new rates."""
        kl = gamma_divergence(self.a, self.b, self.alpha, self.beta)
        self.evidence = log_z - float((kl * self.possible).sum())
        self.a = self.alpha + (self.map @ moves.reshape(len(moves), -1)).reshape(-1, *moves.shape[1:])
        self.b = self.beta + (self.map @ dwell)[..., None]


def local_weights(
    engine: PathEngine, paths: PathPosterior, beliefs: Sequence[NodeBelief], chosen: Sequence[IntArray]
) -> list[FloatArray]:
    """Per node, weights of the chosen sets of its belief from their local evidence."""
    around, rates = engine.surroundings(paths), paths.rates
    jobs = [_Job(i, k, beliefs[i]) for i, numbers in enumerate(chosen) for k in numbers]
    for some, wide in by_states([rates.cards[job.node] for job in jobs]):
        _fit(engine, rates, around, [jobs[k] for k in some], wide)
    evidence = iter([job.evidence for job in jobs])
    return [
        posterior_weights(np.array([next(evidence) for _ in numbers]), belief.problem.log_prior[numbers])
        for belief, numbers in zip(beliefs, chosen)
    ]


def _fit(engine: PathEngine, rates: PathRates, around: Any, jobs: Sequence[_Job], wide: int) -> None:
    """Fit jobs of nodes with at most `wide` states, as many side by side as suits the device."""
    tables, sizes = engine.padded(rates).tables, rates.sizes
    tall = tables.exit.shape[1]
    cells = max(block.dt.size for block in engine.blocks)
    most = min(MOST_JOBS[engine.device.kind], max(8, 4 * engine.device.cells // (cells * wide**2)))
    width = min(most, max(8, 1 << (len(jobs) - 1).bit_length()))
    for low in range(0, len(jobs), width):
        batch = jobs[low : low + width]
        nodes = np.full(width, batch[0].node)
        nodes[: len(batch)] = [job.node for job in batch]
        for _ in range(PASSES):
            geometric, leave = np.zeros((width, tall, wide, wide)), np.zeros((width, tall, wide))
            for k, job in enumerate(batch):
                u, s = sizes[job.node], rates.cards[job.node]
                geometric[k, :u, :s, :s], leave[k, :u, :s] = job.path_rates()
            log_z, dwell, moves = engine.local(around, tables.initial, nodes, geometric, leave)
            for k, job in enumerate(batch):
                u, s = sizes[job.node], rates.cards[job.node]
                job.update(float(log_z[k]), dwell[k, :u, :s], moves[k, :u, :s, :s])
