"""One Markov chain over paths, parent sets and rates, whose stationary distribution is their posterior.

A sweep draws every path given its Markov blanket (`inference.gibbs`), then every node's parent set and rates given the
complete paths (`structure.set_draws`), the initial distribution, and the observation models that are learned
(`noise_draws`). Nothing is approximated; what a chain needs is time to forget where it began: the network without
edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.variables import Ids, Variable
from ctbnlearn.execute import head_start, scratch
from ctbnlearn.execute.memo import MEMO
from ctbnlearn.execute.path_store import PathStore, ShardedPaths, WholePaths
from ctbnlearn.execute.shards import Shards, Survey
from ctbnlearn.execute.workers import Workers
from ctbnlearn.inference import path_state
from ctbnlearn.learn.noise_draws import LearnedValues, NoiseDraws
from ctbnlearn.learn.pool_sizes import pool_size, sets_capacity
from ctbnlearn.learn.trail import NodeRecord, Stretch
from ctbnlearn.model.initial import InitialDistribution
from ctbnlearn.streams import streams
from ctbnlearn.structure import set_draws
from ctbnlearn.structure.cell_prior import mean_rates
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import ProjectedPrior, log_prior_parts
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring
from ctbnlearn.structure.pushes import EVEN

FILLED = 2 / 3  # of a pool's room that members drawn at random take up, on average
EXPLORE = 0.02  # chance of a candidate that was never a parent, beside one of probability one
FIRST_LOOK = 32  # sweeps after which chances are reset; twice as many every time
TOP = 16  # heaviest sets kept of a sweep
PARTS = ("net", "start", "priors", "drawn")  # of a chain that the next sweep depends on, besides the paths
OWN = ("random", "chance", "age")


class Task(NamedTuple):
    """What all chains have in common: data in one piece (`seen`) or in shards, rules and priors."""

    variables: tuple[Variable, ...]
    ids: Ids
    survey: Survey
    seen: path_state.Seen | None
    noise: LearnedValues  # none where the data are in shards
    shards: Shards | None
    rules: EdgeRules
    scoring: Scoring
    possible: Sequence[BoolArray | None]
    initial: InitialDistribution | None  # None: learn it

    @property
    def cards(self) -> list[int]:
        """Number of states of every variable."""
        return [v.n_states for v in self.variables]

    def apparent_rates(self) -> FloatArray:
        """Changes of every node between one observation and the next, at the most likely states, per unit of time."""
        return (1.0 + self.survey.changes) / max(self.survey.time, 1e-300)

    def problem(self, node: int, parents: Sequence[int], alone: Alone) -> NodeProblem:
        """Priors of a node with one parent set."""
        listed = ParentSets(np.array([[*parents, *[-1] * (not parents)]], np.int64), self.rules.names)
        mean, possible = alone.mean_rates(node, self.cards[node]), self.possible[node]
        return NodeProblem.build(node, listed, self.rules, self.cards, self.scoring, mean, possible)


class Alone(NamedTuple):
    """What nodes do without edges, which their priors are centred on: moves [x, x'], and time in x."""

    moves: FloatArray  # (N, widest, widest)
    dwell: FloatArray  # (N, widest)

    def mean_rates(self, node: int, card: int) -> FloatArray:
        """Mean rates (S, S) of a node of so many states."""
        return mean_rates(self.dwell[node, :card], self.moves[node, :card, :card])


class Chain:
    """A chain, at the network without edges.

    Parameters
    ----------
    task
        Data, rules and priors.
    seed
        Of this chain; None where `restore` follows.
    workers
        Who draws the paths, where the data are in shards.
    """

    def __init__(self, task: Task, seed: np.random.SeedSequence | None, workers: Workers | None = None) -> None:
        self.task = task
        self.card_array = np.array(task.cards, np.int64)
        cards, n = task.cards, len(task.cards)
        sizes = [pool_size(task.rules, i, cards) for i in range(n)]
        self.pools, most_states = make_pools(task.rules, cards, sizes)
        self.capacity = sets_capacity(task.rules, cards, sizes)
        wide = max(1, max(min(task.rules.limit(i), int(p)) for i, p in enumerate(self.pools.size)))
        self.net = path_state.make_net(cards, wide, most_states)
        self.drawn = set_draws.Drawn(
            np.zeros(len(self.net.exit)),
            np.zeros(len(self.net.step)),
            np.ones(len(self.net.step)),
            np.ones(len(self.net.step)),
            np.full(1, EVEN if task.scoring.pushed else 0.0),
            np.zeros((n, n)),
            np.full((n, TOP, wide), -1, np.int64),
            np.zeros((n, TOP)),
            np.zeros(n),
        )
        paths, own = (seed or np.random.SeedSequence(0)).spawn(2)
        if task.shards is None:
            assert task.seen is not None
            self.noise: NoiseDraws | None = NoiseDraws(task.noise, task.seen)
            self.paths: PathStore = WholePaths(self.noise.seen, None if seed is None else paths)
        else:
            assert workers is not None
            self.noise = None
            self.paths = ShardedPaths(task.shards, workers, None if seed is None else paths)
        self.random = streams(own, 1)[0]
        self.starts = np.zeros((n, max(cards)))
        initial = task.initial or InitialDistribution.build(task.variables)
        self.start = path_state.make_start(cards, initial)
        self.priors = make_priors(task, self.net.parents.shape[1])
        self.chance = np.full((n, n), -1.0)  # of a candidate to be in the pool; -1: the pool holds them all
        self.age = np.array([0, FIRST_LOOK])  # sweeps since chances were set, and after which they are reset
        self.set_chances(np.zeros((n, n)))
        self.evidence = 0.0
        self.stopped = False
        for i, (card, rate) in enumerate(zip(cards, task.apparent_rates())):  # the first paths, without parents
            path_state.set_node(
                self.net, cards, i, (), self.priors.possible[i, None, :card, :card] * rate / max(card - 1, 1)
            )

    def set_chances(self, share: FloatArray) -> None:
        """Let candidates into pools that cannot hold them all by how often [source, target] they were parents.

        Resetting chances at ever longer intervals leaves the posterior as it is: the changes die out.
        """
        for i, allowed in enumerate(self.task.rules.allowed):
            if len(allowed) > self.pools.capacity[i]:
                self.chance[:, i] = 0.0
                need = list(self.task.rules.required[i])
                self.chance[need, i] = 1.0
                free = [j for j in allowed if j not in need]
                wanted = max(1.0, FILLED * int(self.pools.capacity[i]) - len(need))
                self.chance[free, i] = shared_out(np.sqrt(share[free, i]) + EXPLORE, wanted)

    def sweep(self, empty: bool = False) -> None:
        """Draw everything once; with `empty`, parents stay as few as they may be."""
        self._draw_paths()
        if self.noise is not None and isinstance(self.paths, WholePaths):
            self.noise.step(self.paths.paths, self.random)
        head_start.finish()
        self.draw_rest(empty)

    def draw_rest(self, empty: bool = False) -> None:
        """Draw parents and rates of every node, and initial distributions, given the paths as they were counted."""
        self.evidence = set_draws.draw_sets(
            self.card_array,
            self.pools,
            self.chance,
            self.priors,
            self.net,
            self.drawn,
            self.capacity,
            empty,
            self.random,
        )
        if self.task.initial is None:
            initial = self.start
            set_draws.draw_initial(self.card_array, self.starts, initial.place, initial.probability, self.random)

    def _draw_paths(self) -> None:
        """Draw pools, and all paths given parents and rates."""
        set_draws.draw_pools(self.pools, self.chance, self.net, self.card_array, self.random)
        trouble = self.paths.draw(self.net, self.start, self.pools, self.starts)
        if trouble is not None:
            path_state.refuse(self.task.ids[trouble[0]], self.task.variables[trouble[1]].name)

    def settle(self, sweeps: int) -> Alone:
        """Sweeps without edges; returns transitions and time of every node, averaged over the later half."""
        self.sweep(empty=True)
        self.paths.tighten()
        found = Alone(np.zeros(self.priors.possible.shape), np.zeros(self.priors.rate.shape))
        for k in range(sweeps):
            if self.stopped:
                break
            self.sweep(empty=True)
            if 2 * k >= sweeps:
                for i, (card, own) in enumerate(zip(self.task.cards, self.records())):
                    found.moves[i, :card, :card] += own.moves.sum(0) / (sweeps - sweeps // 2)
                    found.dwell[i, :card] += own.dwell.sum(0) / (sweeps - sweeps // 2)
        self._forget()
        return found

    def adopt(self, parents: Sequence[tuple[int, ...]], rates: Sequence[FloatArray], sweeps: int) -> None:
        """Take a network, and draw paths from it: sweeps in which parents and rates stay as they are."""
        for i, (own, table) in enumerate(zip(parents, rates)):
            path_state.set_node(self.net, self.task.cards, i, own, table)
        for _ in range(sweeps):
            if self.stopped:
                break
            self._draw_paths()

    def screen(self) -> None:
        """Look at all candidates, each with the same chance to be in a pool, before chances are set."""
        most = max(
            len(allowed) / max(capacity, 1) for allowed, capacity in zip(self.task.rules.allowed, self.pools.capacity)
        )
        if most <= 1:
            return
        for _ in range(2 * int(np.ceil(most / FILLED))):
            if self.stopped:
                break
            self._step()
        self._look()

    def _step(self) -> None:
        self.sweep()
        self.age[0] += 1

    def _look(self) -> None:
        """Set chances by what was seen since the last time."""
        self.set_chances(self.drawn.edges / max(self.age[0], 1))
        self._forget()

    def advance(self, stretches: int, length: int) -> list[Stretch]:
        """Go on for some stretches of so many sweeps each; returns what they bring."""
        out: list[Stretch] = []
        for _ in range(stretches):
            edges, evidence = self.drawn.edges.copy(), 0.0
            for _ in range(length):
                if self.stopped:
                    return out
                self._step()
                evidence += self.evidence / length
            out.append(Stretch((self.drawn.edges - edges) / length, evidence, self.records()))
            if self.age[0] >= self.age[1]:
                self.age[1] *= 2
                self._look()
        return out

    def records(self) -> list[NodeRecord]:
        """All nodes as they are."""
        net, drawn, out = self.net, self.drawn, []
        for i, card in enumerate(self.task.cards):
            parents = tuple(net.parents[i, : net.n_parents[i]].tolist())
            size = int(np.prod([self.task.cards[j] for j in parents], dtype=int))
            dwell = drawn.dwell[net.leave[i] : net.leave[i] + size * card].reshape(size, card).copy()
            cells = slice(net.place[i], net.place[i] + size * card**2)
            moves, shape, rate = (
                part[cells].reshape(size, card, card).copy() for part in (drawn.moves, drawn.shape, drawn.rate)
            )
            starts = self.starts[i, :card].copy()
            sets, weights = drawn.top[i][drawn.top_weight[i] > 0], drawn.top_weight[i][drawn.top_weight[i] > 0]
            own = np.full(sets.shape[1], -1)
            own[: len(parents)] = parents
            if not (sets == own).all(1).any():  # one of many light ones
                sets, weights = np.vstack([sets, own]), np.append(weights, drawn.weight[i])
            noise = np.zeros(0) if self.noise is None else self.noise.parameters(i)
            out.append(NodeRecord(parents, dwell, moves, shape, rate, starts, sets, weights, noise))
        return out

    def _forget(self) -> None:
        self.drawn.edges[:] = 0.0
        self.age[0] = 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that the next sweep depends on, by name."""
        parts = {name: getattr(self, name)._asdict() for name in PARTS}
        parts["paths"] = self.paths.arrays()
        out = {f"{name}/{key}": value for name, part in parts.items() for key, value in part.items()}
        noise = {} if self.noise is None else self.noise.arrays()
        return {**out, **{key: getattr(self, key) for key in OWN}, **noise}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave."""
        for name in PARTS:
            part = getattr(self, name)
            setattr(self, name, type(part)(*(np.array(arrays[f"{name}/{key}"]) for key in part._fields)))
        for key in OWN:
            setattr(self, key, np.array(arrays[key]))
        self.paths.restore({k.removeprefix("paths/"): v for k, v in arrays.items() if k.startswith("paths/")})
        if self.noise is not None:
            self.noise.restore(arrays)

    def take_over(self, other: Chain) -> None:
        """Go on from where another chain is, with random numbers of one's own."""
        random = self.random.copy()
        for name in PARTS:
            part = getattr(other, name)
            setattr(self, name, type(part)(*map(np.array, part)))
        for key in OWN:
            setattr(self, key, np.array(getattr(other, key)))
        self.random = random
        self.paths.take_over(other.paths)
        if self.noise is not None and other.noise is not None:
            self.noise.restore(other.noise.arrays())


def chain_step(task: Any, arrays: Mapping[str, NDArray[Any]], step: str, arguments: Sequence[Any]) -> tuple[Any, Any]:
    """A method of a chain as a pure function: task and state to the next state, and what the method returned."""
    if isinstance(task, scratch.Kept):
        task = MEMO.get((task.path, 0), lambda: scratch.read(task), 1 << 62)
    chain = Chain(task, None)
    chain.restore(arrays)
    out = getattr(chain, step)(*arguments)
    return chain.arrays(), out


def shared_out(weights: FloatArray, total: float) -> FloatArray:
    """Chances in proportion to the weights, one at most, that add up to a total.

    >>> shared_out(np.array([6.0, 2.0, 1.0]), 2.0).round(3).tolist()
    [1.0, 0.667, 0.333]
    """
    out, left = np.ones(len(weights)), np.ones(len(weights), bool)
    while left.any():
        out[left] = weights[left] * (total - (~left).sum()) / weights[left].sum()
        if (out[left] <= 1).all():
            break
        left &= out < 1
        out[~left] = 1.0
    return out


def make_pools(rules: EdgeRules, cards: Sequence[int], sizes: Sequence[int]) -> tuple[set_draws.Pools, list[int]]:
    """Empty pools, those that hold all candidates filled; and the most joint states of a set of every node."""
    n = len(cards)
    joint, states = [], []
    for i, size in enumerate(sizes):
        largest = sorted((cards[j] for j in rules.allowed[i]), reverse=True)
        joint.append(int(np.prod(largest[:size], dtype=int)))
        states.append(int(np.prod(largest[: min(size, rules.limit(i))], dtype=int)))
    dwell = np.array(joint) * np.array(cards)
    moves = dwell * np.array(cards)
    pools = set_draws.Pools(
        np.array(sizes, np.int64),
        np.array(sizes, np.int64),
        np.full((n, max(1, *sizes)), -1, np.int64),
        np.zeros(n, np.bool_),
        np.zeros((n, n), np.int64),
        np.ones(n, np.int64),
        np.concatenate([[0], np.cumsum(dwell)[:-1]]).astype(np.int64),
        np.concatenate([[0], np.cumsum(moves)[:-1]]).astype(np.int64),
        np.zeros(int(dwell.sum())),
        np.zeros(int(moves.sum())),
    )
    for i, size in enumerate(sizes):
        if len(rules.allowed[i]) <= size:
            pools.members[i, :size] = rules.allowed[i]
            set_draws.number_joint(pools, i, np.asarray(cards, np.int64))
    return pools, states


def make_priors(task: Task, most_parents: int) -> set_draws.Priors:
    """Priors; unless they are given, their mean is the apparent rate until `centre_prior`."""
    rules, cards, n = task.rules, task.cards, len(task.cards)
    widest = max(cards)
    required, limit = np.zeros((n, n), np.bool_), np.zeros(n, np.int64)
    by_size, odds = np.full((n, n + 1), -np.inf), np.zeros((n, n))
    shape, rate = np.ones(n), np.repeat(1.0 / task.apparent_rates()[:, None], widest, 1)
    full, share = np.zeros(n), np.zeros((n, n))
    possible = np.zeros((n, widest, widest), np.bool_)
    for i, card in enumerate(cards):
        required[i, list(rules.required[i])] = True
        limit[i] = min(rules.limit(i), most_parents)
        sizes, odds[i] = log_prior_parts(
            task.scoring.structure_prior, n, i, rules.allowed[i], rules.required[i], rules.limit(i)
        )
        by_size[i, : len(sizes)] = sizes
        mask = ~np.eye(card, dtype=bool)
        given = task.possible[i]
        possible[i, :card, :card] = mask if given is None else mask & given
        prior = task.scoring.rate_prior
        if isinstance(prior, ProjectedPrior):
            shape[i], rate[i] = prior.shape, prior.rate
            log_card = np.log(np.asarray(cards, float))
            pool = log_card[list(rules.allowed[i])]
            whole = rules.max_parents is None or rules.max_parents >= len(pool)
            share[i] = log_card if whole else pool.mean()
            full[i] = pool.sum() if whole else pool.mean() * (rules.max_parents or 0)
        elif not isinstance(prior, str):
            shape[i], rate[i] = prior
    return set_draws.Priors(required, limit, by_size, odds, shape, rate, full, share, possible)


def centre_prior(priors: set_draws.Priors, task: Task, alone: Alone) -> None:
    """Unless priors are given, put their means where nodes without edges have their rates out of every state."""
    if isinstance(task.scoring.rate_prior, str):
        for i, card in enumerate(task.cards):
            priors.rate[i, :card] = task.problem(i, task.rules.required[i], alone).rate[0]
