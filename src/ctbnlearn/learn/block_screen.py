"""Which candidates of a variable deserve a look: products of path posteriors first, then exact chains of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.learn.block_fit import BlockFitter, Network
from ctbnlearn.structure.block_models import Laplace, Quadratic, Sets, labels, laplace
from ctbnlearn.structure.pushes import EVEN, mixed

ROUNDED = 1e-5  # of squares of excess moves: below, what is left of their sums about means is rounding
PAIR_DRAWS = 128  # of the rates of a pair, for what pushes gain


def product_scores(fitter: BlockFitter) -> FloatArray:
    """Score statistics of every edge from products of path posteriors of variables alone, (n, n) [source, target].

    By cell of the time grid: how many more moves a variable made than its rates expect, against the other's state, both
    about their means; less two a degree of freedom, so that variables of many states compare. Where parents may push a
    variable, the score of a push by one state is taken where it is higher: it spends fewer of them. Two variables that
    hold each other back may cancel here; pairs that score in either direction should be kept.
    """
    n, most = len(fitter.cards), max(fitter.cards)
    moved = most * (most - 1)
    kinds = [
        Kind(np.array(some), fitter.alone_rates(some), np.stack([fitter.start[i] for i in some]))
        for some in fitter.by_shape([(i,) for i in range(n)])
    ]
    sums, level, cells = fitter.evidence.add_up(product_sums, kinds)
    mean = level / max(float(cells), 1.0)
    score, spread = sums[0] - mean * sums[4], sums[2] - 2 * mean * sums[1] + mean**2 * sums[3]
    spread = np.maximum(spread, ROUNDED * sums[3])
    by_move = (
        np.divide(score**2, spread, where=spread > 0, out=np.zeros_like(spread)).reshape(n, most - 1, n, -1).sum(1)
    )
    free = np.array(fitter.cards) - 1.0  # states of the other that count
    rates = np.array([float((p & ~np.eye(len(p), dtype=bool)).sum()) for p in fitter.possible])
    out: FloatArray = by_move[..., :moved].sum(-1) - 2.0 * np.outer(free, rates)
    if fitter.scoring.pushed:
        out = np.maximum(out, by_move[..., moved:].max(-1) - 2.0 * free[:, None])
    np.fill_diagonal(out, 0.0)
    return out


def n_sides(most: int) -> int:
    """States that variables of so many may be pushed by; with two states, those by one are those by the other."""
    return 1 if most == 2 else most


class Kind(NamedTuple):
    """Variables of equal shape, each a block of its own: their numbers, rates (n, k, S) and initial distributions."""

    nodes: IntArray
    rates: FloatArray
    start: FloatArray


def product_sums(evidence: BlockEvidence, kinds: Sequence[Kind]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over cells: products of shares and excess moves (5, n * .., n * ..), shares (n * .., 1), and cells."""
    n, most = len(evidence.cards), max(evidence.cards)
    sums = np.zeros((5, n * (most - 1), n * (most * (most - 1) + n_sides(most))))
    level, cells = np.zeros((n * (most - 1), 1)), 0
    for excess, share in _cells_alone(evidence, kinds):
        squares = excess**2
        sums[0] += share @ excess.T
        sums[1] += share @ squares.T
        sums[2] += share**2 @ squares.T
        sums[3] += squares.sum(1)
        sums[4] += excess.sum(1)
        level += share.sum(1, keepdims=True)
        cells += share.shape[1]
    return sums, level, np.array(float(cells))


def _cells_alone(evidence: BlockEvidence, kinds: Sequence[Kind]) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Per piece of the trajectories: excess moves (n * .., cells), and shares of states but one (n * .., cells).

    Moves of a variable one by one, then for every state those into it less those out of it.
    """
    n, most = len(evidence.cards), max(evidence.cards)
    for piece, span in enumerate(evidence.spans):
        real = span.reshape(-1) > 0
        moved = most * (most - 1)
        excess = np.zeros((n, moved + n_sides(most), real.sum()), np.float32)
        share = np.zeros((n, most - 1, real.sum()), np.float32)
        for nodes, rates, start in kinds:
            for some, flow, dwell in evidence.chains.by_cell(nodes[:, None], rates, start, piece):
                own = np.moveaxis(rates[some][..., None] * (flow - dwell[:, :, None]), 0, 3)
                for k in range(min(own.shape[2], n_sides(most))):  # own: [move, from], to from + move + 1 (mod S)
                    into = sum(own[:, s, k - s - 1] for s in range(own.shape[1]))
                    push = into - own[:, :, k].sum(1)
                    excess[nodes[some], moved + k] = push.reshape(len(some), -1)[..., real]
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
        found = laplace(top, label, prior[:, :, 0], prior[:, :, 1], used)
        value = found.log_evidence.reshape(-1, 2, 2)
        if fitter.scoring.pushed:
            value += _pushed(fitter, own, found)
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


def _pushed(fitter: BlockFitter, pairs: Sequence[tuple[int, int]], found: Laplace) -> FloatArray:
    """What the evidence of pairs gains where one variable may push the other, (n, into the first, into the second)."""
    out = np.zeros((len(pairs), 2, 2))
    for k, pair in enumerate(pairs):
        for who, option in ((0, 2), (1, 1)):  # where it alone is driven
            node, parent = pair[who], pair[1 - who]
            own, first = fitter.cards[node], fitter.cards[pair[0]]
            begin = 0 if who == 0 else first * (first - 1)  # rates of the other, which has no parent
            some = slice(begin, begin + own * (own - 1) * fitter.cards[parent])
            covariance = np.linalg.inv(found.curvature[k, option])[some, some]
            driven = Network((node, parent), ((1,), ()))
            drawn = fitter.draws(driven, found.log_rates[k, option, some], covariance, PAIR_DRAWS)
            gain = float(mixed(drawn.gain([fitter.cards[parent]]), EVEN))
            out[k] += gain * (np.array([[0, 0], [1, 1]]) if who == 0 else np.array([[0, 1], [0, 1]]))
    return out
