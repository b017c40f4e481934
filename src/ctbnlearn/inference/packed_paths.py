"""Paths without the room they grow in: what is kept of them between sweeps, or sent from one worker to another.

Nothing is rounded: unpacked, they go on bit for bit. A path takes 6 bytes, and 10 more for every jump.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray, WordArray
from ctbnlearn.inference.path_state import Paths
from ctbnlearn.streams import compiled


class PackedPaths(NamedTuple):
    """Node i of trajectory b begins in begin[b, i] and jumps count[b, i] times; jumps stand one after another."""

    begin: IntArray  # (B, N)
    count: Any  # (B, N); typed as an array it would clash with tuple.count
    times: FloatArray
    states: IntArray
    random: WordArray  # (B, 4)


def pack(paths: Paths) -> PackedPaths:
    """Leave out the room that is not used."""
    total = int(paths.count.sum())
    times, states = np.empty(total), np.empty(total, np.int16)
    _copy_out(paths, times, states)
    return PackedPaths(paths.begin.copy(), paths.count.astype(np.int32), times, states, paths.random.copy())


def unpack(packed: PackedPaths) -> Paths:
    """Give every path room for twice its jumps; arrays are new."""
    count = packed.count.astype(np.int64)
    slots = 2 * count + 4
    first = np.concatenate([[0], np.cumsum(slots.reshape(-1))])
    total = int(first[-1])
    capacity = total + total // 8
    paths = Paths(
        packed.begin.copy(),
        first[:-1].reshape(count.shape).astype(np.int64),
        count,
        slots,
        np.empty(capacity),
        np.empty(capacity, np.int16),
        np.array([total], np.int64),
        packed.random.copy(),
    )
    _copy_in(packed.times, packed.states, paths)
    return paths


@compiled
def _copy_out(paths: Paths, times: FloatArray, states: IntArray) -> None:
    at = 0
    for b in range(paths.count.shape[0]):
        for i in range(paths.count.shape[1]):
            low = paths.first[b, i]
            for k in range(paths.count[b, i]):
                times[at], states[at] = paths.times[low + k], paths.states[low + k]
                at += 1


@compiled
def _copy_in(times: FloatArray, states: IntArray, paths: Paths) -> None:
    at = 0
    for b in range(paths.count.shape[0]):
        for i in range(paths.count.shape[1]):
            low = paths.first[b, i]
            for k in range(paths.count[b, i]):
                paths.times[low + k], paths.states[low + k] = times[at], states[at]
                at += 1
