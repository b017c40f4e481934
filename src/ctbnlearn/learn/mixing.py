"""Whether chains have seen enough: how far apart they are, and how much they know.

Edges: the range of a probability among the chains, its drift within them, its effective sample size. Rates: the
potential scale reduction (Gelman & Rubin 1992) of their logarithms under the commonest parent set,

    R^2 = (W + G + B) / (W + G)

with W the variance of ln (alpha + M) / (beta + T) within chains, B that between their means, and G = psi'(alpha + M)
what is left when the paths are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import polygamma

from ctbnlearn.arrays import FloatArray
from ctbnlearn.learn.trail import Trail


def chain_means(trails: Sequence[Trail]) -> FloatArray:
    """Edge probabilities of every chain after its burn-in, (chains, N, N)."""
    return np.stack([np.mean(np.stack(t.edges[t.kept()]), axis=0, dtype=float) for t in trails])


def disagreement(trails: Sequence[Trail]) -> FloatArray:
    """Largest less smallest probability of every edge among the chains; of a single one, between its later halves."""
    if len(trails) == 1:
        later = np.stack(trails[0].edges[trails[0].kept()])
        if len(later) == 1:
            return np.zeros_like(later[0], float)
        halves = later[: len(later) // 2], later[len(later) // 2 :]
        return np.abs(np.mean(halves[0], 0, dtype=float) - np.mean(halves[1], 0, dtype=float))
    return np.ptp(chain_means(trails), axis=0)


def drift(trails: Sequence[Trail]) -> FloatArray:
    """Change of every edge's probability between the two halves after the burn-in, averaged over the chains."""
    total = 0.0
    for trail in trails:
        later = np.stack(trail.edges[trail.kept()])
        half = len(later) // 2
        total = total + np.mean(later[half:], 0, dtype=float) - np.mean(later[:half], 0, dtype=float)
    return np.abs(np.asarray(total)) / len(trails)


def stretch_means(trails: Sequence[Trail]) -> FloatArray:
    """Edge probabilities of eight stretches of every chain after its burn-in, (stretches, N, N)."""
    return np.concatenate(
        [
            np.stack([np.mean(part, 0, dtype=float) for part in np.array_split(np.stack(t.edges[t.kept()]), 8)])
            for t in trails
            if len(t) >= 16
        ]
        or [chain_means(trails)]
    )


def standard_error(trails: Sequence[Trail]) -> FloatArray:
    """Of every edge's probability, averaged over the chains, as the spread of their stretches tells it."""
    means = stretch_means(trails)
    return np.sqrt(means.var(0, ddof=1) / len(means)) if len(means) > 1 else np.zeros(means.shape[1:])


def effective_size(trails: Sequence[Trail]) -> FloatArray:
    """Independent draws of the network that would tell every edge's probability as precisely; infinite if all agree."""
    p, error = stretch_means(trails).mean(0), standard_error(trails) ** 2
    return np.divide(p * (1 - p), error, out=np.full_like(p, np.inf), where=error > 1e-12)


def commonest(trails: Sequence[Trail], node: int) -> tuple[int, ...]:
    """The parent set a node held most often after the burn-in."""
    counts = Counter(record[node].parents for t in trails for record in t.records[t.kept()])
    return counts.most_common(1)[0][0]


def scale_reduction(trails: Sequence[Trail], node: int) -> float:
    """The largest R among the rates of a node; 1 with one chain, or where chains hold different sets."""
    parents = commonest(trails, node)
    held = [[r[node] for r in t.records[t.kept()] if r[node].parents == parents] for t in trails]
    held = [records for records in held if len(records) >= 4]
    if len(held) < 2:
        return 1.0
    means, within, given = [], [], []
    for records in held:
        shape = np.stack([r.prior_shape + r.moves for r in records])
        log_rate = np.log(shape) - np.log(np.stack([r.prior_rate + r.dwell[..., None] for r in records]))
        means.append(log_rate.mean(0))
        within.append(log_rate.var(0, ddof=1))
        given.append(polygamma(1, shape).mean(0))
    between = np.var(means, axis=0, ddof=1)
    total = np.mean(within, axis=0) + np.mean(given, axis=0)
    ratio = np.sqrt(1.0 + between / total)
    off = ~np.eye(ratio.shape[-1], dtype=bool)
    return float(ratio[:, off].max())
