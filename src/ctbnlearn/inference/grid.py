"""The time grid of the variational engine: cells between grid points, for blocks of trajectories.

Every observation lies on a grid point, and no cell is longer than the step. Trajectories of similar length
share a block and are padded with cells of length zero; block shapes are rounded up to few sizes, so that
compiled code is reused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.timeline import Evidence

MOST_CELLS_A_GAP = 256  # a longer gap gets longer cells; their exponentials are exact


@dataclass(frozen=True, eq=False)
class Block:
    """Grid and evidence of B trajectories, C cells, N variables with at most S states.

    Attributes
    ----------
    trajectories : (n,)
        Numbers of the trajectories; columns beyond them are padding.
    dt : (C, B)
        Length of every cell.
    likelihood : (C + 1, N, S, B)
        p(y | x) at every grid point, scaled to a maximum of one; ones where nothing was seen, zero for states
        a variable does not have.
    log_scale : (N, B)
        Sum of the logarithms of those scales.
    queries : (n_queries, B)
        Grid point of every time asked for.
    """

    trajectories: IntArray
    dt: FloatArray
    likelihood: FloatArray
    log_scale: FloatArray
    queries: IntArray


def bucket(n: int) -> int:
    """Round up to 8, 16, 20, 24, 28, 32, 40, 48, ...: few shapes to compile, at most a quarter of padding above 16."""
    size = 8
    while size < n and size < 16:
        size *= 2
    quarter = size // 4
    while size < n:
        quarter = max(4, 1 << (size.bit_length() - 3))
        size += quarter
    return size


def cells_per_gap(gaps: FloatArray, step: float) -> IntArray:
    """Number of cells a gap between neighbouring grid times is cut into."""
    return np.clip(np.ceil(gaps / step - 1e-9), gaps > 0, MOST_CELLS_A_GAP).astype(np.int64)


def build_blocks(obs: Observations, step: float, *, max_cells: int, queries: FloatArray | None = None) -> list[Block]:
    """Lay observations out on grids, at most about `max_cells` (cell, trajectory) pairs a block.

    `queries` (n_trajectories, n_queries) become grid points too.
    """
    n = obs.n_trajectories
    asked = np.empty((n, 0)) if queries is None else queries
    seen = sum(np.diff(s.offsets) for s in {s.key: s for s in obs.series}.values())
    rough = seen + asked.shape[1] + (obs.end - obs.start) / step
    order = np.argsort(rough, kind="stable")
    parts = []
    low = 0
    while low < n:
        high = low + 1
        while high < n and (high + 1 - low) * rough[order[high]] <= max_cells:
            high += 1
        parts.append(order[low:high])
        low = high
    if len(parts) > 1 and len(parts[0]) < 2 * len(parts[-2]):  # of similar length: the same number in every block
        fewer = [k for k in range(1, len(parts) + 1) if bucket(-(-n // k)) <= 2 * bucket(len(parts[0]))]
        parts = np.array_split(order, min(fewer, key=lambda k: (k * bucket(-(-n // k)), -k)))
    blocks = [_block(obs.select(part), part, step, asked[part]) for part in parts]
    common = tuple(max(sizes) for sizes in zip(*(b.dt.shape for b in blocks)))
    if common[0] * common[1] * len(blocks) <= 1.4 * sum(b.dt.size for b in blocks):  # one shape to compile
        blocks = [_padded(b, *common) for b in blocks]
    return blocks


def _padded(block: Block, n_cells: int, width: int) -> Block:
    """The same block with more cells of length zero and more columns."""
    cells, columns = n_cells - block.dt.shape[0], width - block.dt.shape[1]
    if not (cells or columns):
        return block
    exists = block.likelihood.max((0, 3), keepdims=True) > 0  # ones for the states a variable has, zero for others
    likelihood = np.broadcast_to(exists, (n_cells + 1, *block.likelihood.shape[1:3], width)).astype(float)
    likelihood[: block.dt.shape[0] + 1, :, :, : block.dt.shape[1]] = block.likelihood
    return Block(
        block.trajectories,
        np.pad(block.dt, ((0, cells), (0, columns))),
        likelihood,
        np.pad(block.log_scale, ((0, 0), (0, columns))),
        block.queries,
    )


def _block(obs: Observations, chosen: IntArray, step: float, asked: FloatArray) -> Block:
    (line,) = Evidence(obs, None).timelines(asked, len(chosen))
    gaps = np.diff(line.times, axis=0)
    cuts = cells_per_gap(gaps, step)
    place = np.concatenate([np.zeros((1, len(chosen)), np.int64), np.cumsum(cuts, axis=0)])  # grid point of boundaries
    n_cells, width = bucket(max(1, int(place[-1].max()))), bucket(len(chosen))
    dt = np.zeros((n_cells, width))
    b = np.broadcast_to(np.arange(len(chosen)), cuts.shape)
    length = np.divide(gaps, cuts, out=np.zeros_like(gaps), where=cuts > 0)
    count = cuts.reshape(-1)
    first = np.repeat(place[:-1].reshape(-1), count)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    dt[first + within, np.repeat(b.reshape(-1), count)] = np.repeat(length.reshape(-1), count)
    n_states = [v.n_states for v in obs.variables]
    likelihood = np.ones((n_cells + 1, len(n_states), max(n_states), width))
    log_scale = np.zeros((len(n_states), width))
    for i, (table, card) in enumerate(zip(line.log_likelihood, n_states)):
        likelihood[:, i, card:] = 0.0
        if table is None:
            continue
        k, b = np.nonzero(table.any(-1))
        here = table[k, b]
        peak = here.max(-1)
        peak = np.where(np.isfinite(peak), peak, 0.0)
        likelihood[place[k, b], i, :card, b] = np.exp(here - peak[:, None])
        np.add.at(log_scale[i], b, peak)
    return Block(chosen, dt, likelihood, log_scale, place[line.queries, np.arange(len(chosen))])
