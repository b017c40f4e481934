"""Observation models that are learned by EM: posterior weights of the states at every value seen, then an M-step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.noise.model import LearnedNoise
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.ragged import owner
from ctbnlearn.inference.contract import PathInference, PathPosterior
from ctbnlearn.learn.noise_draws import learned_models

DRAWS = 400  # from the posterior of parameters given expected statistics, for intervals


class NoiseSteps:
    """The learned models of a fit by EM.

    Attributes
    ----------
    obs
        The observations, through the present models.
    queries : (n_trajectories, n_times)
        Every time at which a variable with a learned model was seen; the last is repeated.
    """

    def __init__(self, obs: Observations) -> None:
        self.obs = obs
        self.queries, self._at = _times_seen(obs, list(self.models))

    @property
    def models(self) -> dict[int, LearnedNoise]:
        """By number of the variable."""
        return learned_models(self.obs)

    def sums(self, engine: PathInference, paths: PathPosterior) -> dict[int, FloatArray]:
        """Expected statistics of all learned models."""
        shares = engine.marginals_of(paths)
        out = {}
        for i, model in self.models.items():
            series, card = self.obs.series[i], self.obs.variables[i].n_states
            weights = shares[owner(series.offsets), self._at[i], i, :card]
            out[i] = model.sums(series.values, weights)
        return out

    def step(self, engine: PathInference, paths: PathPosterior) -> None:
        """Fit all models to the paths; the engine sees the data through them from now on."""
        if self.models:
            found = self.sums(engine, paths)
            self._take(engine, {i: model.fit(found[i]) for i, model in self.models.items()})

    def _take(self, engine: PathInference, models: Mapping[int, LearnedNoise]) -> None:
        self.obs = self.obs.with_noise({self.obs.names[i]: model for i, model in models.items()})
        engine.see(self.obs)

    def arrays(self) -> dict[str, FloatArray]:
        """The parameters by name, for a checkpoint."""
        return {f"noise/{i}": model.parameters() for i, model in self.models.items()}

    def restore(self, engine: PathInference, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave."""
        if self.models:
            kept = {i: m.with_parameters(np.asarray(arrays[f"noise/{i}"])) for i, m in self.models.items()}
            self._take(engine, kept)

    def draws(self, engine: PathInference, paths: PathPosterior) -> dict[int, FloatArray]:
        """Parameters drawn given the expected statistics, (DRAWS, n_parameters), around what was fitted."""
        rng, out = np.random.default_rng(0), {}
        for i, total in (self.sums(engine, paths) if self.models else {}).items():
            model, rows = self.models[i], []
            for _ in range(DRAWS):
                model = model.draw(total, rng)
                rows.append(model.parameters())
            out[i] = np.stack(rows)
        return out


def _times_seen(obs: Observations, nodes: list[int]) -> tuple[FloatArray, dict[int, IntArray]]:
    """Times of values of some variables, and where each value of a variable stands among those of its trajectory."""
    n = obs.n_trajectories
    if not nodes:
        return np.empty((n, 0)), {}
    who = np.concatenate([owner(obs.series[i].offsets) for i in nodes])
    when = np.concatenate([obs.series[i].times for i in nodes])
    order = np.lexsort((when, who))
    fresh = np.append(True, (np.diff(who[order]) != 0) | (np.diff(when[order]) != 0))
    first = np.searchsorted(who[order][fresh], np.arange(n + 1))
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(fresh) - 1 - first[who[order]]
    queries = np.repeat(obs.end[:, None], int(np.diff(first).max()), axis=1)
    queries[who, place] = when
    bounds = np.cumsum([0, *(len(obs.series[i].values) for i in nodes)])
    return queries, {i: place[a:b] for i, a, b in zip(nodes, bounds, bounds[1:])}
