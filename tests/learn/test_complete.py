"""StructureLearner on complete data: accuracy, exactness, rules and refusals."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import ctbnlearn as cl
from ctbnlearn.errors import CtbnlearnError, ParameterError
from ctbnlearn.learn import complete
from ctbnlearn.result.effects import edge_effect
from oracles.reference_networks import load_drug

NET = cl.random_network(4, 2, rng=1)
PATHS = cl.simulate(NET, 30, n_transitions=10, rng=2)


def test_weights_equal_brute_force_over_all_sets():
    learner = cl.StructureLearner(max_parents=2, rate_prior=(1.5, 2.0)).fit(PATHS)
    from math import comb

    from scipy.special import gammaln

    for i, name in enumerate(NET.names):
        others = [n for n in NET.names if n != name]
        log_weight = {}
        for size in range(3):
            for s in combinations(others, size):
                stats = cl.count_statistics(PATHS, {name: s})
                total = -np.log(comb(3, size))
                for u, x in np.ndindex(stats.dwell[i].shape):
                    m, t = stats.transitions[i][u, x, 1 - x], stats.dwell[i][u, x]
                    total += gammaln(1.5 + m) - gammaln(1.5) + 1.5 * np.log(2.0) - (1.5 + m) * np.log(2.0 + t)
                log_weight[s] = total
        norm = np.logaddexp.reduce(list(log_weight.values()))
        weights = dict(zip(learner.parent_sets_[i], learner.parent_set_weights_[i]))
        assert weights.keys() == log_weight.keys()
        for s, value in log_weight.items():
            assert weights[s] == pytest.approx(np.exp(value - norm), abs=1e-12)
        for other in others:
            expected = sum(np.exp(v - norm) for s, v in log_weight.items() if other in s)
            assert learner.edge_probabilities_[NET.index(other), i] == pytest.approx(expected, abs=1e-12)
    assert not learner.edge_probabilities_.diagonal().any()


def graph_scores(n_trajectories, make):
    out = []
    for seed in range(20):
        net = cl.random_network(5, 2, coupling=0.6, rng=seed)
        if not 0 < len(net.edges) < 20:
            continue
        paths = cl.simulate(net, n_trajectories, n_transitions=10, rng=1000 + seed)
        found = cl.edge_scores(net, make().fit(paths).edge_probabilities_)
        out.append((found["auroc"], found["aupr"]))
    return np.mean(out, axis=0)


@pytest.mark.parametrize(("n", "auroc", "aupr"), [(40, 0.96, 0.93), (160, 0.995, 0.985)])
def test_accuracy_of_posterior_weights(n, auroc, aupr):
    found = graph_scores(n, lambda: cl.StructureLearner(max_parents=4))
    assert found[0] >= auroc
    assert found[1] >= aupr


def test_mixture_weights_improve_with_data():
    few, many = (graph_scores(n, cl.StructureLearner.paper) for n in (10, 160))
    assert many[0] > few[0]
    assert many[0] > 0.85


@pytest.mark.parametrize("seed", [0, 1])
def test_drug_network_is_recovered(shared_data, seed):
    net = load_drug(shared_data)
    found = cl.StructureLearner(max_parents=3).fit(cl.simulate(net, 3000, horizon=10.0, rng=seed)).network_
    assert sorted(found.edges) == sorted(net.edges)
    few = cl.StructureLearner(max_parents=3).fit(cl.simulate(net, 300, horizon=10.0, rng=seed))
    for i, name in enumerate(net.names):
        if name != "concentration":  # its parents hardly show in so few data
            right = set(few.network_.parents[i]) == set(net.parents[i])
            assert right or few.parent_set_weights_[i][0] < 0.5, name


def test_learned_rates_approach_the_truth():
    net = cl.random_network(3, 2, dynamics="random", n_states=[2, 3, 2], rng=3)
    paths = cl.simulate(net, 3000, horizon=5.0, rng=1)
    rules = {"candidates": net, "required": net}
    learned = cl.StructureLearner(**rules).fit(paths).network_
    assert learned.parents == net.parents
    for a, b in zip(learned.cims, net.cims):
        np.testing.assert_allclose(a, b, rtol=0.1, atol=0.03)
    for a in learned.initial.tables:
        np.testing.assert_allclose(a[0], np.full(len(a[0]), 1 / len(a[0])), atol=0.05)


def test_rules_are_honoured_exactly():
    rules = {
        "candidates": [("x0", "x1"), ("x2", "x1"), ("x3", "x1"), ("x1", "x0")],
        "forbidden": nx.DiGraph([("x2", "x1")]),
        "required": [("x3", "x1")],
    }
    for weights in ("posterior", "mixture"):
        p = cl.StructureLearner(weights=weights, **rules).fit(PATHS).edge_probabilities_
        allowed = np.zeros((4, 4), bool)
        allowed[[0, 3, 1], [1, 1, 0]] = True
        assert not p[~allowed].any()
        assert p[3, 1] == 1.0
        assert 0 < p[0, 1] < 1
    only = cl.StructureLearner(max_parents=0).fit(PATHS)
    assert not only.edge_probabilities_.any()
    assert [list(s) for s in only.parent_sets_] == [[()]] * 4


def test_log_odds_steer_single_edges():
    odds = np.zeros((4, 4))
    base = cl.StructureLearner(structure_prior=odds).fit(PATHS).edge_probabilities_
    flat = cl.StructureLearner(structure_prior="flat").fit(PATHS).edge_probabilities_
    np.testing.assert_allclose(base, flat, atol=1e-12)
    odds[0, 1] = -60.0
    steered = cl.StructureLearner(structure_prior=odds).fit(PATHS).edge_probabilities_
    assert steered[0, 1] < 1e-6 < base[0, 1]
    np.testing.assert_allclose(np.delete(steered, 1, axis=1), np.delete(base, 1, axis=1))


def test_order_of_variables_states_and_trajectories_does_not_matter():
    base = cl.StructureLearner(max_parents=2).fit(PATHS).edge_probabilities_
    shuffled = PATHS.select(np.random.default_rng(0).permutation(30))
    np.testing.assert_allclose(cl.StructureLearner(max_parents=2).fit(shuffled).edge_probabilities_, base, atol=1e-9)
    order = np.array([2, 0, 3, 1])  # new position -> old number
    new_number = np.argsort(order)
    flipped = cl.Paths(
        [cl.Variable(NET.names[j], (1, -1)) for j in order],
        1 - PATHS.initial[:, order],
        PATHS.offsets,
        PATHS.times,
        new_number[PATHS.nodes],
        1 - PATHS.targets,
        PATHS.start,
        PATHS.end,
    )
    found = cl.StructureLearner(max_parents=2).fit(flipped).edge_probabilities_
    np.testing.assert_allclose(found, base[np.ix_(order, order)], atol=1e-9)


def test_the_unit_of_time_does_not_matter():
    base = cl.StructureLearner(max_parents=2).fit(PATHS).edge_probabilities_
    minutes = cl.Paths(
        PATHS.variables,
        PATHS.initial,
        PATHS.offsets,
        60 * PATHS.times,
        PATHS.nodes,
        PATHS.targets,
        60 * PATHS.start,
        60 * PATHS.end,
    )
    found = cl.StructureLearner(max_parents=2).fit(minutes)
    np.testing.assert_allclose(found.edge_probabilities_, base, atol=1e-9)
    np.testing.assert_allclose(
        found.network_.cims[0] * 60, cl.StructureLearner(max_parents=2).fit(PATHS).network_.cims[0]
    )


def test_a_variable_that_never_moves_is_no_trouble():
    paths = cl.Paths.from_trajectories(
        {"still": (0, 1), "moves": ("a", "b", "c")},
        [([0, "a"], [(0.4, "moves", "b"), (0.9, "moves", "c")], 1.0), ([1, "c"], [(0.2, "moves", "a")], 2.0)],
    )
    for learner in (cl.StructureLearner(), cl.StructureLearner.paper()):
        p = learner.fit(paths).edge_probabilities_
        assert np.isfinite(p).all()
        assert ((p >= 0) & (p <= 1)).all()
        assert np.isfinite(learner.network_.cims[0]).all()


def test_exogenous_variables_drive_but_are_not_driven():
    """Same answer as forbidding every edge into them; by name or by number."""
    into = [(source, "x1") for source in ("x0", "x2", "x3")]
    expected = cl.StructureLearner(forbidden=into).fit(PATHS)
    for given in (["x1"], [1], ("x1", np.int64(1))):
        found = cl.StructureLearner(exogenous=given).fit(PATHS)
        np.testing.assert_array_equal(found.edge_probabilities_, expected.edge_probabilities_)
    assert not found.edge_probabilities_[:, 1].any()
    assert found.edge_probabilities_[1].any()
    assert list(found.parent_sets_[1]) == [()]
    assert not cl.HillClimb(exogenous=["x1"]).fit(PATHS).network_.parents[1]
    every = cl.StructureLearner(exogenous=NET.names).fit(PATHS)
    assert not every.edge_probabilities_.any()


def test_a_variable_that_cannot_move():
    for weights in ("posterior", "mixture"):
        still = cl.Paths.from_trajectories({"a": (0, 1), "b": (0, 1)}, [([0, 0], [(0.5, "b", 1)], 1.0)])
        learner = cl.StructureLearner(weights=weights, transitions={"a": []}).fit(still)
        assert not learner.network_.cims[0].any()


def test_trajectories_without_length_or_jumps():
    paths = cl.Paths.from_trajectories({"a": (0, 1), "b": (0, 1)}, [([0, 0], [], 0.0)])
    learner = cl.StructureLearner().fit(paths)
    # no data: the prior, in which each edge has probability one half
    np.testing.assert_allclose(learner.edge_probabilities_, [[0, 0.5], [0.5, 0]])


def test_paper_preset():
    learner = cl.StructureLearner.paper()
    assert learner.weights == cl.Mixture(concentration=0.9, scaled=False)
    assert learner.inference == cl.Star(initial="full")
    assert learner.rate_prior == cl.ProjectedPrior(5.0, 10.0)
    greedy = cl.StructureLearner.paper(exhaustive=False, max_parents=2)
    assert greedy.max_parents == 2
    assert greedy.inference.rates == "arithmetic"
    assert cl.StructureLearner.paper(max_iter=3).inference == cl.Star(initial="full", max_iter=3)
    with pytest.raises(ParameterError, match="exhaustive"):
        cl.StructureLearner.paper(exhaustive=False)
    with pytest.raises(ParameterError, match="exhaustive"):
        cl.StructureLearner.paper(exhaustive=True, max_parents=2)
    sharp = cl.StructureLearner.paper(weights=cl.Mixture(concentration=2.0, scaled=False)).fit(PATHS)
    assert sharp.parent_set_weights_[0][0] == 1.0


@pytest.mark.parametrize("max_parents", [2, 3])
def test_edges_beyond_the_best_set_have_the_effect_of_their_heaviest_set(max_parents):
    """Against counts of each set by itself; other edges have none."""
    result = cl.StructureLearner(max_parents, rate_prior=(1.5, 2.0)).fit(PATHS[:12]).result_
    beyond = 0
    for i, target in enumerate(result.names):
        sets, weights = result.parent_sets[i], result.parent_set_weights[i]
        for j, source in enumerate(result.names):
            found = result.effect(source, target)
            if source in sets[0]:
                holder = sets[0]
            elif result.edge_probabilities[j, i] > 0.05:
                holder = next(s for s in sets if source in s)
                assert weights[list(sets).index(holder)] == max(w for s, w in zip(sets, weights) if source in s)
                beyond += 1
            else:
                assert np.isnan(found.effect)
                continue
            stats = cl.count_statistics(PATHS[:12], {target: holder})
            parents = [result.names.index(name) for name in holder]
            possible = np.ones((2, 2), bool)
            table = cl.RateTable.from_statistics(parents, stats.dwell[i], stats.transitions[i], (1.5, 2.0), possible)
            assert found == pytest.approx(edge_effect(table, j, [2] * 4))
    assert beyond > 3


def test_scikit_learn_rules():
    learner = cl.StructureLearner(max_parents=2, required=[("x0", "x1")])
    again = clone(learner)
    assert again.get_params() == learner.get_params()
    again.set_params(max_parents=1).fit(PATHS)
    assert again.n_features_in_ == 4
    assert list(again.feature_names_in_) == list(NET.names)
    assert not hasattr(learner, "edge_probabilities_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_parents": -1}, "max_parents"),
        ({"max_parents": 1.5}, "max_parents"),
        ({"max_parents": True}, "max_parents"),
        ({"weights": "bayes"}, "weights must be"),
        ({"weights": cl.Mixture(scaled="off")}, "Mixture: scaled"),
        ({"weights": cl.Mixture(concentration="x")}, "Mixture: concentration"),
        ({"weights": cl.Mixture(concentration=np.nan)}, "Mixture: concentration"),
        ({"rate_prior": "weak"}, "rate_prior"),
        ({"rate_prior": (1, -1)}, "rate_prior"),
        ({"rate_prior": (1,)}, "rate_prior"),
        ({"rate_prior": cl.ProjectedPrior(0, 1)}, "rate_prior"),
        ({"structure_prior": "big"}, "structure_prior"),
        ({"structure_prior": np.zeros((2, 2))}, "structure_prior"),
        ({"initial_distribution": "prior"}, "initial_distribution"),
        ({"candidates": [("x0", "zz")]}, "candidates: unknown variable 'zz'"),
        ({"forbidden": [("zz", "x0")]}, "forbidden: unknown variable 'zz'"),
        ({"required": [("x0", "zz")]}, "required: unknown variable 'zz'"),
        ({"required": [("x0", "x0")]}, "itself"),
        ({"required": [("x0", "x1")], "forbidden": [("x0", "x1")]}, "both required and forbidden"),
        ({"required": [("x0", "x1")], "candidates": [("x2", "x1")]}, "not among `candidates`"),
        ({"required": [("x0", "x1"), ("x2", "x1")], "max_parents": 1}, "more than max_parents=1"),
        ({"exogenous": ["zz"]}, "exogenous: unknown variable 'zz'"),
        ({"exogenous": [4]}, "exogenous: unknown variable 4"),
        ({"exogenous": [True]}, "exogenous: unknown variable True"),
        ({"exogenous": "x0"}, "exogenous must be a list"),
        ({"exogenous": 0}, "exogenous must be a list"),
        ({"exogenous": ["x1"], "required": [("x0", "x1")]}, "'x1' is exogenous"),
        ({"candidates": np.ones((3, 3))}, "4 x 4"),
        ({"candidates": "x0->x1"}, "list of"),
        ({"candidates": 7}, "list of"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(CtbnlearnError, match=words):
        cl.StructureLearner(**parameters).fit(PATHS)


def test_what_cannot_be_fitted():
    with pytest.raises(ParameterError, match="Paths"):
        cl.StructureLearner().fit(np.zeros((3, 3)))


def tied_paths():
    """Mixed states, a variable that never moves, and pairs of jumps at one time."""
    net = cl.random_network(6, 2, dynamics="random", n_states=[2, 3, 2, 3, 2, 2], rng=5)
    paths = cl.simulate(net, 15, horizon=4.0, rng=5)
    moving = np.flatnonzero(paths.nodes != 4)
    who = np.searchsorted(paths.offsets, moving, side="right") - 1
    times, nodes, targets = paths.times[moving], paths.nodes[moving], paths.targets[moving]
    for k in range(1, len(times), 3):
        if who[k] == who[k - 1] and nodes[k] != nodes[k - 1]:
            times[k] = times[k - 1]
    offsets = np.searchsorted(who, np.arange(16))
    return cl.Paths(paths.variables, paths.initial, offsets, times, nodes, targets, paths.start, paths.end)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"structure_prior": "flat", "rate_prior": (2.0, 1.0)},
        {"required": [("x0", "x1")], "forbidden": [("x2", "x3")], "exogenous": ["x5"]},
        {"transitions": {"x4": []}, "max_parents": 1},
    ],
)
def test_products_give_the_same_answers_as_lists(monkeypatch, settings):
    """The way for too many sets to list, on few."""
    paths = tied_paths()
    assert (np.diff(paths.times) == 0).any()
    listed = cl.StructureLearner(**{"max_parents": 2, **settings}).fit(paths)
    monkeypatch.setattr(complete, "MOST_LISTED", 0)
    many = cl.StructureLearner(device="cpu", **{"max_parents": 2, **settings}).fit(paths)
    np.testing.assert_allclose(many.edge_probabilities_, listed.edge_probabilities_, atol=1e-9)
    assert many.objective_ == pytest.approx(listed.objective_, abs=1e-7)
    for i in range(6):
        assert next(iter(many.parent_sets_[i])) == next(iter(listed.parent_sets_[i]))
        best = len(many.parent_set_weights_[i])
        np.testing.assert_allclose(many.parent_set_weights_[i], listed.parent_set_weights_[i][:best], atol=1e-9)
        np.testing.assert_allclose(many.network_.cims[i], listed.network_.cims[i], rtol=1e-9, atol=1e-12)
    for a, b in permutations(paths.names, 2):
        np.testing.assert_allclose(many.result_.effect(a, b)[:3], listed.result_.effect(a, b)[:3], atol=1e-7)
