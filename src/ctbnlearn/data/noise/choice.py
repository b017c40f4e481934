"""Observation models as users give them: one for all variables, one each, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.noise.exact import ExactStates
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import DataError, ParameterError

NoiseSpec: TypeAlias = NoiseModel | Mapping[str, NoiseModel | None] | None


def choose_noise(noise: Any, names: Sequence[str]) -> list[NoiseModel]:
    """One model per variable from one model, a mapping from name to model, or None."""
    if isinstance(noise, Mapping):
        unknown = [name for name in noise if name not in names]
        if unknown:
            raise ParameterError(f"noise names unknown variables {named(unknown)}; known: {named(names)}")
    else:
        noise = dict.fromkeys(names, noise)
    chosen: list[NoiseModel] = []
    for name in names:
        model = noise.get(name)
        if model is None:
            model = ExactStates()
        if isinstance(model, type) and issubclass(model, NoiseModel):
            raise ParameterError(
                f"variable {name!r}: noise must be a model, not the class {model.__name__}; call it, as in "
                f"{model.__name__}(...)"
            )
        if not isinstance(model, NoiseModel):
            raise ParameterError(
                f"variable {name!r}: noise must be None, GaussianNoise(...), LabelNoise(...), PoissonNoise(...), "
                f"ThresholdNoise(...) or another NoiseModel, not {shown(model)}"
            )
        chosen.append(model)
    return chosen


def bind_noise(noise: NoiseSpec, variables: Sequence[Variable]) -> list[NoiseModel]:
    """As `choose_noise`, with every model bound to its variable."""
    return [m.bind(v) for m, v in zip(choose_noise(noise, [v.name for v in variables]), variables)]


def check_likelihoods(values: ArrayLike, where: str, n_states: int) -> FloatArray:
    """Raise unless every row holds finite, non-negative likelihoods of which one is positive."""
    array = np.asarray(values, float)
    if array.ndim != 2 or array.shape[1] != n_states:
        raise DataError(f"{where}: likelihoods need shape (n_times, {n_states}), not {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).all(1) | (array < 0).any(1))
    if bad.size:
        raise DataError(
            f"{where}, row {bad[0]}: likelihoods {array[bad[0]].tolist()} must be finite and not negative; for "
            "'not seen' give equal likelihoods"
        )
    bad = np.flatnonzero(~array.any(1))
    if bad.size:
        raise DataError(f"{where}, row {bad[0]}: all likelihoods are zero, so no state is possible there")
    return array
