"""HillClimb and Tabu against exhaustive scoring."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import DataError, ParameterError
from ctbnlearn.structure.search import shared_bases

SHARED = {"rate_prior": "shared"}


def data(seed, n=5):
    net = cl.random_network(n, 2, rng=seed)
    return net, cl.simulate(net, 60, n_transitions=10, rng=seed)


def best_sets(paths, **rules):
    learner = cl.StructureLearner(**SHARED, **rules).fit(paths)
    return {name: sets[0] for name, sets in zip(paths.names, learner.parent_sets_)}


def found_sets(learner):
    return {name: sets[0] for name, sets in zip(learner.network_.names, learner.parent_sets_)}


@pytest.mark.parametrize("seed", range(8))
def test_searches_find_the_best_set_of_every_node(seed):
    _, paths = data(seed)
    for k in (2, 3, None):
        tabu = cl.Tabu(k).fit(paths)
        assert found_sets(tabu) == best_sets(paths, max_parents=k)
        climbed = cl.HillClimb(k).fit(paths)
        assert climbed.objective_ <= tabu.objective_ + 1e-9
        parents = {(source, v) for v, sources in found_sets(climbed).items() for source in sources}
        assert parents == set(climbed.network_.edges)


def test_edge_probabilities_are_those_of_all_sets():
    for seed, n_trajectories in ((0, 8), (1, 30), (2, 100)):
        paths = cl.simulate(cl.random_network(6, 3, rng=seed), n_trajectories, n_transitions=10, rng=seed)
        exact = cl.StructureLearner(**SHARED).fit(paths)
        found = cl.HillClimb().fit(paths)
        assert (found.coverage_ >= 0.999).all()
        np.testing.assert_allclose(found.edge_probabilities_, exact.edge_probabilities_, atol=2e-3)
        near = cl.HillClimb(n_near=0).fit(paths)
        assert near.n_scored_ <= found.n_scored_
        assert (near.coverage_ <= found.coverage_ + 1e-12).all()
        for one, other in zip(found.network_.cims, exact.network_.cims):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_rules_are_honoured():
    net, paths = data(1)
    rules = {
        "candidates": ~np.eye(5, dtype=bool) & (np.arange(5)[:, None] != 3),
        "required": [("x4", "x0")],
        "forbidden": [("x1", "x2")],
    }
    for search in (cl.HillClimb, cl.Tabu):
        learner = search(2, **rules).fit(paths)
        found = learner.network_.adjacency
        assert found[4, 0] == 1
        assert learner.edge_probabilities_[4, 0] == 1.0
        assert learner.edge_probabilities_[1, 2] == 0.0
        assert not learner.edge_probabilities_[3].any()
        assert found.sum(0).max() <= 2
        assert not search(exogenous=["x1"]).fit(paths).edge_probabilities_[:, 1].any()
    assert found_sets(cl.Tabu(2, **rules).fit(paths)) == best_sets(paths, max_parents=2, **rules)
    assert net.adjacency.shape == found.shape


def parity_network(n, sources):
    """The last variable moves fast or slowly with the parity of some others: none of them says anything alone."""
    names = [f"v{i}" for i in range(n)]
    parity = np.indices((2,) * len(sources)).sum(0).reshape(-1) % 2
    speed = np.where(parity, 3.0, 1.0)[:, None, None] * np.array([[-1.0, 1.0], [1.0, -1.0]])
    rates = {name: np.array([[-1.0, 1.0], [1.0, -1.0]]) for name in names[:-1]}
    parents = {names[-1]: [names[j] for j in sources]}
    return cl.CTBN([cl.Variable(name, (0, 1)) for name in names], parents, {**rates, names[-1]: speed})


@pytest.mark.parametrize("sources", [(0, 3), (1, 2, 4), (0, 1, 2, 3)])
def test_parents_that_say_nothing_alone_are_found_together(sources):
    net = parity_network(7, sources)
    paths = cl.simulate(net, 40, horizon=10.0, rng=1)
    assert cl.HillClimb().fit(paths).network_.parents[-1] == sources
    assert cl.HillClimb(lookahead=0, n_near=0).fit(paths).network_.parents[-1] != sources


def dense_network(n, card, p, rng):
    """Every pair an edge with probability p, every rate on its own."""
    names = [f"v{i}" for i in range(n)]
    parents, rates = {}, {}
    for i, name in enumerate(names):
        parents[name] = [names[j] for j in range(n) if j != i and rng.random() < p]
        cim = rng.uniform(1, 4, (card ** len(parents[name]), card, card)) * ~np.eye(card, dtype=bool)
        rates[name] = cim - np.eye(card) * cim.sum(-1)[..., None]
    return cl.CTBN([cl.Variable(name, tuple(range(card))) for name in names], parents, rates)


def test_dense_graphs_are_found_with_a_shared_strength_but_not_with_a_weak_prior():
    net = dense_network(7, 3, 0.75, np.random.default_rng(3))
    paths = cl.simulate(net, 40, horizon=25.0, rng=3)
    assert max(map(len, net.parents)) >= 5
    shared = set(cl.HillClimb().fit(paths).network_.edges)
    weak = set(cl.HillClimb(rate_prior=(1.0, 0.4)).fit(paths).network_.edges)
    truth = set(net.edges)
    assert shared == truth
    assert len(weak & truth) < 0.8 * len(truth)


def test_the_number_of_threads_does_not_matter():
    paths = cl.simulate(dense_network(6, 3, 0.5, np.random.default_rng(1)), 5, horizon=10.0, rng=2)
    one, three = (cl.HillClimb(n_jobs=k).fit(paths) for k in (1, 3))
    np.testing.assert_array_equal(one.edge_probabilities_, three.edge_probabilities_)
    assert one.objective_ == three.objective_
    for a, b in zip(one.network_.cims, three.network_.cims):
        np.testing.assert_array_equal(a, b)


def test_too_many_sets_to_list_are_searched(monkeypatch):
    from ctbnlearn.learn import complete

    paths = cl.simulate(cl.random_network(7, 3, rng=4), 60, horizon=6.0, rng=4)
    listed = cl.StructureLearner(**SHARED).fit(paths)
    assert listed.coverage_ is None
    monkeypatch.setattr(complete, "MOST_LISTED", 0)
    said = []
    searched = cl.StructureLearner(**SHARED, progress=said.append).fit(paths)
    assert (searched.coverage_ > 0.99).all()
    assert any("sets scored" in event.message for event in said)
    np.testing.assert_allclose(searched.edge_probabilities_, listed.edge_probabilities_, atol=0.02)
    assert searched.objective_ == pytest.approx(listed.objective_, abs=0.1)


def test_results_are_saved_and_loaded(tmp_path):
    _, paths = data(2)
    learner = cl.HillClimb().fit(paths)
    learner.result_.save(tmp_path / "out")
    again = cl.load_result(tmp_path / "out")
    np.testing.assert_array_equal(again.edge_probabilities, learner.edge_probabilities_)
    assert again.network.edges == learner.network_.edges
    assert np.isfinite(learner.score(paths))


def test_a_variable_that_never_moves_and_transitions_that_cannot_happen():
    still = cl.Paths.from_trajectories({"a": (0, 1), "b": (0, 1, 2)}, [([0, 0], [(0.5, "b", 1), (0.7, "b", 2)], 1.0)])
    for search in (cl.HillClimb, cl.Tabu):
        learner = search(transitions={"b": [(0, 1), (1, 2)], "a": []}).fit(still)
        assert np.isfinite(learner.edge_probabilities_).all()
        assert not learner.network_.cims[0].any()
        with pytest.raises(DataError, match="transitions"):
            search(transitions={"b": [(0, 1)]}).fit(still)


def test_bases_are_what_sets_share():
    assert shared_bases([(), (1, 2), (1, 3), (1, 4)]) == {(1,): [2, 3, 4]}
    assert shared_bases([(2,), (3,)]) == {(): [2, 3]}


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"lookahead": -1}, "lookahead"),
        ({"n_near": 1.5}, "n_near"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"structure_prior": "dense"}, "structure_prior"),
        ({"rate_prior": "weak"}, "rate_prior"),
        ({"max_parents": -1}, "max_parents"),
    ],
)
def test_refusals(settings, what):
    with pytest.raises(ParameterError, match=what):
        cl.HillClimb(**settings).fit(data(0)[1])


def test_more_refusals():
    _, paths = data(0)
    for settings, what in (({"tenure": 0}, "tenure"), ({"patience": 0}, "patience")):
        with pytest.raises(ParameterError, match=what):
            cl.Tabu(**settings).fit(paths)
    obs = cl.observe(paths, n_times=2, rng=0)
    with pytest.raises(ParameterError, match="StructuralEM"):
        cl.HillClimb().fit(obs)
    with pytest.raises(ParameterError, match="shared"):
        cl.StructureLearner(rate_prior="shared").fit(obs)
    with pytest.raises(ParameterError, match="shared"):
        cl.StructureLearner(rate_prior="shared", weights="mixture").fit(paths)
