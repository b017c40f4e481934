"""One fit on noisy, incomplete data, as rows: accuracy, rounds, seconds, and the probability of every pair."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ctbnlearn.data.observations import Observations
from ctbnlearn.experiments.rows import Row
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.graph import as_adjacency
from ctbnlearn.structure.metrics import edge_scores

if TYPE_CHECKING:
    from ctbnlearn.learn.learner import StructureLearner


def fit_row(learner: StructureLearner, net: CTBN, obs: Observations) -> Row:
    """Fit and judge."""
    began = time.perf_counter()
    learner.fit(obs)
    spent = time.perf_counter() - began
    return {
        **edge_scores(net, learner.edge_probabilities_),
        "rounds": learner.n_iter_,
        "converged": learner.converged_,
        "seconds": spent,
    }


def pair_rows(learner: StructureLearner, net: CTBN) -> list[Row]:
    """Every ordered pair of different nodes: whether there is an edge, and its probability."""
    truth = as_adjacency(net, net.names, "truth")
    return [
        {"source": i, "target": j, "truth": int(truth[i, j]), "probability": float(learner.edge_probabilities_[i, j])}
        for i, j in np.argwhere(~np.eye(len(truth), dtype=bool)).tolist()
    ]
