"""The parent sets of one variable inside a block, judged from one fit of the full block.

The other members have parents of their own in the block, and theirs matter: for every set of the variable the others'
sets are chosen again, one member after the other, and what their runners-up weigh is added. Blocks of equal shape are
worked on side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.cores import usable_cores
from ctbnlearn.learn.block_fit import BlockFitter, Fit, Network
from ctbnlearn.structure.block_models import Laplace, Quadratic, groups, laplace, subsets

CLOSE = 12.0  # nats behind the best up to which a set of another member is looked at again
TOGETHER = 2_000_000  # numbers in the largest arrays of a batch

Parents = tuple[int, ...]


class Weighed(NamedTuple):
    """A parent set inside a block.

    Attributes
    ----------
    log_weight
        Log evidence with priors, summed over what else the block may be.
    log_evidence
        Of `network` alone, without priors of structures.
    network
        The best network of the block with this set.
    log_rates : (p,)
        Its rates, as the quadratic has them.
    fit
        The network fitted for itself, where it was.
    """

    log_weight: float
    log_evidence: float
    network: Network
    log_rates: FloatArray
    fit: Fit | None = None

    def with_share(self, share: float) -> Weighed:
        """With the weight that it has if such a share of variables are pushed by their parents."""
        return self if self.fit is None else self._replace(log_weight=self.log_weight + self.fit.more_evidence(share))


def judge(
    fitter: BlockFitter, blocks: Sequence[tuple[int, ...]], tops: Sequence[Quadratic]
) -> list[dict[Parents, Weighed]]:
    """Weigh the parent sets of the first member of every block inside it."""
    parts = []
    for some in fitter.by_shape(blocks):
        size = len(tops[some[0]].top)
        many = max(1, TOGETHER // (size * size * 2 ** (len(blocks[some[0]]) - 1)))
        parts += [some[low : low + many] for low in range(0, len(some), many)]

    def work(part: list[int]) -> list[dict[Parents, Weighed]]:
        return _Bench(fitter, [blocks[k] for k in part], [tops[k] for k in part]).weigh()

    with ThreadPoolExecutor(usable_cores()) as pool:
        found = list(pool.map(work, parts))
    out = {k: sets for part, own in zip(parts, found) for k, sets in zip(part, own)}
    return [out[k] for k in range(len(blocks))]


class _Bench:
    """Blocks of one shape, and what their networks are made of.

    A network is given by the numbers of its members' sets among `options`: all sets of other positions in the block;
    those that a block does not admit have a log prior of -inf there.
    """

    def __init__(self, fitter: BlockFitter, blocks: Sequence[tuple[int, ...]], tops: Sequence[Quadratic]) -> None:
        self.blocks = blocks
        cards, rules, every = fitter.shape(blocks[0]), fitter.rules, range(len(blocks[0]))
        self.top = Quadratic(*(np.stack(parts) for parts in zip(*tops)))
        self.used = np.stack([fitter.used(members).reshape(-1) for members in blocks])
        self.options = [subsets([a for a in every if a != k], (), len(every)) for k in every]
        self.group = [np.stack([groups(cards, k, s).reshape(-1) for s in self.options[k]]) for k in every]
        self.count = [table.max(1) + 1 for table in self.group]
        shape = len(blocks), len(every), len(self.options[0])
        self.log_prior, self.shape = np.full(shape, -np.inf), np.ones(shape)
        self.rate = np.ones((*shape, max(cards)))  # by the member's own state
        states = np.stack(np.unravel_index(np.arange(prod(cards)), cards))
        self.state = [np.tile(states[k], cards[k] - 1) for k in every]  # of a member, for every rate of its own
        for b, members in enumerate(blocks):
            for k, node in enumerate(members):
                allowed = {a for a in every if members[a] in set(rules.allowed[node])}
                held = {a for a in allowed if members[a] in set(rules.required[node])}
                open_to = [
                    o
                    for o, s in enumerate(self.options[k])
                    if held <= set(s) <= allowed and len(s) <= rules.limit(node)
                ]
                names = [tuple(sorted(members[a] for a in self.options[k][o])) for o in open_to]
                for o, s in enumerate(self.options[k]):
                    self.shape[b, k, o], self.rate[b, k, o, : cards[k]] = fitter.prior(node, [members[a] for a in s])
                if k == 0:
                    self.log_prior[b, k, open_to] = fitter.log_prior(node, names)
                else:  # uniform over sizes, then over the sets of a size: its other parents may be outside
                    sizes = np.array([len(s) for s in names])
                    self.log_prior[b, k, open_to] = -np.log(np.bincount(sizes)[sizes] * len(set(sizes.tolist())))

    def evidence(self, sets: IntArray) -> Laplace:
        """Evidence of networks, given by the numbers of their sets, (n, q, m)."""
        label, shape, rate, before = [], [], [], np.zeros(sets.shape[:2], np.int64)
        n = np.arange(len(sets))[:, None]
        for k, table in enumerate(self.group):
            own = sets[:, :, k]
            label.append(table[own] + before[..., None])
            shape.append(np.broadcast_to(self.shape[n, k, own][..., None], label[-1].shape))
            rate.append(self.rate[n, k, own][..., self.state[k]])
            before = before + self.count[k][own]
        labels, shapes, rates = (np.concatenate(parts, 2) for parts in (label, shape, rate))
        return laplace(self.top, labels, shapes, rates, self.used)

    def vary(self, sets: IntArray, k: int, some: IntArray) -> FloatArray:
        """Log weights, (n, q), of some sets (n, q) of one member, the others' (n, m) held."""
        networks = np.repeat(sets[:, None], some.shape[1], 1)
        networks[:, :, k] = some
        rows = np.arange(len(sets))[:, None]
        return self.evidence(networks).log_evidence + self.log_prior[rows, k, some]

    def weigh(self) -> list[dict[Parents, Weighed]]:
        """Log weights of all admitted sets of the first members."""
        n, m, q = self.log_prior.shape
        rows, everything = np.arange(n), np.broadcast_to(np.arange(q), (n, q))
        full = [len(own) - 1 for own in self.options]  # the largest set comes last
        present = np.broadcast_to(np.array(full), (n, m)).copy()
        open_to: list[IntArray] = [np.empty(0, np.int64)] * m
        for k in (*range(1, m), 0):
            values = self.vary(present, k, everything)
            order = np.argsort(-values, 1, kind="stable")
            present[:, k] = order[:, 0]
            near = (values > values.max(1, keepdims=True) - CLOSE).sum(1).max()
            open_to[k] = order[:, :near]
        out: list[dict[Parents, Weighed]] = [{} for _ in range(n)]
        for o in range(q):
            if not np.isfinite(self.log_prior[:, 0, o]).any():
                continue
            own, more = present.copy(), self.log_prior[:, 0, o].copy()
            own[:, 0] = o
            for k in range(1, m):
                values = self.vary(own, k, open_to[k])
                best = np.argmax(values, 1)
                own[:, k] = open_to[k][rows, best]
                more += self.log_prior[rows, k, own[:, k]] + np.logaddexp.reduce(values, 1) - values[rows, best]
            found = self.evidence(own[:, None])
            for b in np.flatnonzero(np.isfinite(more)).tolist():
                members = self.blocks[b]
                name = tuple(sorted(members[a] for a in self.options[0][o]))
                network = Network(members, tuple(self.options[k][own[b, k]] for k in range(m)))
                value = float(found.log_evidence[b, 0])
                count = int(sum(self.count[k][own[b, k]] for k in range(m)))
                out[b][name] = Weighed(value + float(more[b]), value, network, found.log_rates[b, 0, :count])
        return out
