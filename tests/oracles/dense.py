"""Brute force on the amalgamated chain: dense generators, scipy's expm, Van Loan integrals.

Written with dictionaries and loops on purpose: slow, obvious, and independent of the package's engines. Only the
network's names, states, parents and rates are read from it.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.linalg import expm


def joint_states(net):
    return list(itertools.product(*[range(len(v.states)) for v in net.variables]))


def parent_state(net, i, state):
    return tuple(state[j] for j in net.parents[i])


def generator(net):
    """Dense generator over joint states in lexicographic order."""
    states = joint_states(net)
    number = {s: k for k, s in enumerate(states)}
    q = np.zeros((len(states), len(states)))
    for s in states:
        for i, v in enumerate(net.variables):
            rates = net.rates(v.name)[parent_state(net, i, s)]
            for y in range(len(v.states)):
                if y != s[i]:
                    to = (*s[:i], y, *s[i + 1 :])
                    q[number[s], number[to]] += rates[s[i], y]
        q[number[s], number[s]] = -q[number[s]].sum()
    return q


def initial(net):
    """Initial probability of every joint state."""
    out = []
    for s in joint_states(net):
        p = 1.0
        for i in range(len(net.variables)):
            given = net.initial.given[i]
            shape = [len(net.variables[g].states) for g in given]
            table = np.asarray(net.initial.tables[i]).reshape(*shape, -1)
            p *= table[tuple(s[g] for g in given)][s[i]]
        out.append(p)
    return np.array(out)


def point_likelihoods(net, obs, k):
    """Times of trajectory k and, per time, the likelihood of every joint state (right at that time)."""
    states = joint_states(net)
    found = {}
    for i, series in enumerate(obs.series):
        low, high = series.offsets[k], series.offsets[k + 1]
        table = np.exp(series.log_likelihood()[low:high])
        for t, row in zip(series.times[low:high], table):
            current = found.setdefault(float(t), np.ones(len(states)))
            current *= np.array([row[s[i]] for s in states])
    return found


def forward_backward(net, obs, k, extra=()):
    """Grid times, alpha and beta right after each time, and the evidence."""
    q = generator(net)
    found = point_likelihoods(net, obs, k)
    grid = sorted({float(obs.start[k]), float(obs.end[k]), *found, *map(float, extra)})
    one = np.ones(len(q))
    alphas = [initial(net) * found.get(grid[0], one)]
    for a, b in zip(grid, grid[1:]):
        alphas.append(alphas[-1] @ expm(q * (b - a)) * found.get(b, one))
    betas = [one]
    for a, b in zip(grid[-2::-1], grid[:0:-1]):
        betas.append(expm(q * (b - a)) @ (found.get(b, one) * betas[-1]))
    return grid, alphas, betas[::-1], float(alphas[-1].sum()), found


def smooth(net, obs, k, times, filtered=False):
    """Per variable the marginal (n_times, S) of trajectory k."""
    states = joint_states(net)
    grid, alphas, betas, _, _ = forward_backward(net, obs, k, times)
    out = [np.zeros((len(times), len(v.states))) for v in net.variables]
    for n, t in enumerate(times):
        at = grid.index(float(t))
        p = alphas[at] * (1 if filtered else betas[at])
        p = p / p.sum()
        for weight, s in zip(p, states):
            for i in range(len(out)):
                out[i][n, s[i]] += weight
    return out


def joint_integrals(net, obs, k):
    """J[s, s'] = int alpha_s(t) beta_s'(t) dt / Z over the window of trajectory k, by Van Loan's block expm."""
    q = generator(net)
    n = len(q)
    grid, alphas, betas, z, found = forward_backward(net, obs, k)
    total = np.zeros((n, n))
    for m, (a, b) in enumerate(zip(grid, grid[1:])):
        end = betas[m + 1] * found.get(b, np.ones(n))
        block = np.zeros((2 * n, 2 * n))
        block[:n, :n] = q
        block[n:, n:] = q
        block[:n, n:] = np.outer(end, alphas[m])
        total += expm(block * (b - a))[:n, n:].T / z
    return total


def expected_statistics(net, obs, parents=None):
    """Per node dictionaries: dwell[(u, x)] and transitions[(u, x, y)], u a tuple of parent codes."""
    states = joint_states(net)
    q = generator(net)
    number = {s: m for m, s in enumerate(states)}
    parents = net.parents if parents is None else parents
    total = sum(joint_integrals(net, obs, k) for k in range(len(obs.start)))
    dwell = [{} for _ in net.variables]
    moves = [{} for _ in net.variables]
    for s in states:
        here = number[s]
        for i, v in enumerate(net.variables):
            u = tuple(s[j] for j in parents[i])
            dwell[i][u, s[i]] = dwell[i].get((u, s[i]), 0.0) + total[here, here]
            for y in range(len(v.states)):
                if y != s[i]:
                    to = number[(*s[:i], y, *s[i + 1 :])]
                    moves[i][u, s[i], y] = moves[i].get((u, s[i], y), 0.0) + q[here, to] * total[here, to]
    return dwell, moves


def stationary(net):
    """Null vector of the generator."""
    q = generator(net)
    a = np.vstack([q.T, np.ones(len(q))])
    return np.linalg.lstsq(a, np.append(np.zeros(len(q)), 1.0), rcond=None)[0]
