"""CTPC: what it recovers, how often it errs, rules and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import ctbnlearn as cl
from ctbnlearn.errors import CtbnlearnError

NET = cl.random_network(5, 2, coupling=0.8, n_states=2, rng=3)
PATHS = cl.simulate(NET, 150, n_transitions=20, rng=1)


def test_networks_are_recovered():
    wrong = []
    for seed in range(6):
        net = cl.random_network(5, 2, coupling=0.8, rng=seed)
        learner = cl.CTPC().fit(cl.simulate(net, 200, n_transitions=20, rng=seed))
        wrong.append(np.abs(learner.network_.adjacency - net.adjacency).sum())
        assert cl.edge_scores(net, learner.edge_probabilities_)["auroc"] > 0.95
    assert np.mean(wrong) <= 1.0  # of 20 pairs; a level of 0.05 allows for one false edge


def test_where_a_variable_jumps_to_counts_too():
    """A parent that steers the next state and leaves the time to it alone is seen by the second test only."""
    stay = [[-1, 1], [1, -1]]
    turn = np.array([[-2, 1.7, 0.3], [1, -2, 1], [1, 1, -2]]), np.array([[-2, 0.3, 1.7], [1, -2, 1], [1, 1, -2]])
    net = cl.CTBN({"p": (0, 1), "c": (0, 1, 2)}, {"c": ["p"]}, {"p": stay, "c": np.stack(turn)})
    learner = cl.CTPC().fit(cl.simulate(net, 60, horizon=10.0, rng=0))
    assert learner.network_.edges == [("p", "c")]


@pytest.mark.parametrize(("n_states", "published"), [(2, 0.0975), (3, None)])
def test_false_edges_between_independent_variables(n_states, published):
    rejected = {"bonferroni": [], None: []}
    off = ~np.eye(3, dtype=bool)
    for seed in range(40):
        net = cl.random_network(3, 0, dynamics="random", n_states=n_states, rng=seed)
        paths = cl.simulate(net, 30, horizon=10.0, rng=seed + 1)
        for correction, found in rejected.items():
            learner = cl.CTPC(correction=correction, max_separating=0).fit(paths)
            found.extend(learner.p_values_[off] <= learner.alpha)
    n = len(rejected[None])
    spread = 3 * np.sqrt(0.05 * 0.95 / n)
    assert np.mean(rejected["bonferroni"]) == pytest.approx(0.05, abs=spread)
    if published is not None:  # two tests, one a state
        assert np.mean(rejected[None]) == pytest.approx(published, abs=3 * np.sqrt(published / n))
    else:
        assert np.mean(rejected[None]) > 0.3


def test_what_is_found_does_not_depend_on_the_order_of_variables():
    base = cl.CTPC().fit(PATHS).p_values_
    order = np.array([2, 0, 4, 3, 1])  # new position -> old number
    turned = cl.Paths(
        [PATHS.variables[j] for j in order], PATHS.initial[:, order], PATHS.offsets, PATHS.times,
        np.argsort(order)[PATHS.nodes], PATHS.targets, PATHS.start, PATHS.end,
    )  # fmt: skip
    np.testing.assert_allclose(cl.CTPC().fit(turned).p_values_, base[np.ix_(order, order)], atol=1e-9)


def test_ranks_and_the_network_agree(tmp_path):
    learner = cl.CTPC(alpha=0.01).fit(PATHS)
    kept = learner.p_values_ <= 0.01
    np.testing.assert_array_equal(learner.network_.adjacency == 1, kept)
    np.testing.assert_array_equal(learner.edge_probabilities_ >= 0.5, kept)
    order = np.argsort(learner.p_values_.ravel(), kind="stable")
    assert (np.diff(learner.edge_probabilities_.ravel()[order]) <= 0).all()
    assert not learner.edge_probabilities_.diagonal().any()
    assert np.isfinite(learner.score(PATHS))
    assert np.isfinite(learner.objective_)
    learner.result_.save(tmp_path / "r")
    assert cl.load_result(tmp_path / "r").network.edges == learner.network_.edges


def test_rules_and_separating_sets():
    learner = cl.CTPC(required=[("x0", "x1")], forbidden=[("x2", "x1")], exogenous=["x3"]).fit(PATHS)
    assert learner.edge_probabilities_[0, 1] == 1.0
    assert learner.edge_probabilities_[2, 1] == 0.0
    assert not learner.edge_probabilities_[:, 3].any()
    pairs, more = cl.CTPC(max_separating=0).fit(PATHS), cl.CTPC().fit(PATHS)
    assert pairs.n_tests_ == 20 < more.n_tests_
    assert (more.p_values_ >= pairs.p_values_).all()


def test_scikit_learn_rules():
    learner = cl.CTPC(0.1, correction=None, required=[("x0", "x1")])
    assert clone(learner).get_params() == learner.get_params()
    assert not hasattr(learner, "network_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 0}, "alpha"),
        ({"alpha": 1.5}, "alpha"),
        ({"alpha": "small"}, "alpha"),
        ({"correction": "holm"}, "correction"),
        ({"max_separating": -1}, "max_separating"),
        ({"rate_prior": "weak"}, "rate_prior"),
        ({"initial_distribution": "prior"}, "initial_distribution"),
        ({"candidates": [("x0", "zz")]}, "zz"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(CtbnlearnError, match=words):
        cl.CTPC(**parameters).fit(PATHS)


def test_incomplete_data_are_refused():
    with pytest.raises(CtbnlearnError, match="complete data"):
        cl.CTPC().fit(cl.observe(PATHS, n_times=2, rng=0))
