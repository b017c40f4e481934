"""Structural EM: its statistics against exact inference, its search against brute force, what it recovers."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import ctbnlearn as cl
from ctbnlearn.errors import CtbnlearnError
from ctbnlearn.inference.contract import Effort
from ctbnlearn.inference.engine import PathEngine
from ctbnlearn.inference.rows import Rows
from ctbnlearn.learn.families import ExactFamilies, VariationalFamilies
from ctbnlearn.structure.expected import SetMoments, add_rows
from ctbnlearn.structure.families import FamilyTables
from ctbnlearn.structure.parent_sets import enumerate_sets
from ctbnlearn.structure.problem import EdgeRules

NET = cl.random_network(4, 2, coupling=0.9, rng=2)
PATHS = cl.simulate(NET, 60, horizon=6.0, rng=2)
OBS = cl.observe(PATHS, times=np.linspace(0, 6, 13), noise=cl.GaussianNoise(0.1), rng=2)
STEP = 0.25  # one grid for all tests: compiled once
METHODS = {"star": cl.Star(step=STEP), "exact": cl.Exact()}


def table_of(families, node, parents):
    names = families.rules.names
    sets = enumerate_sets(parents, parents, None, names, node)
    (group,) = families.groups(node, sets)
    return group.dwell[0], group.transitions[0]


@pytest.mark.parametrize("engine", ["star", "mean_field", "exact"])
def test_families_of_a_known_network(engine):
    """Exact: of any parents. Variational: of the network's own parents as the engine has them."""
    rules = EdgeRules.build(NET.names, 2, None, None, None)
    if engine == "exact":
        families = ExactFamilies(OBS, rules)
        value, check = families.expect(NET), cl.exact.log_evidence(NET, OBS).sum()
        wanted = [(0, 3), (1,), (), (0, 2)]
    else:
        families = VariationalFamilies(
            rules, PathEngine(OBS, STEP, mean_field=engine == "mean_field"), Effort(1e-9, 500)
        )
        value, check = families.expect(NET), cl.variational.log_evidence(NET, OBS, step=STEP, inference=engine).sum()
        wanted = NET.parents
    wanted = [tuple(sorted(set(ps) - {i})) for i, ps in enumerate(wanted)]
    names = {NET.names[i]: [NET.names[j] for j in ps] for i, ps in enumerate(wanted)}
    if engine == "exact":
        expected = cl.exact.expected_statistics(NET, OBS, parents=names)
    else:
        expected = cl.variational.expected_statistics(NET, OBS, step=STEP, inference=engine)
        assert expected.parents == tuple(wanted)
    assert value == pytest.approx(check, abs=1e-3)
    for i, ps in enumerate(wanted):
        dwell, transitions = table_of(families, i, ps)
        np.testing.assert_allclose(dwell, expected.dwell[i], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(transitions, expected.transitions[i], rtol=1e-4, atol=1e-4)


def test_parents_outside_an_uncoupled_network_are_exact_too():
    """Where nothing drives anything, candidate parents are independent: the joint chain says the same."""
    alone = cl.random_network(4, 0, rng=5)
    rules = EdgeRules.build(NET.names, 2, None, None, None)
    families = VariationalFamilies(rules, PathEngine(OBS, STEP), Effort(1e-9, 500))
    families.expect(alone)
    pairs = [tuple(j for j in range(4) if j != i)[:2] for i in range(4)]
    names = {NET.names[i]: [NET.names[j] for j in ps] for i, ps in enumerate(pairs)}
    expected = cl.exact.expected_statistics(alone, OBS, parents=names)
    for i, ps in enumerate(pairs):
        dwell, transitions = table_of(families, i, ps)
        np.testing.assert_allclose(dwell, expected.dwell[i], rtol=0.01)  # to second order in the step
        np.testing.assert_allclose(transitions, expected.transitions[i], rtol=0.01)


@pytest.mark.parametrize("cards", [[2, 2, 2, 2, 2], [3, 2, 4, 2, 3]])
def test_families_as_they_are_asked_for_equal_those_of_pools(cards):
    """Two ways to the same sums: set by set, and all products of a pool at once."""
    rng = np.random.default_rng(0)
    shapes = np.array(cards)[:, None] > np.arange(max(cards))
    rows = []
    for _ in range(2):
        marginal = rng.random((5, max(cards), 30)) * shapes[..., None]
        transitions = rng.random((5, max(cards), max(cards), 30)) * (1 - np.eye(max(cards)))[None, :, :, None]
        rows.append(Rows(marginal / marginal.sum(1, keepdims=True), rng.random(30), transitions))
    active = [(1, 3), (), (4,), (0, 2, 4), (1, 2)]
    geometric = [rng.random((int(np.prod([cards[j] for j in ps])), c, c)) for c, ps in zip(cards, active)]
    lazy = FamilyTables(rows, active, geometric, cards)
    for node in range(5):
        pool = tuple(j for j in range(5) if j != node)
        moments = SetMoments(node, pool, active[node], geometric[node], cards, 3)
        add_rows(rows, [moments])
        sets = enumerate_sets(pool, [], 3, [str(j) for j in range(5)], node)
        expected = {int(k): (t, m) for g in moments.groups(sets) for k, t, m in zip(g.index, g.dwell, g.transitions)}
        for g in lazy.groups(node, sets):
            off = ~np.eye(cards[node], dtype=bool)
            np.testing.assert_allclose(g.dwell[0], expected[int(g.index[0])][0], atol=1e-12)
            np.testing.assert_allclose(g.transitions[0][:, off], expected[int(g.index[0])][1][:, off], atol=1e-12)


FIXED = {"rate_prior": (1.0, 2.0), "structure_prior": "size"}


def brute_force_score(paths, node, parents):
    """Score plus log prior (`FIXED`) of binary variables, from counts alone."""
    stats = cl.count_statistics(paths, {paths.names[node]: [paths.names[j] for j in parents]})
    total = -np.log(comb(3, len(parents))) - np.log(4)
    for u, x in np.ndindex(stats.dwell[node].shape):
        m, t = stats.transitions[node][u, x, 1 - x], stats.dwell[node][u, x]
        total += gammaln(1.0 + m) + np.log(2.0) - (1.0 + m) * np.log(2.0 + t)
    return total


def test_complete_data_are_climbed_once_and_edges_graded_by_the_score():
    few = PATHS.select(range(12))
    learner = cl.StructuralEM(**FIXED).fit(few)
    climbed = cl.HillClimb(**FIXED).fit(few)
    assert [list(sets) for sets in learner.parent_sets_] == [[sets[0]] for sets in climbed.parent_sets_]
    assert learner.objective_ == pytest.approx(climbed.objective_)
    both = cl.StructuralEM().fit(few), cl.HillClimb().fit(few)
    assert both[0].objective_ == pytest.approx(both[1].objective_)
    for i in range(4):
        held = set(learner.network_.parents[i])
        best = brute_force_score(few, i, sorted(held))
        others = [s for k in range(4) for s in combinations(sorted(set(range(4)) - {i}), k)]
        one_off = [s for s in others if len(held ^ set(s)) == 1]
        for s in one_off:
            (edge,) = held ^ set(s)
            gain = (best - brute_force_score(few, i, s)) * (1 if edge in held else -1)
            assert learner.edge_probabilities_[edge, i] == pytest.approx(1 / (1 + np.exp(-gain)))
    assert ((learner.edge_probabilities_ > 0.5) == (learner.network_.adjacency == 1)).all()


def test_grades_of_full_parent_sets_compare_with_the_best_swap():
    learner = cl.StructuralEM(max_parents=1, **{**FIXED, "structure_prior": "flat"}).fit(PATHS)
    for i in range(4):
        flat = [brute_force_score(PATHS, i, (j,)) if j != i else -np.inf for j in range(4)]
        (held,) = learner.network_.parents[i]
        assert held == np.argmax(flat)
        for j in set(range(4)) - {i, held}:
            expected = 1 / (1 + np.exp(flat[held] - flat[j]))
            assert learner.edge_probabilities_[j, i] == pytest.approx(expected)


@pytest.mark.parametrize("method", METHODS)
def test_noisy_glimpses_give_the_network_of_complete_data(method):
    events, seen = [], []
    common = {"max_parents": 2, "inference": METHODS[method]}
    learner = cl.StructuralEM(**common, progress=events.append, callback=lambda *a: seen.append(a)).fit(OBS)
    climbed = cl.HillClimb(2, lookahead=0, n_near=0).fit(PATHS)  # single steps, as those of structural EM
    np.testing.assert_array_equal(learner.network_.adjacency, climbed.network_.adjacency)
    assert learner.network_.edges
    assert learner.converged_
    assert len(seen) == learner.n_iter_
    assert [event.phase for event in events] == ["searches"] * learner.n_iter_ + ["done"]
    assert cl.edge_scores(NET, learner.edge_probabilities_)["auroc"] > 0.8
    if method == "exact":
        assert learner.objective_ == pytest.approx(cl.exact.log_evidence(learner.network_, OBS).sum())
    assert learner.objective_ == learner.history_.objective[-1] > learner.history_.objective[0]
    # the same network is a fixed point, wherever it was started from
    again = cl.StructuralEM(**common, initial=learner.network_).fit(OBS)
    assert again.network_.edges == learner.network_.edges
    assert again.objective_ == pytest.approx(learner.objective_, abs=2.0)


def test_mean_field_is_at_hand():
    star, rival = (
        cl.StructuralEM(2, inference=kind(step=STEP), initial=NET).fit(OBS) for kind in (cl.Star, cl.MeanField)
    )
    assert rival.converged_
    assert rival.objective_ < star.objective_


def test_one_sweep_and_rules():
    few = {"max_iter": 1, "max_inner": 1, "inference": METHODS["star"]}
    learner = cl.StructuralEM(2, **few, required=[("x0", "x1")], exogenous=["x3"])
    with pytest.warns(ConvergenceWarning, match="1 searches"):
        learner.fit(OBS)
    assert learner.n_iter_ == 1
    assert learner.edge_probabilities_[0, 1] == 1.0
    assert not learner.edge_probabilities_[:, 3].any()
    assert (learner.network_.adjacency.sum(0) <= 2).all()
    assert len(learner.history_.objective) == 2  # before and after the search


def test_after_learning(tmp_path):
    learner = cl.StructuralEM().fit(PATHS)
    assert np.isfinite(learner.score(PATHS))
    learner.result_.save(tmp_path / "r")
    np.testing.assert_allclose(cl.load_result(tmp_path / "r").edge_probabilities, learner.edge_probabilities_)


def test_scikit_learn_rules():
    learner = cl.StructuralEM(2, inference=cl.Exact(), required=[("x0", "x1")])
    assert clone(learner).get_params() == learner.get_params()
    assert not hasattr(learner, "network_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"inference": "sampling"}, "takes expected statistics, not draws"),
        ({"inference": "naive"}, "inference must be one of"),
        ({"max_parents": -1}, "max_parents"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_inner": 0}, "max_inner"),
        ({"tol": 0}, "tol"),
        ({"inference": cl.Star(step=-1)}, "step"),
        ({"callback": 3}, "callback"),
        ({"progress": "loud"}, "progress"),
        ({"precision": "half"}, "precision"),
        ({"rate_prior": "weak"}, "rate_prior"),
        ({"initial": [("x0", "zz")]}, "initial: unknown variable"),
        ({"initial": [("x0", "x1")], "forbidden": [("x0", "x1")]}, "'x0' must not drive it"),
        ({"initial": [("x0", "x1"), ("x2", "x1")], "max_parents": 1}, "too many"),
        ({"initial_distribution": "prior"}, "initial_distribution"),
        ({"exogenous": ["zz"]}, "exogenous"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(CtbnlearnError, match=words):
        cl.StructuralEM(**parameters).fit(OBS)


def test_what_cannot_be_fitted():
    with pytest.raises(CtbnlearnError, match="Paths"):
        cl.StructuralEM().fit(np.zeros((3, 3)))
