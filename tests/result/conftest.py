"""A small result, learned from complete paths in milliseconds."""

from __future__ import annotations

import pytest

import ctbnlearn as cl


@pytest.fixture(scope="session")
def truth():
    return cl.random_network(4, coupling=-0.8, rng=5)


@pytest.fixture(scope="session")
def learner(truth):
    return cl.StructureLearner(max_parents=2, random_state=3).fit(cl.simulate(truth, 200, n_transitions=10, rng=1))


@pytest.fixture(scope="session")
def result(learner):
    return learner.result_
