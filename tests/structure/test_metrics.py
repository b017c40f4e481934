"""Edge metrics against scikit-learn and worked examples."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

import ctbnlearn as cl
from ctbnlearn.errors import ParameterError


def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.random((8, 8)) < 0.3
    np.fill_diagonal(truth, False)
    p = np.clip(0.4 * truth + 0.6 * rng.random((8, 8)), 0, 1)
    off = ~np.eye(8, dtype=bool)
    found = cl.edge_scores(truth, p)
    assert found["auroc"] == pytest.approx(roc_auc_score(truth[off], p[off]))
    assert found["aupr"] == pytest.approx(average_precision_score(truth[off], p[off]))
    assert found["log_loss"] == pytest.approx(log_loss(truth[off], p[off]))
    assert found["prevalence"] == pytest.approx(truth[off].mean())
    assert found["shd"] == ((p[off] > 0.5) != truth[off]).sum()


def integrated_aupr(label, score, n=200_000):
    """Davis & Goadrich's curve by brute force: precision on a fine grid of true positives, at their midpoints."""
    steps = [(0.0, 0.0)]
    for value in sorted(set(score), reverse=True):
        taken = np.asarray(score) >= value
        steps.append((np.sum(taken & label), np.sum(taken & ~label)))
    tp, fp = np.array(steps, float).T
    x = (np.arange(n) + 0.5) * label.sum() / n
    k = np.searchsorted(tp, x, side="left")  # the step during which the x-th true one is found
    share = (x - tp[k - 1]) / (tp[k] - tp[k - 1])
    return np.mean(x / (x + fp[k - 1] + share * (fp[k] - fp[k - 1])))


@pytest.mark.parametrize("ties", [False, True])
def test_interpolated_aupr_is_the_area_under_its_curve(ties):
    rng = np.random.default_rng(3)
    for _ in range(20):
        label = rng.random(20) < 0.4
        score = rng.integers(0, 6, 20) if ties else rng.permutation(20)
        assert cl.interpolated_aupr(label, score) == pytest.approx(integrated_aupr(label, score), abs=2e-5)
    assert cl.interpolated_aupr([1, 0, 1, 0], [1, 1, 1, 1]) == 0.5
    assert cl.interpolated_aupr([1, 1, 0, 0], [4, 3, 2, 1]) == 1.0


def test_random_rankings_of_irma():
    """What the literature calls random: AUPR 0.445 by DREAM2's interpolation, AUROC 0.647."""
    edges = ["GAL4 SWI5", "SWI5 CBF1", "ASH1 CBF1", "CBF1 GAL4", "SWI5 GAL80", "SWI5 ASH1", "GAL80 GAL4", "GAL4 GAL80"]
    truth = [tuple(e.split()) for e in edges]
    names = ["CBF1", "GAL4", "SWI5", "GAL80", "ASH1"]
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random((5, 5))
        twenty = cl.edge_scores(truth, p, names=names)
        all_pairs = cl.edge_scores(truth, p, names=names, self_pairs=True)
        assert all_pairs["auroc"] == pytest.approx((12 * twenty["auroc"] + 5) / 17)
        for name in ("aupr", "aupr_interpolated", "shd"):
            assert all_pairs[name] == pytest.approx(twenty[name])
        assert all_pairs["prevalence"] == 8 / 25
    label = np.arange(20) < 8
    found = [cl.interpolated_aupr(label, rng.random(20)) for _ in range(5000)]
    assert np.mean(found) == pytest.approx(0.445, abs=4 * np.std(found) / np.sqrt(5000))
    nothing = cl.edge_scores(truth, np.zeros((5, 5)), names=names, self_pairs=True)
    assert nothing["auroc"] == pytest.approx(11 / 17)  # last even where all others are zero


def test_the_diagonal_is_left_out():
    p = np.array([[1.0, 0.9, 0.1], [0.2, 1.0, 0.8], [0.1, 0.3, 1.0]])
    truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert cl.edge_scores(truth, p)["auroc"] == 1.0
    assert cl.edge_scores(truth, p)["shd"] == 0


def test_calibration_of_a_worked_example():
    truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    p = np.array([[0, 0.75, 0.25], [0.25, 0, 0.75], [0.25, 0.25, 0]])
    # two pairs at 0.75, both true (off by 0.25); four at 0.25, none true (off by 0.25)
    assert cl.edge_scores(truth, p)["calibration_error"] == pytest.approx(0.25)


def test_graphs_in_every_form():
    net = cl.random_network(4, rng=1)
    p = 0.8 * net.adjacency + 0.1 * (1 - np.eye(4))
    graph = nx.DiGraph(net.edges)
    forms = [net, net.to_networkx(), net.adjacency, net.adjacency.tolist()]
    values = [cl.edge_scores(f, p) for f in forms]
    values.append(cl.edge_scores(graph, p, names=net.names))
    values.append(cl.edge_scores(net.edges, p, names=list(net.names)))
    assert all(v == values[0] for v in values)


def test_no_edges_or_all_edges_have_no_ranking():
    assert np.isnan(cl.edge_scores(np.zeros((3, 3)), np.zeros((3, 3)))["auroc"])
    assert np.isnan(cl.edge_scores(1 - np.eye(3), np.zeros((3, 3)))["aupr"])


@pytest.mark.parametrize(
    ("truth", "p", "words"),
    [
        ([[0, 1], [0, 0]], [[0.0, 0.5, 1.0]], "square"),
        ([[0, 1], [0, 0]], np.zeros((3, 3)), "3 x 3"),
        ([[0, 1], [0, 0]], [[0, 1.5], [0, 0]], "between 0 and 1"),
        ([[0, 1], [0, 0]], [[0, np.nan], [0, 0]], "between 0 and 1"),
        ([[0, 2], [0, 0]], [[0, 0.5], [0, 0]], "0 and 1 only"),
        ([[1, 1], [0, 0]], [[0, 0.5], [0, 0]], "itself"),
        ([("a", "b")], [[0, 0.5], [0, 0]], "names="),
        (nx.DiGraph([("b", "a")]), [[0, 0.5], [0, 0]], "names="),
        ("a->b", [[0, 0.5], [0, 0]], "names="),
    ],
)
def test_refusals(truth, p, words):
    with pytest.raises(ParameterError, match=words):
        cl.edge_scores(truth, p)
