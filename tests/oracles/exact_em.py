"""A structure learner whose E-step is exact: EM on the amalgamated chain, for small networks.

Same model as the package's default (posterior weights, weak priors), but path posteriors come from the joint chain
and scores are recomputed here from their definition. Only `ctbnlearn.exact`, itself tested against dense matrix
exponentials, is shared.
"""

from __future__ import annotations

from itertools import combinations, product
from math import comb, lgamma, log

import numpy as np

import ctbnlearn as cl


def learn(obs, max_parents, n_iter=12, beta=None):
    """Edge probabilities [source, target] of binary variables; rates have the prior Gamma(1, beta), or 1 / mean."""
    n = len(obs.names)
    others = [[j for j in range(n) if j != i] for i in range(n)]
    span = float((obs.end - obs.start).sum())
    sets = [[s for k in range(max_parents + 1) for s in combinations(o, k)] for o in others]
    rates = [np.full((2,) * (n - 1) + (2,), 0.5) for _ in range(n)]  # rate of leaving x given all others
    parents = {obs.names[i]: [obs.names[j] for j in others[i]] for i in range(n)}
    for iteration in range(n_iter + 5):
        net = cl.CTBN(obs.variables, parents, {obs.names[i]: matrices(rates[i]) for i in range(n)})
        stats = cl.exact.expected_statistics(net, obs)
        weights = []
        for i in range(n):
            time = stats.dwell[i].reshape((2,) * n)
            moves = stats.transitions[i].reshape((2,) * n + (2,))
            jumps = np.stack([moves[..., 0, 1], moves[..., 1, 0]], axis=-1)
            mean = jumps.sum() / span
            if iteration < 5:  # first settle the rates of variables that do not drive each other
                alone = (1 + jumps.reshape(-1, 2).sum(0)) / (1 / mean + time.reshape(-1, 2).sum(0))
                rates[i] = np.broadcast_to(alone, rates[i].shape).copy()
                weights.append(None)
                continue
            weight, average = judge(time, jumps, sets[i], others[i], 1.0, beta or 1 / mean)
            rates[i] = average
            weights.append(weight)
    out = np.zeros((n, n))
    for i in range(n):
        for s, w in zip(sets[i], weights[i]):
            out[list(s), i] += w
    return out


def matrices(leave):
    out = np.zeros((*leave.shape, 2))
    out[..., 0, 1], out[..., 1, 0] = leave[..., 0], leave[..., 1]
    out[..., 0, 0], out[..., 1, 1] = -leave[..., 0], -leave[..., 1]
    return out


def judge(time, jumps, sets, others, alpha, beta):
    """Posterior weights of the sets and the average of their posterior-mean rates on the joint states of all others."""
    logs, means = [], []
    for s in sets:
        drop = tuple(a for a, j in enumerate(others) if j not in s)
        t, m = time.sum(drop, keepdims=True), jumps.sum(drop, keepdims=True)
        total = -log(comb(len(others), len(s)))
        for cell in product(*[range(d) for d in t.shape]):
            a, b = alpha + m[cell], beta + t[cell]
            total += lgamma(a) - lgamma(alpha) + alpha * log(beta) - a * log(b)
        logs.append(total)
        means.append((alpha + m) / (beta + t))
    weight = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    return weight, sum(w * np.broadcast_to(r, time.shape) for w, r in zip(weight, means))
