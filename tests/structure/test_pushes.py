"""The prior of pushes against its definition, integrated numerically, and what blocks take for it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

import ctbnlearn as cl
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.learn.block_fit import BlockFitter, Network
from ctbnlearn.structure.problem import EdgeRules, Scoring
from ctbnlearn.structure.pushes import all_matter, log_ratios, mixed, n_pushes, pushed_evidence, weigh_pushes
from ctbnlearn.structure.score import set_score

SHAPES = {0.0: 14.0, 0.6: 14.0, 1.2: 3.6, 2.4: 1.0}  # of rates, by the size of what is done to them
SIZES = (-2.4, -1.2, -0.6, 0.6, 1.2, 2.4)
LADDER = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)


def pushes(card):
    """Every push as its probability, the shapes [from, to], and the factors of the mean rates."""
    states = [1] if card == 2 else range(card)
    yield 1 / 7, np.full((card, card), 14.0), np.ones((card, card))
    for k in states:
        for t in SIZES:
            s = np.zeros((card, card))
            s[:, k] += t
            s[k, :] -= t
            yield 1 / (7 * len(states)), np.vectorize(SHAPES.get)(abs(s)), np.exp(s)


def weigh(dwell, moves, mean, possible):
    """What is compiled, for one parent state."""
    table, out = np.concatenate([dwell, np.reshape(moves, -1)]).astype(float), np.empty(n_pushes(len(mean)))
    weigh_pushes(table, len(mean), 1 / mean, possible, out, np.empty(len(mean)))
    return out


@pytest.mark.parametrize(("card", "possible"), [(2, ~np.eye(2, dtype=bool)), (3, ~np.eye(3, dtype=bool)), (3, LADDER)])
def test_evidence_of_a_push_is_the_integral_over_rates(card, possible):
    rng = np.random.default_rng(card)
    mean = np.array([0.4, 1.5, 3.0])[:card]
    dwell, moves = rng.gamma(2.0, 2.0, card), rng.poisson(3.0, (card, card)) * possible
    terms = []
    for chance, shape, factor in pushes(card):
        one = chance
        for x, y in np.argwhere(possible):
            a = shape[x, y]
            prior = stats.gamma(a, scale=mean[x] * factor[x, y] / a)
            top = (a + moves[x, y]) / (a / (mean[x] * factor[x, y]) + dwell[x])
            one *= integrate.quad(
                lambda r, p=prior, m=moves[x, y], t=dwell[x]: p.pdf(r) * r**m * np.exp(-r * t), 0, 20 * top, limit=400
            )[0]
        terms.append(one)
    np.testing.assert_allclose(weigh(dwell, moves, mean, possible), np.log(terms), atol=1e-6)


def test_expected_numbers_and_many_moves_are_weighed_alike():
    """A table looked up, and the function itself, on either side of whole numbers and of the table's end."""
    off = ~np.eye(2, dtype=bool)
    found = [
        weigh(np.array([3.0, 2.0]), [[0, m], [1, 0]], np.ones(2), off)[0]
        for m in (254.0, 255.0, 255.0 + 1e-9, 256.0, 257.0)
    ]
    assert found[1] == pytest.approx(found[2], abs=1e-5)
    steps = np.diff(np.array(found)[[0, 1, 3, 4]])
    np.testing.assert_allclose(np.diff(steps), np.diff(steps).mean(), rtol=0.05)


@pytest.mark.parametrize(("card", "cards"), [(2, (2,)), (2, (2, 2)), (2, (3,)), (3, (2,))])
def test_every_parent_matters(card, cards):
    """The sum over all pushes of all parent states, one by one, but for those that a parent has no part in."""
    count, shape = n_pushes(card), (*cards,)
    rng = np.random.default_rng(3)
    table = rng.normal(0.0, 2.0, (int(np.prod(cards)), count))
    chance = np.array([p for p, *_ in pushes(card)])
    total = norm = 0.0
    for choice in product(range(count), repeat=len(table)):
        grid = np.reshape(choice, shape)
        matter = all((np.diff(grid, axis=k) != 0).any() for k in range(len(cards)))
        assert all_matter(np.array(choice), np.array(cards)) == matter
        if matter:
            total += np.exp(table[range(len(table)), choice].sum())
            norm += chance[list(choice)].prod()
    found = pushed_evidence(table.copy(), np.array(cards), card, np.empty(table.size))
    assert found == pytest.approx(np.log(total / norm), abs=1e-9)


def test_a_set_that_makes_no_difference_has_no_evidence():
    table = np.full((2, 7), -800.0)
    table[:, 2] = 0.0
    assert pushed_evidence(table, np.array([2]), 2, np.empty(14)) == -np.inf


@pytest.mark.parametrize("possible", [~np.eye(3, dtype=bool), LADDER])
def test_density_ratio_is_that_of_the_definition(possible):
    rng = np.random.default_rng(1)
    mean = np.array([0.4, 1.5, 3.0])
    rates = rng.gamma(2.0, 1.0, (5, 2, 3, 3)) + 0.01
    found = log_ratios(np.log(rates), 1 / mean, possible)
    cells = np.argwhere(possible)
    for d, u in np.ndindex(5, 2):
        free = sum(stats.gamma(1.0, scale=mean[x]).logpdf(rates[d, u, x, y]) for x, y in cells)
        given = [
            np.log(chance)
            + sum(
                stats.gamma(shape[x, y], scale=mean[x] * factor[x, y] / shape[x, y]).logpdf(rates[d, u, x, y])
                for x, y in cells
            )
            for chance, shape, factor in pushes(3)
        ]
        np.testing.assert_allclose(found[d, u], np.array(given) - free, atol=1e-9)


def test_a_share_mixes_both():
    assert float(mixed(2.0, 0.3)) == pytest.approx(np.log(0.7 + 0.3 * np.exp(2.0)))
    assert float(mixed(0.0, 0.9)) == pytest.approx(0.0)
    assert float(mixed(-1e6, 0.5)) == pytest.approx(np.log(0.5))
    assert float(mixed(500.0, 0.5)) == pytest.approx(500.0 + np.log(0.5))


def test_what_blocks_take_pushes_to_gain_is_what_complete_data_say():
    """Looks so often that nothing is hidden: the closed form of both priors, from counts of the paths."""
    net = cl.random_network(2, 1, coupling=0.8, rng=1)
    assert net.edges == [("x0", "x1")]
    paths = cl.simulate(net, 40, horizon=6.0, rng=2)
    obs = cl.observe(paths, times=[np.arange(0, 6.0001, 0.02)] * 40, rng=3)
    rules = EdgeRules.build(obs.names, None, None, None, None)
    off, alone = ~np.eye(2, dtype=bool), [np.array([[0, 0.5], [0.4, 0]]), np.array([[0, 0.6], [0.5, 0]])]
    evidence = BlockEvidence(obs, 4.0, Device.find("cpu", "float64"))
    start = [np.full(2, 0.5)] * 2
    fitter = BlockFitter(evidence, [2, 2], alone, start, False, [off] * 2, rules, Scoring("pushed", "sparse"))
    (fit,) = fitter.networks([Network((1, 0), ((1,), ()))], [np.full(6, -0.7)])
    totals = count_statistics(paths, {"x1": ["x0"]})
    dwell, moves, rate = totals.dwell[1], totals.transitions[1], 1 / np.array([0.6, 0.5])
    table = np.stack([weigh(t, m, 1 / rate, off) for t, m in zip(dwell, moves)])
    pushed = pushed_evidence(table, np.array([2]), 2, np.empty(14))
    assert fit.gain == pytest.approx(pushed - set_score(dwell, moves, np.array(1.0), rate, off), abs=0.3)
    assert abs(fit.gain) > 0.5  # there is something to be right about


def test_rates_of_blocks_follow_the_prior_they_were_weighed_with():
    """Few data: where pushes are likely, rates into and out of a state are drawn apart."""
    net = cl.random_network(2, 1, coupling=0.8, rng=1)
    obs = cl.observe(cl.simulate(net, 15, horizon=6.0, rng=2), n_times=12, rng=3)
    learners = [
        cl.StructureLearner(inference="blocks", rate_prior=prior, required=[("x0", "x1")]).fit(obs)
        for prior in ("independent", "pushed")
    ]
    spread = []
    for learner in learners:
        draws = np.log(learner.result_.rate_tables[1][0].draws[:, 0, [0, 1], [1, 0]])
        spread.append(np.corrcoef(draws.T)[0, 1])
    assert spread[1] < spread[0]


@pytest.mark.parametrize("learner", [cl.HillClimb(1), cl.StructuralEM(1), cl.CTPC()])
def test_pushes_are_refused_where_they_are_not_weighed(learner):
    paths = cl.simulate(cl.random_network(3, 1, rng=1), 5, n_transitions=6, rng=2)
    with pytest.raises(cl.CtbnlearnError, match='rate_prior="pushed" needs'):
        learner.set_params(rate_prior="pushed").fit(paths)


def test_pushes_are_refused_for_complete_data_and_em():
    paths = cl.simulate(cl.random_network(3, 1, rng=1), 5, n_transitions=6, rng=2)
    obs = cl.observe(paths, n_times=4, rng=3)
    for settings, data in (({}, paths), ({"inference": "star"}, obs)):
        with pytest.raises(cl.CtbnlearnError, match='rate_prior="pushed" needs'):
            cl.StructureLearner(1, rate_prior="pushed", **settings).fit(data)
