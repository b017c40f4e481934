"""Path posteriors as rows: one per cell and trajectory, cells of length zero left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.inference.grid import Block
from ctbnlearn.inference.variational import State


class Rows(NamedTuple):
    """Rows of a block: marginals (N, S, R), lengths (R,), expected transitions (N, S, S, R)."""

    marginal: FloatArray
    dt: FloatArray
    transitions: FloatArray


def rows_of(block: Block, state: State) -> Rows:
    """The rows of a block's path posterior."""
    index = np.flatnonzero(block.dt > 0)
    n, states = state.marginal.shape[:2]
    marginal, transitions = (np.asarray(a, float) for a in (state.marginal, state.transitions))
    return Rows(
        marginal.reshape(n, states, -1)[..., index],
        block.dt.reshape(-1)[index].astype(float),
        transitions.reshape(n, states, states, -1)[..., index],
    )
