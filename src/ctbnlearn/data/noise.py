"""Observation models: the likelihood p(y | x) of a measured value y under each state x.

A model turns stored values into log likelihoods of shape (n, n_states) and, for simulation, draws values
given the true states. `None` stands for states seen exactly, everywhere a model is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.variables import Label, Variable, plain_label
from ctbnlearn.errors import DataError, ParameterError


@runtime_checkable
class NoiseModel(Protocol):
    """What every observation model offers."""

    def bind(self, variable: Variable) -> NoiseModel:
        """Check the model against a variable and fill in what depends on it."""

    def log_likelihood(self, values: NDArray[Any]) -> FloatArray:
        """Log p(y | x), shape (n, n_states)."""

    def sample(self, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a measured value for every true state code."""


@dataclass(frozen=True)
class ExactStates:
    """States seen without error; values are state codes. Written as `noise=None`."""

    n_states: int = 0

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
class RawLikelihoods:
    """Values are the likelihoods themselves, shape (n, n_states)."""

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


@dataclass(frozen=True)
class GaussianNoise:
    """A number measured around the value of the state: y ~ N(values[x], variance).

    Parameters
    ----------
    variance
        Noise variance, positive.
    values
        One number per state. Default: the state labels, where they are numbers.

    Examples
    --------
    >>> model = GaussianNoise(variance=0.2).bind(Variable("x", (-1, 1)))
    >>> model.log_likelihood(np.array([1.0])).round(3).tolist()
    [[-10.114, -0.114]]
    """

    variance: float
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.variance, (int, float, np.number)) and 0 < float(self.variance) < np.inf):
            raise ParameterError(f"GaussianNoise: variance must be positive and finite, not {self.variance!r}")
        if self.values is not None:
            try:
                values = () if isinstance(self.values, str) else tuple(float(v) for v in self.values)
            except (TypeError, ValueError, OverflowError):
                values = ()
            if len(values) < 2 or not np.isfinite(values).all() or len(set(values)) != len(values):
                raise ParameterError(
                    f"GaussianNoise: values must be two or more different finite numbers, not {self.values!r}"
                )
            object.__setattr__(self, "values", values)

    def bind(self, variable: Variable) -> GaussianNoise:
        """Take the state labels as values where none were given."""
        values = self.values
        if values is None:
            if not all(isinstance(s, (int, float)) and not isinstance(s, bool) for s in variable.states):
                raise ParameterError(
                    f"variable {variable.name!r}: its states {list(variable.states)} are not numbers; give "
                    "GaussianNoise(values=...) with one number per state"
                )
            values = tuple(float(s) for s in variable.states)
        if len(values) != variable.n_states:
            raise ParameterError(
                f"variable {variable.name!r} has {variable.n_states} states but GaussianNoise names "
                f"{len(values)} values; give one per state"
            )
        return GaussianNoise(self.variance, values)

    def log_likelihood(self, values: NDArray[Any]) -> FloatArray:
        """Gaussian log density of every value around every state's value."""
        delta = np.asarray(values, float)[:, None] - np.asarray(self.values, float)
        return -0.5 * (delta**2 / self.variance + np.log(2 * np.pi * self.variance))

    def sample(self, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """State value plus Gaussian noise."""
        clean = np.asarray(self.values, float)[codes]
        return clean + np.sqrt(self.variance) * rng.standard_normal(len(codes))


@dataclass(frozen=True)
class LabelNoise:
    """A state reported through a confusion matrix: p(label seen | true state).

    Parameters
    ----------
    confusion
        Matrix [true state, label seen] whose rows sum to one, or a number: the probability of an error,
        shared equally by the other labels.
    labels
        The labels as they stand in the data, in the column order of `confusion`. Default: the states.
    """

    confusion: Any
    labels: tuple[Label, ...] | None = None

    def __post_init__(self) -> None:
        try:
            matrix = np.asarray(self.confusion, float)
        except (TypeError, ValueError, OverflowError):  # text, or rows of unequal length
            matrix = np.empty(0)
        if matrix.ndim == 0:
            if not 0 <= matrix < 1:
                raise ParameterError(f"LabelNoise: an error probability lies in [0, 1), not {self.confusion!r}")
            object.__setattr__(self, "confusion", float(matrix))
        else:
            if matrix.ndim != 2 or not np.isfinite(matrix).all() or (matrix < 0).any():
                raise ParameterError(
                    "LabelNoise: confusion must be a matrix of probabilities, one row a state, or the probability of "
                    f"an error, not {shown(self.confusion)}"
                )
            if not np.allclose(matrix.sum(1), 1, atol=1e-6):
                row = int(np.argmax(np.abs(matrix.sum(1) - 1)))
                raise ParameterError(
                    f"LabelNoise: row {row} of confusion sums to {matrix[row].sum():g}, not to 1; rows are true "
                    "states, columns the labels seen"
                )
            object.__setattr__(self, "confusion", tuple(map(tuple, matrix.tolist())))
        if self.labels is not None:
            if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
                raise ParameterError(f"LabelNoise: labels must be a list of labels, not {shown(self.labels)}")
            labels = tuple(plain_label(s, "LabelNoise") for s in self.labels)
            if len(set(labels)) != len(labels):
                raise ParameterError(f"LabelNoise: a label stands twice in {list(labels)}")
            object.__setattr__(self, "labels", labels)

    def bind(self, variable: Variable) -> LabelNoise:
        """Expand a bare error probability and check the shape."""
        n = variable.n_states
        labels = variable.states if self.labels is None else self.labels
        if isinstance(self.confusion, float):
            matrix = np.full((n, n), self.confusion / (n - 1))
            np.fill_diagonal(matrix, 1 - self.confusion)
        else:
            matrix = np.asarray(self.confusion)
        if matrix.shape != (n, len(labels)):
            raise ParameterError(
                f"variable {variable.name!r} has {n} states and {len(labels)} labels, but LabelNoise's confusion "
                f"matrix is {matrix.shape[0]} x {matrix.shape[1]}"
            )
        return LabelNoise(matrix, labels)

    def log_likelihood(self, values: NDArray[Any]) -> FloatArray:
        """Column of the confusion matrix for every label code."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.confusion)).T[values]

    def sample(self, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """A label code for every true state."""
        cumulative = np.cumsum(np.asarray(self.confusion), axis=1)
        cumulative[:, -1] = 1.0
        return (rng.random(len(codes))[:, None] >= cumulative[codes]).sum(1)


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
        if not isinstance(model, NoiseModel):
            raise ParameterError(
                f"variable {name!r}: noise must be None, GaussianNoise(...), LabelNoise(...), ThresholdNoise(...) or "
                f"a model like them, not {shown(model)}"
            )
        if isinstance(model, type):
            raise ParameterError(
                f"variable {name!r}: noise must be a model, not the class {model.__name__}; call it, as in "
                f"{model.__name__}(...)"
            )
        chosen.append(model)
    return chosen


def bind_noise(noise: Any, variables: Sequence[Variable]) -> list[NoiseModel]:
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
