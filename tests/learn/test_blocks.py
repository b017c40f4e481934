"""Learning by blocks: against brute force, sampling and the truth; rules, holes, states, checkpoints, errors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.learn import blocks
from ctbnlearn.learn.block_fit import BlockFitter
from ctbnlearn.learn.block_search import Screen
from ctbnlearn.model.graph import as_adjacency
from oracles import graph_posterior


def example(n, n_trajectories, seed=1, horizon=4.0, **more):
    network = cl.random_network(n, max_parents=2, rng=seed)
    paths = cl.simulate(network, n_trajectories, horizon=horizon, rng=seed + 1)
    noise = cl.GaussianNoise(variance=0.2)
    return network, cl.observe(paths, n_times=10, noise=noise, rng=seed + 2, **more)


def truth(network):
    return as_adjacency(network, [v.name for v in network.variables], "network").astype(bool)


def learn(obs, **more):
    return cl.StructureLearner(**{"max_parents": 2, "inference": "blocks", **more}).fit(obs)


@pytest.mark.parametrize("prior", ["gamma", "pushed"])
def test_edge_probabilities_are_near_those_of_brute_force_over_all_graphs(monkeypatch, prior):
    """Every graph of three nodes, rates drawn from the prior; few data, so Laplace's method is off by a little."""
    rng = np.random.default_rng(5)
    network = cl.random_network(3, 2, coupling=1.0, rng=3)
    times = 0.8 * np.arange(5)
    paths = cl.simulate(network, 6, horizon=4.0, rng=4)
    states = paths.lookup(np.repeat(np.arange(6), 5), np.tile(times, 6)).reshape(6, 5, 3)
    states = np.where(rng.random(states.shape) < 0.1, 1 - states, states)
    likelihood = np.where(states[..., None] == np.arange(2), 0.9, 0.1)
    if prior == "gamma":
        rates, given = graph_posterior.gamma_rates(2.0, 2.0), (2.0, 2.0)
    else:
        rates, given = graph_posterior.pushed_rates(0.5), "pushed"
        monkeypatch.setattr(BlockFitter, "prior", lambda *_: (1.0, np.full(2, 2.0)))  # not centred by the data
    brute = graph_posterior.edge_posterior(likelihood, 0.8, rates, 20000, rng)
    tables = [[likelihood[b, :, i] for i in range(3)] for b in range(6)]
    obs = cl.Observations.from_likelihoods([times] * 6, tables, network.variables)
    found = learn(obs, rate_prior=given, structure_prior="size", initial_distribution="uniform")
    off = ~np.eye(3, dtype=bool)
    assert brute.std(0).max() / np.sqrt(len(brute)) < 0.03  # what brute force knows
    assert np.ptp(brute.mean(0)[off]) > 0.1  # there is something to be right about
    np.testing.assert_allclose(found.edge_probabilities_[off], brute.mean(0)[off], atol=0.12)


@pytest.mark.parametrize(("n", "size"), [(3, 3), (5, 5), (6, 4)])
def test_a_block_takes_in_all_variables_where_one_more_is_enough(monkeypatch, n, size):
    """Five of two states: with four in a block, a driver left out made reversed edges sure where gaps are long."""
    sizes = set()
    weigh = blocks.search_round

    def search_round(fitter, nodes, members):
        sizes.update(map(len, members))
        return weigh(fitter, nodes, members)

    monkeypatch.setattr(blocks, "search_round", search_round)
    _, obs = example(n, 20)
    learn(obs, inference=cl.Blocks(rounds=1))
    assert sizes == {size}


def test_what_leads_to_a_supposed_parent_comes_into_the_block():
    """Where x drives y, and y drives z: on the pair alone, z seems to drive x as well, for z follows with a delay."""
    flip, follow = [[-0.5, 0.5], [0.5, -0.5]], [[[-0.2, 0.2], [1.8, -1.8]], [[-1.8, 1.8], [0.2, -0.2]]]
    states = {"x": (0, 1), "y": (0, 1), "z": (0, 1)}
    network = cl.CTBN(states, {"y": ["x"], "z": ["y"]}, {"x": [flip], "y": follow, "z": follow})
    obs = cl.observe(cl.simulate(network, 1000, horizon=6.0, rng=1), n_times=8, rng=2)
    found = learn(obs, inference=cl.Blocks(members=2)).edge_probabilities_
    assert found[truth(network)].min() > 0.9
    assert found[~truth(network)].max() < 0.2


def test_further_parents_of_a_supposed_parent_come_into_the_block():
    """Where x0 and x3 drive x4: in a block without x3, x4 seems to drive x0 as well (0.69 without the second look)."""
    network = cl.random_network(6, 2, coupling=0.8, rng=np.random.default_rng([6, 120]))
    assert network.parents[4] == (0, 3)
    paths = cl.simulate(network, 1000, horizon=10.0, rng=121)
    obs = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), rng=122)
    found = learn(obs).edge_probabilities_
    assert found[truth(network)].min() > 0.9
    assert found[~truth(network) & ~np.eye(6, dtype=bool)].max() < 0.2


def test_more_variables_than_a_block_holds():
    network, obs = example(7, 400, missing=0.2)
    found = learn(obs)
    off = ~np.eye(7, dtype=bool)
    assert found.edge_probabilities_[truth(network)].min() > 0.9
    assert found.edge_probabilities_[~truth(network) & off].max() < 0.3
    assert found.converged_
    assert found.inference_ == cl.Blocks()
    inside = total = 0
    for node, table in enumerate(found.rate_tables_):
        if table.parents == tuple(network.parents[node]):
            at = table.possible
            inside += int(
                ((table.quantile(0.025) <= network.cims[node]) & (network.cims[node] <= table.quantile(0.975)))[
                    at
                ].sum()
            )
            total += int(at.sum())
    assert total > 20
    assert inside / total > 0.85


def test_gaps_of_a_dwell_time_do_not_reverse_edges():
    network, obs = example(6, 600, seed=4, horizon=20.0)
    off = ~np.eye(6, dtype=bool)
    assert learn(obs).edge_probabilities_[~truth(network) & off].max() < 0.9


def test_rules_and_transitions_are_kept():
    _, obs = example(6, 80)
    names = list(obs.names)
    found = learn(
        obs,
        required=[(names[5], names[0])],
        forbidden=[(names[1], names[2])],
        exogenous=[names[3]],
        transitions={names[4]: [(obs.variables[4].states[0], obs.variables[4].states[1])]},
    )
    edges = found.edge_probabilities_
    assert edges[5, 0] == 1.0
    assert edges[1, 2] == 0.0
    assert not edges[:, 3].any()
    assert all(names[5] in found.parent_sets_[0][k] for k in range(len(found.parent_sets_[0])))
    assert not found.rate_tables_[4].possible[:, 1, 0].any()


def test_three_states_and_a_constant_column():
    rng = np.random.default_rng(2)
    drive = rng.uniform(0.2, 0.6, (2, 3, 3))
    drive[1, 0, 1:] *= 6.0
    drive[0, 2, :2] *= 6.0
    for table in drive:
        np.fill_diagonal(table, 0.0)
        np.fill_diagonal(table, -table.sum(1))
    flip = np.array([[-0.7, 0.7], [0.7, -0.7]])
    still = np.array([[-1e-9, 1e-9], [1e-9, -1e-9]])
    variables = {"a": (0, 1), "b": ("low", "mid", "high"), "c": (0, 1)}
    network = cl.CTBN(variables, {"b": ["a"]}, {"a": flip, "b": drive, "c": still}, {"c": [1.0, 0.0]})
    obs = cl.observe(cl.simulate(network, 300, horizon=6.0, rng=3), n_times=8, rng=4)
    edges = learn(obs).edge_probabilities_
    assert edges[0, 1] > 0.95
    assert edges[1, 0] < 0.5
    assert edges[2].max() < 0.5
    assert np.isfinite(edges).all()


def test_a_run_stopped_after_every_round_ends_with_the_same_result(tmp_path):
    _, obs = example(6, 40)
    method = cl.Blocks(members=3)
    whole = learn(obs, inference=method)
    assert whole.n_iter_ > 3

    def stop(turn, gained):
        raise KeyboardInterrupt

    for _ in range(whole.n_iter_):
        with pytest.raises(KeyboardInterrupt):
            learn(obs, inference=method, checkpoint=tmp_path, resume=True, callback=stop)
    again = learn(obs, inference=method, checkpoint=tmp_path, resume=True)
    np.testing.assert_array_equal(again.edge_probabilities_, whole.edge_probabilities_)
    for a, b in zip(again.rate_tables_, whole.rate_tables_):
        np.testing.assert_array_equal(a.draws, b.draws)
    assert again.history_ == whole.history_


def test_too_many_states_are_refused_by_name():
    times = [[0.0, 1.0]] * 3
    many = np.eye(40)[[3, 5]]
    few = np.eye(2)[[0, 1]]
    obs = cl.Observations.from_likelihoods(times, [[many, few]] * 3, ["ward", "sick"])
    with pytest.raises(cl.CtbnlearnError, match=r"'ward' has 40 states.*merge its states"):
        learn(obs)


def test_mixture_weights_are_refused():
    _, obs = example(4, 10)
    with pytest.raises(cl.CtbnlearnError, match='inference="blocks" weighs parent sets by their posterior'):
        learn(obs, weights="mixture")


def test_smoothing_and_saving_follow(tmp_path):
    _, obs = example(6, 60)
    found = learn(obs)
    assert np.isfinite(found.score(obs))
    found.result_.save(tmp_path / "result")
    assert cl.load_result(tmp_path / "result").manifest["inference"]["method"] == "blocks"


def test_learned_levels_are_those_of_variables_alone():
    _, obs = example(4, 100)
    rows = {"id": np.repeat(np.arange(100), 10), "time": obs.series[0].times}
    values = {name: series.values for name, series in zip(obs.names, obs.series)}
    noise = dict.fromkeys(obs.names, cl.Levels(2))
    raw = cl.read_table(pa.table({**rows, **values}), trajectory="id", time="time", noise=noise, start=0.0, end=4.0)
    found, known = learn(raw), learn(obs)
    np.testing.assert_allclose(found.edge_probabilities_, known.edge_probabilities_, atol=0.1)
    means = [row["estimate"] for row in found.noise_parameters_ if row["parameter"] == "mean"]
    np.testing.assert_allclose(means, [-1.0, 1.0] * 4, atol=0.1)


def test_candidates_never_looked_at_are_told_apart_by_their_rough_scores():
    gains = np.full((6, 6), -np.inf)
    gains[[1, 2], 0] = 3.0, -7.0
    rough = np.zeros((6, 6))
    rough[3:, 0] = 1.0, 5.0, 0.5
    found = Screen(gains, rough).left_out(0, np.arange(1, 6))
    assert found[:2].tolist() == [-4.0, -7.0]  # never large, as others explained the variable better
    assert np.argsort(found[2:]).tolist() == [2, 0, 1]
    assert np.exp(found[2:]).sum() == pytest.approx(3 * np.exp(-7.0))
    assert found[3] - found[2] == pytest.approx(2.0)
    nothing = Screen(np.full((6, 6), -np.inf), rough).left_out(0, np.arange(3, 6))
    assert nothing.max() == -4.0
    assert Screen(gains, rough).left_out(0, np.arange(0)).size == 0
