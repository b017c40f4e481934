"""The joint chain of a few variables: its states, its moves, and what an evaluation finds.

A block of m variables has S joint states. Its generator G has one rate for every move: state x, and variable j stepping
on by s states (cyclically); `rates[k, x]` is that of move k = (j, s) out of x. Over a cell of length dt,

    exp(G^T dt) v = sum_k Pois(k; gamma dt) (P^T)^k v,    P = I + G / gamma,

with gamma the largest exit rate or row sum; Horner's scheme needs one product per term. One pass back yields
D = d ln Z / d G, and with it all expected statistics: moves G_xy D_xy, dwell times D_xx. `block_loops` does this on a
processor, `block_kernel` on an accelerator.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import AnyArray, IntArray

MOST_TERMS = 512  # of the series
MOST_LOAD = 380.0  # gamma dt that so many terms are enough for


class Moments(NamedTuple):
    """What one evaluation finds, for every block.

    Attributes
    ----------
    log_evidence : (n, B)
        Log evidence of every trajectory.
    flow : (n, k, S), (n, k, S, B) or (C, n, k, S, B)
        D of every move; times its rate, the expected number of moves. By trajectory or by cell if asked for.
    dwell : (n, S), (n, S, B) or (C, n, S, B)
        Expected time in every state.
    starts : (n, S)
        Expected number of trajectories that begin in each state.
    """

    log_evidence: AnyArray
    flow: AnyArray
    dwell: AnyArray
    starts: AnyArray


@lru_cache(maxsize=256)
def moves(cards: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Moves of a block: which variable (k,), by how many states (k,), and where each leads from every state (k, S)."""
    states = np.stack(np.unravel_index(np.arange(prod(cards)), cards), 1)
    who, step, to = [], [], []
    for j, card in enumerate(cards):
        for s in range(1, card):
            moved = states.copy()
            moved[:, j] = (moved[:, j] + s) % card
            who.append(j)
            step.append(s)
            to.append(np.ravel_multi_index(tuple(moved.T), cards))
    return np.array(who), np.array(step), np.array(to)


def n_terms(load: AnyArray, n_moves: int) -> AnyArray:
    """Terms of the series after which less than 1e-9 is left, for gamma dt = `load`.

    At least as many as there are moves: in however short a time, all variables may have been seen to change.
    """
    return load + 5.5 * load**0.5 + max(6.0, n_moves + 2.0)
