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
