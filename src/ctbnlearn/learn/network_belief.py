"""What is believed of the whole network during learning: a `NodeBelief` per node, and how it is revised.

`DenseBelief` lists the joint states of all candidate parents of a node and weighs every set from that one table.
`SparseBelief` is for many candidates: a node's paths depend on a handful of active parents, those in its sets of
noticeable weight. All sets of up to two parents are weighed by matrix products; larger sets, and every set where those
products would take long, inside a pool of the most promising parents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.inference.engine import JointTables, PathEngine, PathRates
from ctbnlearn.inference.rows import Rows
from ctbnlearn.learn.local_evidence import local_weights
from ctbnlearn.learn.tensor_file import Arrays, listed, unlisted
from ctbnlearn.structure.all_pairs import AllPairs, PairResult, pool_sizes
from ctbnlearn.structure.belief import NodeBelief
from ctbnlearn.structure.expected import PoolMoments, pool_moments
from ctbnlearn.structure.parent_sets import ParentSets, enumerate_sets
from ctbnlearn.structure.problem import EdgeRules, NodeProblem
from ctbnlearn.structure.projection import Projection
from ctbnlearn.structure.tables import Group, table_of

MOST_JOINT_STATES = 256  # joint states of the candidates up to which all are listed
ACTIVE_STATES = 16, 640, 256  # joint states of the active parents of a node: at least; of all nodes; at most
SMALLEST_WEIGHT = 1e-4  # sets of less weight do not drive the paths
HOPELESS = 1e-6  # sets of less weight are not looked at again at the end
MISSED = 1e-2  # weight from which on a set outside the pools matters
COSTLY = {"cpu": 1e12, "gpu": 1e16}  # multiplications from which on the pass over all pairs is not made every round

RowSource = list[Rows] | Callable[[], Iterable[Rows]]  # rows, or what makes them anew


class DenseBelief:
    """Beliefs over all parent sets, each node's pool being all its candidates.

    Attributes
    ----------
    pools
        Per node the parents its path rates depend on.
    beliefs
        Per node the belief over sets inside the pool.
    weights
        Per node the weights of all its sets.
    active
        Per node the numbers of the sets in its belief.
    noted
        Per node the tables of sets outside the pool that hold an edge of noticeable probability.
    room
        Active parents and joint states that the path rates make room for.
    mean_field
        Whether paths are inferred by naive mean field.
    """

    room = (1, 1)
    mean_field = False

    def __init__(
        self,
        problems: Sequence[NodeProblem],
        cards: Sequence[int],
        pools: Sequence[tuple[int, ...]],
        weights: Sequence[FloatArray],
    ) -> None:
        self.problems, self.cards = list(problems), list(cards)
        self.pools = [tuple(p) for p in pools]
        self.weights = list(weights)
        self.active: list[IntArray] = [np.arange(len(w)) for w in weights]
        self.beliefs = [
            NodeBelief(p, Projection(pool, p.sets, cards), w) for p, pool, w in zip(problems, self.pools, weights)
        ]
        self.noted: list[dict[tuple[int, ...], tuple[FloatArray, FloatArray]]] = [{} for _ in problems]

    def update_rates(self, found: JointTables) -> None:
        """Rate posteriors from expected statistics."""
        for belief, dwell, transitions in zip(self.beliefs, found.dwell, found.transitions):
            belief.update_rates(dwell, transitions)

    def reweigh(self, engine: PathEngine, rates: PathRates, found: JointTables) -> None:
        """Weights from expected statistics."""
        self.update_rates(found)
        for belief in self.beliefs:
            belief.update_weights()
        self.weights = [b.weights for b in self.beliefs]

    def hopeful(self) -> list[IntArray]:
        """Per node which of the sets in its belief are looked at again when EM has ended."""
        return [np.flatnonzero(b.weights >= HOPELESS) for b in self.beliefs]

    def refine(self, engine: PathEngine, rates: PathRates) -> None:
        """Weigh the hopeful sets by their local evidence (`local_weights`); others keep their weight."""
        hopeful = self.hopeful()
        for i, share in enumerate(local_weights(engine, rates, self.beliefs, hopeful)):
            chosen = self.active[i][hopeful[i]]
            weights = self.weights[i].copy()
            weights[chosen] = weights[chosen].sum() * share
            self.weights[i] = weights

    def settled(self, engine: PathEngine, rates: PathRates) -> bool:
        """Whether the sets weighed so far will do; called when EM has converged."""
        return True

    def pool_names(self) -> list[tuple[str, ...]] | None:
        """Per node the candidates that sets were made of, where not all were."""
        return None

    def tables(self, found: JointTables) -> list[list[tuple[int, FloatArray, FloatArray]]]:
        """Per node the numbers of some parent sets, with their tables (U, S) and (U, S, S).

        First the heaviest of those that drive the paths; then, of the sets whose tables are at hand, those in which
        edges of noticeable probability weigh most.
        """
        out = []
        for i, edges in enumerate(self.edges().T):
            sets, weights, active = self.problems[i].sets, self.weights[i], self.active[i]
            at_hand = [self._at_hand(i, sets.numbers(k)) for k in range(len(sets))]
            best = int(active[np.argmax(weights[active])])
            others = sets.notable(edges, weights * at_hand)
            chosen = [best, *(k for k in others if k != best)]
            out.append([(k, *self._table(i, sets.take(np.array([k])), found)) for k in chosen])
        return out

    def _at_hand(self, node: int, parents: tuple[int, ...]) -> bool:
        return set(parents) <= set(self.pools[node]) or parents in self.noted[node]

    def _table(self, node: int, single: ParentSets, found: JointTables) -> tuple[FloatArray, FloatArray]:
        """Tables of one set, from the joint table of the active parents where they hold it."""
        parents = single.numbers(0)
        if not set(parents) <= set(self.pools[node]):
            return self.noted[node][parents]
        projection = Projection(self.pools[node], single, self.cards)
        return projection.gather(found.dwell[node]), projection.gather(found.transitions[node])

    def edges(self) -> FloatArray:
        """Probability of every edge [source, target]."""
        return np.stack([p.sets.edge_probabilities(w) for p, w in zip(self.problems, self.weights)], axis=1)

    def path_rates(self, initial: Sequence[FloatArray]) -> PathRates:
        """Path rates of all nodes."""
        both = [belief.path_rates() for belief in self.beliefs]
        return self.on_joint_states([b[0] for b in both], [b[1] for b in both], initial)

    def on_joint_states(
        self, geometric: Sequence[FloatArray], arithmetic: Sequence[FloatArray], initial: Sequence[FloatArray]
    ) -> PathRates:
        """Path rates from tables on the joint states of the pools."""
        return PathRates(self.cards, self.pools, geometric, arithmetic, initial, self.room, self.mean_field)

    def divergence(self) -> float:
        """The part of F that does not depend on the paths."""
        return sum(belief.divergence() for belief in self.beliefs)

    def arrays(self) -> dict[str, Any]:
        """All that changes from round to round, by name."""
        return {
            **listed("belief/weights", (b.weights for b in self.beliefs)),
            **listed("belief/dwell", (b.dwell for b in self.beliefs)),
            **listed("belief/transitions", (b.transitions for b in self.beliefs)),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` gave."""
        n = len(self.cards)
        tables = zip(unlisted(arrays, "belief/dwell", n), unlisted(arrays, "belief/transitions", n))
        for belief, weights, rows in zip(self.beliefs, unlisted(arrays, "belief/weights", n), tables):
            belief.weights = weights
            belief.set_rows(*rows)
        self.weights = [b.weights for b in self.beliefs]


class SparseBelief(DenseBelief):
    """Beliefs over the sets of many candidates, with few active parents a node.

    `problems` and `weights` cover the sets that are listed: all of them for mixture weights and inside pools, the
    heaviest ones after a pass over all pairs.

    Parameters
    ----------
    build
        Makes the problem of a node for given sets.
    rules, cards
        Which sets are admitted; number of states of every variable.
    pairs
        Weighs all sets of up to two parents; None for mixture weights, where all sets are listed.
    pool_size
        Parents a pool holds; None for as many as give some hundred sets.
    """

    def __init__(
        self,
        build: Callable[[int, ParentSets], NodeProblem],
        rules: EdgeRules,
        cards: Sequence[int],
        pairs: AllPairs | None,
        pool_size: int | None = None,
    ) -> None:
        n = len(cards)
        smallest = [ParentSets(np.array([[*r, *[-1] * (not r)]]), rules.names) for r in rules.required]
        problems = [build(i, sets) for i, sets in enumerate(smallest)]
        super().__init__(problems, cards, [tuple(s.numbers(0)) for s in smallest], [np.ones(1)] * n)
        self.build, self.rules, self.pairs = build, rules, pairs
        self.most = most_active_states(n)
        self.room = (int(np.log2(self.most)), self.most)
        self._sizes = pool_sizes(rules, pool_size)
        everything = all(len(a) <= size for a, size in zip(rules.allowed, self._sizes))
        # candidates that sets are made of; None: all pairs of all candidates
        self.candidates = [tuple(a) for a in rules.allowed] if pairs is None or everything else None
        self._result: PairResult | None = None  # of the last pass over all pairs
        self._groups: list[list[Group]] | None = None  # tables of the listed sets, where they are those of pools
        self._beyond: FloatArray | None = None  # edge probabilities from sets that are not listed
        self._pooled = False  # whether the candidates were chosen after a pass over all pairs

    def reweigh(self, engine: PathEngine, rates: PathRates, found: JointTables) -> None:
        """Weigh the sets of every node, then choose the active ones."""
        rows = list(engine.rows()) if engine.keep_rows else engine.rows
        if self.candidates is None:
            self._list(self._weigh_pairs(rows, rates))
            costly = self._cost(rows) > COSTLY[engine.device.kind]
            if self.rules.largest > 2 or costly:
                self.candidates, self._pooled = self._pools(), True
        if self.candidates is not None:
            self._weigh_pools(rows, rates)
        self._activate()
        self._note()

    def settled(self, engine: PathEngine, rates: PathRates) -> bool:
        """Look at all pairs once more where only pools were weighed; False if pools lack a parent that matters."""
        if not self._pooled:
            return True
        assert self.candidates is not None
        pools = [set(c) for c in self.candidates]
        rows = list(engine.rows()) if engine.keep_rows else engine.rows
        result = self._weigh_pairs(rows, rates)
        missed = [
            any(w > MISSED and not pool.issuperset(sets.numbers(k)) for k, w in enumerate(weights))
            for pool, sets, weights in zip(pools, result.sets, result.weights)
        ]
        if any(missed):
            self.candidates = self._pools()
            return False
        if self.rules.largest <= 2:
            self._list(result)
            self._locate_active()
            self._note()
        return True

    def _locate_active(self) -> None:
        """Number the sets that drive the paths among those now listed; light ones may have to be added."""
        for i, belief in enumerate(self.beliefs):
            listed = [self.problems[i].sets.numbers(k) for k in range(len(self.problems[i].sets))]
            driving = [belief.problem.sets.numbers(k) for k in range(len(belief.problem.sets))]
            listed += (added := [m for m in driving if m not in set(listed)])
            if added:
                members = np.array([[*m, *[-1] * (2 - len(m))] for m in listed])
                self.problems[i] = self.build(i, ParentSets(members, self.rules.names))
                self.weights[i] = np.append(self.weights[i], np.zeros(len(added)))
            number = {m: k for k, m in enumerate(listed)}
            self.active[i] = np.array([number[m] for m in driving])

    def arrays(self) -> dict[str, Any]:
        """All that changes from round to round, by name; a pass over all pairs or the pools starts from the paths."""
        out = {
            **super().arrays(),
            **listed("sets", (p.sets.members for p in self.problems)),
            **listed("weights", self.weights),
            **listed("active", self.active),
            **listed("active_parents", (np.array(pool, np.int64) for pool in self.pools)),
        }
        if self._pooled:
            out.update(listed("pool", (np.array(pool, np.int64) for pool in self.candidates or ())))
        if self._beyond is not None:
            out["beyond"] = self._beyond
        for i, noted in enumerate(self.noted):
            out.update(listed(f"noted/{i}/set", (np.array(numbers, np.int64) for numbers in noted)))
            out.update(listed(f"noted/{i}/dwell", (dwell for dwell, _ in noted.values())))
            out.update(listed(f"noted/{i}/transitions", (moves for _, moves in noted.values())))
        return out

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` gave."""
        n = len(self.cards)
        sets = [ParentSets(members, self.rules.names) for members in unlisted(arrays, "sets", n)]
        self.problems = [self.build(i, s) for i, s in enumerate(sets)]
        self.active = unlisted(arrays, "active", n)
        self.pools = [tuple(pool.tolist()) for pool in unlisted(arrays, "active_parents", n)]
        driving = [problem.take(active) for problem, active in zip(self.problems, self.active)]
        self.beliefs = [
            NodeBelief(problem, Projection(pool, problem.sets, self.cards), np.ones(len(problem.sets)))
            for problem, pool in zip(driving, self.pools)
        ]
        super().restore(arrays)
        self.weights = unlisted(arrays, "weights", n)
        self._beyond = arrays.get("beyond")
        for i in range(n):
            count = sum(name.startswith(f"noted/{i}/set/") for name in arrays)
            numbers, *both = (unlisted(arrays, f"noted/{i}/{key}", count) for key in ("set", "dwell", "transitions"))
            self.noted[i] = {tuple(m.tolist()): tables for m, tables in zip(numbers, zip(*both))}
        self._pooled = "pool/0" in arrays
        if self._pooled:
            self.candidates = [tuple(pool.tolist()) for pool in unlisted(arrays, "pool", n)]

    def pool_names(self) -> list[tuple[str, ...]] | None:
        """Per node the candidates that sets were made of, where not all were."""
        if self.candidates is None or not self._pooled or self.rules.largest <= 2:
            return None
        return [tuple(self.rules.names[j] for j in pool) for pool in self.candidates]

    def edges(self) -> FloatArray:
        """Probability of every edge [source, target], of sets not listed too."""
        out = super().edges()
        return out if self._beyond is None else out + self._beyond

    def _cost(self, rows: RowSource) -> float:
        """Multiplications of a pass over all pairs, roughly."""
        assert self.pairs is not None
        if not isinstance(rows, list):
            return np.inf
        width = float(self.pairs.columns.width)
        return 0.5 * width**2 * sum(len(r.dt) for r in rows) * sum(c**2 - 1 for c in self.cards)

    def _weigh_pairs(self, rows: RowSource, rates: PathRates) -> PairResult:
        assert self.pairs is not None
        self._result = self.pairs.run(rows, rates.tilt)
        return self._result

    def _list(self, result: PairResult) -> None:
        """List the heaviest sets of a pass over all pairs."""
        self.problems = [self.build(i, sets) for i, sets in enumerate(result.sets)]
        self.weights = list(result.weights)
        self._beyond = self._groups = None
        self._beyond = np.maximum(result.edges - self.edges(), 0.0)

    def _pools(self) -> list[tuple[int, ...]]:
        assert self._result is not None
        return self._result.pools(self.rules, self._sizes)

    def _weigh_pools(self, rows: RowSource, rates: PathRates) -> None:
        """Weigh every set inside the pools, from sums over the rows."""
        assert self.candidates is not None
        moments = self._moments(self.candidates, rates, self.rules.largest)
        pool_moments(rows if isinstance(rows, list) else rows(), moments)
        self.problems, self.weights, self._groups = [], [], []
        for i, pool in enumerate(self.candidates):
            sets = enumerate_sets(pool, self.rules.required[i], self.rules.max_parents, self.rules.names, i)
            problem = self.build(i, sets)
            groups = list(moments[i].groups(sets))
            self.problems.append(problem)
            self.weights.append(problem.weights(groups))
            self._groups.append(groups)
        self._beyond = None

    def _moments(self, pools: Sequence[tuple[int, ...]], rates: PathRates, largest: int) -> list[PoolMoments]:
        return [
            PoolMoments(i, pool, rates.parents[i], rates.tilt.geometric[i, :u, :s, :s], self.cards, largest)
            for i, (pool, u, s) in enumerate(zip(pools, rates.sizes, self.cards))
        ]

    def _activate(self) -> None:
        """Let the heaviest sets of every node drive its paths."""
        self.pools, self.beliefs = [], []
        for i, problem in enumerate(self.problems):
            active, pool = choose_active(problem, self.weights[i], self.cards, self.most)
            driving = problem.take(active)
            share = self.weights[i][active] / self.weights[i][active].sum()
            belief = NodeBelief(driving, Projection(pool, driving.sets, self.cards), share)
            dwell = np.zeros((len(belief.projection.owner), self.cards[i]))
            moves = np.zeros((*dwell.shape, self.cards[i]))
            for k, number in enumerate(active):
                rows = slice(belief.projection.first[k], belief.projection.first[k] + belief.projection.sizes[k])
                dwell[rows], moves[rows] = self._tables(i, int(number))
            belief.set_rows(dwell, moves)
            self.active[i] = active
            self.pools.append(pool)
            self.beliefs.append(belief)

    def _note(self) -> None:
        """Keep the tables of sets that hold an edge of noticeable probability, but drive no paths."""
        for i, edges in enumerate(self.edges().T):
            sets = self.problems[i].sets
            outside = [
                k for k in sets.notable(edges, self.weights[i]) if not set(sets.numbers(k)) <= set(self.pools[i])
            ]
            self.noted[i] = {sets.numbers(k): self._tables(i, k) for k in outside}

    def _tables(self, node: int, number: int) -> tuple[FloatArray, FloatArray]:
        """Tables (U, S) and (U, S, S) of a listed set."""
        if self._groups is not None:
            return table_of(self._groups[node], number)
        assert self._result is not None
        return self._result.table(node, number, self.cards)


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
    pool: set[int] = set()
    for k in order:
        if chosen and weights[k] < SMALLEST_WEIGHT:
            break
        union = pool.union(problem.sets.numbers(int(k)))
        if prod(cards[j] for j in union) <= most or not chosen:
            pool = union
            chosen.append(int(k))
    return np.array(chosen), tuple(sorted(pool))
