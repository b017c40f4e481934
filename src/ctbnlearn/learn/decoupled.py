"""Every variable by itself: its rates as if nothing drove it, by exact EM on its own chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.errors import ImpossibleEvidenceError
from ctbnlearn.execute.block_shards import BlockShards
from ctbnlearn.inference.block_chain import moves
from ctbnlearn.inference.block_evidence import TARGET, BlockEvidence, Evidence
from ctbnlearn.inference.device import PROCESSOR

LONGEST_CELL = 8.0  # typical gaps


def fit_decoupled(
    obs: Incomplete,
    possible: Sequence[BoolArray | None],
    shards: BlockShards | None = None,
    *,
    rounds: int = 50,
    tol: float = 1e-2,
) -> tuple[list[FloatArray], list[float]]:
    """Fit every node alone: its rates (S, S), and its transitions per unit of time and target state.

    The prior of each rate is Gamma(1, typical gap). Without `shards` of them, the data are in memory.
    """
    cards = [v.n_states for v in obs.variables]
    off = [~np.eye(c, dtype=bool) if p is None else p & ~np.eye(c, dtype=bool) for c, p in zip(cards, possible)]
    span = float((obs.end - obs.start).sum())
    seen: Any = obs if shards is None else shards
    gap = span / max(1.0, seen.n_informative / len(cards)) if span > 0 else 1.0
    exit_rate = TARGET / (LONGEST_CELL * gap)
    evidence = BlockEvidence(seen, exit_rate, PROCESSOR) if shards is None else shards.lay_out(exit_rate)
    rates = [mask / gap / (card - 1) for mask, card in zip(off, cards)]
    for _ in range(rounds):
        found = _expect(evidence, obs, rates)
        old, rates = rates, [mask * (1 + m) / (gap + t[:, None]) for mask, (t, m) in zip(off, found)]
        if all(abs(new.sum() - was.sum()) <= tol * was.sum() for new, was in zip(rates, old)):
            break
    mean = [max(m.sum(), 1e-3) / (t.sum() * (len(t) - 1)) if t.sum() > 0 else 1.0 for t, m in found]
    return rates, mean


def _expect(evidence: Evidence, obs: Incomplete, rates: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
    """Expected dwell times (S,) and transitions (S, S) of every node under its own rates (S, S)."""
    out: dict[int, tuple[FloatArray, FloatArray]] = {}
    for card in sorted(set(evidence.cards)):
        nodes = np.flatnonzero(np.array(evidence.cards) == card)
        to = moves((card,))[2]
        here = np.arange(card)
        table = np.stack([rates[int(i)] for i in nodes])
        blocks = nodes[:, None], table[:, here, to], np.full((len(nodes), card), 1 / card)
        found = evidence.totals(*blocks)
        if not np.isfinite(found.log_evidence).all() and (bad := evidence.impossible(*blocks)) is not None:
            raise ImpossibleEvidenceError(
                f"trajectory {obs.ids[bad]!r}: what was seen has probability zero; check the states seen, add "
                "observation noise, or allow the transitions that lead to them"
            )
        counts = np.zeros_like(table)
        counts[:, here, to] = table[:, here, to] * found.flow
        out.update((int(i), (t, m)) for i, t, m in zip(nodes, found.dwell, counts))
    return [out[i] for i in range(len(rates))]
