"""The experiments by name; their modules are loaded on first use."""

from __future__ import annotations

import importlib

from ctbnlearn.errors import ParameterError
from ctbnlearn.experiments.frame import Experiment

NAMES = {
    "complete": "Fig. 1 a, b: accuracy from complete data, exact score against mixture weights",
    "bound": "Fig. 1 c: the mixture bound against the exact marginal likelihood",
    "incomplete": "Fig. 2 a-d: accuracy from noisy, incomplete data, exhaustive and greedy",
    "initial": "Fig. 2 e, f: heuristic against random initial weights",
    "scaling": "Fig. 3: run time against structural EM, growing networks",
    "concentration": "Appendix C.1: what the concentration c does to the bound",
    "restricted": "restricted exhaustive search: accuracy and time against the size of the prior network",
    "consistency": "does more data help: accuracy, coverage and time against trajectories and gaps",
    "grid": "complete data of sparse and dense graphs, beside published figures of CTPC and score search",
    "cluster": "sampling by several workers: time, bytes moved, and what a cluster would take",
    "irma": "Table 1 and appendix C.3: the IRMA gene network (needs --data)",
    "panel": "Fig. 4 and appendix C.2: a household panel and the stability of its network (needs --data)",
}


def load(name: str) -> Experiment:
    """The experiment of that name, or an error that lists the names."""
    if name not in NAMES:
        raise ParameterError(f"there is no experiment {name!r}; choose one of {', '.join(NAMES)}")
    experiment: Experiment = importlib.import_module(f"ctbnlearn.experiments.{name}").EXPERIMENT
    return experiment
