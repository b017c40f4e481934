"""What an observation model is: the likelihood p(y | x) of a value seen, y, under each state x.

A new model is one file: a class derived from `NoiseModel` with the abstract methods, named in `saved.py`. A model whose
parameters are learned also fills in `begin`, `sums`, `draw`, `fit` and what goes with them. Learning is in two halves,
so that the first can be done anywhere: `sums` turns values and the weights of the states they were seen in, drawn or
expected, into numbers that add up over trajectories; `draw` (a Gibbs step) and `fit` (an M-step) turn their total into
new parameters under the model's own prior. States are kept in the order of what is measured in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from ctbnlearn.arrays import BoolArray, FloatArray, NumberArray
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import ParameterError

LEVELS = {2: ("low", "high"), 3: ("low", "medium", "high")}
AUTO = "auto"  # in place of a number of states: choose it
FEWEST, MOST = 2, 4  # states tried
MOST_VALUES = 10_000  # looked at for a start


class NoiseModel(ABC):
    """An observation model; immutable.

    Attributes
    ----------
    kind
        Its name in files.
    numeric
        Whether values are measured numbers; else they are codes of labels.
    """

    kind: ClassVar[str]
    numeric: ClassVar[bool] = True

    @abstractmethod
    def bind(self, variable: Variable) -> NoiseModel:
        """Check the model against a variable and fill in what depends on it."""

    @abstractmethod
    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Log p(y | x), shape (n, n_states)."""

    @abstractmethod
    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """Draw a measured value for every true state code."""

    def state_labels(self) -> tuple[Label, ...] | None:
        """States of a column for which none are declared; None where the model does not say."""
        return None

    def problem(self, values: FloatArray) -> tuple[BoolArray, str] | None:
        """Which values cannot be, and why; None where all can."""
        return None

    def begin(self, values: NumberArray, where: str) -> NoiseModel:
        """Take what was left open from the values of a column; `where` begins the message if that cannot be."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """The model in JSON types; `ctbnlearn.data.noise.saved` reads it back."""
        raise ParameterError(f"{type(self).__name__} cannot be saved")

    @property
    def learned(self) -> bool:
        """Whether parameters are learned."""
        return False


class LearnedNoise(NoiseModel):
    """An observation model whose parameters can be learned; `learned` says whether they are."""

    @abstractmethod
    def sums(self, values: NumberArray, weights: FloatArray) -> FloatArray:
        """Statistics of values seen in states of weights (n, n_states): sums over rows, so that parts add up."""

    @abstractmethod
    def draw(self, sums: FloatArray, rng: np.random.Generator) -> Self:
        """The model with parameters drawn given the statistics, in a step that keeps their posterior."""

    @abstractmethod
    def fit(self, sums: FloatArray) -> Self:
        """The model with the most probable parameters given the statistics."""

    @abstractmethod
    def parameters(self) -> FloatArray:
        """The learned parameters, (n_parameters,)."""

    @abstractmethod
    def with_parameters(self, parameters: FloatArray) -> Self:
        """The model with other parameters, as `parameters` gives them."""

    @abstractmethod
    def parameter_names(self, variable: Variable) -> list[tuple[str, str]]:
        """What each of the parameters is, and of which state (empty: of all), in words."""

    @abstractmethod
    def fixed(self) -> Self:
        """The same model, its parameters known."""


Learned = TypeVar("Learned", bound=LearnedNoise)


def check_states(n_states: Any, who: str) -> int | str | None:
    """A number of states to learn, "auto" or None, or a clear error."""
    if n_states is None or (isinstance(n_states, str) and n_states == AUTO):
        return n_states
    whole = isinstance(n_states, (int, np.integer)) and not isinstance(n_states, bool)
    if not whole or not 2 <= n_states <= 16:
        raise ParameterError(f'{who}: n_states must be a whole number from 2 to 16, or "auto", not {n_states!r}')
    return int(n_states)


def level_labels(n_states: int) -> tuple[Label, ...]:
    """Names of learned levels, lowest first."""
    return LEVELS.get(n_states) or tuple(f"level {k + 1}" for k in range(n_states))


def sample_of(values: NumberArray) -> NumberArray:
    """The values, or so many of them as are looked at for a start."""
    return values if len(values) <= MOST_VALUES else np.random.default_rng(0).choice(values, MOST_VALUES, False)


def fit_mixture(model: Learned, values: NumberArray, n_states: int) -> tuple[Learned, float]:
    """Fit a model to values whose times are not looked at; returns it and the log likelihood of the mixture.

    EM from several ways of cutting the sorted values, and the best of them: a state may be rare.
    """
    rank = (np.argsort(np.argsort(values, kind="stable"), kind="stable") + 0.5) / len(values)
    even = np.arange(1, n_states) / n_states
    best: tuple[Learned, float] | None = None
    for cuts in (even, 1 - (1 - even) ** 3, even**3):
        weights = np.eye(n_states)[np.searchsorted(cuts, rank)]
        if (weights.sum(0) == 0).any():
            continue
        found, value = model.fit(model.sums(values, weights)), -np.inf
        share = weights.mean(0)
        for _ in range(200):
            with np.errstate(divide="ignore"):
                joint = found.log_likelihood(values) + np.log(share)
            total = np.logaddexp.reduce(joint, axis=1)
            weights = np.exp(joint - total[:, None])
            old, value = value, float(total.sum())
            found, share = found.fit(found.sums(values, weights)), weights.mean(0)
            if value - old < 1e-5 * len(values):
                break
        if best is None or value > best[1]:
            best = found, value
    assert best is not None
    return best


def rising(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The nearest values (weighted least squares) that rise from state to state."""
    from sklearn.isotonic import isotonic_regression

    if (np.diff(values) > 0).all():
        return values
    flat = isotonic_regression(values, sample_weight=weights + 1e-9)
    return flat + 1e-6 * np.arange(len(flat)) * max(float(np.ptp(values)), 1e-6)


def between(mean: float, sd: float, low: float, high: float, rng: np.random.Generator) -> float:
    """A draw from N(mean, sd^2) kept between two bounds."""
    below, above = (low - mean) / sd, (high - mean) / sd
    mirrored = below > 0  # the lower tail is the one with all its digits
    if mirrored:
        below, above = -above, -below
    a, b = float(ndtr(below)), float(ndtr(above))
    z = float(ndtri(a + (b - a) * rng.random())) if b > a else 0.0
    z = min(max(z, below), above)
    return mean + sd * (-z if mirrored else z)


def table_rows(
    name: str, labels: Sequence[tuple[str, str]], estimate: FloatArray, low: FloatArray, high: FloatArray
) -> list[Mapping[str, Any]]:
    """Parameters of a variable with their intervals, one row each."""
    return [
        {
            "variable": name,
            "parameter": what,
            "state": state,
            "estimate": float(e),
            "low": float(lo),
            "high": float(hi),
        }
        for (what, state), e, lo, hi in zip(labels, estimate, low, high)
    ]
