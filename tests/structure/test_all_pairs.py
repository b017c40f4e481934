"""The pass over all pairs, and sums over the rows of path posteriors, against tables summed up set by set."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import jax
import numpy as np
import pytest
from scipy.special import gammaln

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.rows import Rows
from ctbnlearn.structure import pair_kernels
from ctbnlearn.structure.all_pairs import BEYOND, AllPairs
from ctbnlearn.structure.expected import SetMoments, add_rows
from ctbnlearn.structure.parent_sets import enumerate_sets
from ctbnlearn.structure.path_moments import PathMoments
from ctbnlearn.structure.prior import ProjectedPrior
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring
from ctbnlearn.structure.score import set_score

CARDS = [2, 3, 2, 2, 3, 2, 1, 2]
ACTIVE = [(1, 2), (), (0, 3, 4), (5,), (1, 7), (4,), (), (2, 6)]


@dataclass(frozen=True)
class SmallBlocks(Device):
    """Three variables a block, two nodes a batch or so."""

    block = 3
    work_bytes = 60_000


def some_rows(cards, n_rows, seed, jumps=0.1, n_pieces=2):
    """Random path posteriors."""
    rng = np.random.default_rng(seed)
    wide = max(cards)
    pieces = []
    for _ in range(n_pieces):
        q = np.zeros((len(cards), wide, n_rows))
        m = np.zeros((len(cards), wide, wide, n_rows))
        for i, c in enumerate(cards):
            q[i, :c] = rng.dirichlet(np.ones(c), n_rows).T
            m[i, :c, :c] = rng.random((c, c, n_rows)) * jumps * (1 - np.eye(c))[:, :, None]
        pieces.append(Rows(q, rng.random(n_rows) * 0.3, m))
    return pieces


def some_rates(cards, active, seed):
    rng = np.random.default_rng(seed)
    return [rng.gamma(2, 0.5, (int(np.prod([cards[j] for j in a], dtype=int)), c, c)) for a, c in zip(active, cards)]


def brute_tables(pieces, node, parents, active, rates, cards):
    """Tables of one parent set, state by state and transition by transition."""
    card = cards[node]
    states = list(itertools.product(*(range(cards[j]) for j in parents)))
    dwell, moves = np.zeros((len(states), card)), np.zeros((len(states), card, card))
    for q, dt, m in pieces:
        joint = list(itertools.product(*(range(cards[j]) for j in active)))
        prior = np.array([np.prod([q[j, s] for j, s in zip(active, u)], axis=0) * np.ones(len(dt)) for u in joint])
        for k, state in enumerate(states):
            chance = np.prod([q[j, s] for j, s in zip(parents, state)], axis=0) * np.ones(len(dt))
            dwell[k] += (q[node, :card] * dt * chance).sum(1)
            for x, y in itertools.permutations(range(card), 2):
                tilted = prior * rates[:, x, y][:, None]
                tilted /= tilted.sum(0)
                agree = [all(dict(zip(active, u)).get(j, s) == s for j, s in zip(parents, state)) for u in joint]
                others = [q[j, s] for j, s in zip(parents, state) if j not in active]
                moves[k, x, y] += (m[node, x, y] * tilted[agree].sum(0) * np.prod(others, axis=0)).sum()
    return dwell, moves


def test_log_gamma():
    a = np.concatenate([np.geomspace(1e-3, 1e9, 400), np.arange(1, 50) * 0.5])
    with jax.enable_x64(True):
        double = np.asarray(pair_kernels.log_gamma(jax.numpy.asarray(a)))
        single = np.asarray(pair_kernels.log_gamma(jax.numpy.asarray(a, "float32")), float)
    np.testing.assert_allclose(double, gammaln(a), rtol=2e-13, atol=1e-13)
    np.testing.assert_allclose(single, gammaln(a), rtol=1e-6, atol=3e-6)


def some_paths(cards, n_trajectories, seed):
    """Complete paths of a random network."""
    net = cl.random_network(len(cards), 2, n_states=cards, dynamics="random", rng=seed)
    return cl.simulate(net, n_trajectories, horizon=3.0, rng=seed)


@pytest.mark.parametrize(
    ("scoring", "max_parents", "forbidden", "required"),
    [
        (Scoring(), 2, None, None),
        (Scoring(structure_prior="flat"), 1, None, None),
        (
            Scoring(ProjectedPrior(5, 10), 0.4),
            2,
            [("x1", "x0"), ("x3", "x7")],
            [("x2", "x0"), ("x1", "x2"), ("x3", "x2")],
        ),
        (Scoring((0.5, 2.0), "size"), 2, None, [("x7", "x4")]),
    ],
)
def test_all_pairs_equal_enumeration(scoring, max_parents, forbidden, required):
    """Every set counted by itself, in blocks of three variables and batches of few nodes."""
    cards = [2, 3, 2, 2, 3, 2, 2, 2]
    paths = some_paths(cards, 6, 1)
    names = paths.names
    rules = EdgeRules.build(names, max_parents, None, forbidden, required)
    rng = np.random.default_rng(2)
    mean_rates = [rng.uniform(0.2, 2.0, (c, c)) for c in cards]
    possible = [None] * 8
    possible[4] = np.array([[0, 1, 1], [1, 0, 1], [0, 1, 0]], bool)
    device = SmallBlocks("cpu", "float64", jax.devices("cpu")[0])
    found = AllPairs(cards, rules, scoring, mean_rates, possible, "float64", device).run(paths)
    for i in range(8):
        problem = NodeProblem.build(i, rules.sets(i), rules, cards, scoring, mean_rates[i], possible[i])
        score, by_set = [], {}
        for k in range(len(problem.sets)):
            parents = problem.sets.numbers(k)
            network = [parents if j == i else () for j in range(8)]
            counted = cl.count_statistics(
                paths, {paths.names[j]: [paths.names[p] for p in m] for j, m in enumerate(network)}
            )
            by_set[parents] = counted.dwell[i], counted.transitions[i]
            prior = problem.shape[k], problem.rate[k]
            score.append(float(set_score(*by_set[parents], *prior, problem.possible)) + problem.log_prior[k])
        weights = np.exp(score - np.logaddexp.reduce(score))
        np.testing.assert_allclose(found.edges[:, i], problem.sets.edge_probabilities(weights), atol=1e-8)
        assert found.log_evidence[i] == pytest.approx(np.logaddexp.reduce(score), abs=1e-8)
        assert (np.diff(found.weights[i]) <= 0).all()
        numbers = {problem.sets.numbers(k): k for k in range(len(problem.sets))}
        for k, w in enumerate(found.weights[i]):
            parents = found.sets[i].numbers(k)
            assert w == pytest.approx(weights[numbers[parents]], abs=1e-8)
            for table, expected in zip(found.table(i, k, cards), by_set[parents]):
                np.testing.assert_allclose(table, expected, atol=1e-9)


def test_sums_over_rows_equal_enumeration():
    """Sets of up to three, with active parents inside and outside the candidates."""
    pieces = some_rows(CARDS, 30, 3)
    tables = some_rates(CARDS, ACTIVE, 4)
    for node, candidates in ((0, (1, 2, 4, 5)), (2, (0, 1, 4, 7)), (4, (0, 2, 5)), (1, (6, 3, 0)), (6, (0, 1))):
        moments = SetMoments(node, candidates, ACTIVE[node], tables[node], CARDS, 3)
        add_rows(pieces, [moments])
        sets = enumerate_sets(candidates, [], 3, list("abcdefgh"), node)
        seen = 0
        for g in moments.groups(sets):
            for k, dwell, moves in zip(g.index, g.dwell, g.transitions):
                expected = brute_tables(pieces, node, sets.numbers(int(k)), ACTIVE[node], tables[node], CARDS)
                np.testing.assert_allclose(dwell, expected[0], atol=1e-10)
                np.testing.assert_allclose(moves, expected[1], atol=1e-10)
                seen += 1
        assert seen == len(sets)


def binary(n, products, mean_rate=1.0):
    rules = EdgeRules.build([f"x{i}" for i in range(n)], 2, None, None, None)
    return AllPairs(
        [2] * n, rules, Scoring(), [np.full((2, 2), mean_rate)] * n, [None] * n, products, Device.find("cpu")
    )


def test_single_precision_at_a_million_transitions():
    """Weak dependence, so that weights are spread over many sets: no edge moves by more than 0.01."""
    n = 20
    net = cl.random_network(n, 2, coupling=0.015, rng=6)
    paths = cl.simulate(net, 100, horizon=1200.0, rng=6)
    assert paths.n_transitions > 1e6
    mean = paths.n_transitions / n / 120_000.0
    edges = [binary(n, kind, mean).run(paths).edges for kind in ("float64", "float32")]
    assert np.abs(edges[0] - edges[1]).max() < 1e-2
    assert ((edges[0] > 0.02) & (edges[0] < 0.98)).sum() >= 5


def test_a_thousand_variables_in_single_precision():
    """A few of them, to be quick: finite, and what is listed is all that weighs."""
    n = 1000
    pairs = binary(n, "float32")
    pairs.own = pairs.own[:2]  # of the nodes, the first two
    paths = some_paths([2] * n, 2, 7)
    with jax.enable_x64(True):
        place = np.where(pairs.columns.place == BEYOND, -1, pairs.columns.place)
        done = list(pairs._batches(PathMoments(paths, place, pairs.columns.width)))
    assert sorted(i for nodes, *_ in done for i in nodes) == [0, 1]
    for nodes, found, dwell, moves in done:
        for a in (found.log_evidence, found.edges, found.weights, dwell, moves):
            assert np.isfinite(a).all()
        assert (found.edges.sum(1) <= 2 + 1e-5).all()
        assert (found.edges[np.arange(len(nodes)), nodes] == 0).all()
        assert found.weights.shape == (len(nodes), 64)
        assert (found.weights.sum(1) < 1 + 1e-5).all()


def test_memory_that_runs_out(monkeypatch):
    paths = some_paths([2] * 6, 10, 8)
    pairs = binary(6, "float64")
    whole = pairs.run(paths)
    honest = AllPairs._batch

    def crowded(most):
        def batch(self, nodes, *others):
            if len(nodes) > most:
                raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
            return honest(self, nodes, *others)

        return batch

    monkeypatch.setattr(AllPairs, "_batch", crowded(2))
    np.testing.assert_allclose(pairs.run(paths).edges, whole.edges, atol=1e-12)
    monkeypatch.setattr(AllPairs, "_batch", crowded(0))
    with pytest.raises(ParameterError, match="not enough memory"):
        pairs.run(paths)
