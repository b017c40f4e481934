"""Path posteriors as rows: one per cell and trajectory, cells of length zero left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ctbnlearn.inference.grid import Block, bucket
from ctbnlearn.inference.variational import State


class Rows(NamedTuple):
    """Rows of a block: marginals (N, S, R), lengths (R,), expected transitions (N, S, S, R).

    Rows that fill up a piece have length zero and no transitions.
    """

    marginal: Any
    dt: Any
    transitions: Any


RowSource = list[Rows] | Callable[[], Iterable[Rows]]  # rows, or what makes them anew


def rows_of(block: Block, state: State) -> Rows:
    """The rows of a block's path posterior."""
    index = np.flatnonzero(block.dt > 0)
    n, states = state.marginal.shape[:2]
    on_host = next(iter(state.marginal.devices())).platform == "cpu"
    marginal, transitions = (np.asarray(a) if on_host else a for a in (state.marginal, state.transitions))
    return Rows(
        marginal.reshape(n, states, -1)[..., index],
        block.dt.reshape(-1)[index].astype(marginal.dtype),
        transitions.reshape(n, states, states, -1)[..., index],
    )


def pieces(rows: Iterable[Rows], size: int) -> Iterator[Rows]:
    """The same rows in pieces of about `size`, rounded up to few lengths."""
    waiting: list[Rows] = []
    for part in rows:
        waiting.append(part)
        if sum(len(r.dt) for r in waiting) >= size:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Rows]) -> Rows:
    """One piece of several, filled up."""
    count = sum(len(r.dt) for r in parts)
    on_host = isinstance(parts[0].marginal, np.ndarray)

    def join(arrays: list[Any]) -> Any:
        empty = np.zeros((*arrays[0].shape[:-1], bucket(count) - count), arrays[0].dtype)
        return (np if on_host else jnp).concatenate([*arrays, empty], axis=-1)

    return Rows(*(join(list(arrays)) for arrays in zip(*parts)))
