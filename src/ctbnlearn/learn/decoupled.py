"""Every variable by itself: its rates as if nothing drove it, at the top of their posterior on its own chain.

Found by direct ascent: where a state is left sooner than it is looked at again, EM goes on for hundreds of steps, each
of them small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.errors import ImpossibleEvidenceError
from ctbnlearn.execute.block_shards import BlockShards
from ctbnlearn.inference.ascent import Value, maximise
from ctbnlearn.inference.block_chain import moves
from ctbnlearn.inference.block_evidence import TARGET, BlockEvidence, Evidence
from ctbnlearn.inference.device import PROCESSOR

LONGEST_CELL = 8.0  # typical gaps


def fit_decoupled(
    obs: Incomplete, possible: Sequence[BoolArray | None], shards: BlockShards | None = None, *, gain: float = 1e-3
) -> list[FloatArray]:
    """Rates (S, S) of every node alone; the prior of each is Gamma(1, typical gap).

    Parameters
    ----------
    obs, possible
        The data, and which transitions can happen.
    shards
        Of the data; without them they are in memory.
    gain
        Nats below which a further step is not worth it.
    """
    cards = [v.n_states for v in obs.variables]
    off = [~np.eye(c, dtype=bool) if p is None else p & ~np.eye(c, dtype=bool) for c, p in zip(cards, possible)]
    span = float((obs.end - obs.start).sum())
    seen: Any = obs if shards is None else shards
    gap = span / max(1.0, seen.n_informative / len(cards)) if span > 0 else 1.0
    exit_rate = TARGET / (LONGEST_CELL * gap)
    evidence = BlockEvidence(seen, exit_rate, PROCESSOR) if shards is None else shards.lay_out(exit_rate)
    rates = [np.zeros((c, c)) for c in cards]
    for card in sorted(set(cards) - {1}):
        nodes = np.flatnonzero(np.array(cards) == card)
        alike = _Alike(evidence, nodes, np.stack([off[i] for i in nodes]), gap)
        first = np.full((len(nodes), card * (card - 1)), -np.log(gap * (card - 1)))
        if not np.isfinite(alike.evaluate(np.arange(len(nodes)), first).value).all():
            _refuse(evidence, obs, alike, first)
        top = maximise(alike.evaluate, first, gain=gain).point
        found = alike.rates(np.arange(len(nodes)), top)
        for i, own in zip(nodes, found):
            rates[i][np.arange(card), alike.to] = own
    return rates


class _Alike:
    """Nodes with equally many states, each a block of its own, as maximisations over the logarithms of their rates."""

    def __init__(self, evidence: Evidence, nodes: IntArray, possible: BoolArray, gap: float) -> None:
        card = possible.shape[1]
        self.evidence, self.nodes, self.gap = evidence, nodes, gap
        self.to = moves((card,))[2]
        self.used = possible[:, np.arange(card), self.to]  # (n, k, S)
        self.start = np.full((len(nodes), card), 1 / card)

    def rates(self, some: IntArray, point: FloatArray) -> FloatArray:
        """Rates of some nodes, (n, k, S)."""
        return np.where(self.used[some], np.exp(point.reshape(len(some), *self.used.shape[1:])), 0.0)

    def evaluate(self, some: IntArray, point: FloatArray) -> Value:
        """Log posterior density, its gradient, and the curvature that complete data would have."""
        rates, used = self.rates(some, point), self.used[some].reshape(len(some), -1)
        found = self.evidence.totals(self.nodes[some][:, None], rates, self.start[some])
        moved, flat = (rates * found.flow).reshape(used.shape), rates.reshape(used.shape)
        stay = (rates * found.dwell[:, None]).reshape(used.shape)
        prior = np.where(used, point - self.gap * flat, 0.0).sum(1)
        gradient = np.where(used, moved - stay + 1 - self.gap * flat, 0.0)
        curvature = np.where(used, moved + np.maximum(self.gap * flat, 0.5), 1.0)
        return Value(found.log_evidence.sum(1) + prior, gradient, curvature)


def _refuse(evidence: Evidence, obs: Incomplete, alike: _Alike, point: FloatArray) -> None:
    rates = alike.rates(np.arange(len(alike.nodes)), point)
    bad = evidence.impossible(alike.nodes[:, None], rates, alike.start)
    if bad is not None:
        raise ImpossibleEvidenceError(
            f"trajectory {obs.ids[bad]!r}: what was seen has probability zero; check the states seen, add "
            "observation noise, or allow the transitions that lead to them"
        )
