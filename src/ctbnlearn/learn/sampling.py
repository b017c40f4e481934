"""Learning by sampling: several chains over paths, parent sets and rates, run until they agree.

Nothing is approximated, so more data never mislead; what can fail is time. Chains grow from the network without edges,
each with its own random numbers; the first third of each is burn-in. Where they might be stuck there, every second one
starts from what blocks find (`coupled_start`); where a state is left sooner than it could be seen, so that one variable
copies another within a gap and chains hold on to any network that does it, every second one goes on from that later.
Where two chains stay apart, the evidence of the networks they hold tells them apart, if the joint chain of all
variables is small enough to work it out.
With r the rates at the mean of their logarithms over sweeps, and S the covariance of these,

    ln p(y, m) = ln p(y | m, r) + ln p(m) + ln p(ln r | m) + ln det(2 pi S) / 2.

A chain that holds a network e^10 times less probable goes on from the best one. What still differs at the end stays in
the answer as doubt: probabilities are averages over chains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from ctbnlearn.arguments import Seed
from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.description import FLEETING
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute import head_start
from ctbnlearn.execute.local import Threads
from ctbnlearn.execute.shards import canonical_order, make_shards, n_shards, survey, total_survey
from ctbnlearn.execute.workers import Workers
from ctbnlearn.inference.methods import Sampling
from ctbnlearn.inference.path_state import gather
from ctbnlearn.learn.chain import Alone, Chain, Task, centre_prior
from ctbnlearn.learn.chain_steps import ChainSteps, stop
from ctbnlearn.learn.checkpoint import Checkpoint, Saved, taking_up
from ctbnlearn.learn.choice import chains_stick, sweep_seconds
from ctbnlearn.learn.coupled_start import coupled_start
from ctbnlearn.learn.mixing import (
    chain_means,
    commonest,
    disagreement,
    drift,
    effective_size,
    scale_reduction,
    standard_error,
)
from ctbnlearn.learn.noise_draws import LearnedValues, drawn_parameters, mean_models
from ctbnlearn.learn.progress import Callback, Progress
from ctbnlearn.learn.trail import NodeRecord, Trail
from ctbnlearn.model.ctbn import CTBN, with_diagonal
from ctbnlearn.model.initial import InitialDistribution, InitialSpec
from ctbnlearn.model.random_network import random_network
from ctbnlearn.model.simulation import simulate
from ctbnlearn.structure.problem import EdgeRules, Scoring
from ctbnlearn.structure.pushes import EVEN, MOST_PARENTS, log_ratios, mixed, pushed_evidence

SETTLING, MOST_SETTLING = 40, 400  # sweeps without edges at the start
SETTLE_SECONDS = 0.25  # estimated time for more than the fewest sweeps: few data need more, and are fast
LEAST_SWEEPS = 100  # of every chain before they may agree
LEAST_MOVES = 10  # out of a state before it is said to be left soon
PATIENCE = 1000  # sweeps from which on chains may differ, if their average is as precise as that of chains which agree
STUBBORN = 0.005  # share of pairs on which it need not be
CHAIN_SECONDS = 60.0  # estimated time of a chain that sweeps=None allows
MOST_SWEEPS = 10_000
MOST_EXACT = 512  # joint states up to which evidence is worked out
MIXED = 1.1  # potential scale reduction of rates from which on chains have not mixed
FAR_APART = 0.5  # disagreement from which on it is
BEHIND = 10.0  # nats of evidence from which on a chain is left behind


@dataclass(frozen=True, eq=False)
class Sampled:
    """What the chains found.

    Attributes
    ----------
    edges : (N, N)
        Probability of [source, target].
    apart, effective : (N, N)
        Disagreement of the chains on every edge, and its effective sample size.
    records
        Per sweep that is kept the nodes as it left them.
    alone
        What nodes do without edges: the centre of their priors.
    evidence
        Log evidence of the complete paths, by stretches of sweeps, averaged over chains.
    n_sweeps, agreed
        Sweeps of each chain; whether chains agree.
    starts
        Per node how often a trajectory started in each state, averaged over chains' last sweeps.
    """

    edges: FloatArray
    apart: FloatArray
    effective: FloatArray
    records: Sequence[Sequence[NodeRecord]]
    alone: Alone
    evidence: list[float]
    n_sweeps: int
    agreed: bool
    starts: list[FloatArray]


@dataclass
class Run:
    """Chains with their trails: all that a checkpoint keeps."""

    chains: list[Chain]
    trails: list[Trail] = field(default_factory=list)
    alone: Alone = field(default_factory=lambda: Alone(np.zeros((0, 0, 0)), np.zeros((0, 0))))
    agreed: bool = False
    together: int = 0  # sweeps until a chain last went on from elsewhere: agreement before that proves nothing
    looked: bool = False  # whether it was looked at if chains might be stuck

    def arrays(self) -> dict[str, Any]:
        """All of it, by name."""
        out: dict[str, Any] = {f"alone/{key}": value for key, value in self.alone._asdict().items()}
        for c, (chain, trail) in enumerate(zip(self.chains, self.trails)):
            out.update({f"chain/{c}/{key}": value for key, value in chain.arrays().items()})
            out.update({f"trail/{c}/{key}": value for key, value in trail.arrays().items()})
        return out

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Take up what `arrays` gave."""

        def under(start: str) -> dict[str, Any]:
            return {key[len(start) :]: value for key, value in arrays.items() if key.startswith(start)}

        self.alone, self.agreed = Alone(**under("alone/")), bool(arrays["agreed"])
        self.together, self.looked = int(arrays["together"]), bool(arrays["looked"])
        self.trails = []
        for c, chain in enumerate(self.chains):
            chain.restore(under(f"chain/{c}/"))
            self.trails.append(Trail.restore(under(f"trail/{c}/"), chain.task.cards))
        lengths = {len(trail) for trail in self.trails}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError("chains without sweeps, or of different length")


def make_task(
    data: Incomplete,
    rules: EdgeRules,
    scoring: Scoring,
    possible: Sequence[BoolArray | None],
    initial: str | InitialSpec,
    workers: Workers | None = None,
    limit: int = 1 << 62,
) -> Task:
    """What the chains learn from; parameters are those of `StructureLearner`.

    Parameters
    ----------
    data
        `Observations`, or a scan, in canonical order (`in_order`).
    rules, scoring, possible, initial
        What is learned.
    workers, limit
        Who gets the data, and how many bytes of them a worker may keep.
    """
    learned = isinstance(initial, str) and initial == "learn"
    given = None if isinstance(initial, str) else initial
    start = None if learned else InitialDistribution.build(data.variables, given)
    shards = seen = None
    noise = LearnedValues.of(data)
    if noise.models or n_shards(data.n_trajectories, len(data.variables), data.n_values) == 1:
        seen = gather(data.part(0, data.n_trajectories).observations())
        found = survey(seen)
    else:
        workers = workers or Threads()
        shards = make_shards(data, workers, limit)
        found = total_survey(shards, workers)
    return Task(data.variables, data.ids, found, seen, noise, shards, rules, scoring, possible, start)


def in_order(data: Incomplete) -> Incomplete:
    """Data with the trajectories in the order of their names: the answer must not depend on that of a table."""
    order = canonical_order(data.ids) if isinstance(data, Observations) else None
    return data if order is None else data.select(order)


def budget(settings: Sampling, sweep: float) -> int:
    """Sweeps of a chain at most, each of which takes `sweep` seconds."""
    if settings.sweeps is not None:
        return settings.sweeps
    return int(np.clip(CHAIN_SECONDS / sweep, 2 * LEAST_SWEEPS, MOST_SWEEPS))


def sample(
    data: Incomplete,
    task: Task,
    settings: Sampling,
    random_state: Seed,
    progress: Progress,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    workers: Workers | None = None,
) -> Sampled:
    """Run the chains, from what a checkpoint holds if there is one, and keep every step there."""
    saved = None if checkpoint is None else checkpoint.load()
    if saved is not None and settings.sweeps is not None and saved.round > settings.sweeps:
        raise ParameterError(f"the checkpoint holds {saved.round} sweeps, more than Sampling(sweeps=...); raise that")

    def keep(run: Run) -> None:
        if checkpoint is not None:
            state = {"agreed": run.agreed, "together": run.together, "looked": run.looked}
            checkpoint.save(Saved(run.arrays(), 0, run.trails[0].n_sweeps, state))

    seed = random_state
    if isinstance(seed, np.random.Generator):
        seed = seed.integers(0, 2**32, 8).tolist()
    found = run_chains(
        data,
        task,
        settings,
        np.random.SeedSequence(0 if seed is None else seed),
        progress,
        callback,
        None if saved is None else {**saved.arrays, **saved.state},
        keep,
        workers,
    )
    return found


def run_chains(
    data: Incomplete,
    task: Task,
    settings: Sampling,
    seed: np.random.SeedSequence,
    progress: Progress,
    callback: Callback | None = None,
    saved: Mapping[str, Any] | None = None,
    keep: Callable[[Run], None] | None = None,
    workers: Workers | None = None,
) -> Sampled:
    """Run the chains until they agree or the budget ends.

    Parameters
    ----------
    data, task, settings
        What to learn from, and how.
    seed
        `SeedSequence` of the run.
    progress, callback
        Told of every step; the callback gets the number of sweeps and the log evidence of the complete paths.
    saved, keep
        Arrays of a `Run` to go on from; called with the run after every step.
    workers
        Who does the work; default: threads of this process.
    """
    seeds = seed.spawn(settings.chains)
    run = Run([])
    workers = workers or Threads()
    try:
        if workers.local:
            head_start.begin()
        steps = ChainSteps(task, workers)
        run.chains += [Chain(task, s if saved is None else None, workers) for s in seeds]
        if saved is None:
            _begin(run, steps, progress, settings, data)
        else:
            with taking_up():
                run.restore(saved)
        sweep = _sweep_seconds(task, run.alone)
        most = budget(settings, sweep)
        before, began = run.trails[0].n_sweeps, time.perf_counter()
        while not run.agreed and (stretches := run.trails[0].next_stretches(most)) > 0:
            found = steps.advance(run.chains, stretches, run.trails[0].length, sweep)
            for trail, more in zip(run.trails, found):
                for stretch in more:
                    trail.add(stretch)
            n, apart = run.trails[0].n_sweeps, disagreement(run.trails)
            last = run.trails[0].next_stretches(most) == 0
            enough = len(run.trails[0]) >= 16 and (n >= LEAST_SWEEPS or last)
            run.agreed = (
                enough
                and n >= 3 * run.together  # all in common is burn-in
                and agree(run.trails, settings.agreement)
                and all(scale_reduction(run.trails, i) <= MIXED for i in range(len(task.cards)))
            )
            if enough and not last and apart.max() > FAR_APART:
                leave_behind(run, data, progress)
            if enough and not last and not run.looked:
                run.looked = True
                if too_fast(run.trails, task):
                    part(run, steps, data, progress)
            value = float(np.mean([t.evidence[-1] for t in run.trails]))
            left = (most - n) * (time.perf_counter() - began) / max(n - before, 1)
            message = f"sweep {n} of at most {most}"
            if task.rules.largest:
                message += f": chains differ by up to {apart.max():.2f} on an edge"
            progress.count("sweeps", message, n, most, left, at_most=True)
            if keep is not None:
                keep(run)
            if callback is not None:
                callback(n, value)
    except BaseException:
        stop(run.chains)
        raise
    return _conclude(run)


def _sweep_seconds(task: Task, alone: Alone) -> float:
    return sweep_seconds(task.rules, task.cards, len(task.ids), task.survey.rows, float(alone.moves.sum()))


def agree(trails: Sequence[Trail], agreement: float) -> bool:
    """Whether chains agree on all edges.

    With few data many edges are open, and the largest difference among them shrinks slowly. After long enough one pair
    in two hundred may differ by twice as much, and on all it suffices that every average is as precise as the average
    of four chains that agree: a quarter of their range.
    """
    apart = np.maximum(disagreement(trails), drift(trails))
    far = apart > agreement
    if trails[0].n_sweeps < PATIENCE:
        return not far.any()
    far &= standard_error(trails) > agreement / 4
    return bool(far.sum() <= STUBBORN * len(apart) * (len(apart) - 1) and apart.max(initial=0.0) <= 2 * agreement)


def _begin(run: Run, steps: ChainSteps, progress: Progress, settings: Sampling, data: Incomplete) -> None:
    """Paths without edges; what they show centres the prior; then a look at all candidates."""
    task = run.chains[0].task
    progress.tell("start", f"{len(task.cards)} variables, {len(task.ids)} trajectories: each variable by itself")
    guess = sweep_seconds(task.rules, task.cards, len(task.ids), task.survey.rows)
    found = steps.run(run.chains, "settle", int(np.clip(SETTLE_SECONDS / guess, SETTLING, MOST_SETTLING)))
    run.alone = Alone(*(np.mean(parts, axis=0) for parts in zip(*found)))
    for chain in run.chains:
        centre_prior(chain.priors, task, run.alone)
    sweep = _sweep_seconds(task, run.alone)
    length = int(np.clip(min(ceil(1.5e-3 / sweep), budget(settings, sweep) // 16), 1, 8))
    run.trails = [Trail(length) for _ in run.chains]
    progress.tell("start", f"{len(run.chains)} chains from the network without edges")
    if chains_stick(data):
        part(run, steps, data, progress)
    steps.run(run.chains, "screen")


def too_fast(trails: Sequence[Trail], task: Task) -> bool:
    """Whether in some chain a state was last left, under some states of the parents, sooner than it could be seen."""
    gap = task.survey.time * len(task.cards) / max(task.survey.rows, 1)
    for trail in trails:
        for node in trail.records[-1]:
            left = node.moves.sum(-1)
            if ((left >= LEAST_MOVES) & (left * gap > FLEETING * node.dwell)).any():
                return True
    return False


def part(run: Run, steps: ChainSteps, data: Incomplete, progress: Progress) -> None:
    """Let every second chain go on from what blocks find, if they can be asked."""
    task, noise, others = run.chains[0].task, run.chains[0].noise, run.chains[1::2]
    run.looked = True
    models = {} if noise is None else {task.variables[i].name: m.fixed() for i, m in noise.models.items()}
    network = coupled_start(data, task, models, progress) if others else None
    if network is not None:
        progress.tell("note", f"{len(others)} of the chains go on from it")
        steps.run(others, "adopt", *network, SETTLING)
        run.together, run.agreed = run.trails[0].n_sweeps, False


def leave_behind(run: Run, data: Incomplete, progress: Progress) -> None:
    """Let chains whose network has far less evidence go on from the one that has most."""
    task = run.chains[0].task
    if prod(task.cards) > MOST_EXACT or data.interventions is not None:
        return
    networks = [tuple(commonest([trail], i) for i in range(len(task.cards))) for trail in run.trails]
    if len(set(networks)) == 1:
        return
    values: dict[tuple[tuple[int, ...], ...], float] = {}
    late = [r for trail in run.trails for r in trail.records[-max(1, len(trail) // 4) :]]
    models = mean_models(data, drawn_parameters(data, late))  # the same for all
    seen = data.with_noise(models) if models else data
    for network, trail in zip(networks, run.trails):
        if network not in values:
            values[network] = network_evidence(seen, task, trail, run.alone)
    found = [values[network] for network in networks]
    best = int(np.argmax(found))
    for c, value in enumerate(found):
        if value < found[best] - BEHIND:
            behind = f"{found[best] - value:.0f} nats less evidence"
            progress.tell("note", f"chain {c + 1} holds a network of {behind}: it goes on elsewhere")
            run.together = run.trails[c].n_sweeps
            run.chains[c].take_over(run.chains[best])
            run.trails[c] = run.trails[best].copy()


def network_evidence(data: Incomplete, task: Task, trail: Trail, alone: Alone) -> float:
    """Log evidence of the network a chain holds, its posterior of the rates taken as log-normal.

    `data` are seen through known models; where some are learned, evidence is given those.
    """
    from ctbnlearn.inference import exact

    records = trail.records[trail.kept()]
    parents = [commonest([trail], i) for i in range(len(task.cards))]
    held = [r for r in records if [node.parents for node in r] == parents] or records[-1:]
    parents = [node.parents for node in held[-1]]
    names, cims, starts = task.rules.names, {}, {}
    total, logs, within = 0.0, [], []
    for i, m in enumerate(parents):
        problem = task.problem(i, m, alone)
        alpha, beta, possible = problem.shape[0], problem.rate[0][:, None], problem.possible
        a = np.stack([r[i].prior_shape + r[i].moves for r in held])
        b = np.stack([r[i].prior_rate for r in held]) + np.stack([r[i].dwell for r in held])[..., None]
        own = digamma(a) - np.log(b)  # of a sweep the mean of the logarithms of the rates
        centre = own.mean(0)
        density = alpha * np.log(beta) - gammaln(alpha) + alpha * centre - beta * np.exp(centre)
        total += problem.log_prior[0] + float((density * possible).sum())
        if task.scoring.pushed and 0 < len(m) <= MOST_PARENTS:
            ratios, above = log_ratios(centre, problem.rate[0], possible), np.array([task.cards[j] for j in m])
            gain = pushed_evidence(ratios, above, task.cards[i], np.empty(ratios.size))
            total += float(mixed(gain, EVEN))
        logs.append(own[..., possible].reshape(len(held), -1))
        within.append(polygamma(1, a).mean(0)[..., possible].reshape(-1))
        cims[names[i]] = with_diagonal(np.exp(centre) * possible)
        counts = np.mean([r[i].starts for r in held], axis=0) + 1
        starts[names[i]] = counts / counts.sum()
    named = {names[i]: [names[j] for j in m] for i, m in enumerate(parents)}
    network = CTBN(task.variables, named, cims, starts if task.initial is None else task.initial)
    bounds = [0, len(task.ids)] if task.shards is None else task.shards.bounds
    for low, high in zip(bounds, bounds[1:]):
        total += float(exact.log_evidence(network, data.part(low, high).observations()).sum())
    return total + half_log_volume(np.concatenate(logs, 1), np.concatenate(within))


def half_log_volume(logs: FloatArray, within: FloatArray) -> float:
    """Half the log determinant of 2 pi times a covariance: that of sweeps (R, p), shrunk, and within sweeps (p,)."""
    count, p = logs.shape
    between = np.cov(logs, rowvar=False, ddof=0).reshape(p, p)
    apart = np.diag(between).copy()
    between *= count / (count + p)  # few sweeps see correlations where there are none
    np.fill_diagonal(between, apart + within)
    return 0.5 * float(p * np.log(2 * np.pi) + np.linalg.slogdet(between)[1])


def _conclude(run: Run) -> Sampled:
    trails = run.trails
    records = [r for t in trails for r in t.records[t.kept()]]
    least = min(len(t.evidence) for t in trails)
    return Sampled(
        chain_means(trails).mean(0),
        disagreement(trails),
        effective_size(trails),
        records,
        run.alone,
        np.mean([t.evidence[-least:] for t in trails], axis=0).tolist(),
        trails[0].n_sweeps,
        run.agreed,
        [np.mean([r[i].starts for r in records], axis=0) for i in range(len(records[0]))],
    )


def compile_beside() -> None:
    """Compile what a sweep does once paths are drawn and counted, and what draws units for a report."""
    obs = Observations.from_likelihoods([[0.0, 1.0]], [[np.ones((2, 2))] * 2], ["a", "b"])
    rules = EdgeRules.build(obs.names, None, None, None, None)
    chain = Chain(make_task(obs, rules, Scoring("pushed", "size"), [None, None], "learn"), np.random.SeedSequence(0))
    chain.draw_rest()
    simulate(random_network(2, rng=0), 2, horizon=1.0, rng=0)
