"""Path posteriors as rows: one per cell and trajectory, cells of length zero left out."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ctbnlearn.inference.grid import Block, bucket
from ctbnlearn.inference.variational import State


class Rows(NamedTuple):
    """Rows of a block: marginals (N, S, R), lengths (R,), expected transitions (N, S, S, R).

    Their number is rounded up to few sizes; rows beyond have length zero and no transitions.
    """

    marginal: Any
    dt: Any
    transitions: Any


def rows_of(block: Block, state: State) -> Rows:
    """The rows of a block's path posterior."""
    index = np.flatnonzero(block.dt > 0)
    size = bucket(max(1, len(index)))
    padded = np.concatenate([index, np.zeros(size - len(index), int)])
    real = np.arange(size) < len(index)
    n, states = state.marginal.shape[:2]
    dt = np.where(real, block.dt.reshape(-1)[padded], 0.0)
    marginal = jnp.reshape(state.marginal, (n, states, -1))[..., padded]
    transitions = jnp.reshape(state.transitions, (n, states, states, -1))[..., padded] * real
    return Rows(marginal, dt.astype(marginal.dtype), transitions)
