"""Posterior over all graphs by brute force: prior draws of the rates, dense generators, no code of the package.

For observations at equal gaps, seen through known likelihoods, p(y | graph) is the mean over draws of the rates of the
product of the trajectories' likelihoods, each by matrix products on the joint chain.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np


def expm(matrices):
    """Exponentials of many small matrices by scaling and squaring of a Taylor series."""
    squarings = max(0, int(np.ceil(np.log2(np.abs(matrices).sum(-1).max() + 1e-12))) + 4)
    small = matrices / 2**squarings
    out = np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape).copy()
    term = out.copy()
    for k in range(1, 13):
        term = term @ small / k
        out += term
    for _ in range(squarings):
        out = out @ out
    return out


def all_sets(n, node, most):
    others = [j for j in range(n) if j != node]
    return [m for k in range(most + 1) for m in combinations(others, k)]


def gamma_rates(shape, rate):
    """Draws of all rates from one Gamma prior."""
    return lambda rng, sizes: [[rng.gamma(shape, 1 / rate, size) for size in own] for own in sizes]


def pushed_rates(mean):
    """Draws (draws, U, from) of rates that are exponential of a given mean, or pushed towards a state by the parents.

    Per draw one share of nodes with parents that are pushed, uniform; per such node and parent state a push, even among
    seven but such that every parent makes a difference, and to either state rates about it, the wider the stronger.
    """
    sizes_of_pushes = np.array([-2.4, -1.2, -0.6, 0.0, 0.6, 1.2, 2.4])
    shapes = np.array([1.0, 3.6, 14.0, 14.0, 14.0, 3.6, 1.0])

    def push(rng, draws, states):
        while True:
            t = rng.integers(7, size=(4 * draws, states))
            grid = t.reshape(-1, *[2] * (states.bit_length() - 1))
            axes = range(1, grid.ndim)
            matter = [(np.diff(grid, axis=a) != 0).reshape(len(t), -1).any(1) for a in axes]
            t = t[np.all(matter, axis=0)] if matter else t
            if len(t) >= draws:
                return t[:draws]

    def draw(rng, sizes):
        share = rng.random(sizes[0][0][0])
        out = []
        for own in sizes:
            out.append([])
            for draws, states, _ in own:
                which = push(rng, draws, states)
                t, shape = sizes_of_pushes[which], shapes[which][..., None]
                pushed = rng.gamma(shape, 1 / shape, (draws, states, 2)) * mean * np.exp(np.stack([t, -t], -1))
                free = rng.exponential(mean, (draws, states, 2))
                kind = (rng.random(draws) < share) & (states > 1)
                out[-1].append(np.where(kind[:, None, None], pushed, free))
        return out

    return draw


def edge_posterior(likelihoods, gap, prior_rates, draws, rng, most=2):
    """Edge probabilities (batches, n, n) for binary nodes, uniform start, prior uniform over sizes, then sets.

    likelihoods: (trajectories, times, n, 2). prior_rates: from a generator and, per node and set, (draws, U, 2), to
    draws of such sizes: rates out of every state.
    """
    n = likelihoods.shape[2]
    states = np.array(list(product((0, 1), repeat=n)))
    joint = np.ones((*likelihoods.shape[:2], len(states)))
    for i in range(n):
        joint *= likelihoods[:, :, i, states[:, i]]
    sets = [all_sets(n, i, most) for i in range(n)]
    rates = prior_rates(rng, [[(draws, 2 ** len(m), 2) for m in own] for own in sets])
    prior = [[1.0 / (most + 1) / sum(len(o) == len(m) for o in own) for m in own] for own in sets]
    evidence = np.zeros((draws, *map(len, sets)))
    for choice in np.ndindex(*map(len, sets)):
        generator = np.zeros((draws, len(states), len(states)))
        for i, k in enumerate(choice):
            config = np.zeros(len(states), int)
            for j in sets[i][k]:
                config = 2 * config + states[:, j]
            for s in range(len(states)):
                target = s ^ (1 << (n - 1 - i))
                generator[:, s, target] = rates[i][k][:, config[s], states[s, i]]
        diagonal = np.arange(len(states))
        generator[:, diagonal, diagonal] = -generator.sum(-1)
        step = expm(gap * generator)
        total = np.ones(draws)
        for unit in joint:
            alpha = np.broadcast_to(unit[0] / len(states), (draws, len(states)))
            for seen in unit[1:]:
                alpha = (alpha[:, None] @ step)[:, 0] * seen
            total = total * alpha.sum(-1)
        evidence[(slice(None), *choice)] = total * np.prod([prior[i][k] for i, k in enumerate(choice)])
    out = []
    for part in np.array_split(evidence, 10):
        mean = part.mean(0)
        edges = np.zeros((n, n))
        for choice in np.ndindex(*map(len, sets)):
            for i, k in enumerate(choice):
                for j in sets[i][k]:
                    edges[j, i] += mean[choice]
        out.append(edges / mean.sum())
    return np.array(out)
