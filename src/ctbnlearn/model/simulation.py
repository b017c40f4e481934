"""Exact simulation of a CTBN (Gillespie's direct method), many trajectories in lockstep.

Every trajectory has a random stream of its own, keyed by the seed and the trajectory's number, so a path
does not depend on how many others are drawn beside it or on how the work is split.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arguments import whole
from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.ragged import offsets_from_counts
from ctbnlearn.errors import ParameterError, SimulationWarning
from ctbnlearn.model.ctbn import CTBN

CHUNK = 64  # jumps for which a trajectory draws its random numbers at once
BLOCK_CELLS = 4_000_000  # trajectories x nodes held at a time


def simulate(
    network: CTBN,
    n_trajectories: int,
    *,
    n_transitions: int | None = None,
    horizon: float | None = None,
    rng: Any = None,
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
    key = _stream_key(rng)
    tables = _Tables(network)
    width = max(1, BLOCK_CELLS // len(network.variables))
    parts = [
        _simulate_block(network, tables, key, np.arange(low, min(low + width, n_trajectories)), n_transitions, horizon)
        for low in range(0, n_trajectories, width)
    ]
    initial, counts, times, nodes, targets, end, stuck = (np.concatenate(p) for p in zip(*parts))
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


class _Tables:
    """Flat look-up tables: a cell is a node together with its own and its parents' state."""

    def __init__(self, network: CTBN) -> None:
        cards = network.n_states
        sizes = [len(cim) * card for cim, card in zip(network.cims, cards)]
        self.offset = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        widest = max(cards)
        self.exit = np.zeros(sum(sizes) + 1)  # the last cell never leaves: a dummy for padding
        self.next = np.ones((sum(sizes) + 1, widest))  # cumulative probability of the state jumped to
        for i, cim in enumerate(network.cims):
            off = cim * (1 - np.eye(cards[i]))
            rows = slice(self.offset[i], self.offset[i] + sizes[i])
            self.exit[rows] = off.sum(-1).reshape(-1)
            cumulative = np.cumsum(off, axis=-1).reshape(-1, cards[i])
            last = cumulative[:, -1:]
            share = np.divide(cumulative, last, out=np.ones_like(cumulative), where=last > 0)
            share[cumulative >= last] = 1.0
            self.next[rows, : cards[i]] = share
        n = len(cards)
        children: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        self.stride: list[dict[int, int]] = []
        for i, ps in enumerate(network.parents):
            step = cards[i]
            strides = {}
            for j in reversed(ps):
                children[j].append((i, step))
                strides[j] = step
                step *= cards[j]
            self.stride.append(strides)
        most = max(map(len, children))
        self.child = np.full((n, most + 1), n)  # itself first, then its children, then the dummy column
        self.child_stride = np.zeros((n, most + 1), np.int64)
        self.child[:, 0], self.child_stride[:, 0] = np.arange(n), 1
        for j, pairs in enumerate(children):
            for k, (i, step) in enumerate(pairs):
                self.child[j, k + 1], self.child_stride[j, k + 1] = i, step

    def cells(self, states: IntArray) -> IntArray:
        """Cell of every node, with a dummy column behind the nodes."""
        n = states.shape[1]
        cell = np.full((len(states), n + 1), len(self.exit) - 1, np.int64)
        for i in range(n):
            cell[:, i] = self.offset[i] + states[:, i]
            for j, step in self.stride[i].items():
                cell[:, i] += step * states[:, j].astype(np.int64)
        return cell


def _stream_key(rng: Any) -> IntArray:
    """Key of the counter-based streams from a seed or generator."""
    if isinstance(rng, np.random.Generator):
        rng = np.random.SeedSequence(rng.integers(0, 2**32, 8).tolist())
    elif not isinstance(rng, np.random.SeedSequence):
        try:
            rng = np.random.SeedSequence(rng)
        except (TypeError, ValueError):
            raise ParameterError(f"rng must be None, a whole number >= 0 or a numpy Generator, not {rng!r}") from None
    return rng.generate_state(2, np.uint64)


def _draw_initial(network: CTBN, uniform: FloatArray) -> IntArray:
    states = np.zeros(uniform.shape, np.int32)
    for i in network.initial.order:
        row = network.initial.row(i, states.T, network.n_states)
        cumulative = np.cumsum(network.initial.tables[i], axis=1)
        cumulative[cumulative >= cumulative[:, -1:]] = 1.0
        states[:, i] = (
            uniform[:, i, None] >= np.broadcast_to(cumulative[row], (len(states), cumulative.shape[1]))
        ).sum(1)
    return states


def _simulate_block(
    network: CTBN,
    tables: _Tables,
    key: IntArray,
    numbers: IntArray,
    n_transitions: int | None,
    horizon: float | None,
) -> tuple[NDArray[Any], ...]:
    n = len(network.variables)
    streams = [np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, int(k)])) for k in numbers]
    states = _draw_initial(network, np.stack([g.random(n) for g in streams]))
    initial = states.copy()
    cell = tables.cells(states)
    rate: FloatArray = tables.exit[cell]
    alive: IntArray = np.arange(len(numbers))  # trajectory of every row of states, cell and rate
    time: FloatArray = np.zeros(len(numbers))
    end = np.zeros(len(numbers)) if horizon is None else np.full(len(numbers), float(horizon))
    stuck = np.zeros(len(numbers), bool)
    record: list[tuple[NDArray[Any], ...]] = []
    step = 0
    while alive.size and not (n_transitions is not None and step >= n_transitions):
        if step % CHUNK == 0:
            uniform = np.stack([streams[k].random((CHUNK, 3)) for k in alive])
        draw = uniform[:, step % CHUNK]
        cumulative = np.cumsum(rate[:, :n], axis=1)
        total = cumulative[:, -1]
        with np.errstate(divide="ignore"):
            time = time - np.log1p(-draw[:, 0]) / total
        going = (total > 0) & ((time <= horizon) if horizon is not None else True)
        if not going.all():
            gone = alive[~going]
            stuck[gone] = total[~going] <= 0
            alive, time, states, cell, rate = (a[going] for a in (alive, time, states, cell, rate))
            uniform, draw, cumulative, total = (a[going] for a in (uniform, draw, cumulative, total))
            if not alive.size:
                break
        threshold = np.minimum(draw[:, 1] * total, np.nextafter(total, 0))
        node = (cumulative <= threshold[:, None]).sum(1)
        row = np.arange(len(alive))
        target = (draw[:, 2, None] >= tables.next[cell[row, node]]).sum(1)
        change = target - states[row, node]
        states[row, node] = target
        touched = tables.child[node]
        at = (row[:, None], touched)
        moved = cell[at] + tables.child_stride[node] * change[:, None]
        cell[at] = moved
        rate[at] = tables.exit[moved]
        record.append((alive, time, node, target))
        step += 1
        if horizon is None:
            end[alive] = time
    columns = [np.concatenate(c) for c in zip(*record)] if record else [np.empty(0)] * 4
    who = columns[0].astype(np.int64)
    order = np.argsort(who, kind="stable")
    counts = np.bincount(who, minlength=len(numbers))
    return initial, counts, columns[1][order], columns[2][order], columns[3][order], end, stuck
