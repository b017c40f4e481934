"""Learning by blocks, from the observations to what a learner tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from threadpoolctl import threadpool_limits

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute.block_shards import BlockShards
from ctbnlearn.execute.local import Threads
from ctbnlearn.execute.workers import Workers
from ctbnlearn.inference.block_evidence import BlockEvidence, Evidence
from ctbnlearn.inference.device import PROCESSOR, Device
from ctbnlearn.inference.methods import Blocks
from ctbnlearn.learn.block_draws import as_tables
from ctbnlearn.learn.block_fit import BlockFitter, Fit, Network
from ctbnlearn.learn.block_judge import Weighed
from ctbnlearn.learn.block_search import NodeSearch, Screen, next_blocks, screen, search_round
from ctbnlearn.learn.checkpoint import Checkpoint, Saved, taking_up
from ctbnlearn.learn.decoupled import fit_decoupled
from ctbnlearn.learn.progress import Callback, Progress
from ctbnlearn.result.rate_table import RateTable
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import EdgeRules, Scoring
from ctbnlearn.structure.pushes import EVEN

MOST_LISTED = 64  # parent sets of a node
DRAWS = 400  # of the rates of a set
SHARE_STEPS = 20


@dataclass(frozen=True, eq=False)
class Found:
    """What blocks found.

    Attributes
    ----------
    sets, weights
        Per node the heaviest parent sets, and their weights; what these lack to one is that of sets not listed.
    edges : (n, n)
        Probability of every edge.
    tables
        Per node the rates under the best set, then under others that were fitted.
    starts
        Per node the expected number of trajectories that begin in each state.
    gained
        After every round, the log odds of the best sets against the smallest ones, summed over nodes.
    settled
        Whether every fit has converged.
    """

    sets: list[ParentSets]
    weights: list[FloatArray]
    edges: FloatArray
    tables: list[list[RateTable]]
    starts: list[FloatArray]
    gained: tuple[float, ...]
    settled: bool


def fit_blocks(
    obs: Incomplete,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    method: Blocks,
    initial: Sequence[FloatArray] | None,
    device: Device,
    progress: Progress,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    workers: Workers | None = None,
    limit: int = 1 << 62,
) -> Found:
    """Learn by blocks; parameters are those of `StructureLearner`, `initial` None to learn the initial distribution.

    Parameters
    ----------
    obs, rules, scoring, possible, method, initial
        What is learned from, in canonical order, and how.
    device
        An accelerator of this process takes observations in memory; otherwise they are in shards.
    progress, callback, checkpoint
        Told of every round.
    workers, limit
        Who works on shards, and how many bytes of them each may keep; default: this process.
    """
    check_states(obs, method)
    with threadpool_limits(1):  # small matrices, worked on side by side: threads of BLAS would fight over cores
        if device.kind != "cpu" and device.handle is not None:
            assert isinstance(obs, Observations)
            return _fit(obs, rules, scoring, possible, method, initial, device, progress, callback, checkpoint)
        own = workers or Threads()
        shards = BlockShards(obs, own, limit, device if device.kind != "cpu" else PROCESSOR)
        try:
            return _fit(obs, rules, scoring, possible, method, initial, shards, progress, callback, checkpoint)
        finally:
            shards.close()
            if workers is None:
                own.close()


def _fit(
    obs: Incomplete,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    method: Blocks,
    initial: Sequence[FloatArray] | None,
    where: Device | BlockShards,
    progress: Progress,
    callback: Callback | None,
    checkpoint: Checkpoint | None,
) -> Found:
    size = f"{len(rules.names)} variables, {obs.n_trajectories} trajectories"
    progress.tell("start", f"{size}: each variable by itself")
    saved = None if checkpoint is None else checkpoint.load()
    gained: list[float]
    fitter, starts = make_fitter(obs, rules, scoring, possible, method, initial, where)
    if saved is None:
        found, gained = screen(fitter, lambda text: progress.tell("pairs", text)), []
        nodes = [NodeSearch({}, frozenset())] * len(rules.names)
    else:
        progress.tell("start", f"on from the checkpoint of round {saved.round}")
        with taking_up():
            found, nodes, gained = unpack(saved)
    most = method.most(fitter.cards)
    for turn in range(len(gained), method.rounds):
        blocks = next_blocks(fitter, found, nodes, most, method.states)
        if not blocks:
            break
        message = f"round {turn + 1} of at most {method.rounds}: {len(blocks)} blocks of variables"
        progress.count("blocks", message, turn, method.rounds)
        nodes = search_round(fitter, nodes, blocks)
        gained.append(float(sum(_gain(own) for own in nodes)))
        if checkpoint is not None:
            checkpoint.save(pack(found, nodes, gained))
        if callback is not None:
            callback(turn + 1, gained[-1])
    share = pushed_share(nodes) if scoring.pushed else EVEN
    nodes = [own.with_share(share) for own in nodes]
    sets, weights, edges = weigh(fitter, found, nodes)
    tables = [rate_tables(fitter, own, sets[i], weights[i], edges[:, i], share) for i, own in enumerate(nodes)]
    settled = all(one.fit.settled for own in nodes for one in own.weighed.values() if one.fit is not None)
    return Found(sets, weights, edges, tables, starts, tuple(gained), settled)


def check_states(obs: Incomplete, method: Blocks) -> None:
    """Raise where even a pair of variables has too many joint states."""
    largest = sorted(obs.variables, key=lambda v: -v.n_states)[:2]
    if prod(v.n_states for v in largest) > method.states:
        v = largest[0]
        raise ParameterError(
            f"variable {v.name!r} has {v.n_states} states, and a block of it and another one more than "
            f"{method.states} joint states; merge its states, or raise Blocks(states=...)"
        )


def make_fitter(
    obs: Incomplete,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    method: Blocks,
    initial: Sequence[FloatArray] | None,
    where: Device | BlockShards,
) -> tuple[BlockFitter, list[FloatArray]]:
    """Fit every variable by itself, on a device or in shards; also the expected number of starts in its states."""
    alone = fit_decoupled(obs, possible, where if isinstance(where, BlockShards) else None)
    cards = [v.n_states for v in obs.variables]
    fast = np.sort([float(r.sum(1).max()) for r in alone])[-method.members - 1 :]  # a block may have one more
    evidence: Evidence
    if isinstance(where, BlockShards):
        evidence = where.lay_out(float(fast.sum()))
    else:
        assert isinstance(obs, Observations)
        evidence = BlockEvidence(obs, float(fast.sum()), where)
    off = [~np.eye(c, dtype=bool) for c in cards]
    free = [o if p is None else o & p for o, p in zip(off, possible)]
    start = [np.full(c, 1.0 / c) for c in cards] if initial is None else list(initial)
    fitter = BlockFitter(evidence, cards, alone, start, initial is None, free, rules, scoring)
    starts = [np.zeros(c) for c in cards]
    for _ in range(4 if initial is None else 1):
        for some in fitter.by_shape([(i,) for i in range(len(cards))]):
            nodes = np.array(some)[:, None]
            found = evidence.totals(nodes, fitter.alone_rates(some), np.stack([start[i] for i in some]))
            for i, own in zip(some, found.starts):
                starts[i] = own
                if initial is None:
                    start[i] = (own + 1.0) / (own + 1.0).sum()
    return fitter, starts


def weigh(
    fitter: BlockFitter, found: Screen, nodes: Sequence[NodeSearch]
) -> tuple[list[ParentSets], list[FloatArray], FloatArray]:
    """Heaviest sets of every node with their weights, and probabilities of all edges.

    A candidate that never was in a block joins the sets found with the odds that its pair gave it, or those of
    `Screen.left_out`, but no large ones: others explained the variable better.
    """
    n, rules = len(nodes), fitter.rules
    edges, sets, weights = np.zeros((n, n)), [], []
    for i, own in enumerate(nodes):
        order = sorted(own.weighed, key=lambda m: (-own.weighed[m].log_weight, m))
        share = np.exp([own.weighed[m].log_weight - own.weighed[order[0]].log_weight for m in order])
        rest = np.array([j for j in rules.allowed[i] if j not in own.tried], np.int64)
        odds = np.exp(found.left_out(i, rest))
        open_to_more = share * [len(m) < rules.limit(i) for m in order]  # weight of the sets that one more may join
        total = share.sum() + open_to_more.sum() * odds.sum()
        edges[rest, i] = open_to_more.sum() * odds / total
        for m, w in zip(order, (share + open_to_more * odds.sum()) / total):
            edges[list(m), i] += w
        share /= total
        best = order[:MOST_LISTED]
        wide = max(1, *map(len, best))
        sets.append(ParentSets(np.array([[*m, *[-1] * (wide - len(m))] for m in best], np.int64), rules.names))
        weights.append(share[: len(best)])
    return sets, weights, edges


def pushed_share(nodes: Sequence[NodeSearch]) -> float:
    """The share of variables with parents that these push: its posterior mean, by EM over sets and variables."""
    share = EVEN
    for _ in range(SHARE_STEPS):
        pushed = driven = 0.0
        for own in nodes:
            log_weight = np.array([one.with_share(share).log_weight for one in own.weighed.values()])
            weight = np.exp(log_weight - log_weight.max())
            for one, w in zip(own.weighed.values(), weight / weight.sum()):
                if one.fit is not None and one.network.sets[0]:
                    driven += w
                    pushed += w * one.fit.pushed(share)
        share = (1.0 + pushed) / (2.0 + driven)
    return share


def rate_tables(
    fitter: BlockFitter, own: NodeSearch, sets: ParentSets, weights: FloatArray, edges: FloatArray, share: float
) -> list[RateTable]:
    """Rates under the heaviest set that was fitted, then under those in which notable edges weigh most."""
    fitted = np.array([own.weighed[sets.numbers(k)].fit is not None for k in range(len(sets))])
    best = int(np.argmax(weights * fitted))
    chosen = [best, *(k for k in sets.notable(edges, weights * fitted) if k != best)]
    return [rate_table(fitter, own.weighed[sets.numbers(k)], share) for k in chosen]


def rate_table(fitter: BlockFitter, one: Weighed, share: float) -> RateTable:
    """Posterior of the rates of a block's first member under a set that was fitted.

    It is normal in their logarithms; as far as parents push it, draws are taken by how likely pushes make them.
    """
    network, fit = one.network, one.fit
    assert fit is not None
    positions, node = network.sets[0], network.members[0]
    parents = [network.members[k] for k in positions]
    own, u = fitter.cards[node], prod(fitter.shape(parents))
    shape, rate = fitter.prior(node, parents)
    order = np.argsort(parents)  # tables have their parents in the order of their numbers
    numbers = tuple(int(parents[k]) for k in order)
    within = np.arange(u).reshape(fitter.shape(parents)).transpose(order).reshape(-1)
    possible = fitter.possible[node]
    drawn = fitter.draws(network, fit.log_rates, fit.covariance, DRAWS)
    draws = np.exp(drawn.logs[:, within]) * possible
    size = (own - 1) * own * u
    mean = fit.log_rates[:size] + 0.5 * np.minimum(np.diag(fit.covariance)[:size], 1.0)
    centre = np.exp(as_tables(mean, own)[within]) * possible
    if fitter.may_be_pushed(network):
        chance = drawn.pushed()[:, within]
        pushed = fit.pushed(share)
        centre = (1 - pushed) * centre + pushed * np.einsum("du,duxy->uxy", chance, draws)
        rng, n = np.random.default_rng(0), round(DRAWS * pushed)
        for k in range(u):
            draws[:n, k] = draws[rng.choice(DRAWS, n, p=chance[:, k]), k]
    leave, spread_out = centre.sum(-1), draws.sum(-1).var(0)
    wide = np.divide(leave, spread_out, out=np.broadcast_to(rate, leave.shape).copy(), where=spread_out > 0)
    seen = float((as_tables(fit.moves[:size], own) * possible).sum())
    return RateTable(numbers, centre * wide[..., None], wide, shape, draws.astype(np.float32), seen)


def pack(found: Screen, nodes: Sequence[NodeSearch], gained: Sequence[float]) -> Saved:
    """The state of a search for a checkpoint."""
    listed, numbers = [], []
    for own in nodes:
        sets = []
        for m, one in own.weighed.items():
            fit = one.fit
            sets.append([m, one.log_weight, one.log_evidence, *one.network, len(one.log_rates)])
            numbers.append(one.log_rates)
            if fit is not None:
                sets[-1] += [len(fit.log_rates), fit.log_evidence, fit.settled, fit.gain]
                numbers += [fit.log_rates, fit.moves, fit.covariance.reshape(-1)]
        listed.append({"tried": sorted(own.tried), "sets": sets})
    arrays = {
        "gains": found.gains,
        "rough": found.rough,
        "numbers": np.concatenate(numbers),
        "gained": np.array(gained),
    }
    return Saved(arrays, 0, len(gained), {"nodes": listed})


def unpack(saved: Saved) -> tuple[Screen, list[NodeSearch], list[float]]:
    """The state of a search from a checkpoint."""
    numbers, low, nodes = saved.arrays["numbers"], 0, []

    def take(count: int) -> FloatArray:
        nonlocal low
        low += count
        return numbers[low - count : low]

    for entry in saved.state["nodes"]:
        known = {}
        for m, log_weight, log_evidence, members, sets, count, *fitted in entry["sets"]:
            network = Network(tuple(members), tuple(map(tuple, sets)))
            one = Weighed(log_weight, log_evidence, network, take(count))
            if fitted:
                p, value, settled, gain = fitted
                one = one._replace(fit=Fit(value, take(p), take(p), take(p * p).reshape(p, p), settled, gain))
            known[tuple(m)] = one
        nodes.append(NodeSearch(known, frozenset(entry["tried"])))
    return Screen(saved.arrays["gains"], saved.arrays["rough"]), nodes, saved.arrays["gained"].tolist()


def _gain(own: NodeSearch) -> float:
    """Log odds of the best set against the smallest."""
    if not own.weighed:
        return 0.0
    smallest = min(own.weighed, key=len)
    return own.weighed[own.best].log_weight - own.weighed[smallest].log_weight
