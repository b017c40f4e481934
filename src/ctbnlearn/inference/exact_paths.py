"""Path posteriors on the joint chain of all variables, for learning: exact, and for few variables.

Path rates are averages over what is believed: off-diagonals R~ and exit rates e, where e may exceed the sum of R~. The
chain then loses probability on its way; what is left is the factor Z of F, and statistics are those of its posterior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.variables import Variable
from ctbnlearn.inference import exact
from ctbnlearn.inference.engine import JointTables, PathRates
from ctbnlearn.model.initial import InitialDistribution


class Chain(NamedTuple):
    """What the joint chain needs to know of a network."""

    variables: tuple[Variable, ...]
    n_states: tuple[int, ...]
    parents: Sequence[tuple[int, ...]]
    cims: list[FloatArray]
    initial: InitialDistribution


class ExactPaths:
    """What EM asks of a `PathEngine`, from the joint chain."""

    def __init__(self, obs: Observations) -> None:
        self.obs = obs
        self.n_trajectories = obs.n_trajectories

    def statistics(self, rates: PathRates, *, tol: float, max_sweeps: int) -> tuple[float, JointTables]:
        """Log of the probability that is left, summed over trajectories, and expected statistics."""
        variables, tables, cims = self.obs.variables, rates.tables, []
        for i, (u, s) in enumerate(zip(rates.sizes, rates.cards)):
            cim = np.array(tables.geometric[i, :u, :s, :s])
            cim[:, np.arange(s), np.arange(s)] = -tables.exit[i, :u, :s]
            cims.append(cim)
        start = {v.name: tables.initial[i, : v.n_states] for i, v in enumerate(variables)}
        initial = InitialDistribution.build(variables, start)
        chain = Chain(tuple(variables), tuple(rates.cards), rates.parents, cims, initial)
        found, evidence = exact.expect(chain, self.obs)
        return float(evidence.sum()), JointTables(rates.parents, found.dwell, found.transitions, found.initial)

    def arrays(self) -> dict[str, Any]:
        """Nothing is kept between calls."""
        return {}

    def restore(self, arrays: Mapping[str, Any], rates: PathRates, tol: float, max_sweeps: int) -> None:
        """Nothing was kept."""
