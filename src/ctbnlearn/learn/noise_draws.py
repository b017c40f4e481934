"""Observation models that are learned: one more Gibbs step of a chain, and what its draws say in the end.

Given the paths, the values of a variable and the states they were seen in add up to statistics, a sum over
trajectories; given those, the model draws its parameters and the likelihoods of that variable are recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, NumberArray, WordArray
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.noise.model import LearnedNoise, NoiseModel, table_rows
from ctbnlearn.data.observations import Observations
from ctbnlearn.inference.path_state import Paths, Seen, states_seen
from ctbnlearn.learn.trail import NodeRecord
from ctbnlearn.streams import uniform

LEVEL = 0.95  # of intervals


class LearnedValues(NamedTuple):
    """Observation models with parameters to learn, and the values seen through them, by number of the variable."""

    models: dict[int, LearnedNoise]
    values: dict[int, NumberArray]

    @classmethod
    def of(cls, data: Incomplete) -> LearnedValues:
        """Those of some observations."""
        models = learned_models(data)
        return cls(models, {i: data.series[i].values for i in models} if isinstance(data, Observations) else {})


def learned_models(obs: Incomplete) -> dict[int, LearnedNoise]:
    """Observation models with parameters to learn, by number of the variable; none in a scan, which is read first."""
    if not isinstance(obs, Observations):
        return {}
    return {i: s.noise for i, s in enumerate(obs.series) if isinstance(s.noise, LearnedNoise) and s.noise.learned}


class NoiseDraws:
    """The learned models of one chain, and the likelihoods that follow from them.

    Attributes
    ----------
    models
        By number of the variable.
    seen
        Observations with the likelihoods of the present models; those of others are shared by all chains.
    """

    def __init__(self, learned: LearnedValues, seen: Seen) -> None:
        self.models, self._values = dict(learned.models), learned.values
        self.seen = seen._replace(log_likelihood=seen.log_likelihood.copy()) if self.models else seen

    def sums(self, node: int, paths: Paths) -> FloatArray:
        """Statistics of a variable's values in the states of the present paths."""
        states = states_seen(self.seen, paths, node)
        return self.models[node].sums(self._values[node], np.eye(int(self.seen.cards[node]))[states])

    def step(self, paths: Paths, random: WordArray) -> None:
        """Draw all parameters given the paths."""
        if not self.models:
            return
        rng = np.random.default_rng([int(uniform(random) * 2**52), 7])  # a function of the chain's own stream
        for i in self.models:
            self._put(i, self.models[i].draw(self.sums(i, paths), rng))

    def _put(self, node: int, model: LearnedNoise) -> None:
        """Take a model, and its likelihoods."""
        self.models[node] = model
        seen, card = self.seen, int(self.seen.cards[node])
        table = model.log_likelihood(self._values[node])
        peak = table[:, 0]
        for x in range(1, card):  # many times as quick as a maximum over a short axis
            peak = np.maximum(peak, table[:, x])
        table -= peak[:, None]
        rows = seen.rows[node]
        seen.log_likelihood[seen.place[node] + rows[0] * card : seen.place[node] + rows[-1] * card] = table.reshape(-1)

    def parameters(self, node: int) -> FloatArray:
        """Of a variable; empty where they are not learned."""
        return self.models[node].parameters() if node in self.models else np.zeros(0)

    def arrays(self) -> dict[str, FloatArray]:
        """The parameters by name, for a checkpoint."""
        return {f"noise/{i}": model.parameters() for i, model in self.models.items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave."""
        for i, model in self.models.items():
            self._put(i, model.with_parameters(np.asarray(arrays[f"noise/{i}"])))


def mean_models(obs: Incomplete, draws: Mapping[int, FloatArray]) -> dict[str, NoiseModel]:
    """The learned models at the means of their drawn parameters, each (n_draws, n_parameters)."""
    models = learned_models(obs)
    return {obs.names[i]: models[i].with_parameters(draws[i].mean(0)).fixed() for i in models}


def scale_reduction(draws: Mapping[int, FloatArray], chains: int) -> float:
    """The largest R among parameters drawn by chains of equal length, one after the other."""
    out = 1.0
    for own in draws.values():
        by_chain = own.reshape(chains, -1, own.shape[-1])
        within, between = by_chain.var(1).mean(0), by_chain.mean(1).var(0, ddof=1)
        out = max(out, float(np.sqrt(1.0 + between / np.maximum(within, 1e-12)).max()))
    return out


def parameter_rows(obs: Incomplete, draws: Mapping[int, FloatArray]) -> list[Mapping[str, Any]]:
    """Learned parameters with 95 % intervals from draws, one row each."""
    rows: list[Mapping[str, Any]] = []
    for i, model in learned_models(obs).items():
        low, high = np.quantile(draws[i], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        names = model.parameter_names(obs.variables[i])
        rows += table_rows(obs.names[i], names, draws[i].mean(0), low, high)
    return rows


def drawn_parameters(obs: Incomplete, records: Sequence[Sequence[NodeRecord]]) -> dict[int, FloatArray]:
    """Parameters in the sweeps that chains kept, by number of the variable: (n_sweeps, n_parameters)."""
    return {i: np.stack([record[i].noise for record in records]) for i in learned_models(obs)}
