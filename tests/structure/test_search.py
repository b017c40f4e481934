"""Local searches against exhaustive scoring."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError


def data(seed, n=5):
    net = cl.random_network(n, 2, rng=seed)
    return net, cl.simulate(net, 60, n_transitions=10, rng=seed)


def best_sets(paths, **rules):
    learner = cl.StructureLearner(**rules).fit(paths)
    return {name: sets[0] for name, sets in zip(paths.names, learner.parent_sets_)}


@pytest.mark.parametrize("seed", range(8))
def test_tabu_finds_the_best_set_of_every_node(seed):
    _, paths = data(seed)
    for k in (2, 3, None):
        found = cl.tabu_search(paths, k)
        assert found.parents == best_sets(paths, max_parents=k)
        climbed = cl.hill_climb(paths, k)
        assert climbed.score <= found.score + 1e-9
        assert climbed.n_scored <= found.n_scored


def test_rules_are_honoured():
    net, paths = data(1)
    rules = {
        "candidates": ~np.eye(5, dtype=bool) & (np.arange(5)[:, None] != 3),
        "required": [("x4", "x0")],
        "forbidden": [("x1", "x2")],
    }
    for search in (cl.hill_climb, cl.tabu_search):
        found = search(paths, 2, **rules)
        assert found.adjacency[4, 0] == 1
        assert found.adjacency[1, 2] == 0
        assert not found.adjacency[3].any()
        assert found.adjacency.sum(0).max() <= 2
    assert cl.tabu_search(paths, 2, **rules).parents == best_sets(paths, max_parents=2, **rules)
    assert net.adjacency.shape == found.adjacency.shape


def test_refusals():
    _, paths = data(0)
    with pytest.raises(ParameterError, match="tenure"):
        cl.tabu_search(paths, tenure=0)
    with pytest.raises(ParameterError, match="complete data"):
        cl.hill_climb(cl.observe(paths, n_times=2, rng=0))
    with pytest.raises(ParameterError, match="structure_prior"):
        cl.hill_climb(paths, structure_prior="dense")
