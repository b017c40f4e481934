"""A learner with the settings a result was learned with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ctbnlearn.inference.methods import from_settings
from ctbnlearn.learn.learner import StructureLearner
from ctbnlearn.result.result import Result
from ctbnlearn.structure.mixture import Mixture
from ctbnlearn.structure.prior import ProjectedPrior


def learner_of(result: Result) -> StructureLearner:
    """A `StructureLearner`, not fitted, with the settings in the manifest of a result; others have their defaults.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> paths = cl.simulate(cl.random_network(2, rng=1), 20, n_transitions=5, rng=2)
    >>> learner_of(cl.StructureLearner(max_parents=1, rate_prior=(2.0, 3.0)).fit(paths).result_).rate_prior
    (2.0, 3.0)
    """
    saved = result.manifest.get("settings", {}).get("learner", {})
    known = StructureLearner().get_params(deep=False)
    settings = {key: value for key, value in saved.items() if key in known}
    if isinstance(settings.get("inference"), Mapping):
        settings["inference"] = from_settings(settings["inference"]) or "auto"
    weights = settings.get("weights")
    if isinstance(weights, Mapping):
        settings["weights"] = Mixture(**weights["mixture"])
    prior = settings.get("rate_prior")
    if isinstance(prior, Mapping):
        shape, rate = prior["projected"]
        settings["rate_prior"] = ProjectedPrior(shape, rate)
    elif isinstance(prior, list):
        settings["rate_prior"] = tuple(prior)
    if isinstance(settings.get("structure_prior"), list):
        settings["structure_prior"] = np.array(settings["structure_prior"], float)
    for key in ("candidates", "forbidden", "required"):
        if isinstance(settings.get(key), list):
            settings[key] = _graph(settings[key], len(result.names))
    if isinstance(settings.get("transitions"), Mapping):
        sizes = {v.name: v.n_states for v in result.variables}
        settings["transitions"] = {
            name: _allowed(value, sizes.get(name)) for name, value in saved["transitions"].items()
        }
    if isinstance(settings.get("random_state"), str):  # a generator, of which only its text was kept
        del settings["random_state"]
    return StructureLearner(**settings)


def _graph(content: list[Any], n: int) -> Any:
    """Edges as pairs of names, or a 0/1 matrix."""
    square = len(content) == n and all(len(row) == n and not any(isinstance(x, str) for x in row) for row in content)
    return np.array(content) if square else [tuple(pair) for pair in content]


def _allowed(value: Any, n: int | None) -> Any:
    """Transitions as a 0/1 matrix, pairs of labels, or a word."""
    if isinstance(value, str) or len(value) != n or not np.isin(np.array(value, object), [0, 1]).all():
        return value
    return np.array(value)
