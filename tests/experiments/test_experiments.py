"""What the experiments compute: quick runs, their parts, and verdicts that follow the numbers."""

from __future__ import annotations

import csv
import os
import re
import time

import numpy as np
import pytest
from scipy.stats import norm

import ctbnlearn as cl
from ctbnlearn.cli import experimenting, main
from ctbnlearn.errors import CtbnlearnError
from ctbnlearn.experiments import (
    catalogue,
    cluster,
    complete,
    consistency,
    grid,
    irma,
    panel,
    protocol,
    restricted,
    scaling,
)
from ctbnlearn.experiments.frame import Options, work


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setattr(experimenting, "use_cache", lambda: None)


def quick(name, folder, *more):
    assert main(["experiment", name, "--quick", "--out", str(folder), "--quiet", *map(str, more)]) == 0
    for end in ("csv", "png", "svg", "md"):
        assert (folder / f"{name}.{end}").stat().st_size > 0
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert "nan" not in text
    assert f"ctbnlearn experiment {name} --quick" in text
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers(rows, key, **wanted):
    return np.array([float(r[key]) for r in rows if all(r[k] == v for k, v in wanted.items())])


def test_complete_quick(tmp_path):
    rows = quick("complete", tmp_path)
    for method in ("exact", "mixture", "posterior"):
        few, many = (numbers(rows, "aupr", method=method, trajectories=n).mean() for n in ("5", "80"))
        assert many > few
    assert numbers(rows, "aupr", method="posterior", trajectories="80").mean() > 0.95


def test_bound_quick(tmp_path):
    rows = quick("bound", tmp_path)
    gaps, entropies = numbers(rows, "gap"), numbers(rows, "entropy")
    assert (gaps > 0).all()
    assert gaps[entropies < 0.01].max() < gaps[entropies > 0.6].min()


def test_concentration_quick(tmp_path):
    rows = quick("concentration", tmp_path)
    near = {c: numbers(rows, "near_a_corner", c=c, trajectories="1").mean() for c in ("0", "2")}
    assert near["0"] < 0.1 < near["2"]


def test_incomplete_quick(tmp_path):
    rows = quick("incomplete", tmp_path)
    assert {(r["weights"], r["search"]) for r in rows} >= {
        (w, s) for w in ("mixture", "posterior") for s in ("exhaustive", "greedy")
    }
    assert numbers(rows, "auroc", search="exhaustive", weights="posterior", trajectories="16").mean() > 0.6


@pytest.mark.slow
def test_the_heuristic_start_is_that_of_the_other_experiments(tmp_path):
    starts, rows = quick("initial", tmp_path / "a"), quick("incomplete", tmp_path / "b")
    heuristic = numbers(starts, "aupr", weights="mixture", start="heuristic")
    assert heuristic == pytest.approx(numbers(rows, "aupr", weights="mixture", search="exhaustive", trajectories="16"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["restricted", "scaling", "consistency", "grid", "irma", "panel"])
def test_the_other_quick_runs(name, tmp_path, shared_data):
    data = {"irma": shared_data / "irma", "panel": shared_data / "panel" / "gsoep_health_wide.csv"}.get(name)
    began = time.process_time()
    rows = quick(name, tmp_path, *(["--data", data] if data else []))
    assert time.process_time() - began < 60
    assert len({r.get("weights") or r.get("method") for r in rows}) > 1


def test_cells_do_not_depend_on_each_other():
    cells = complete.plan(Options(quick=True))
    alone = work("complete", {**cells[2], "trajectories": [5]}, Options(quick=True))["scores"]
    among = work("complete", cells[2], Options(quick=True))["scores"]
    assert alone == [row for row in among if row["trajectories"] == 5]
    assert cells == complete.plan(Options(quick=True))


def test_every_draw_has_an_edge_and_is_its_own():
    nets = [protocol.draw_network(g) for g in range(40)]
    assert all(net.edges for net in nets)
    assert len({tuple(net.edges) for net in nets}) > 30
    assert protocol.draw_network(7).edges == nets[7].edges


def test_the_exact_score_is_the_papers():
    """Posterior weights with a flat prior of structures: softmax of the closed-form score, by hand for two nodes."""
    net = protocol.draw_network(0, nodes=2)
    paths = protocol.draw_paths(net, 0, 20)
    found = protocol.learner("exact").fit(paths).edge_probabilities_[0, 1]
    from scipy.special import gammaln

    scores = []
    for parents, factor in (([], 2), (["x0"], 1)):
        table = cl.count_statistics(paths, {"x1": parents})
        a, b = 5.0 * factor, 10.0 * factor
        total = 0.0
        for dwell, moves in zip(table.dwell[1], table.transitions[1]):
            for x in range(2):
                m, t = moves[x, 1 - x], dwell[x]
                total += gammaln(a + m) - gammaln(a) + a * np.log(b) - (a + m) * np.log(b + t)
        scores.append(total)
    assert found == pytest.approx(1 / (1 + np.exp(scores[0] - scores[1])), rel=1e-9)


@pytest.mark.parametrize(("mixture", "verdict"), [(0.99, "agrees"), (0.6, "**differs**")])
def test_verdicts_follow_the_numbers(mixture, verdict):
    level = {"exact": 0.99, "posterior": 0.995, "mixture": mixture}
    rows = [
        {
            "graph": g,
            "trajectories": n,
            "method": m,
            "auroc": v,
            "aupr": v if n == 320 else 0.5 + 0.01 * g,
            "log_loss": 0.1,
        }
        for g in range(4)
        for n in (5, 320)
        for m, v in ((m, level.get(m, 0.99)) for m in complete.METHODS)
    ]
    first, second, third = complete.compare({"scores": rows}).claims
    assert verdict in first.line()
    assert verdict in second.line()
    assert "agrees" in third.line()


def test_prior_network_holds_the_truth_and_as_many_more():
    net = protocol.draw_network(1, 10)
    truth = np.zeros((10, 10), bool)
    for source, target in net.edges:
        truth[net.names.index(source), net.names.index(target)] = True
    allowed = restricted.prior_network(net, 3, np.random.default_rng(0))
    assert (allowed >= truth).all()
    assert ((allowed & ~truth).sum(0) == 3).all()
    assert not np.diag(allowed).any()


def test_growth_is_the_exponent_of_time():
    rows = [{"nodes": n, "seconds": 0.01 * n**2.5} for n in (5, 10, 40)]
    assert scaling._growth(rows) == pytest.approx(2.5)


def cluster_rows(slower=1.0):
    """What would be measured if the model were right, but for the sizes that it does not see."""
    rows = []
    for n in cluster.SIZES:
        u, shards = cluster.units(50 * n, n), n // 10_000
        factor = slower if n in (50_000, 120_000) else 1.0
        for by, w in (("processes", 1), ("processes", 2), ("dask", 2)):
            spent = {
                "worker_seconds": factor * 2 * 3e-8 * u,
                "own_seconds": factor * 0.02 * (shards + 1),
            }
            base = {"trajectories": n, "units": u, "shards": shards, "state_bytes": 1e6, "sum_bytes": 1e6}
            seconds = spent["worker_seconds"] / w + spent["own_seconds"]
            rows.append({**base, "by": by, "workers": w, "seconds": seconds, **spent})
    return rows


def test_the_model_of_a_cluster_finds_the_costs_again():
    rows = cluster_rows()
    costs = cluster.fit(rows)
    np.testing.assert_allclose(costs.workers, [3e-8], rtol=1e-6)
    np.testing.assert_allclose(costs.own, [0.01, 0.01], rtol=1e-6)
    assert [cluster.clock(row, costs) for row in rows] == pytest.approx([row["seconds"] for row in rows])
    alone = [{"trajectories": 9, "by": "dask", "workers": w, "seconds": s} for w, s in ((1, 8.0), (4, 2.5))]
    assert cluster.efficiency(alone, alone[1]) == pytest.approx(0.8)
    assert cluster.processor_seconds([os.getpid()]) == pytest.approx(time.process_time(), abs=0.5)


def test_the_model_of_a_cluster_is_judged_by_what_it_has_not_seen():
    """Two sizes are left out; where those take twice as long as the others say, the range gets wider."""
    assert cluster.left_out([5, 1, 2, 3, 4, 4]) == [3, 5]
    assert cluster.left_out([1, 2]) == [2]
    assert cluster.left_out([1]) == []
    right, wrong = (cluster.compare({"scores": cluster_rows(slower)}) for slower in (1.0, 2.0))
    assert {line[-1] for line in right.lines} <= {"+0%", "-0%"}
    assert [line[-1] for line in wrong.lines if "left out" in line[-2]] == ["-50%"] * 6
    assert right.claims[1].holds
    assert not wrong.claims[1].holds
    told = [next(text for key, text in found.settings.items() if "100 workers" in key) for found in (right, wrong)]
    low, high = zip(*(map(float, re.search(r"between (\d+) and (\d+) s;", text).groups()) for text in told))
    far = cluster.far_away()
    truth = 4 * (3e-8 * far["units"] / 100 + 0.01 * far["shards"] + 0.01)
    assert low[0] - 1 <= truth <= high[0] + 1
    assert low[1] < low[0]
    assert high[1] > high[0]


def test_mistakes_count_sure_false_edges_and_reversals():
    truth = np.zeros((3, 3), bool)
    truth[0, 1] = truth[1, 2] = truth[2, 1] = True
    probability = np.array([[0.0, 0.99, 0.95], [0.6, 0.0, 0.99], [0.91, 0.99, 0.0]])
    # 0 -> 2 and 2 -> 0 are sure and false; 1 -> 0 is 0 -> 1 reversed; 1 <-> 2 are both there
    assert consistency.mistakes(truth, probability) == {"false_sure": 2, "reversed": 1}


def test_coverage_counts_true_rates_of_nodes_with_the_true_parents():
    net = protocol.draw_network(0)
    result = cl.StructureLearner(2).fit(cl.simulate(net, 2000, horizon=4.0, rng=0)).result_
    assert sorted(result.network.edges) == sorted(net.edges)
    found = consistency.coverage(net, result)
    assert found["true_sets"] == 5
    assert found["rates"] == sum(2 * len(cim) for cim in net.cims)
    assert found["coverage"] > 0.85
    slow = cl.CTBN(net.variables, _named(net), {name: 1e-3 * net.rates(name) for name in net.names})
    assert consistency.coverage(slow, result)["covered"] == 0
    other = cl.CTBN(net.variables, {}, {name: [[-0.5, 0.5], [0.5, -0.5]] for name in net.names})
    roots = sum(not parents for parents in net.parents)
    assert consistency.coverage(other, result)["true_sets"] == roots < 5


def test_coverage_knows_the_parents_in_any_order():
    """Rates that differ by far for every state of the parents, the truth naming them the other way round."""
    rates = np.array([[[0.1, 0.5], [2.0, 8.0]], [[4.0, 1.0], [0.3, 16.0]]])  # [a, b, from]
    cim = np.stack([np.stack([-rates[..., 0], rates[..., 0]], -1), np.stack([rates[..., 1], -rates[..., 1]], -1)], -2)
    free = [[-1.0, 1.0], [1.0, -1.0]]
    net = cl.CTBN(dict.fromkeys("abc", (0, 1)), {"c": ["b", "a"]}, {"a": free, "b": free, "c": cim.swapaxes(0, 1)})
    result = cl.StructureLearner().fit(cl.simulate(net, 500, horizon=10.0, rng=0)).result_
    assert net.parents[2] == (1, 0)
    assert consistency.coverage(net, result)["coverage"] > 0.7


def _named(net):
    return {name: [net.names[j] for j in parents] for name, parents in zip(net.names, net.parents)}


def test_gaps_are_those_between_observations():
    net = protocol.draw_network(0)
    times = consistency.observations(net, 0, 3, "time", 0.3).series[0].times[: protocol.OBSERVATIONS]
    assert np.diff(times) == pytest.approx(0.6)
    assert -np.mean([np.diagonal(cim, axis1=1, axis2=2).mean() for cim in net.cims]) == pytest.approx(0.5)


def test_verdicts_on_more_data_follow_the_numbers():
    loss = {"star": (0.1, 0.4), "exact": (0.1, 0.1), "sampling": (0.1, 0.01), "blocks": (0.1, 0.02)}
    held = {"star": 20, "exact": 89, "sampling": 95, "blocks": 93}
    rows = [
        {"nodes": 5, "trajectories": n, "gap": None, "ends": ends, "graph": g, "method": m}
        | {
            "auroc": 1.0,
            "aupr": 1.0,
            "seconds": 1.0,
            "log_loss": loss[m][k],
            "false_sure": int(m == "star"),
            "reversed": 0,
        }
        | {"rates": 100, "covered": held[m], "coverage": held[m] / 100}
        for m in consistency.METHODS
        for g in range(2)
        for k, n in enumerate((40, 160))
        for ends in ("jump", "time")
    ]
    rows += [{**row, "gap": 1.0} for row in rows if row["trajectories"] == 160 and row["ends"] == "time"]
    for row in rows:
        if row["ends"] == "jump":
            row["covered"] = 50
    claims = [claim.holds for claim in consistency.compare({"scores": rows}).claims]
    assert claims == [False, None, True, True, False, None, True, True, False, True, True, True]


def test_irma_is_read_as_it_stands(shared_data):
    folder = shared_data / "irma"
    assert [len(irma.truth(folder, n)) for n in (6, 7, 8)] == [6, 7, 8]
    every = irma.observations(folder, "on", "threshold", 1.0, "all")
    after = irma.observations(folder, "on", "threshold", 2.0, "after the switch")
    with (folder / "switch_on.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(every.series[0].times) == len(rows)
    kept = [r for r in rows if r["phase"] == "post_shift"]
    log = np.log([float(r["GAL4"]) for r in kept])
    series = after.series[irma.GENES.index("GAL4")]
    expected = norm.cdf((log - log.mean()) / log.std())
    assert np.exp(series.log_likelihood()[:, 1]) == pytest.approx(expected)
    assert np.diff(series.times[:2]) == pytest.approx(2.0)
    authors = irma.observations(folder, "off", "authors", 1.0, "after the switch")
    assert sum(len(s.times) for s in authors.series) == 360


def test_panel_draws_persons_and_finds_what_never_changes(tmp_path):
    file = tmp_path / "panel.csv"
    lines = ["id,t,year,sex,job,health"]
    lines += [
        f"{i},{t},{1990 + t},{i % 2},{(i + t) % 3},{'' if t == 1 else t // 2}" for i in range(20) for t in range(3)
    ]
    file.write_text("\n".join([*lines, "99,0,1990,1,2,0"]) + "\n")  # a person seen once
    table, variables, still = panel.read_panel(file)
    assert variables == ["sex", "job", "health"]
    assert still == ["sex"]
    assert 99 not in table["id"].to_pylist()
    first, again = (panel.choose(table, 8, 0)["id"].to_pylist() for _ in range(2))
    assert first == again
    assert len(set(first)) == 8
    assert set(panel.choose(table, 8, 1)["id"].to_pylist()) != set(first)
    for quick, needed in ((True, 40), (False, 100)):  # told before anything is computed
        with pytest.raises(CtbnlearnError, match=f"20 persons are seen more than once; at least {needed}"):
            panel.plan(Options(quick, file, False))
    file.write_text("\n".join([*lines, ",0,1990,1,2,0", ",1,1991,1,2,0"]) + "\n")  # rows of nobody
    assert set(panel.read_panel(file)[0]["id"].to_pylist()) == set(range(20))
    file.write_text("id,t\n1,0\n1,1\n")
    with pytest.raises(CtbnlearnError, match="two or more variables"):
        panel.read_panel(file)


def test_panel_learners_of_the_whole_plan_can_be_made():
    """Tests run the quick one, which has no time grid of its own."""
    for weights in panel.WEIGHTS:
        learner = panel.estimator(weights, False, ["sex"])
        assert learner.exogenous == ["sex"]
        assert weights == "posterior" or learner.inference.step == panel.STEP


def test_panel_distance_counts_edges_that_differ():
    def edges(persons, draw, *probabilities):
        return [
            {"weights": w, "persons": persons, "draw": draw, "source": str(k), "target": "y", "probability": p}
            for w in panel.WEIGHTS
            for k, p in enumerate(probabilities)
        ]

    tables = {
        "scores": [{"persons": 9}, {"persons": 5}],
        "edges": edges(9, 0, 0.9, 0.1, 0.6) + edges(9, 1, 0.8, 0.2, 0.4) + edges(5, 0, 0.1, 0.9, 0.1),
    }
    found = {(row["persons"], row["draw"]): row["hamming"] for row in panel.distances(tables)}
    assert found == {(9, 1): 1, (5, 0): 3}


def test_help_is_light():
    import subprocess
    import sys

    code = (
        "import sys; from ctbnlearn.cli import main; main(['experiment', '--help']); "
        "print([m for m in ('jax', 'matplotlib', 'plotly', 'pyarrow') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in catalogue.NAMES)


def test_chance_on_irma_is_that_of_shuffled_rankings():
    rng = np.random.default_rng(0)
    truth = np.zeros((5, 5), int)
    truth[np.nonzero(~np.eye(5, dtype=bool))[0][:8], np.nonzero(~np.eye(5, dtype=bool))[1][:8]] = 1
    found = [cl.edge_scores(truth, rng.random((5, 5)), self_pairs=True)["auroc"] for _ in range(300)]
    assert np.mean(found) == pytest.approx(irma.RANDOM[0], abs=0.025)
    assert np.std(found) == pytest.approx(irma._chance(), rel=0.15)


def test_the_grid_sets_its_figures_beside_the_published_ones():
    cells = grid.plan(Options())
    assert {(c["states"], c["p"], c["nodes"]) for c in cells[:6]} == {(2, 0.1, 20)}
    assert len(cells) == 2 * (3 * len(grid.PUBLISHED) + 24 - len(grid.PUBLISHED))
    net = grid.draw_network(3, 0.3, 6, 0)
    off = np.concatenate([c[:, ~np.eye(3, dtype=bool)].ravel() for c in net.cims])
    assert off.min() > 1
    assert off.max() < 5
    edges = list(net.edges)
    half = grid.accuracy(net, {*edges[: len(edges) // 2], ("x0", "nobody")})
    assert half["recall"] == pytest.approx((len(edges) // 2) / len(edges))
    assert half["precision"] == pytest.approx((len(edges) // 2) / (len(edges) // 2 + 1))
    assert half["f1"] == pytest.approx(2 / (1 / half["recall"] + 1 / half["precision"]))
    assert grid.accuracy(net, net)["f1"] == 1.0
    row = {"states": 2, "p": 0.2, "nodes": 20, "trajectories": 300, "graph": 0, "method": "hill climb", "error": None}
    for f1, seconds, holds in ((1.0, 10.0, [True, True]), (0.9, 100.0, [False, False])):
        made = {**row, "f1": f1, "precision": 1.0, "recall": 1.0, "seconds": seconds, "cpu": seconds}
        found = grid.compare({"scores": [made]})
        assert [claim.holds for claim in found.claims] == holds
        assert found.lines[0][-4:] == (0.98, 1.0, f"{seconds:.3g}", "1029")
