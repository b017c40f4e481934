"""The settings all experiments share, stated once; nothing here was chosen by looking at a truth.

The paper's section 5.1: random graphs with at most two parents, binary nodes under Glauber dynamics with coupling 0.6,
trajectories of ten transitions among five nodes, ten noisy observations each (variance 0.2), thirty graphs. Its
hyper-parameters are those of `StructureLearner.paper`; ours are the learner's defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ctbnlearn.data.noise import GaussianNoise
from ctbnlearn.data.observations import Observations, observe
from ctbnlearn.data.paths import Paths
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.random_network import random_network
from ctbnlearn.model.simulation import simulate
from ctbnlearn.structure.prior import ProjectedPrior

if TYPE_CHECKING:
    from ctbnlearn.learn.learner import StructureLearner

SEED = 2019
GRAPHS = 30
NODES = 5
TRAJECTORIES = 40
MAX_PARENTS = 2  # of the random graphs
COUPLING = 0.6
TRANSITIONS_A_NODE = 2  # ten among five nodes; with more nodes the window stays as long
OBSERVATIONS = 10
VARIANCE = 0.2
PAPER_PRIOR = ProjectedPrior(5.0, 10.0)
QUICK_STEP = 100.0  # one cell between observations: a coarse grid, but few shapes to compile

SETTINGS = {
    "seed": SEED,
    "random graphs": f"at most {MAX_PARENTS} parents, Glauber dynamics, coupling {COUPLING}",
    "transitions a trajectory": f"{TRANSITIONS_A_NODE} a node",
    "observations a trajectory": f"{OBSERVATIONS} at random times, Gaussian noise of variance {VARIANCE}",
    "mixture": "StructureLearner.paper(): mixture weights, c = 0.9, Gamma(5, 10) projected, heuristic start",
    "posterior": "StructureLearner(): the defaults",
}


def streams(*key: int) -> list[np.random.SeedSequence]:
    """Independent seeds for network, paths, observations and the learner of one draw."""
    return np.random.SeedSequence([SEED, *key]).spawn(4)


def draw_network(graph: int, nodes: int = NODES) -> CTBN:
    """Network number `graph`; one without any edge is drawn again, as nothing could be found in it."""
    rng = np.random.default_rng(streams(graph, nodes)[0])
    while True:
        net = random_network(nodes, MAX_PARENTS, coupling=COUPLING, rng=rng)
        if net.edges:
            return net


def draw_paths(net: CTBN, graph: int, trajectories: int = TRAJECTORIES) -> Paths:
    """Complete trajectories; more of them begin with the same ones."""
    n = len(net.variables)
    return simulate(net, trajectories, n_transitions=TRANSITIONS_A_NODE * n, rng=streams(graph, n)[1])


def draw_observations(paths: Paths, graph: int) -> Observations:
    """Noisy glimpses of them."""
    rng = np.random.default_rng(streams(graph, len(paths.variables))[2])
    return observe(paths, n_times=OBSERVATIONS, noise=GaussianNoise(variance=VARIANCE), rng=rng)


def learner(
    weights: str, max_parents: int | None = None, quick: bool = False, initial: str | None = None, **others: Any
) -> StructureLearner:
    """The learner of every experiment.

    Parameters
    ----------
    weights
        "mixture" (the paper's model), "posterior" (our defaults) or "exact" (the paper's score: posterior weights with
        its prior of the rates and a flat prior of the structures).
    max_parents
        None searches exhaustively; a number K greedily, with the paper's closure for mixture weights.
    quick
        On a coarse time grid, or with few sweeps.
    initial
        Weights to start from, as in `Star`; posterior weights then come from EM, too.
    others
        Further parameters of `StructureLearner`.
    """
    from ctbnlearn.inference.methods import Sampling, Star
    from ctbnlearn.learn.learner import StructureLearner

    em: dict[str, Any] = {"step": QUICK_STEP} if quick else {}
    if initial is not None:
        em["initial"] = initial
    if weights == "mixture":
        return StructureLearner.paper(exhaustive=max_parents is None, max_parents=max_parents, **em, **others)
    if initial is not None:
        others["inference"] = Star(**em)
    elif quick:
        others["inference"] = Sampling(chains=2, sweeps=48)
    if weights == "exact":
        others = {"rate_prior": PAPER_PRIOR, "structure_prior": "flat", **others}
    return StructureLearner(max_parents, **others)
