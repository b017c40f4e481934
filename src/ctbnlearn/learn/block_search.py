"""Parent sets of every variable from blocks around it.

The first block of a variable holds its best candidates by the pair screen. Candidates left out come in beside its best
parents so far, block by block; sets in both blocks tie their weights together. In every block the sets that matter are
fitted each for itself.

A variable that drives another may seem to be driven by it where the block lacks what else leads to the other: a third
variable between them, as what comes with a delay is no jump process of the two, or a further parent of the other, whose
moves are then badly explained. Parents are looked at again in a block with these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.errors import ParameterError
from ctbnlearn.learn.block_fit import BlockFitter, Fit
from ctbnlearn.learn.block_judge import Parents, Weighed, judge
from ctbnlearn.learn.block_screen import pair_gains, product_scores

SHORTLIST = 12  # candidates of a variable whose pairs are fitted
NEAR = 4.0  # nats behind the best up to which a set should share a block with it
CLOSE = 8.0  # nats behind the best up to which a set is fitted by itself
MOST_FITTED = 6  # sets of a variable that are
FEW = 640  # trajectories up to which the full block misjudges sets, and all up to
CLOSE_IF_FEW = 14.0  # nats behind are fitted
LEAST_GAIN = -4.0  # log odds of its pair above which a candidate left out joins a block
MOST_ODDS = -4.0  # log odds that a candidate which never was in a block gets at most


@dataclass(frozen=True)
class NodeSearch:
    """What is known of the parent sets of one variable.

    Attributes
    ----------
    weighed
        Per set, its weight on a common scale, and the network it was found in.
    tried
        Candidates that were in a block.
    """

    weighed: Mapping[Parents, Weighed]
    tried: frozenset[int]

    @property
    def best(self) -> Parents:
        """The heaviest set."""
        return max(self.weighed, key=lambda m: self.weighed[m].log_weight)

    def take(self, members: Sequence[int], found: Mapping[Parents, Weighed]) -> NodeSearch:
        """With the sets of a further block, put on the common scale by the heaviest set that was known before."""
        shift, known = 0.0, dict(self.weighed)
        shared = [m for m in found if m in known]
        if shared:
            anchor = max(shared, key=lambda m: known[m].log_weight)
            shift = known[anchor].log_weight - found[anchor].log_weight
        known.update({m: one._replace(log_weight=one.log_weight + shift) for m, one in found.items()})
        return NodeSearch(known, self.tried.union(members[1:]))

    def with_share(self, share: float) -> NodeSearch:
        """With the weights that sets have if such a share of variables are pushed by their parents."""
        return NodeSearch({m: one.with_share(share) for m, one in self.weighed.items()}, self.tried)

    def near(self) -> list[Parents]:
        """Sets that are not far behind the best, heaviest first."""
        top = self.weighed[self.best].log_weight
        near = [m for m, one in self.weighed.items() if one.log_weight > top - NEAR]
        return sorted(near, key=lambda m: (-self.weighed[m].log_weight, m))

    def contenders(self) -> list[int]:
        """Members of sets that are not far behind the best, by the weight of these."""
        top = self.weighed[self.best].log_weight
        weight: dict[int, float] = {}
        for m in self.near():
            for j in m:
                weight[j] = weight.get(j, 0.0) + np.exp(self.weighed[m].log_weight - top)
        return sorted(weight, key=lambda j: (-weight[j], j))


@dataclass(frozen=True)
class Screen:
    """What the screen found.

    Attributes
    ----------
    gains : (n, n)
        Log odds of every edge on the chain of its pair; -inf where it was not looked at.
    rough : (n, n)
        Scores of all edges by products; zero where all pairs were looked at.
    """

    gains: FloatArray
    rough: FloatArray

    def left_out(self, node: int, candidates: IntArray) -> FloatArray:
        """Log odds of candidates, of which some were never looked at.

        These share what as many of the least promising pairs would have, by their scores: half a score is about what an
        edge would add to the log likelihood.
        """
        gains, looked = self.gains[candidates, node], self.gains[np.isfinite(self.gains[:, node]), node]
        unseen = ~np.isfinite(gains)
        scores = 0.5 * self.rough[candidates[unseen], node]
        if scores.size:
            share = scores - np.logaddexp.reduce(scores) + np.log(scores.size)
            gains[unseen] = looked.min(initial=MOST_ODDS) + share
        return np.minimum(gains, MOST_ODDS)

    def ranked(self, node: int) -> list[int]:
        """Candidates that were looked at, most promising first."""
        there = np.flatnonzero(self.gains[:, node] > -np.inf)
        return [int(j) for j in there[np.argsort(-self.gains[there, node], kind="stable")]]


def screen(fitter: BlockFitter, say: Callable[[str], None]) -> Screen:
    """Look at the pairs of every variable with its most promising candidates."""
    rules, n = fitter.rules, len(fitter.cards)
    pairs = {(min(i, j), max(i, j)) for i in range(n) for j in rules.allowed[i]}
    rough = np.zeros((n, n))
    if any(len(a) > SHORTLIST for a in rules.allowed):
        rough = product_scores(fitter)
        may = np.full((n, n), -np.inf)  # what an edge that is ruled out scores says nothing of the other direction
        for i, allowed in enumerate(rules.allowed):
            may[list(allowed), i] = rough[list(allowed), i]
        either = np.maximum(may, may.T)
        kept = {
            (min(i, j), max(i, j))
            for i in range(n)
            for j in (*sorted(rules.allowed[i], key=lambda j: -either[j, i])[:SHORTLIST], *rules.required[i])
        }
        pairs &= kept
    say(f"exact chains of {len(pairs)} pairs of variables")
    gains = pair_gains(fitter, sorted(pairs))
    for i, needed in enumerate(rules.required):
        gains[list(needed), i] = np.inf
    return Screen(gains, rough)


def choose_members(fitter: BlockFitter, node: int, wanted: Sequence[int], most: int, states: int) -> tuple[int, ...]:
    """The variable and as many of the wanted, best first, as fit into a block of so many members and joint states."""
    members = [node]
    for j in wanted:
        if j not in members and len(members) < most and prod(fitter.shape([*members, j])) <= states:
            members.append(j)
    left_out = [j for j in fitter.rules.required[node] if j not in members]
    if left_out:
        whole = [node, *fitter.rules.required[node]]
        raise ParameterError(
            f"{fitter.rules.names[node]!r} and its required parents make a block of {len(whole)} variables and "
            f"{prod(fitter.shape(whole))} joint states, more than {most} or {states}; raise Blocks(members=..., "
            "states=...), require fewer parents, or merge states"
        )
    return (node, *sorted(members[1:], key=lambda j: fitter.cards[j]))  # few shapes: code is compiled for each


def next_blocks(
    fitter: BlockFitter, found: Screen, nodes: Sequence[NodeSearch], most: int, states: int
) -> list[tuple[int, ...]]:
    """The next block of every variable that needs one; its first member is the variable.

    One member more than usual may be in it where parents are looked at again.
    """
    out = []
    for i, own in enumerate(nodes):
        if not own.weighed:
            out.append(choose_members(fitter, i, found.ranked(i), most, states))
            continue
        block = own.weighed[own.best].network.members
        fresh = [j for j in found.ranked(i) if j not in own.tried and found.gains[j, i] > LEAST_GAIN]
        wanted = fresh or [j for j in own.contenders() if j not in own.best]
        members = choose_members(fitter, i, [*own.best, *wanted], most, states)
        known = own.tried if fresh else set(block)
        if not known.issuperset(members[1:]):
            out.append(members)
            continue
        for m in own.near():
            lacking = co_parents(nodes, i, m) | mediators(nodes, i, m)
            lacking -= set(own.weighed[m].network.members)
            members = choose_members(fitter, i, [*m, *sorted(lacking), *block[1:]], most + 1, states)
            if lacking.intersection(members):
                out.append(members)
                break
    return out


def co_parents(nodes: Sequence[NodeSearch], node: int, parents: Parents) -> set[int]:
    """Further parents of those supposed parents that the variable itself drives, going by the best sets."""
    return {k for j in parents if node in nodes[j].best for k in nodes[j].best} - {node, *parents}


def mediators(nodes: Sequence[NodeSearch], node: int, parents: Parents) -> set[int]:
    """Variables that the variable drives, and that lead to one of its supposed parents, going by the best sets."""
    above: set[int] = set()
    fresh = set(parents)
    while fresh:
        above |= fresh
        fresh = {k for j in fresh for k in nodes[j].best} - above - {node}
    return {k for k in above.difference(parents) if node in nodes[k].best}


def search_round(
    fitter: BlockFitter, nodes: Sequence[NodeSearch], blocks: Sequence[tuple[int, ...]]
) -> list[NodeSearch]:
    """Weigh the sets inside further blocks: all by the full block, those that matter each by its own fit."""
    found = judge(fitter, blocks, fitter.full(blocks))
    few = fitter.evidence.n_trajectories <= FEW
    chosen = [(b, m) for b, sets in enumerate(found) for m in close_sets(sets, few)]
    weighed = [found[b][m] for b, m in chosen]
    fits = fitter.networks([one.network for one in weighed], [one.log_rates for one in weighed])
    fitted: list[dict[Parents, Fit]] = [{} for _ in blocks]
    for (b, m), fit in zip(chosen, fits):
        fitted[b][m] = fit
    out = list(nodes)
    for members, sets, own in zip(blocks, found, fitted):
        out[members[0]] = out[members[0]].take(members, corrected(sets, own))
    return out


def close_sets(sets: Mapping[Parents, Weighed], few: bool) -> list[Parents]:
    """Sets of a block not far behind its best one, heaviest first; further ones where trajectories are few."""
    order = sorted(sets, key=lambda m: -sets[m].log_weight)
    close = [m for m in order if sets[m].log_weight > sets[order[0]].log_weight - (CLOSE_IF_FEW if few else CLOSE)]
    return close if few else close[:MOST_FITTED]


def corrected(sets: Mapping[Parents, Weighed], fits: Mapping[Parents, Fit]) -> dict[Parents, Weighed]:
    """Sets of a block with the weights that their fits give; the others keep their distance to the best."""
    new = {m: sets[m].log_weight - sets[m].log_evidence + fit.log_evidence for m, fit in fits.items()}
    shift = max(new.values()) - max(sets[m].log_weight for m in new)
    out = {m: one._replace(log_weight=one.log_weight + shift) for m, one in sets.items()}
    out.update({m: sets[m]._replace(log_weight=value, fit=fits[m]) for m, value in new.items()})
    return out
