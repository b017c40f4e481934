"""Learning by sampling against brute force over graphs, and its promises: resuming, rules, doubt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

import ctbnlearn as cl
from ctbnlearn.errors import CheckpointError, ParameterError
from ctbnlearn.execute import local
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.inference.device import Device
from ctbnlearn.learn import chain, pool_sizes, sampling
from ctbnlearn.learn.block_fit import BlockFitter, Network
from ctbnlearn.learn.checkpoint import saved_round
from ctbnlearn.learn.mixing import chain_means
from ctbnlearn.structure.block_models import labels
from oracles import graph_posterior

pytestmark = pytest.mark.filterwarnings("ignore:after .* sweeps the chains have not come to agree")
FEW = cl.Sampling(chains=2, sweeps=64, agreement=1.0)


def example(n=4, n_trajectories=20, seed=1, n_times=6, **more):
    net = cl.random_network(n, 2, coupling=1.0, rng=seed, **more)
    paths = cl.simulate(net, n_trajectories, horizon=4.0, rng=seed + 1)
    return net, cl.observe(paths, n_times=n_times, noise=cl.LabelNoise(0.1), rng=seed + 2)


def means_by_chain(monkeypatch):
    """Collects (chains, N, N) edge probabilities of every fit from now on."""
    found = []
    honest = sampling._conclude
    monkeypatch.setattr(sampling, "_conclude", lambda run: (found.append(chain_means(run.trails)), honest(run))[1])
    return found


def z_scores(a, b):
    """Deviations between means of independent runs, (runs, N, N) each, in standard errors of their difference."""
    variance = sum(x.var(0, ddof=1) / len(x) for x in (a, b))
    return (a.mean(0) - b.mean(0)) / (np.sqrt(variance) + 1e-4)


def same(learner, expected):
    """Equal bit for bit: weights, rates, doubt, history."""
    for name in ("edge_probabilities_", "chain_disagreement_", "effective_sample_size_"):
        np.testing.assert_array_equal(getattr(learner, name), getattr(expected, name))
    assert learner.network_.to_dict() == expected.network_.to_dict()
    assert learner.history_ == expected.history_
    assert [list(s) for s in learner.parent_sets_] == [list(s) for s in expected.parent_sets_]
    assert (learner.n_iter_, learner.converged_) == (expected.n_iter_, expected.converged_)
    for a, b in zip(learner.rate_tables_, expected.rate_tables_):
        np.testing.assert_array_equal(a.draws, b.draws)


# the right answer -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prior", ["gamma", "pushed"])
def test_edge_probabilities_are_those_of_brute_force_over_all_graphs(monkeypatch, prior):
    """Every graph of three nodes, rates drawn from the prior, matrix exponentials; no code in common."""
    net = cl.random_network(3, 2, coupling=1.0, rng=3)
    times = 0.8 * np.arange(5)
    paths = cl.simulate(net, 6, horizon=4.0, rng=4)
    states = paths.lookup(np.repeat(np.arange(6), 5), np.tile(times, 6)).reshape(6, 5, 3)
    rng = np.random.default_rng(5)
    states = np.where(rng.random(states.shape) < 0.1, 1 - states, states)
    likelihood = np.where(states[..., None] == np.arange(2), 0.9, 0.1)  # (trajectories, times, nodes, states)
    if prior == "gamma":
        rates, given = graph_posterior.gamma_rates(2.0, 2.0), (2.0, 2.0)
    else:
        rates, given = graph_posterior.pushed_rates(0.5), "pushed"
        monkeypatch.setattr(sampling, "centre_prior", lambda priors, *_: priors.rate.fill(2.0))  # not from the data
    oracle = np.concatenate(
        [graph_posterior.edge_posterior(likelihood, 0.8, rates, 2500, rng).mean(0)[None] for _ in range(10)]
    )
    tables = [[likelihood[b, :, i] for i in range(3)] for b in range(6)]
    obs = cl.Observations.from_likelihoods([times] * 6, tables, net.variables)
    found = means_by_chain(monkeypatch)
    learner = cl.StructureLearner(
        2,
        rate_prior=given,
        structure_prior="size",
        initial_distribution="uniform",
        inference=cl.Sampling(chains=8, sweeps=3000, agreement=1e-9),
    ).fit(obs)
    off = ~np.eye(3, dtype=bool)
    assert learner.n_iter_ > 2900
    assert np.ptp(learner.edge_probabilities_[off]) > 0.1  # there is something to be right about
    assert np.abs(z_scores(found[0], oracle)[off]).max() < 3.0
    np.testing.assert_allclose(found[0].mean(0)[off], oracle.mean(0)[off], atol=0.03)


@pytest.mark.parametrize("max_parents", [1, 2])
def test_pools_drawn_at_random_change_nothing(monkeypatch, max_parents):
    """Six candidates weighed together, or three at a time, of which some are drawn anew in every sweep."""
    _, obs = example(7, 12, n_times=4)
    method = cl.Sampling(chains=6, sweeps=2400, agreement=1e-9)
    found = means_by_chain(monkeypatch)
    learner = cl.StructureLearner(max_parents, inference=method, rate_prior=(1.0, 3.0))
    learner.fit(obs)
    monkeypatch.setattr(pool_sizes, "MOST_JOINT", 8)
    chains = []

    class Kept(chain.Chain):
        def __init__(self, *given):
            super().__init__(*given)
            chains.append(self)

    monkeypatch.setattr(sampling, "Chain", Kept)
    learner.set_params(random_state=1).fit(obs)
    assert (chains[0].pools.capacity == 3).all()
    chances = chains[0].chance[~np.eye(7, dtype=bool)]
    assert (chances > 0).all()
    assert (chances < 1).any()
    off = ~np.eye(7, dtype=bool)
    z = z_scores(*found)[off]
    assert np.abs(z).max() < stats.t.isf(0.0005 / 42, df=10)  # 42 deviations, each from twice six chains
    assert np.sqrt((z**2).mean()) < 1.6
    np.testing.assert_allclose(found[0].mean(0), found[1].mean(0), atol=0.08)


@pytest.mark.parametrize("more", [{}, {"n_states": 4, "dynamics": "random"}])
def test_pools_have_room_for_all_parents_at_once(monkeypatch, more):
    """Sets in force when the pools get their cores fit into them, whatever they are made of."""
    _, obs = example(9, 8, n_times=3, **more)
    monkeypatch.setattr(pool_sizes, "MOST_JOINT", 8)
    for rules in (
        {"max_parents": 2},
        {"max_parents": 3, "required": [("x1", "x0"), ("x2", "x0")]},
        {"max_parents": 2, "required": [("x1", "x0"), ("x2", "x0")]},
        {"structure_prior": 3.0},  # as many parents as there may be
    ):
        learner = cl.StructureLearner(**rules, inference=FEW).fit(obs)
        p = learner.edge_probabilities_
        assert ((p >= 0) & (p <= 1)).all()
        if "required" in rules:
            assert (p[[1, 2], 0] == 1).all()
            assert p[:, 0].sum() <= rules["max_parents"] + 1e-6


def test_sixteen_variables_need_random_pools():
    net, obs = example(16, 40, n_times=12)
    rules = chain.EdgeRules.build(obs.names, 2, None, None, None)
    task = sampling.make_task(obs, rules, chain.Scoring(structure_prior="sparse"), [None] * 16, "learn")
    one = chain.Chain(task, np.random.SeedSequence(1))
    assert (one.pools.capacity < 15).all()
    np.testing.assert_allclose(one.chance.sum(0), 2 / 3 * one.pools.capacity)
    learner = cl.StructureLearner(2, inference=cl.Sampling(chains=2, sweeps=300, agreement=1.0)).fit(obs)
    assert learner.inference_.chains == 2
    assert cl.edge_scores(net, learner.edge_probabilities_)["auroc"] > 0.8
    for weights in learner.parent_set_weights_:
        assert 0.5 < weights.sum() <= 1 + 1e-9


def test_intervals_of_rates_hold_the_truth():
    """With many data and the network known, 95 % intervals hold most of the true rates."""
    held = []
    for seed in (1, 2, 3):
        net = cl.random_network(3, 1, coupling=1.0, rng=seed)
        obs = cl.observe(cl.simulate(net, 150, horizon=6.0, rng=seed + 10), n_times=16, rng=seed + 20)
        method = cl.Sampling(chains=2, sweeps=600, agreement=0.02)
        learner = cl.StructureLearner(1, required=net, candidates=net, inference=method, random_state=seed).fit(obs)
        for i, table in enumerate(learner.rate_tables_):
            assert table.parents == tuple(net.parents[i])
            off = np.broadcast_to(~np.eye(2, dtype=bool), table.mean.shape)
            low, high, true = table.quantile(0.025)[off], table.quantile(0.975)[off], np.asarray(net.cims[i])[off]
            assert (high - low < 2 * true).all()  # they say something
            held += list((low <= true) & (true <= high))
    assert len(held) >= 18
    assert np.mean(held) >= 0.85


# promises -------------------------------------------------------------------------------------------------------------
def stop(sweeps, evidence):
    raise KeyboardInterrupt


CASES = {
    "all candidates": (FEW, {}, {}),
    "random pools": (FEW, {"max_parents": 2}, {"MOST_JOINT": 8}),
    "stretches that do not divide the sweeps": (cl.Sampling(chains=2, sweeps=150, agreement=1e-6), {}, {}),
    "so long that stretches are joined": (cl.Sampling(chains=1, sweeps=300, agreement=1e-6), {"max_parents": 1}, {}),
    "few sweeps": (cl.Sampling(chains=3, sweeps=5), {}, {}),
    "a generator": (FEW, {"random_state": 7}, {}),
    "projected prior": (FEW, {"rate_prior": cl.ProjectedPrior(2.0, 4.0), "initial_distribution": "uniform"}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_stopped_after_every_step_ends_with_the_same_result(tmp_path, monkeypatch, case):
    _, obs = example(5)
    method, more, patched = CASES[case]
    for name, value in patched.items():
        monkeypatch.setattr(pool_sizes, name, value)

    def settings():
        seed = more.get("random_state")
        return {**more, "random_state": np.random.default_rng(seed) if case == "a generator" else seed}

    expected = cl.StructureLearner(inference=method, **settings()).fit(obs)
    assert expected.n_iter_ <= method.sweeps
    learner = cl.StructureLearner(inference=method, **settings(), checkpoint=tmp_path / "state", resume=True)
    learner.set_params(callback=stop)
    steps = 0
    while True:
        try:
            learner.fit(obs)
            break
        except KeyboardInterrupt:
            steps += 1
            assert 1 <= saved_round(tmp_path / "state") <= method.sweeps
    assert steps >= 2 or method.sweeps < 8
    same(learner, expected)
    same(learner.fit(obs), expected)  # from the end


def test_more_sweeps_can_be_had_but_not_other_settings(tmp_path):
    _, obs = example()
    method = cl.Sampling(chains=2, sweeps=40, agreement=1e-6)
    learner = cl.StructureLearner(2, inference=method, checkpoint=tmp_path).fit(obs)
    assert not learner.converged_
    with pytest.raises(CheckpointError, match="go on from it with resume=True"):
        learner.fit(obs)
    longer = learner.set_params(inference=cl.Sampling(2, 120, 1e-6), resume=True).fit(obs)
    assert 40 < longer.n_iter_ <= 120
    with pytest.raises(ParameterError, match="sweeps, more than Sampling"):
        learner.set_params(inference=method).fit(obs)
    with pytest.raises(CheckpointError, match="this checkpoint was made with"):
        learner.set_params(inference=cl.Sampling(3, 120, 1e-6)).fit(obs)
    with pytest.raises(CheckpointError, match="random_state"):
        learner.set_params(inference=cl.Sampling(2, 120, 1e-6), random_state=1).fit(obs)


def test_the_seed_alone_decides(monkeypatch):
    _, obs = example()
    first = cl.StructureLearner(inference=FEW, random_state=5).fit(obs)
    same(cl.StructureLearner(inference=FEW, random_state=5).fit(obs), first)
    for count in (1, 3):
        monkeypatch.setattr(local, "processors", lambda count=count: count)
        same(cl.StructureLearner(inference=FEW, random_state=5).fit(obs), first)
    other = cl.StructureLearner(inference=FEW, random_state=6).fit(obs)
    assert (other.edge_probabilities_ != first.edge_probabilities_).any()
    assert other.history_ != first.history_
    same(cl.StructureLearner(inference=FEW).fit(obs), cl.StructureLearner(inference=FEW).fit(obs))
    generator = np.random.default_rng(3)
    two = [cl.StructureLearner(inference=FEW, random_state=generator).fit(obs).objective_ for _ in range(2)]
    assert two[0] != two[1]


def test_rules_for_edges_are_kept():
    _, obs = example(5)
    learner = cl.StructureLearner(
        2, required=[("x0", "x1"), ("x2", "x1")], forbidden=[("x3", "x4")], exogenous=["x3"], inference=FEW
    ).fit(obs)
    p = learner.edge_probabilities_
    assert (p[[0, 2], 1] == 1).all()
    assert not p[[3, 4], 1].any()  # no more than two
    assert p[3, 4] == 0
    assert not p[:, 3].any()
    assert (np.diag(p) == 0).all()
    assert set(learner.network_.parents[1]) == {0, 2}
    allowed = [("x0", "x1"), ("x1", "x2"), ("x4", "x2")]
    candidates = cl.StructureLearner(candidates=allowed, inference=FEW).fit(obs).edge_probabilities_
    inside = np.zeros((5, 5), bool)
    inside[[0, 1, 4], [1, 2, 2]] = True
    assert (candidates[inside] > 0).all()
    assert not candidates[~inside].any()
    for none in ({"max_parents": 0}, {"candidates": []}, {"exogenous": list(obs.names)}):
        alone = cl.StructureLearner(**none, inference=FEW).fit(obs)
        assert not alone.edge_probabilities_.any()
        assert not alone.network_.edges
    three = cl.StructureLearner(3, inference=FEW).fit(obs)
    assert (three.edge_probabilities_.sum(0) <= 3 + 1e-6).all()


def test_chains_that_disagree_say_so():
    _, obs = example(6)
    seen = []
    learner = cl.StructureLearner(
        inference=cl.Sampling(chains=3, sweeps=32, agreement=1e-3), callback=lambda *told: seen.append(told)
    )
    with pytest.warns(ConvergenceWarning, match=r"after 32 sweeps .* 'x\d' -> 'x\d' .*Sampling\(sweeps=\.\.\.\)"):
        learner.fit(obs)
    assert not learner.converged_
    assert learner.n_iter_ == 32
    assert seen[-1][0] == 32
    assert learner.chain_disagreement_.max() > 1e-3
    assert learner.effective_sample_size_.shape == (6, 6)
    assert set(learner.history_.phase) == {"sweeps"}
    assert any("chains have not come to agree" in text for text in learner.result_.manifest["warnings"])
    with pytest.warns(ConvergenceWarning, match="they still drift, or their rates have not mixed"):
        learner.set_params(inference=cl.Sampling(chains=3, sweeps=8, agreement=1.0)).fit(obs)


def test_a_chain_that_was_copied_agrees_with_nobody_yet(monkeypatch):
    """Where all chains go on from one, what they have in common is no agreement until it is burn-in."""
    _, obs = example(4)
    monkeypatch.setattr(sampling, "FAR_APART", -1.0)
    monkeypatch.setattr(sampling, "BEHIND", -1e9)
    monkeypatch.setattr(sampling, "commonest", lambda trails, node: id(trails[0]))  # chains hold different networks
    monkeypatch.setattr(sampling, "network_evidence", lambda *_: 0.0)
    events = []
    monkeypatch.setattr(sampling, "agree", lambda *_: any("goes on elsewhere" in e.message for e in events))
    monkeypatch.setattr(sampling, "scale_reduction", lambda *_: 1.0)
    method = cl.Sampling(chains=2, sweeps=400, agreement=1.0)
    with pytest.warns(ConvergenceWarning):
        cl.StructureLearner(inference=method, progress=events.append).fit(obs)
    assert any("goes on elsewhere" in event.message for event in events)
    assert events[-1].phase == "stopped"


def test_what_is_seen_can_be_thin():
    """A variable never seen, one that never moves, one trajectory, a window of no length, different windows."""
    names = {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)}
    blind, still = np.ones((3, 3)), np.array([[1.0, 0.0]] * 3)
    moving = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    windows = [(0.0, 5.0), (2.0, 4.0), (1.0, 1.0)]
    times, tables = [[1.0, 2.5, 4.0], [2.0, 3.0, 4.0], [1.0]], [[moving, blind, still]] * 2
    tables.append([moving[:1], blind[:1], still[:1]])
    for n in (1, 3):
        start, end = zip(*windows[:n])
        obs = cl.Observations.from_likelihoods(times[:n], tables[:n], names, start=list(start), end=list(end))
        learner = cl.StructureLearner(inference=FEW).fit(obs)
        p = learner.edge_probabilities_
        off = ~np.eye(3, dtype=bool)
        assert ((p[off] > 0) & (p[off] < 1)).all()
        assert all(np.isfinite(c).all() for c in learner.network_.cims)
        assert np.isfinite(learner.score(obs))
    point = cl.Observations.from_likelihoods(times[2:], tables[2:], names, start=1.0, end=1.0)
    learner = cl.StructureLearner(inference=FEW).fit(point)  # no time has gone by: the prior
    assert all(np.isfinite(c).all() for c in learner.network_.cims)
    assert ((learner.edge_probabilities_[off] > 0) & (learner.edge_probabilities_[off] < 1)).all()


def test_no_data_give_the_prior():
    """Half a parent a node on average, of two candidates: odds of one quarter each."""
    _, obs = example(3, 4, n_times=0)
    p = cl.StructureLearner(rate_prior=(2.0, 2.0), inference=cl.Sampling(4, 2000, 0.02)).fit(obs).edge_probabilities_
    np.testing.assert_allclose(p[~np.eye(3, dtype=bool)], 1 / 5, atol=0.03)


def test_conditional_initial_distribution_and_transitions():
    net, obs = example(3)
    initial = {"x0": [0.2, 0.8], "x1": (["x0"], [[0.9, 0.1], [0.05, 0.95]])}
    once = {"x2": [net.variables[2].states]}
    learner = cl.StructureLearner(initial_distribution=initial, inference=FEW).fit(obs)
    told = learner.network_.to_dict()["variables"]
    assert told[1]["initial"] == {"given": ["x0"], "table": [[0.9, 0.1], [0.05, 0.95]]}
    learner = cl.StructureLearner(transitions=once, inference=FEW).fit(obs)
    assert not learner.network_.cims[2][:, 1].any()
    assert (learner.network_.cims[2][:, 0, 1] > 0).all()


def test_draws_are_saved_and_loaded(tmp_path):
    _, obs = example(3)
    result = cl.StructureLearner(inference=FEW).fit(obs).result_
    result.save(tmp_path / "r")
    again = cl.load_result(tmp_path / "r")
    assert again.history == result.history
    assert again.manifest["inference"] == {"method": "sampling", "chains": 2, "sweeps": 64, "agreement": 1.0}
    for own, other in zip(result.rate_tables, again.rate_tables):
        for a, b in zip(own, other):
            np.testing.assert_array_equal(a.draws, b.draws)
    assert again.edges.to_pylist() == result.edges.to_pylist()


def test_evidence_of_networks_is_that_of_direct_maximisation(monkeypatch):
    """What tells chains apart, against Laplace's method on the joint chain; no code in common but the priors."""
    flip, follow = [[-0.5, 0.5], [0.5, -0.5]], [[[-0.2, 0.2], [0.8, -0.8]], [[-0.8, 0.8], [0.2, -0.2]]]
    names = ["a", "b", "c"]
    net = cl.CTBN(dict.fromkeys(names, (0, 1)), {"b": ["a"]}, {"a": flip, "b": follow, "c": flip})
    obs = cl.observe(cl.simulate(net, 200, horizon=6.0, rng=2), n_times=8, noise=cl.GaussianNoise(variance=0.2), rng=3)
    runs = []
    conclude = sampling._conclude
    monkeypatch.setattr(sampling, "_conclude", lambda run: (runs.append(run), conclude(run))[1])
    data = BlockEvidence(obs, 2.0, Device.find("cpu", "float64"))
    found, expected = [], []
    for edges in ([("a", "b")], [("b", "a")], [("a", "b"), ("c", "b")]):
        cl.StructureLearner(
            2,
            candidates=edges,
            required=edges,
            rate_prior=(1.0, 2.0),
            initial_distribution="uniform",
            inference=cl.Sampling(chains=2, sweeps=400),
        ).fit(obs)
        task, trail = runs[-1].chains[0].task, runs[-1].trails[0]
        found.append(sampling.network_evidence(obs, task, trail, runs[-1].alone))
        sets = tuple(tuple(names.index(j) for j, i in edges if i == name) for name in names)
        half, free = np.full(2, 0.5), ~np.eye(2, dtype=bool)
        parts = ([2] * 3, [0.5 * free] * 3, [half] * 3, False, [free] * 3, task.rules, task.scoring)
        start = np.full(int(labels((2, 2, 2), sets).max()) + 1, np.log(0.5))
        expected.append(BlockFitter(data, *parts).networks([Network((0, 1, 2), sets)], [start])[0].log_evidence)
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=3.0)
    assert found[0] > max(found[1:]) + 1.0
