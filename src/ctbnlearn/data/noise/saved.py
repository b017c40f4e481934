"""Observation models in files: JSON types and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctbnlearn.data.noise.gaussian import GaussianNoise
from ctbnlearn.data.noise.label import LabelNoise
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.data.noise.poisson import PoissonNoise
from ctbnlearn.data.noise.threshold import ThresholdNoise
from ctbnlearn.errors import DataError

KINDS: dict[str, Any] = {model.kind: model for model in (GaussianNoise, LabelNoise, PoissonNoise, ThresholdNoise)}


def noise_from_dict(content: Mapping[str, Any]) -> NoiseModel:
    """The model that `NoiseModel.to_dict` took apart, its parameters known.

    Examples
    --------
    >>> noise_from_dict(PoissonNoise((0.5, 4.0)).to_dict()).rates
    (0.5, 4.0)
    """
    kind = content.get("kind")
    if kind not in KINDS:
        raise DataError(f"there is no observation model {kind!r}; update ctbnlearn")
    model: NoiseModel = KINDS[kind].from_dict(content)
    return model
