"""Which candidates of a variable deserve a look: products of path posteriors first, then exact chains of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.learn.block_fit import BlockFitter, Network
from ctbnlearn.structure.block_models import Quadratic, Sets, labels, laplace


def product_scores(fitter: BlockFitter) -> FloatArray:
    """Score statistics of every edge from products of path posteriors of variables alone, (n, n) [source, target].

    By cell of the time grid: how many more moves a variable made than its rates expect, against the other's state. Two
    variables that hold each other back may cancel here; pairs that score in either direction should be kept.
    """
    n, most = len(fitter.cards), max(fitter.cards)
    moved = most * (most - 1)
    kinds = [
        Kind(np.array(some), fitter.alone_rates(some), np.stack([fitter.start[i] for i in some]))
        for some in fitter.by_shape([(i,) for i in range(n)])
    ]
    sums, level, cells = fitter.evidence.add_up(product_sums, kinds)
    mean = level / max(float(cells), 1.0)
    spread = sums[2] - 2 * mean * sums[1] + mean**2 * sums[3]
    out = (sums[0] ** 2 / np.maximum(spread, 1e-12)).reshape(n, most - 1, n, moved).sum((1, 3))
    np.fill_diagonal(out, 0.0)
    return out


class Kind(NamedTuple):
    """Variables of equal shape, each a block of its own: their numbers, rates (n, k, S) and initial distributions."""

    nodes: IntArray
    rates: FloatArray
    start: FloatArray


def product_sums(evidence: BlockEvidence, kinds: Sequence[Kind]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over cells: products of shares and excess moves (4, n * .., n * moves), shares (n * .., 1), and cells."""
    n, most = len(evidence.cards), max(evidence.cards)
    sums = np.zeros((4, n * (most - 1), n * most * (most - 1)))
    level, cells = np.zeros((n * (most - 1), 1)), 0
    for excess, share in _cells_alone(evidence, kinds):
        squares = excess**2
        sums[0] += share @ excess.T
        sums[1] += share @ squares.T
        sums[2] += share**2 @ squares.T
        sums[3] += squares.sum(1)
        level += share.sum(1, keepdims=True)
        cells += share.shape[1]
    return sums, level, np.array(float(cells))


def _cells_alone(evidence: BlockEvidence, kinds: Sequence[Kind]) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Per piece of the trajectories: excess moves (n * moves, cells), and shares of states but one (n * .., cells)."""
    n, most = len(evidence.cards), max(evidence.cards)
    for piece, span in enumerate(evidence.spans):
        real = span.reshape(-1) > 0
        excess = np.zeros((n, most * (most - 1), real.sum()), np.float32)
        share = np.zeros((n, most - 1, real.sum()), np.float32)
        for nodes, rates, start in kinds:
            for some, flow, dwell in evidence.chains.by_cell(nodes[:, None], rates, start, piece):
                own = np.moveaxis(rates[some][..., None] * (flow - dwell[:, :, None]), 0, 3)
                own = own.reshape(len(some), own.shape[1] * own.shape[2], -1)[..., real]
                excess[nodes[some], : own.shape[1]] = own
                time = np.moveaxis(dwell, 0, 2).reshape(len(some), dwell.shape[2], -1)[..., real]
                share[nodes[some], : time.shape[1] - 1] = time[:, 1:] / span.reshape(-1)[real]
        yield excess.reshape(n * excess.shape[1], -1), share.reshape(n * share.shape[1], -1)


def pair_gains(fitter: BlockFitter, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Log odds of j -> i on the exact chain of the pair alone, (n, n) [source, target]; -inf where not asked."""
    n, rules = len(fitter.cards), fitter.rules
    out = np.full((n, n), -np.inf)
    tops = fitter.full(pairs)
    options: list[Sets] = [((1,) * into_a, (0,) * into_b) for into_a in (0, 1) for into_b in (0, 1)]
    for some in fitter.by_shape(pairs):
        own = [pairs[k] for k in some]
        top = Quadratic(*(np.stack(parts) for parts in zip(*(tops[k] for k in some))))
        cards = fitter.shape(own[0])
        label = np.stack([labels(cards, sets).reshape(-1) for sets in options])
        prior = np.array([[fitter.priors(Network(pair, sets)) for sets in options] for pair in own])
        prior = prior.reshape(len(own), len(options), 2, -1)
        used = np.stack([fitter.used(pair).reshape(-1) for pair in own])
        label = np.broadcast_to(label, (len(own), *label.shape))
        value = laplace(top, label, prior[:, :, 0], prior[:, :, 1], used).log_evidence.reshape(-1, 2, 2)
        for (a, b), v in zip(own, value):
            into = {
                i: fitter.log_prior(i, [rules.required[i], (*rules.required[i], j)])
                for i, j in ((a, b), (b, a))
                if j in rules.allowed[i] and j not in rules.required[i] and rules.limit(i) > len(rules.required[i])
            }
            odds = [float(np.diff(into[i])[0]) if i in into else -np.inf for i in (a, b)]
            v = v + np.array([[0.0, odds[1]], [odds[0], odds[0] + odds[1]]])
            if a in into:
                out[b, a] = np.logaddexp.reduce(v[1]) - np.logaddexp.reduce(v[0])
            if b in into:
                out[a, b] = np.logaddexp.reduce(v[:, 1]) - np.logaddexp.reduce(v[:, 0])
    return out
