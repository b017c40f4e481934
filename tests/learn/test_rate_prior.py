"""The prior of the rates, where a state is rare and left soon: it must not be drawn to the long stays elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl

TWO = ("no", "yes")
RATES = {
    "exposed": np.array([[[-0.3, 0.3], [0.3, -0.3]]]),
    "ill": np.array([[[-0.05, 0.05], [8.0, -8.0]], [[-0.2, 0.2], [8.0, -8.0]]]),
}


@pytest.fixture(scope="module")
def truth():
    return cl.CTBN({"exposed": TWO, "ill": TWO}, {"ill": ["exposed"]}, RATES)


@pytest.fixture(scope="module")
def paths(truth):
    return cl.simulate(truth, 100, horizon=10.0, rng=4)


@pytest.mark.parametrize("how", ["complete", "sampling", "blocks", "exact", "search"])
def test_short_illnesses_are_found_to_be_short_and_what_brings_them(truth, paths, how):
    """Some hundred of them, six weeks each: intervals hold the truth, and exposure is known to matter."""
    data, settings = paths, {}
    if how == "search":
        learner = cl.HillClimb(1)
    else:
        if how != "complete":
            data = cl.observe(paths, times=[np.arange(0, 10.01, 0.1)] * 100, rng=5)
            settings["inference"] = how
        learner = cl.StructureLearner(1, **settings)
    learner.fit(data)
    assert learner.edge_probabilities_[0, 1] > 0.9
    table = learner.result_.rate_tables[1][0]
    assert table.parents == (0,)
    low, high = table.quantile(0.01), table.quantile(0.99)
    off = ~np.eye(2, dtype=bool)
    assert ((low <= truth.cims[1]) & (truth.cims[1] <= high))[:, off].all()
    assert table.mean[:, 1, 0] == pytest.approx(8.0, rel=0.35)


def test_rates_that_looks_are_too_rare_for_are_named():
    """One variable follows another within a twentieth of a year and is looked at every ten months."""

    def pair(up, down):
        return [[-up, up], [down, -down]]

    rates = {"x": [pair(0.5, 0.5)], "y": [pair(0.2, 20), pair(20, 0.2)], "z": [pair(0.2, 0.9), pair(0.9, 0.2)]}
    rates = {name: np.array(table) for name, table in rates.items()}
    network = cl.CTBN(dict.fromkeys(rates, (0, 1)), {"y": ["x"], "z": ["y"]}, rates)
    obs = cl.observe(cl.simulate(network, 200, horizon=10.0, rng=1), n_times=12, rng=3)
    learner = cl.StructureLearner(2, inference="blocks").fit(obs)
    (doubt,) = learner.result_.manifest["warnings"]
    assert "y = 0 (0." in doubt
    assert "y = 1 (0." in doubt
    assert "z" not in doubt.split(":")[1].split("(mean")[0]
