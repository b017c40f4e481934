"""States seen without error, and likelihoods that come from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError


@dataclass(frozen=True)
class ExactStates(NoiseModel):
    """States seen without error; values are state codes. Written as `noise=None`."""

    n_states: int = 0
    kind: ClassVar[str] = "exact"
    numeric: ClassVar[bool] = False

    def bind(self, variable: Variable) -> ExactStates:
        """Fix the number of states."""
        return ExactStates(variable.n_states)

    def log_likelihood(self, values: NDArray[Any]) -> FloatArray:
        """Zero at the state seen, minus infinity elsewhere."""
        out = np.full((len(values), self.n_states), -np.inf)
        out[np.arange(len(values)), values] = 0.0
        return out

    def sample(self, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """The codes themselves."""
        return codes


@dataclass(frozen=True)
class RawLikelihoods(NoiseModel):
    """Values are the likelihoods themselves, shape (n, n_states)."""

    kind: ClassVar[str] = "likelihoods"

    def bind(self, variable: Variable) -> RawLikelihoods:
        """Nothing to fix."""
        return self

    def log_likelihood(self, values: NDArray[Any]) -> FloatArray:
        """Logarithm of the stored likelihoods."""
        with np.errstate(divide="ignore"):
            return np.log(values)

    def sample(self, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Likelihoods come from outside and cannot be drawn."""
        raise ParameterError("raw likelihoods cannot be simulated; choose GaussianNoise or LabelNoise")
