"""Levels of a measured column, whatever way it is measured: normal, log-normal or a count, whichever fits it best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ctbnlearn.arrays import FloatArray, NumberArray
from ctbnlearn.data.noise.gaussian import GaussianNoise
from ctbnlearn.data.noise.model import LearnedNoise, NoiseModel, check_states, sample_of
from ctbnlearn.data.noise.poisson import PoissonNoise
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError


@dataclass(frozen=True)
class Levels(NoiseModel):
    """Learned levels of a number: `GaussianNoise` of it or of its logarithm, or `PoissonNoise` of a count.

    Which of them is chosen, by the Bayesian information criterion of a mixture, as a table is read.

    Parameters
    ----------
    n_states
        Number of levels, or "auto": as many, from 2 to 4, as the values speak for.

    Examples
    --------
    >>> counts = np.repeat([0, 1, 2, 7, 8, 9, 10, 12], [40, 30, 8, 8, 10, 10, 8, 4]).astype(float)
    >>> type(Levels(2).begin(counts, "here")).__name__
    'PoissonNoise'
    """

    n_states: int | str = "auto"
    kind: ClassVar[str] = "levels"

    def __post_init__(self) -> None:
        if check_states(self.n_states, "Levels") is None:
            raise ParameterError('Levels: n_states must be a whole number from 2 to 16, or "auto", not None')

    def begin(self, values: NumberArray, where: str) -> NoiseModel:
        """The model that fits the values of a column best, with parameters to start from."""
        y = np.asarray(values, float)
        models: list[LearnedNoise] = [GaussianNoise(n_states=self.n_states)]
        if len(y) and (y > 0).all():
            models.append(GaussianNoise(n_states=self.n_states, log=True))
        if len(y) and (y >= 0).all() and (y == np.floor(y)).all():
            models.append(PoissonNoise(n_states=self.n_states))
        if len(models) == 1:
            return models[0].begin(values, where)
        begun = [model.begin(values, where) for model in models]
        return min(begun, key=lambda model: criterion(model, y))

    def bind(self, variable: Variable) -> NoiseModel:
        """There must have been values to choose by."""
        raise ParameterError(f"variable {variable.name!r}: Levels are for tables that are read; name a model")

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Not before a model is chosen."""
        raise ParameterError("Levels: the model is chosen as a table is read; name one, such as GaussianNoise")

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """Not before a model is chosen."""
        raise ParameterError("Levels: the model is chosen as a table is read; name one, such as GaussianNoise")


def criterion(model: Any, values: FloatArray) -> float:
    """The Bayesian information criterion of a model and the shares of its states, fitted to values."""
    few = sample_of(values)
    table = model.log_likelihood(few)
    share = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(50):  # EM of the shares alone
        joint = table + np.log(np.maximum(share, 1e-300))
        total = np.logaddexp.reduce(joint, axis=1)
        share = np.exp(joint - total[:, None]).mean(0)
    n_numbers = len(model.parameters()) + len(share) - 1
    return -2 * float(total.sum()) + n_numbers * float(np.log(max(len(few), 2)))
