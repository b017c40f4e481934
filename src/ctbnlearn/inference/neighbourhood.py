"""Prediction with networks too large for their joint chain: each variable on the joint chain of those that drive it.

The neighbourhood of a variable is itself, its parents, their parents and so on, as many as make a small joint chain;
rates are averaged over parents outside. A value is predicted from the earlier values of its neighbourhood.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.cores import usable_cores
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import owner
from ctbnlearn.inference import exact
from ctbnlearn.model.ctbn import CTBN

MOST_STATES = 32  # joint states of a neighbourhood


def neighbourhood(network: CTBN, node: int, most: int = MOST_STATES) -> list[int]:
    """The variable, then its ancestors, nearest first, as many as have no more than `most` joint states together."""
    out, waiting = [node], [node]
    while waiting:
        for j in network.parents[waiting.pop(0)]:
            if j not in out and prod(network.n_states[k] for k in (*out, j)) <= most:
                out.append(j)
                waiting.append(j)
    return out


def cut_out(network: CTBN, members: list[int]) -> CTBN:
    """The network of some variables; rates are averaged over the states of parents outside."""
    parents, rates, start = {}, {}, network.initial.marginals(network.variables)
    for k in members:
        name, own, card = network.names[k], network.parents[k], network.n_states[k]
        table = network.cims[k].reshape(*(network.n_states[j] for j in own), card, card)
        table = table.mean(tuple(a for a, j in enumerate(own) if j not in members))
        parents[name] = [network.names[j] for j in own if j in members]
        rates[name] = table.reshape(-1, card, card)
    initial = {network.names[k]: start[k] for k in members}
    return CTBN([network.variables[k] for k in members], parents, rates, initial)


def forecasts(network: CTBN, obs: Observations) -> list[FloatArray]:
    """State probabilities at every value seen given what was seen of its neighbourhood at earlier times.

    Per variable (n_rows, n_states).
    """

    def work(node: int) -> FloatArray:
        members = neighbourhood(network, node)
        few = cut_out(network, members)
        seen = replace(obs, variables=few.variables, series=tuple(obs.series[k] for k in members))
        return exact.forecasts(few, seen)[0]

    with ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(work, range(len(network.variables))))


def predictive(network: CTBN, obs: Observations) -> FloatArray:
    """Log likelihood of each value given the earlier ones of its neighbourhood, summed per trajectory."""
    out = np.zeros(obs.n_trajectories)
    for states, series in zip(forecasts(network, obs), obs.series):
        with np.errstate(divide="ignore"):
            values = np.log((states * np.exp(series.log_likelihood())).sum(1))
        np.add.at(out, owner(series.offsets), values)
    return out
