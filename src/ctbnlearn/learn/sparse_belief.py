"""Beliefs over the parent sets of many candidates, with few active parents a node.

All sets of up to two parents are weighed by matrix products; larger sets, and every set where those products would take
long, inside a pool of the most promising candidates. A handful of sets of noticeable weight drive the paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, final

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.contract import Expectation, PathPosterior
from ctbnlearn.inference.engine import PathEngine
from ctbnlearn.inference.rows import RowSource
from ctbnlearn.learn.network_belief import NetworkBelief, Table, edge_probabilities, restored_nodes
from ctbnlearn.learn.tensor_file import Arrays, listed, unlisted
from ctbnlearn.structure.all_pairs import AllPairs, PairResult
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.expected import PoolMoments, pool_moments
from ctbnlearn.structure.parent_sets import ParentSets, enumerate_sets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem
from ctbnlearn.structure.projection import Projection
from ctbnlearn.structure.tables import table_of

ACTIVE_STATES = 16, 640, 256  # joint states of the active parents of a node: at least; of all nodes; at most
SMALLEST_WEIGHT = 1e-4  # sets of less weight do not drive the paths
MISSED = 1e-2  # weight from which on a set outside the pools matters
COSTLY = {"cpu": 1e12, "gpu": 1e16}  # multiplications from which on the pass over all pairs is not made every round

Candidates = Sequence[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Listing:
    """Sets that were weighed, or the heaviest of them, with the tables they were weighed by."""

    problems: tuple[NodeProblem, ...]
    weights: tuple[FloatArray, ...]
    unlisted_edges: FloatArray | None
    table: Callable[[int, int], Table]  # of a node, and the number of its set


@dataclass(frozen=True, eq=False)
class SetSearch:
    """How sets of many candidates are weighed.

    Attributes
    ----------
    build
        Makes the problem of a node for given sets.
    rules, cards
        Which sets are admitted; number of states of every variable.
    engine
        Where paths come from.
    pairs
        Weighs all sets of up to two parents; None for mixture weights, where all sets are listed.
    pool_sizes
        Per node how many candidates a pool holds.
    """

    build: Callable[[int, ParentSets], NodeProblem]
    rules: EdgeRules
    cards: Sequence[int]
    engine: PathEngine
    pairs: AllPairs | None
    pool_sizes: Sequence[int]

    def weigh_pairs(self, rows: RowSource, paths: PathPosterior) -> PairResult:
        """Weigh every set of up to two parents."""
        assert self.pairs is not None
        return self.pairs.run(rows, self.engine.padded(paths.rates).tilt)

    def heaviest(self, result: PairResult) -> Listing:
        """List the heaviest sets of a pass over all pairs."""
        problems = tuple(self.build(i, sets) for i, sets in enumerate(result.sets))
        unlisted_edges = np.maximum(result.edges - edge_probabilities(problems, result.weights, None), 0.0)
        return Listing(
            problems, tuple(result.weights), unlisted_edges, lambda node, k: result.table(node, k, self.cards)
        )

    def weigh_inside(self, candidates: Candidates, rows: RowSource, paths: PathPosterior) -> Listing:
        """Weigh every set of some candidates, from sums over the rows."""
        rates, tilt, rules = paths.rates, self.engine.padded(paths.rates).tilt.geometric, self.rules
        moments = [
            PoolMoments(i, pool, rates.parents[i], tilt[i, :u, :s, :s], self.cards, rules.largest)
            for i, (pool, u, s) in enumerate(zip(candidates, rates.sizes, self.cards))
        ]
        pool_moments(rows if isinstance(rows, list) else rows(), moments)
        problems, weights, groups = [], [], []
        for i, pool in enumerate(candidates):
            sets = enumerate_sets(pool, rules.required[i], rules.max_parents, rules.names, i)
            problems.append(self.build(i, sets))
            groups.append(list(moments[i].groups(sets)))
            weights.append(problems[i].weights(groups[i]))
        return Listing(tuple(problems), tuple(weights), None, lambda node, k: table_of(groups[node], k))

    def pools(self, result: PairResult) -> Candidates:
        """The most promising candidates of every node after a pass over all pairs."""
        return result.pools(self.rules, self.pool_sizes)

    def needs_pools(self, rows: RowSource) -> bool:
        """Whether pairs are not all there is, or take too long to be weighed in every round."""
        if self.rules.largest > 2 or not isinstance(rows, list):
            return True
        assert self.pairs is not None
        n_rows, width = sum(len(r.dt) for r in rows), float(self.pairs.columns.width)
        multiplications = 0.5 * width**2 * n_rows * sum(c**2 - 1 for c in self.cards)
        return multiplications > COSTLY[self.engine.device.kind]


@final
@dataclass(frozen=True, eq=False)
class SparseBelief(NetworkBelief):
    """Beliefs over the sets of many candidates.

    Attributes
    ----------
    search
        How sets are weighed.
    candidates
        Per node the candidates that sets are made of; None: all pairs of all candidates.
    pooled
        Whether those were chosen after a pass over all pairs.
    """

    search: SetSearch
    candidates: Candidates | None
    pooled: bool = False

    @classmethod
    def start(cls, search: SetSearch) -> SparseBelief:
        """Variables that do not drive each other, but for required edges."""
        rules, one = search.rules, np.ones(1)
        smallest = [ParentSets(np.array([[*r, *[-1] * (not r)]]), rules.names) for r in rules.required]
        problems = tuple(search.build(i, sets) for i, sets in enumerate(smallest))
        nodes = tuple(
            NodeBelief.of_prior(p, Projection(s.numbers(0), s, search.cards), one) for p, s in zip(problems, smallest)
        )
        n, every = len(nodes), all(len(a) <= size for a, size in zip(rules.allowed, search.pool_sizes))
        candidates = rules.allowed if search.pairs is None or every else None
        return cls(problems, (one,) * n, (np.arange(1),) * n, nodes, ({},) * n, None, search, candidates)

    def update_weights(self, found: Expectation) -> SparseBelief:
        """Weigh the sets of every node, then choose the active ones."""
        search, candidates, pooled = self.search, self.candidates, self.pooled
        rows = search.engine.row_source(found.paths)
        if candidates is None:
            result = search.weigh_pairs(rows, found.paths)
            listing = search.heaviest(result)
            if search.needs_pools(rows):
                candidates, pooled = search.pools(result), True
        if candidates is not None:
            listing = search.weigh_inside(candidates, rows, found.paths)
        chosen = [self._activate(i, listing) for i in range(len(self.nodes))]
        active, nodes = tuple(a for a, _ in chosen), tuple(b for _, b in chosen)
        return replace(self, active=active, nodes=nodes, candidates=candidates, pooled=pooled)._list(listing)

    def confirm(self, found: Expectation) -> tuple[SparseBelief, bool]:
        """Look at all pairs once more where only pools were weighed; False if pools lack a parent that matters."""
        if not self.pooled:
            return self, True
        assert self.candidates is not None
        result = self.search.weigh_pairs(self.search.engine.row_source(found.paths), found.paths)
        for pool, sets, weights in zip(self.candidates, result.sets, result.weights):
            if any(w > MISSED and not set(pool).issuperset(sets.numbers(k)) for k, w in enumerate(weights)):
                return replace(self, candidates=self.search.pools(result)), False
        return (self._relist(self.search.heaviest(result)) if self.search.rules.largest <= 2 else self), True

    def pool_names(self) -> list[tuple[str, ...]] | None:
        """Per node the candidates that sets were made of, where not all were."""
        if self.candidates is None or not self.pooled or self.search.rules.largest <= 2:
            return None
        return [tuple(self.search.rules.names[j] for j in pool) for pool in self.candidates]

    def arrays(self) -> dict[str, Any]:
        """All that changes from round to round, by name; a pass over all pairs or the pools starts from the paths."""
        out = {
            **self.node_arrays(),
            **listed("sets", (p.sets.members for p in self.problems)),
            **listed("weights", self.weights),
            **listed("active", self.active),
            **listed("active_parents", (np.array(parents, np.int64) for parents in self.active_parents)),
        }
        if self.pooled:
            out.update(listed("candidates", (np.array(pool, np.int64) for pool in self.candidates or ())))
        if self.unlisted_edges is not None:
            out["unlisted_edges"] = self.unlisted_edges
        for i, tables in enumerate(self.extra_tables):
            out.update(listed(f"extra_tables/{i}/set", (np.array(numbers, np.int64) for numbers in tables)))
            out.update(listed(f"extra_tables/{i}/dwell", (dwell for dwell, _ in tables.values())))
            out.update(listed(f"extra_tables/{i}/transitions", (moves for _, moves in tables.values())))
        return out

    def restore(self, arrays: Arrays) -> SparseBelief:
        """The beliefs whose numbers `arrays` gave."""
        cards, n = self.search.cards, len(self.nodes)

        def numbers(name: str) -> list[tuple[int, ...]]:
            return [tuple(a.tolist()) for a in unlisted(arrays, name, n)]

        members = enumerate(unlisted(arrays, "sets", n))
        problems = tuple(self.search.build(i, ParentSets(m, self.search.rules.names)) for i, m in members)
        active = tuple(unlisted(arrays, "active", n))
        driving = [problem.take(some) for problem, some in zip(problems, active)]
        extra = []
        for i in range(n):
            count = sum(name.startswith(f"extra_tables/{i}/set/") for name in arrays)
            parts = (unlisted(arrays, f"extra_tables/{i}/{key}", count) for key in ("set", "dwell", "transitions"))
            extra.append({tuple(m.tolist()): (dwell, moves) for m, dwell, moves in zip(*parts)})
        pooled = "candidates/0" in arrays
        return SparseBelief(
            problems,
            tuple(unlisted(arrays, "weights", n)),
            active,
            restored_nodes(arrays, driving, numbers("active_parents"), cards),
            tuple(extra),
            arrays.get("unlisted_edges"),
            self.search,
            numbers("candidates") if pooled else self.candidates,
            pooled,
        )

    def _activate(self, node: int, listing: Listing) -> tuple[IntArray, NodeBelief]:
        """Let the heaviest sets of a node drive its paths: their numbers, and the belief over them."""
        cards, problem, weights = self.search.cards, listing.problems[node], listing.weights[node]
        active, parents = choose_active(problem, weights, cards, most_active_states(len(cards)))
        driving = problem.take(active)
        both = (np.concatenate(rows, dtype=float) for rows in zip(*(listing.table(node, int(k)) for k in active)))
        projection = Projection(parents, driving.sets, cards)
        share = weights[active] / weights[active].sum()
        return active, NodeBelief(driving, projection, share, *both)

    def _list(self, listing: Listing) -> SparseBelief:
        """The same active sets with other sets listed; tables are kept of sets that hold a noticeable edge."""
        edges, extra = edge_probabilities(listing.problems, listing.weights, listing.unlisted_edges), []
        for i, parents in enumerate(self.active_parents):
            sets = listing.problems[i].sets
            notable = {k: sets.numbers(k) for k in sets.notable(edges[:, i], listing.weights[i])}
            extra.append({m: listing.table(i, k) for k, m in notable.items() if not set(m) <= set(parents)})
        return replace(
            self,
            problems=listing.problems,
            weights=listing.weights,
            unlisted_edges=listing.unlisted_edges,
            extra_tables=tuple(extra),
        )

    def _relist(self, listing: Listing) -> SparseBelief:
        """Other sets listed, among them, perhaps at weight zero, those that drive the paths."""
        problems, weights, active = list(listing.problems), list(listing.weights), []
        for i, belief in enumerate(self.nodes):
            there = [problems[i].sets.numbers(k) for k in range(len(problems[i].sets))]
            driving = [belief.problem.sets.numbers(k) for k in range(len(belief.problem.sets))]
            there += (added := [m for m in driving if m not in set(there)])
            if added:
                members = np.array([[*m, *[-1] * (2 - len(m))] for m in there])
                problems[i] = self.search.build(i, ParentSets(members, self.search.rules.names))
                weights[i] = np.append(weights[i], np.zeros(len(added)))
            number = {m: k for k, m in enumerate(there)}
            active.append(np.array([number[m] for m in driving]))
        full = replace(listing, problems=tuple(problems), weights=tuple(weights))
        return replace(self, active=tuple(active))._list(full)


def most_active_states(n: int) -> int:
    """Joint states of the active parents of a node among n nodes: a power of two, the more the fewer nodes."""
    least, together, most = ACTIVE_STATES
    return int(2 ** np.floor(np.log2(max(least, min(most, together // n)))))


def choose_active(
    problem: NodeProblem, weights: FloatArray, cards: Sequence[int], most: int
) -> tuple[IntArray, tuple[int, ...]]:
    """Sets that drive the paths, and the union of their parents.

    Heaviest first, as long as the union has at most `most` joint states; light sets are left out.
    """
    order = np.argsort(-weights, kind="stable")
    chosen: list[int] = []
    parents: set[int] = set()
    for k in order:
        if chosen and weights[k] < SMALLEST_WEIGHT:
            break
        union = parents.union(problem.sets.numbers(int(k)))
        if prod(cards[j] for j in union) <= most or not chosen:
            parents = union
            chosen.append(int(k))
    return np.array(chosen), tuple(sorted(parents))
