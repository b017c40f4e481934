"""Path posteriors on the joint chain of all variables, for learning: exact, and for few variables.

Exit rates e may exceed the sum of R~. The chain then loses probability on its way; what is left is the factor Z of F,
and statistics are those of its posterior. All variables are one block of `block_kernel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, final

import numpy as np

from ctbnlearn.arrays import IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ImpossibleEvidenceError
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.inference.block_kernel import moves
from ctbnlearn.inference.contract import Effort, Expectation, PathInference, PathPosterior, PathRates
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.statistics import Statistics


@final
class ExactPaths(PathInference):
    """Paths on the joint chain; no effort is spared, and nothing is kept between E-steps.

    Parameters
    ----------
    obs
        What was seen.
    exit_rate
        Typical exit rate of a joint state, which the time grid suits.
    device
        Where to compute, and how precisely.
    """

    def __init__(self, obs: Observations, exit_rate: float, device: Device) -> None:
        self.obs = obs
        self.evidence = BlockEvidence(obs, exit_rate, device)

    def describe(self) -> str:
        """How many states the chain has."""
        return f"paths on the joint chain of {prod(v.n_states for v in self.obs.variables)} states"

    def expect(self, rates: PathRates, effort: Effort, start: PathPosterior | None = None) -> Expectation:
        """Log of the probability that is left of every trajectory, and expected statistics."""
        cards = tuple(int(c) for c in rates.cards)
        who, step, to = moves(cards)
        states = np.unravel_index(np.arange(to.shape[1]), cards)
        row = [_joint(states, parents, cards) for parents in rates.parents]
        flat = np.stack([rates.geometric[i][row[i], states[i], (states[i] + s) % cards[i]] for i, s in zip(who, step)])
        leave = [np.asarray(r, float) * ~np.eye(len(r[0]), dtype=bool) for r in rates.arithmetic]
        exits = sum(leave[i].sum(-1)[row[i], states[i]] for i in range(len(cards)))
        first = np.ones(1)
        for p in rates.initial:
            first = np.outer(first, p).reshape(-1)
        found = self.evidence.totals(np.arange(len(cards))[None], flat[None], first[None], np.asarray(exits)[None])
        values = found.log_evidence[0]
        if not np.isfinite(values).all():
            lost = self.obs.ids[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise ImpossibleEvidenceError(f"trajectory {lost!r}: what was seen of it has probability zero")
        moved, dwell = flat * found.flow[0], found.dwell[0]
        tables = []
        for i, card in enumerate(cards):
            size = int(np.prod([cards[j] for j in rates.parents[i]], dtype=int))
            time = np.bincount(row[i] * card + states[i], dwell, size * card).reshape(size, card)
            count = np.zeros(size * card * card)
            for k in np.flatnonzero(who == i):
                cell = (row[i] * card + states[i]) * card + (states[i] + step[k]) % card
                count += np.bincount(cell, moved[k], len(count))
            begun = np.bincount(states[i], found.starts[0], card)
            tables.append((time, count.reshape(size, card, card), begun))
        dwells, counts, starts = (tuple(part) for part in zip(*tables))
        statistics = Statistics(tuple(self.obs.variables), tuple(rates.parents), dwells, counts, starts)
        return Expectation(values, statistics, PathPosterior(rates, effort))

    def arrays(self, paths: PathPosterior) -> dict[str, Any]:
        """Nothing is kept."""
        return {}

    def restore(self, arrays: Mapping[str, Any], rates: PathRates, effort: Effort) -> PathPosterior:
        """Nothing was kept."""
        return PathPosterior(rates, effort)


def _joint(states: tuple[IntArray, ...], parents: tuple[int, ...], cards: tuple[int, ...]) -> IntArray:
    """Number of the joint state of the parents in every joint state of all."""
    out = np.zeros(len(states[0]), np.int64)
    for j in parents:
        out = out * cards[j] + states[j]
    return out
