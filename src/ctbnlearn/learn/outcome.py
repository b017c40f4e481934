"""From a fitted learner to a `Result`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ctbnlearn.data.kinds import Data
from ctbnlearn.data.noise.saved import KINDS
from ctbnlearn.inference.methods import Iterated, Method, Sampling
from ctbnlearn.result.manifest import build_manifest, describe, plain, some
from ctbnlearn.result.result import Result

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ctbnlearn.learn.fitted import FittedNetwork
    from ctbnlearn.learn.learner import StructureLearner

# on what is learned from given data
WITHOUT_EFFECT = ("callback", "progress", "checkpoint", "resume", "executor", "memory", "trajectory", "time")


def run_settings(learner: StructureLearner, method: Method) -> dict[str, Any]:
    """Parameters on which every round of EM, or every sweep, depends; `method` is how it infers paths."""
    settings = {key: value for key, value in learner.get_params(deep=False).items() if key not in WITHOUT_EFFECT}
    settings["inference"] = method.identity()
    drawn = isinstance(method, Sampling) or (isinstance(method, Iterated) and method.initial == "random")
    if not drawn or isinstance(learner.random_state, np.random.Generator):
        del settings["random_state"]  # without effect, or known by its state alone, which a checkpoint keeps
    return settings


@dataclass(frozen=True)
class FitRecord:
    """What a fit was given, in JSON types, and how long it took; so the learner need not keep the data."""

    data: Mapping[str, Any]
    settings: Mapping[str, Any]
    seconds: float

    @classmethod
    def of(cls, learner: BaseEstimator, data: Data, seconds: float) -> FitRecord:
        """Note down the data and the settings of a fit that has just ended."""
        given = learner.get_params(deep=False)
        settings = {key: plain(value) for key, value in given.items() if key not in WITHOUT_EFFECT}
        return cls(describe(data), settings, seconds)


def result_of(learner: FittedNetwork, record: FitRecord) -> Result:
    """Everything a fitted learner found."""
    result = Result(
        learner.network_,
        learner.edge_probabilities_,
        learner.parent_sets_,
        learner.parent_set_weights_,
        np.array([max(0.0, 1.0 - float(w.sum())) for w in learner.parent_set_weights_]),
        rate_tables=learner._rate_tables,
        history=learner.history_,
        objective=float(learner.objective_),
        converged=bool(learner.converged_),
        disagreement=getattr(learner, "chain_disagreement_", None),
    )
    timings = {"fit": record.seconds}
    manifest = build_manifest(record.data, record.settings, timings, result, int(learner.n_iter_), learner.inference_)
    if getattr(learner, "noise_", None):
        known = {name: model for name, model in learner.noise_.items() if model.kind in KINDS}
        models = {name: plain(model.to_dict()) for name, model in known.items()}
        manifest["noise"] = {"models": models, "parameters": plain(learner.noise_parameters_)}
    for key in ("exogenous", "adjusted_for"):
        if getattr(learner, key + "_", None):
            manifest[key] = list(getattr(learner, key + "_"))
    still = [name for name in manifest.get("exogenous", ()) if name not in manifest.get("adjusted_for", ())]
    if still and getattr(learner, "exogenous", None) is None:
        manifest["warnings"].append(
            f"Never seen to change within a trajectory, so taken to be driven by nothing: {some(still)}. If they can "
            "change, they were watched too briefly; if they cannot, declare them as exogenous, or leave them out."
        )
    return replace(result, manifest=manifest)
