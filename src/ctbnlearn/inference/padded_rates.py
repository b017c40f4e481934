"""Path rates as the variational kernels take them: all nodes in arrays of common shapes."""

from __future__ import annotations

import numpy as np

from ctbnlearn.inference import variational as kernels
from ctbnlearn.inference.contract import PathRates

LEAST_RATE = 1e-30  # mean field: of the largest rate, for a transition impossible in some parent states only
Padding = tuple[int, int]  # number of active parents, and of their joint states


class PaddedRates:
    """Path rates padded to common shapes.

    Parameters
    ----------
    rates
        Path rates of every node.
    padding
        Pad to at least this many, so that shapes stay the same while the parents change.
    mean_field
        Whether paths are inferred by naive mean field in place of the star approximation.

    Attributes
    ----------
    tables
        What the kernels take.
    tilt
        How parents are distributed at a transition of their child: q^u R~(u); in mean field q^u, as at any other time.
    """

    def __init__(self, rates: PathRates, padding: Padding = (1, 1), mean_field: bool = False) -> None:
        cards, sizes = rates.cards, rates.sizes
        n, widest = len(cards), max(cards)
        most, tall = max(1, padding[0], *map(len, rates.parents)), max(padding[1], max(sizes))
        table = np.zeros((n, tall, widest, widest))
        leave = np.zeros((n, tall, widest))
        index = np.full((n, most), n)
        select = np.zeros((most, n, tall, widest))
        select[..., 0] = 1.0
        first = np.zeros((n, widest))
        for i, (card, parents) in enumerate(zip(cards, rates.parents)):
            off = ~np.eye(card, dtype=bool)
            table[i, : sizes[i], :card, :card] = rates.geometric[i] * off
            leave[i, : sizes[i], :card] = (rates.arithmetic[i] * off).sum(-1)
            index[i, : len(parents)] = parents
            if parents:
                digits = np.unravel_index(np.arange(sizes[i]), [cards[j] for j in parents])
                for p, digit in enumerate(digits):
                    select[p, i, : sizes[i]] = np.eye(widest)[digit]
            first[i, :card] = rates.initial[i]
        plain = kernels.Tables(table, leave, index, select, first, np.asarray(cards))
        self.tables = self.tilt = plain
        if mean_field:
            largest = table.max(axis=1, keepdims=True)
            real = np.arange(tall)[:, None, None] < np.array(sizes)[:, None, None, None]
            possible = (largest > 0) & real
            log = np.log(np.where(possible, np.maximum(table, LEAST_RATE * largest), 1.0))
            self.tables = plain._replace(log=log)
            self.tilt = plain._replace(geometric=possible.astype(float))
