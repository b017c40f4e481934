"""Posterior of the paths of a known network by sampling, for networks too large for `ctbnlearn.exact`.

Exact but for the error of a finite number of sweeps, whatever the network and however long the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arguments import AnySeed, whole
from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.posterior import check_same_variables
from ctbnlearn.inference.timeline import query_grid
from ctbnlearn.model.ctbn import CTBN

if TYPE_CHECKING:
    from ctbnlearn.inference import path_state

SWEEPS, BURN_IN = 400, 50


def smooth(
    network: CTBN,
    obs: Observations,
    times: ArrayLike,
    *,
    sweeps: int = SWEEPS,
    burn_in: int = BURN_IN,
    rng: AnySeed = 0,
) -> dict[str, FloatArray]:
    """Posterior state probabilities, per variable (n_trajectories, n_times, n_states).

    Parameters
    ----------
    network
        The CTBN.
    obs
        Observations of its variables.
    times
        Times (n,) common to all trajectories, or (n_trajectories, n); past the end they are predictions.
    sweeps, burn_in
        Draws of all paths that count, and those before them that do not. A probability p has a standard error of at
        least sqrt(p (1 - p) / sweeps).
    rng
        AnySeed.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(30, rng=0)
    >>> obs = cl.observe(cl.simulate(net, 2, horizon=3.0, rng=1), n_times=5, rng=2)
    >>> smooth(net, obs, [0.0, 1.5, 3.0], sweeps=20)["x7"].shape
    (2, 3, 2)
    """
    from ctbnlearn.inference import path_state

    check_same_variables(network, obs)
    whole(sweeps, "sweeps", 1)
    whole(burn_in, "burn_in", 0)
    grid = query_grid(times, obs.start, obs.ids)
    cards = list(network.n_states)
    out = [np.zeros((*grid.shape, card)) for card in cards]
    order = np.argsort(grid, axis=1)
    queries = np.take_along_axis(grid, order, axis=1)
    counts = np.zeros((len(grid), len(cards), grid.shape[1], max(cards)))
    for paths in path_draws(network, obs, grid.max(1, initial=-np.inf), sweeps, burn_in, rng):
        path_state.look(paths, queries, counts)
    for i, card in enumerate(cards):
        np.put_along_axis(out[i], order[..., None], counts[:, i, :, :card] / sweeps, axis=1)
    return {v.name: p for v, p in zip(network.variables, out)}


def end_states(
    network: CTBN, obs: Observations, sweeps: int = SWEEPS, burn_in: int = BURN_IN, rng: AnySeed = 0
) -> IntArray:
    """Joint states drawn at the end of every trajectory given all evidence, (sweeps, n_trajectories, n_variables)."""
    from ctbnlearn.inference import path_state

    out = np.empty((sweeps, obs.n_trajectories, len(network.variables)), np.int32)
    for k, paths in enumerate(path_draws(network, obs, obs.end, sweeps, burn_in, rng)):
        counts = np.zeros((obs.n_trajectories, len(network.variables), 1, max(network.n_states)))
        path_state.look(paths, obs.end[:, None], counts)
        out[k] = counts[:, :, 0].argmax(-1)
    return out


def path_draws(
    network: CTBN, obs: Observations, last: FloatArray, sweeps: int, burn_in: int, rng: AnySeed
) -> Iterator[path_state.Paths]:
    """Paths drawn given all evidence, one after the other, up to the times `last` (n_trajectories,) or their end."""
    from ctbnlearn.inference import gibbs, path_state

    seen = path_state.gather(obs)
    seen = seen._replace(end=np.maximum(seen.end, last))  # past the end nothing is seen
    cards = list(network.n_states)
    paths = path_state.first_paths(seen, rng)
    net = path_state.make_net(cards, max(map(len, network.parents)), [len(c) for c in network.cims])
    start = path_state.make_start(cards, network.initial)
    for i, cim in enumerate(network.cims):  # without parents at first, at the mean rates
        path_state.set_node(net, cards, i, (), cim.mean(0, keepdims=True))
    paths, trouble = gibbs.draw_paths(seen, paths, net, start)
    for i, cim in enumerate(network.cims):
        path_state.set_node(net, cards, i, network.parents[i], cim)
    for k in range(burn_in + sweeps):
        if trouble is not None:
            path_state.refuse(obs.ids[trouble[0]], obs.names[trouble[1]])
        paths, trouble = gibbs.draw_paths(seen, paths, net, start)
        if k >= burn_in and trouble is None:
            yield paths
