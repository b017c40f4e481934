"""Probability that a trajectory reaches some states within a time, given its history.

On the joint chain: with the target states made absorbing, P(reached by t | x) = (exp(G t) 1_target)[x], averaged over
the joint states at the end of the history. Where the joint chain is large, joint states at the end are drawn by
sampling and paths simulated from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from scipy import sparse

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import owner
from ctbnlearn.inference import exact
from ctbnlearn.inference.posterior import check_same_variables
from ctbnlearn.inference.uniformisation import propagate
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.joint import JointSpace
from ctbnlearn.model.simulation import simulate_from

MOST_STATES = 1024  # joint states up to which the joint chain is used
DRAWS = 1000  # simulated futures of a trajectory

Target = Mapping[int, BoolArray]  # variable -> which of its states (n_states,); all must hold at once


def reach(network: CTBN, obs: Observations, target: Target, within: FloatArray) -> tuple[FloatArray, str]:
    """Probability of reaching the target within each time after the end of a trajectory.

    Parameters
    ----------
    network
        The CTBN.
    obs
        What was seen; time counts from the end of each window.
    target
        Variable number -> states (n_states,) of it that count; with several variables all must hold at once.
    within : (m,)
        Times.

    Returns
    -------
    probabilities : (n_trajectories, m)
        One where the target holds already.
    engine
        "exact" or "simulation": with `DRAWS` futures a probability p has a standard error of sqrt(p (1 - p) / DRAWS).
    """
    check_same_variables(network, obs)
    if prod(network.n_states) <= MOST_STATES and obs.interventions is None:
        return exact.last_states(network, obs).T @ absorbed(network, target, within), "exact"
    return simulated(network, obs, target, within), "simulation"


def absorbed(network: CTBN, target: Target, within: FloatArray) -> FloatArray:
    """Probability of having reached the target by each time, from every joint state: (n_joint_states, m)."""
    space = JointSpace(network)
    there = np.ones(space.n, bool)
    for i, states in target.items():
        there &= states[space.digit(i)]
    generator = space.generator()
    out = np.empty((space.n, len(within)))
    now, passed = there.astype(float)[:, None], 0.0
    stay = sparse.diags((~there).astype(float))
    matrix = sparse.identity(space.n, format="csr")
    if generator.rate > 0:
        matrix = (matrix + stay @ generator.matrix / generator.rate).tocsr()
    steps = sum(c - 1 for c in network.n_states) + 12
    for k in np.argsort(within, kind="stable"):
        now = propagate(matrix, generator.rate, now, np.array([within[k] - passed]), steps)
        passed = float(within[k])
        out[:, k] = np.clip(now[:, 0], 0.0, 1.0)
    return out


def simulated(
    network: CTBN, obs: Observations, target: Target, within: FloatArray, draws: int = DRAWS, seed: int = 0
) -> FloatArray:
    """As `reach`, from joint states drawn at the end of every trajectory and one simulated future of each."""
    from ctbnlearn.inference import sampled

    starts = sampled.end_states(network, obs, sweeps=draws, rng=seed)
    paths = simulate_from(network, starts.reshape(-1, starts.shape[-1]), float(within.max()), rng=seed)
    first = first_time(paths, target).reshape(draws, obs.n_trajectories)
    return (first[:, :, None] <= within).mean(0)


def first_time(paths: Paths, target: Target) -> FloatArray:
    """Time at which each path first has all of the target, infinite where it never does: (n_trajectories,)."""
    who = owner(paths.offsets)
    count = np.zeros(paths.n_trajectories, np.int64)
    change = np.zeros(len(paths.times), np.int64)
    for i, states in target.items():
        count += states[paths.initial[:, i]]
        rows = np.flatnonzero(paths.nodes == i)
        now = states[paths.targets[rows]]
        before = np.append(False, now[:-1])[: len(rows)]
        fresh = np.append(True, who[rows][1:] != who[rows][:-1])[: len(rows)]
        before[fresh] = states[paths.initial[who[rows[fresh]], i]]
        change[rows] = now.astype(np.int64) - before
    total = _running(count, change, paths.offsets)
    out = np.where(count == len(target), paths.start, np.inf)
    hits = total == len(target)
    np.minimum.at(out, who[hits], paths.times[hits])
    return out


def _running(first: IntArray, change: IntArray, offsets: IntArray) -> IntArray:
    """Running sums of `change` within blocks, from `first` on."""
    total = np.cumsum(change)
    before = np.append(0, total)[offsets[:-1]]
    return total + np.repeat(first - before, np.diff(offsets))
