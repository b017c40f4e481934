"""Path posteriors on the joint chain of all variables, for learning: exact, and for few variables.

Exit rates e may exceed the sum of R~. The chain then loses probability on its way; what is left is the factor Z of F,
and statistics are those of its posterior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, final

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.variables import Variable
from ctbnlearn.inference import exact
from ctbnlearn.inference.contract import Effort, Expectation, PathInference, PathPosterior, PathRates
from ctbnlearn.model.initial import InitialDistribution


class Chain(NamedTuple):
    """What the joint chain needs to know of a network."""

    variables: tuple[Variable, ...]
    n_states: tuple[int, ...]
    parents: Sequence[tuple[int, ...]]
    cims: list[FloatArray]
    initial: InitialDistribution


@final
class ExactPaths(PathInference):
    """Paths on the joint chain; no effort is spared, and nothing is kept between E-steps."""

    def __init__(self, obs: Observations, queries: FloatArray | None = None) -> None:
        self.obs = obs
        self.queries = np.empty((obs.n_trajectories, 0)) if queries is None else queries

    def describe(self) -> str:
        """How many states the chain has."""
        return f"paths on the joint chain of {prod(v.n_states for v in self.obs.variables)} states"

    def expect(self, rates: PathRates, effort: Effort, start: PathPosterior | None = None) -> Expectation:
        """Log of the probability that is left of every trajectory, and expected statistics."""
        statistics, values = exact.expect(self._chain(rates), self.obs)
        return Expectation(values, statistics, PathPosterior(rates, effort))

    def marginals_of(self, paths: PathPosterior) -> FloatArray:
        """Posterior of the chain at the times asked for."""
        found = exact.posterior(self._chain(paths.rates), self.obs, self.queries)
        out = np.zeros((*self.queries.shape, len(found), max(paths.rates.cards)))
        for i, share in enumerate(found.values()):
            out[..., i, : share.shape[-1]] = share
        return out

    def see(self, obs: Observations) -> None:
        """Take other observations."""
        self.obs = obs

    def _chain(self, rates: PathRates) -> Chain:
        cims = []
        for card, geometric, arithmetic in zip(rates.cards, rates.geometric, rates.arithmetic):
            off, diagonal = ~np.eye(card, dtype=bool), np.arange(card)
            cim = geometric * off
            cim[:, diagonal, diagonal] = -(arithmetic * off).sum(-1)
            cims.append(cim)
        variables = tuple(self.obs.variables)
        initial = InitialDistribution.build(variables, {v.name: p for v, p in zip(variables, rates.initial)})
        return Chain(variables, tuple(rates.cards), rates.parents, cims, initial)

    def arrays(self, paths: PathPosterior) -> dict[str, Any]:
        """Nothing is kept."""
        return {}

    def restore(self, arrays: Mapping[str, Any], rates: PathRates, effort: Effort) -> PathPosterior:
        """Nothing was kept."""
        return PathPosterior(rates, effort)
