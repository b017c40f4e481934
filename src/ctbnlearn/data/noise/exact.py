"""States seen without error, and likelihoods that come from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ctbnlearn.arrays import FloatArray, NumberArray
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

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Zero at the state seen, minus infinity elsewhere."""
        out = np.full((len(values), self.n_states), -np.inf)
        out[np.arange(len(values)), values] = 0.0
        return out

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """The codes themselves."""
        return codes


@dataclass(frozen=True)
class RawLikelihoods(NoiseModel):
    """Values are the likelihoods themselves, shape (n, n_states)."""

    kind: ClassVar[str] = "likelihoods"

    def bind(self, variable: Variable) -> RawLikelihoods:
        """Nothing to fix."""
        return self

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Logarithm of the stored likelihoods."""
        with np.errstate(divide="ignore"):
            return np.log(values)

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """Likelihoods come from outside and cannot be drawn."""
        raise ParameterError("raw likelihoods cannot be simulated; choose GaussianNoise or LabelNoise")
