"""Does the answer hold? Accuracy against the amount of data and the length of gaps, coverage of intervals, calibration.

    python benchmarks/truth.py                      every section, some hours on two cores
    python benchmarks/truth.py clinic gaps --jobs 4 some of them, several fits at a time
    python benchmarks/truth.py --inference blocks   another method than the default
    python benchmarks/truth.py gaps --seeds 5       other networks and data: so much is added to every seed

Networks have a known truth; nothing is tuned on them. Each line is one fit by the default learner.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from inspect import signature
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

import ctbnlearn as cl
from ctbnlearn.model.simulation import simulate_from

NOISE = cl.GaussianNoise(variance=0.2)
DWELL = 2.0  # mean dwell time of a Glauber node, at rate 1/2


def protocol(n: int, trajectories: int, seed: int, coupling: float = 0.6) -> tuple[cl.CTBN, cl.Observations]:
    """The paper's: 2 transitions a node, 10 noisy observations at random times."""
    net = _network(n, seed, coupling)
    paths = cl.simulate(net, trajectories, n_transitions=2 * n, rng=seed + 1)
    return net, cl.observe(paths, n_times=10, noise=NOISE, rng=seed + 2)


def gaps(
    n: int, trajectories: int, seed: int, coupling: float, dwells: float, missing: float = 0.0, even: bool = False
) -> tuple[cl.CTBN, cl.Observations]:
    """Ten noisy observations at random times, or at equal distances, on average `dwells` mean dwell times apart.

    A share of values is missing.
    """
    net = _network(n, seed, coupling)
    paths = cl.simulate(net, trajectories, horizon=10 * dwells * DWELL, rng=seed + 1)
    when: dict[str, Any] = {"times": (np.arange(10) + 0.5) * dwells * DWELL} if even else {"n_times": 10}
    return net, cl.observe(paths, noise=NOISE, missing=missing, rng=seed + 2, **when)


def few_looks(n: int, trajectories: int, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """Five looks without error, 0.4 mean dwell times apart on average: many short trajectories."""
    net = cl.random_network(n, 2, rng=seed)
    return net, cl.observe(cl.simulate(net, trajectories, horizon=4.0, rng=100), n_times=5, rng=200)


def independent(n: int, trajectories: int, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """Variables that do not drive each other, with rates from 0.2 to 1."""
    rng = np.random.default_rng([n, seed])
    rates = {f"x{i}": np.array([[-a, a], [b, -b]]) for i, (a, b) in enumerate(rng.uniform(0.2, 1.0, (n, 2)))}
    net = cl.CTBN(dict.fromkeys(rates, (-1, 1)), {}, rates)
    paths = cl.simulate(net, trajectories, horizon=5.0, rng=seed + 1)
    return net, cl.observe(paths, n_times=10, noise=NOISE, rng=seed + 2)


def clinic(patients: int, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """Six variables of two and three states, a visit every four months, 30 % blanks, a lab value, a treatment.

    The treatment is given for a high crp and lowers it: a feedback that products of marginals cancel.
    """
    two, three = ("no", "yes"), ("mild", "moderate", "severe")
    variables = {"smoker": two, "crp": (0, 1), "treated": two, "flare": two, "stage": three, "pain": two}
    parents = {
        "crp": ["smoker", "treated"],
        "treated": ["crp"],
        "flare": ["crp"],
        "stage": ["flare"],
        "pain": ["stage"],
    }

    def pair(up: float, down: float) -> list[list[float]]:
        return [[-up, up], [down, -down]]

    def ladder(up: float, down: float) -> list[list[float]]:
        return [[-up, up, 0], [down, -up - down, up], [0, down, -down]]

    rates = {
        "smoker": [pair(0.2, 0.3)],
        "crp": [pair(0.4, 0.5), pair(0.2, 2.5), pair(1.6, 0.4), pair(0.8, 2.0)],
        "treated": [pair(0.2, 1.2), pair(2.0, 0.4)],
        "flare": [pair(0.3, 2.0), pair(1.8, 0.8)],
        "stage": [ladder(0.25, 0.5), ladder(1.2, 0.2)],
        "pain": [pair(0.3, 2.0), pair(0.9, 1.0), pair(2.5, 0.4)],
    }
    net = cl.CTBN(variables, parents, {k: np.array(v, float) for k, v in rates.items()})
    paths = cl.simulate(net, patients, horizon=5.0, rng=seed + 1)
    rng = np.random.default_rng(seed)
    visits = [np.sort(np.clip(np.arange(16) / 3 + rng.normal(0, 0.05, 16), 0, 5)) for _ in range(patients)]
    noise = {"crp": cl.GaussianNoise(variance=0.25, values=(0, 2))}
    return net, cl.observe(paths, times=visits, noise=noise, missing=0.3, rng=seed + 2)


def three_states(horizon: float, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """Five variables of three states, rates drawn at random, ten looks up to a horizon; 200 trajectories."""
    rng = np.random.default_rng([3, seed])
    net = cl.random_network(5, 2, n_states=3, dynamics="random", rng=rng)
    paths = cl.simulate(net, 200, horizon=horizon, rng=seed + 1)
    return net, cl.observe(paths, n_times=10, noise=cl.LabelNoise(0.02), rng=seed + 2)


def uneven(units: int, looks: int, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """Five variables of two and three states that are rare or left soon: rates from 0.03 to 3 and beyond.

    What a variable does by itself is drawn over two orders of magnitude, what parents do to it about a factor of three
    up or down. So many looks at random times within ten units of time, a fifth of the values missing.
    """
    rng = np.random.default_rng([units, looks, seed])
    graph = cl.random_network(5, 2, n_states=rng.integers(2, 4, 5).tolist(), dynamics="random", rng=rng)
    parents = {name: [graph.names[j] for j in graph.parents[i]] for i, name in enumerate(graph.names)}
    rates = {}
    for i, name in enumerate(graph.names):
        own = np.exp(rng.uniform(np.log(0.03), np.log(3.0), graph.cims[i].shape[1:]))
        table = own * np.exp(rng.normal(0.0, 1.1, graph.cims[i].shape)) * ~np.eye(len(own), dtype=bool)
        rates[name] = table - table.sum(-1, keepdims=True) * np.eye(len(own))
    net = cl.CTBN(graph.variables, parents, rates)
    paths = cl.simulate(net, units, horizon=10.0, rng=seed + 1)
    return net, cl.observe(paths, n_times=looks, noise=cl.LabelNoise(0.01), missing=0.2, rng=seed + 2)


def clamped(n: int, units: int, seed: int, how: str) -> tuple[cl.CTBN, cl.Observations]:
    """One variable set to a state drawn at random in the later half of the time of a random half of the units.

    `how`: "free", no variable is set; "told", with the table of interventions; "ignored", without it.
    """
    net, horizon = _network(n, seed, 0.6), 4.0
    rng = np.random.default_rng([n, seed, 1])
    held, value = int(rng.integers(n)), rng.integers(2, size=units)
    chosen = rng.permutation(units) < units // 2 if how != "free" else np.zeros(units, bool)
    still = {name: net.cims[i] * (i != held) for i, name in enumerate(net.names)}
    parents = {name: [net.names[j] for j in net.parents[i]] for i, name in enumerate(net.names)}
    stuck = cl.CTBN(net.variables, parents, still)
    half = horizon / 2
    early = cl.simulate(net, units, horizon=half, rng=seed + 1)
    begin = np.stack([states[:, 0] for states in early.states_at([half]).values()], axis=1)
    begin[chosen, held] = value[chosen]
    late = [simulate_from(m, begin, half, rng=seed + 2 + k) for k, m in enumerate((net, stuck))]
    times = np.sort(rng.uniform(0, horizon, 10))
    before, after = early.states_at(times[times < half]), [m.states_at(times[times >= half] - half) for m in late]
    rows: dict[str, Any] = {"unit": np.repeat(np.arange(units), 10), "time": np.tile(times, units)}
    for name, states in before.items():
        later = np.where(chosen[:, None], after[1][name], after[0][name])
        rows[name] = (2 * np.hstack([states, later]) - 1 + rng.normal(0, np.sqrt(0.2), (units, 10))).ravel()
    given = np.flatnonzero(chosen)
    table = {"unit": given, "start": [horizon / 2] * len(given), "end": [horizon] * len(given)}
    table["variable"] = [net.names[held]] * len(given)
    settings: dict[str, Any] = {"interventions": pd.DataFrame(table)} if how == "told" else {}
    noise = cl.GaussianNoise(variance=0.2, values=(-1, 1))
    return net, cl.read_table(pd.DataFrame(rows), trajectory="unit", time="time", noise=noise, **settings)


def levels(states: int, separation: float, seed: int, how: str) -> tuple[cl.CTBN, cl.Observations]:
    """Five variables measured with an error of one, levels `separation` apart, known or learned; 200 trajectories."""
    rng = np.random.default_rng([states, seed])
    while True:
        net = cl.random_network(5, 2, n_states=states, dynamics="random", rng=rng)
        if net.edges:
            break
    paths = cl.simulate(net, 200, horizon=5.0, rng=seed + 1)
    means = tuple(separation * np.arange(states))
    known = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=1.0, values=means), rng=seed + 2)
    if how == "known":
        return net, known
    rows = {"id": np.repeat(np.arange(200), 10), "time": known.series[0].times}
    rows |= {name: s.values for name, s in zip(net.names, known.series)}
    noise = cl.GaussianNoise(n_states=states)
    return net, cl.read_table(pd.DataFrame(rows), trajectory="id", time="time", noise=noise, start=0.0, end=5.0)


def special(kind: str, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """A common cause of four, a chain, or a node whose three parents matter only together; 2,000 trajectories."""
    flip = [[-0.5, 0.5], [0.5, -0.5]]
    follow = [[[-0.15, 0.15], [0.85, -0.85]], [[-0.85, 0.85], [0.15, -0.15]]]
    if kind == "common cause":
        parents = {f"x{i}": ["cause"] for i in range(4)}
        rates: dict[str, Any] = {"cause": [flip], **{f"x{i}": follow for i in range(4)}}
    elif kind == "chain":
        parents = {"y": ["x"], "z": ["y"]}
        rates = {"x": [flip], "y": follow, "z": follow}
    else:
        parents = {"w": ["a", "b", "c"]}
        odd = [follow[bin(u).count("1") % 2] for u in range(8)]
        rates = {"a": [flip], "b": [flip], "c": [flip], "w": odd}
    net = cl.CTBN(dict.fromkeys(rates, (0, 1)), parents, {k: np.array(v, float) for k, v in rates.items()})
    paths = cl.simulate(net, 2000, horizon=4.0, rng=seed + 1)
    return net, cl.observe(paths, n_times=10, noise=cl.LabelNoise(0.02), rng=seed + 2)


def copying(units: int, seed: int) -> tuple[cl.CTBN, cl.Observations]:
    """A chain x -> y -> z whose last member follows within a twelfth of a gap, and a stranger; twelve looks."""
    slow = [[[-0.05, 0.05], [1.5, -1.5]], [[-1.5, 1.5], [0.05, -0.05]]]
    quick = [[[-0.02, 0.02], [20.0, -20.0]], [[-20.0, 20.0], [0.02, -0.02]]]
    rates = {"x": [[-0.4, 0.4], [0.4, -0.4]], "y": slow, "z": quick, "w": [[-0.3, 0.3], [0.6, -0.6]]}
    net = cl.CTBN(dict.fromkeys(rates, (0, 1)), {"y": ["x"], "z": ["y"]}, {k: np.array(v) for k, v in rates.items()})
    paths = cl.simulate(net, units, horizon=8.0, rng=seed)
    return net, cl.observe(paths, n_times=12, noise=cl.LabelNoise(0.01), rng=seed + 1)


def _network(n: int, seed: int, coupling: float) -> cl.CTBN:
    rng = np.random.default_rng([n, seed])
    while True:
        net = cl.random_network(n, 2, coupling=coupling, rng=rng)
        if net.edges:
            return net


PLAN: dict[str, list[tuple[Any, ...]]] = {
    "many": [(protocol, (5, 2000, s), {"max_parents": 2}) for s in range(10, 60, 10)]
    + [(protocol, (10, 3000, s), {"max_parents": 2}) for s in (10, 20)]
    + [(protocol, (20, 1000, s), {"max_parents": 2}) for s in (10, 20)],
    "very_many": [(few_looks, (10, 30000, s), {"max_parents": 2}) for s in range(4)],
    "fifty": [(protocol, (50, b, 10), {"max_parents": 2}) for b in (1000, 5000)],
    "few": [(protocol, (5, b, s), {}) for b in (40, 160) for s in range(100, 400, 10)],
    **{
        f"strong_{i}{'_two_parents' if n else ''}": [
            (protocol, (6, 60, s, 1.2), {"inference": i, "max_parents": n}) for s in range(100, 200, 10)
        ]
        for i in ("auto", "exact", "star")
        for n in (None, 2)
    },
    "gaps": [(gaps, (6, 1000, s, c, 1.0), {"max_parents": 2}) for c in (0.6, 1.0) for s in range(10, 60, 10)],
    "long_gaps": [(gaps, (6, 1000, s, c, 2.0), {"max_parents": 2}) for c in (0.6, 1.0) for s in range(10, 60, 10)],
    "even_gaps": [
        (gaps, (n, b, s, c, 2.0, 0.0, True), {"max_parents": 2})
        for n in (3, 4, 5)
        for b in (200, 400, 1000)
        for c in (0.6, 1.0)
        for s in (10, 20, 30, 40)
    ],
    "twenty_gaps": [(gaps, (20, 1000, s, 0.6, 1.0), {"max_parents": 2}) for s in (10, 20)],
    "coverage": [
        (gaps, (n, 500, s, 0.6, d), {"max_parents": 2}) for n in (5, 12) for d in (0.3, 1.0) for s in (10, 20)
    ],
    "missing": [(gaps, (5, 400, s, 0.6, 0.2, 0.7), {"max_parents": 2}) for s in range(10, 130, 10)],
    "calibration": [
        (gaps, (5 + k % 6, (20, 40, 80)[k % 3], 1000 + 10 * k, 0.6, 0.2), {"max_parents": 2}) for k in range(200)
    ],
    **{
        f"clamp_{how}": [
            (clamped, (5, b, s, how), {"max_parents": 2}) for b in (40, 80, 160) for s in range(10, 170, 10)
        ]
        for how in ("free", "told", "ignored")
    },
    **{
        f"levels_{how}": [
            (levels, (k, d, s, how), {"max_parents": 2}) for k in (2, 3) for d in (2.0, 4.0) for s in range(10, 60, 10)
        ]
        for how in ("known", "learned")
    },
    "three_states": [(three_states, (h, s), {"max_parents": 2}) for h in (1.0, 2.0, 4.0) for s in range(30, 70, 10)],
    "uneven": [
        (uneven, (b, k, s), {"max_parents": 2}) for b in (100, 400) for k in (20, 60) for s in range(10, 50, 10)
    ],
    "copying": [(copying, (b, s), {}) for b in (60, 120, 300) for s in range(10, 60, 10)],
    "independent": [(independent, (n, 100, s), {"max_parents": 2}) for n in (5, 10) for s in range(10, 60, 10)],
    "held_out": [(gaps, (6, 300, s, 0.6, d), {"max_parents": 2}) for d in (0.2, 0.5, 1.0) for s in (10, 20, 30)],
    "held_out_three": [(three_states, (h, s), {"max_parents": 2}) for h in (2.0, 4.0) for s in (30, 40)],
    "clinic": [(clinic, (b, s), {}) for b in (200, 2000) for s in (10, 20, 30)],
    "special": [(special, (kind, 10), {"max_parents": 3}) for kind in ("common cause", "chain", "interaction")],
}


def held(net: cl.CTBN, result: cl.Result) -> tuple[int, int]:
    """How many true rates lie in their 95 % intervals, of the nodes whose parents were found; and of how many."""
    inside = total = 0
    for i in range(len(net.names)):
        learned = result.rate_tables[i][0]
        if set(learned.parents) != set(net.parents[i]):
            continue
        low, high = learned.quantile(0.025), learned.quantile(0.975)
        possible = (net.cims[i] > 0) & learned.possible
        inside += int(((net.cims[i] >= low) & (net.cims[i] <= high))[possible].sum())
        total += int(possible.sum())
    return inside, total


def measure(section: str, make: Any, arguments: tuple[Any, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """Fit one problem by the default learner."""
    warnings.simplefilter("ignore")
    net, obs = make(*arguments)
    began = time.perf_counter()
    learner = cl.StructureLearner(**settings).fit(obs)
    seconds = time.perf_counter() - began
    found = learner.edge_probabilities_
    truth = np.zeros(found.shape, bool)
    for i, ps in enumerate(net.parents):
        truth[list(ps), i] = True
    off = ~np.eye(len(truth), dtype=bool)
    scores = cl.edge_scores(net, found)
    inside, total = held(net, learner.result_)
    apart = learner.chain_disagreement_
    more = against_others(net, obs, learner, settings) if section.startswith("held_out") else {}
    if section == "levels_learned":
        off_by = [np.abs(m.values - arguments[1] * np.arange(arguments[0])).max() for m in learner.noise_.values()]
        more = {"level_error": float(max(off_by)) / arguments[1]}
    return {
        "what": f"{make.__name__}{arguments}" + (f" {settings['inference']}" if "inference" in settings else ""),
        "auroc": scores["auroc"],
        "aupr": scores["aupr"],
        "log_loss": scores["log_loss"],
        "wrong": int((np.abs(found - truth)[off] > 0.5).sum()),
        "sure_false": int(((found > 0.9) & ~truth & off).sum()),
        "reversed": int(((found > 0.5) & ~truth & truth.T).sum()),
        "highest_false": float(found[~truth & off].max(initial=0.0)),
        "inside": inside,
        "rates": total,
        "apart": float("nan") if apart is None else float(apart.max()),
        "converged": bool(learner.converged_),
        "iterations": int(learner.n_iter_),
        "seconds": seconds,
        **more,
        "pairs": (found[off], truth[off]),
    }


def against_others(net: cl.CTBN, obs: cl.Observations, learner: Any, settings: dict[str, Any]) -> dict[str, float]:
    """Nats a value by which new units are predicted better than without edges, by what was learned and by the truth."""
    horizon = float((obs.end - obs.start).max())
    paths = cl.simulate(net, 300, horizon=horizon, rng=7)
    new = cl.observe(paths, n_times=10, noise={v.name: s.noise for v, s in zip(obs.variables, obs.series)}, rng=8)
    empty = cl.StructureLearner(**{**settings, "max_parents": 0}).fit(obs).score(new)
    best = float(cl.exact.log_evidence(net, new).sum()) / new.n_informative
    return {"gain": learner.score(new) - empty, "best_gain": best - empty}


def calibration(rows: list[dict[str, Any]]) -> float:
    """Mean distance of probabilities, in ten bins, from the share of edges that are there."""
    p, truth = (np.concatenate([row["pairs"][k] for row in rows]) for k in (0, 1))
    bins = np.minimum((p * 10).astype(int), 9)
    off = [abs(p[bins == b].mean() - truth[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return float(sum(off))


def moved(make: Any, arguments: tuple[Any, ...], seeds: int) -> tuple[Any, ...]:
    """The arguments with so much added to their seed."""
    given = signature(make).bind(*arguments).arguments
    return tuple({**given, "seed": given["seed"] + seeds}.values())


def lines(
    sections: list[str], jobs: int, inference: str | None = None, seeds: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Results as they come."""
    method = {} if inference is None else {"inference": inference}
    tasks = [
        (section, make, moved(make, arguments, seeds), {**settings, **method})
        for section in sections
        for make, arguments, settings in PLAN[section]
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(measure, *task): task[0] for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(PLAN)}; default all")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time; each uses up to four threads")
    parser.add_argument("--inference", help="a method in place of the default")
    parser.add_argument("--seeds", type=int, default=0, help="added to every seed: data not seen before")
    given = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {}
    for section, row in lines(given.sections or list(PLAN), given.jobs, given.inference, given.seeds):
        rows.setdefault(section, []).append(row)
        shown = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items() if k != "pairs"}
        print(section, *(f"{k}={v}" for k, v in shown.items()), flush=True)
    for section, found in rows.items():
        mean = {k: np.mean([r[k] for r in found]) for k in ("auroc", "aupr", "log_loss", "seconds")}
        share = sum(r["inside"] for r in found) / max(1, sum(r["rates"] for r in found))
        print(
            f"{section}: {len(found)} fits, "
            + ", ".join(f"{k} {v:.4f}" for k, v in mean.items())
            + f", coverage {share:.3f}, calibration error {calibration(found):.4f}"
            + f", mean probability {np.mean([row['pairs'][0].mean() for row in found]):.4f}"
        )


if __name__ == "__main__":
    main()
