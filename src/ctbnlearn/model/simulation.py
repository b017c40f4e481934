"""Exact simulation of a CTBN (Gillespie's direct method), one trajectory after the other.

Every trajectory has a random stream of its own, keyed by the seed and the trajectory's number, so a path
does not depend on how many others are drawn beside it or on how the work is split.
"""

from __future__ import annotations

import warnings

import numpy as np

from ctbnlearn.arguments import AnySeed, whole
from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.errors import ParameterError, SimulationWarning
from ctbnlearn.model.ctbn import CTBN

FIRST_CHUNK, LARGEST_CHUNK = 1 << 12, 1 << 21  # jumps drawn by one compiled call; between two of them Ctrl-C is heard
UNLIMITED = np.iinfo(np.int64).max


def simulate(
    network: CTBN,
    n_trajectories: int,
    *,
    n_transitions: int | None = None,
    horizon: float | None = None,
    rng: AnySeed = None,
) -> Paths:
    """Draw complete trajectories.

    Parameters
    ----------
    network
        The network to simulate.
    n_trajectories
        Number of trajectories; the first k of them are the same for every n_trajectories >= k.
    n_transitions
        End each path at its n-th jump. A path that reaches a joint state which no variable leaves ends at its
        last jump; it is marked in `Paths.absorbed` and a `SimulationWarning` says how many there are.
    horizon
        Instead: end each path at this time.
    rng
        Seed, `numpy.random.SeedSequence` or `numpy.random.Generator`.

    Examples
    --------
    >>> from ctbnlearn.model.random_network import random_network
    >>> simulate(random_network(5, rng=0), 40, n_transitions=10, rng=1)
    Paths(40 trajectories, 5 variables, 400 transitions)
    """
    if (n_transitions is None) == (horizon is None):
        raise ParameterError("simulate: give either n_transitions or horizon")
    whole(n_trajectories, "simulate: n_trajectories", 1)
    if n_transitions is not None:
        whole(n_transitions, "simulate: n_transitions", 0)
    if horizon is not None and not (isinstance(horizon, (int, float, np.number)) and 0 < horizon < np.inf):
        raise ParameterError(f"simulate: horizon must be positive and finite, not {horizon!r}")
    initial, counts, times, nodes, targets, end, stuck = _draw(network, n_trajectories, n_transitions, horizon, rng)
    if n_transitions is not None and stuck.any():
        warnings.warn(
            f"{int(stuck.sum())} of {n_trajectories} paths reached a joint state that no variable leaves before "
            f"{n_transitions} transitions and end there (see Paths.absorbed)",
            SimulationWarning,
            stacklevel=2,
        )
    return Paths(
        network.variables,
        initial,
        offsets_from_counts(counts),
        times,
        nodes,
        targets,
        np.zeros(n_trajectories),
        end,
        absorbed=stuck if n_transitions is not None else (),
    )


def simulate_from(network: CTBN, states: IntArray, horizon: float, rng: AnySeed = None) -> Paths:
    """Draw one trajectory of length `horizon` from each of the given joint states (n_trajectories, n_variables)."""
    initial, counts, times, nodes, targets, end, _ = _draw(network, len(states), None, horizon, rng, states)
    window = np.zeros(len(states)), end
    return Paths(network.variables, initial, offsets_from_counts(counts), times, nodes, targets, *window)


def _draw(
    network: CTBN,
    n_trajectories: int,
    n_transitions: int | None,
    horizon: float | None,
    rng: AnySeed,
    states: IntArray | None = None,
) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, FloatArray, BoolArray]:
    """Columns of the paths: initial, counts, times, nodes, targets, end and whether the path is absorbed."""
    from ctbnlearn.model.jump_loop import fill, make_tables, make_work  # loads numba
    from ctbnlearn.streams import streams

    try:
        rows = streams(rng, n_trajectories)
    except (TypeError, ValueError):
        raise ParameterError(f"rng must be None, a whole number >= 0 or a numpy Generator, not {rng!r}") from None
    most = UNLIMITED if n_transitions is None else n_transitions
    tables = make_tables(network)
    work = make_work(tables)
    initial = np.full((n_trajectories, len(network.variables)), -1, np.int32)
    if states is not None:
        initial[:] = states
    counts, end = np.empty(n_trajectories, np.int64), np.empty(n_trajectories)
    stuck = np.zeros(n_trajectories, bool)
    parts: list[tuple[FloatArray, IntArray, IntArray]] = []
    length = FIRST_CHUNK
    while work.place[0] < n_trajectories:
        jumps = (np.empty(length), np.empty(length, np.int32), np.empty(length, np.int32))
        last = np.inf if horizon is None else float(horizon)
        filled = fill(tables, work, rows, most, last, initial, counts, end, stuck, *jumps)
        parts.append((jumps[0][:filled], jumps[1][:filled], jumps[2][:filled]))
        length = min(2 * length, LARGEST_CHUNK)
    times, nodes, targets = (np.concatenate(column) for column in zip(*parts))
    return initial, counts, times, nodes, targets, end, stuck
