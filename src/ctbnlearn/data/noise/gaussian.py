"""Numbers measured around a level that belongs to the state: y ~ N(level of x, variance), or ln y likewise.

Levels m_x and the common variance v are known, or learned. With z = (y - mean) / sd of the whole column the prior is
m_x ~ N(0, 3^2), in the order of the states, and v ~ InverseGamma(1, 0.1): what it says is forgotten after some ten
values of a state. Given states, both have conditionals in closed form, from n_x, sum z and sum z^2 of every state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, NumberArray
from ctbnlearn.data.noise.model import (
    AUTO,
    FEWEST,
    MOST,
    LearnedNoise,
    between,
    check_states,
    fit_mixture,
    level_labels,
    rising,
    sample_of,
)
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError

LEVEL_VARIANCE = 9.0  # of the prior of levels, in variances of the column
SHAPE, RATE = 1.0, 0.1  # inverse gamma prior of the variance, in variances of the column


@dataclass(frozen=True)
class GaussianNoise(LearnedNoise):
    """A number measured around the value of the state: y ~ N(values[x], variance).

    What is left out is learned, `values` only where `n_states` is given.

    Parameters
    ----------
    variance
        Noise variance, positive, the same in all states.
    values
        One number per state. Default: the state labels, where they are numbers.
    n_states
        Learn the values, of so many states; "auto": as many, from 2 to 4, as the values speak for (by the Bayesian
        information criterion). The states are "low" and "high", or "low", "medium" and "high", or "level 1" and so on.
    log
        Take the natural logarithm of y first, as for concentrations. `variance` and `values` are then those of ln y.
    learn
        Which of "values" and "variance" are learned; follows from what is left out.
    column
        Mean and standard deviation of the column, which give the prior its scale; filled in as a table is read.

    Examples
    --------
    >>> model = GaussianNoise(variance=0.2).bind(Variable("x", (-1, 1)))
    >>> model.log_likelihood(np.array([1.0])).round(3).tolist()
    [[-10.114, -0.114]]
    >>> found = GaussianNoise(n_states=2).begin(np.array([1.0, 1.2, 0.8, 5.1, 4.9, 5.0]), "here")
    >>> np.round(found.values, 1).tolist()
    [1.0, 5.0]
    """

    variance: float | None = None
    values: tuple[float, ...] | None = None
    n_states: int | str | None = None
    log: bool = False
    learn: tuple[str, ...] | None = None
    column: tuple[float, float] | None = None
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        put = object.__setattr__
        number = isinstance(self.variance, (int, float, np.number)) and not isinstance(self.variance, bool)
        if self.variance is not None and not (number and 0 < float(self.variance) < np.inf):
            raise ParameterError(f"GaussianNoise: variance must be positive and finite, not {self.variance!r}")
        if self.values is not None:
            try:
                values = () if isinstance(self.values, str) else tuple(float(v) for v in self.values)
            except (TypeError, ValueError, OverflowError):
                values = ()
            twice = not self.learn and len(set(values)) != len(values)
            if len(values) < 2 or not np.isfinite(values).all() or twice:
                raise ParameterError(
                    f"GaussianNoise: values must be two or more different finite numbers, not {self.values!r}"
                )
            put(self, "values", values)
        put(self, "n_states", check_states(self.n_states, "GaussianNoise"))
        if not isinstance(self.log, (bool, np.bool_)):
            raise ParameterError(f"GaussianNoise: log must be True or False, not {self.log!r}")
        if self.learn is None:
            if self.variance is None and self.values is None and self.n_states is None:
                raise ParameterError("GaussianNoise: give variance=, or n_states= to learn the levels and their spread")
            if self.values is not None and self.n_states not in (None, len(self.values)):
                raise ParameterError(
                    f"GaussianNoise: n_states={self.n_states!r}, but {len(self.values)} values are given; leave one out"
                )
            open_ = {"values": self.values is None and self.n_states is not None, "variance": self.variance is None}
            put(self, "learn", tuple(name for name, left_out in open_.items() if left_out))

    @property
    def learned(self) -> bool:
        """Whether levels or spread are learned."""
        return bool(self.learn)

    def state_labels(self) -> tuple[Label, ...] | None:
        """The values, or names of learned levels."""
        assert self.learn is not None
        if "values" in self.learn:
            return None if not isinstance(self.n_states, int) else level_labels(self.n_states)
        if self.values is None:
            return None
        return tuple(int(v) for v in self.values) if all(v.is_integer() for v in self.values) else self.values

    def problem(self, values: FloatArray) -> tuple[BoolArray, str] | None:
        """Only numbers above zero have a logarithm."""
        if self.log and (values <= 0).any():
            return values <= 0, "only a number above zero has a logarithm; correct it, or leave it blank"
        return None

    def begin(self, values: NumberArray, where: str) -> GaussianNoise:
        """Start from a mixture fitted to the values of a column; choose the number of states where it is open."""
        if not self.learned or self.column is not None:
            return self
        signal = self._signal(values)
        mean, sd = (float(signal.mean()), float(signal.std())) if len(signal) else (0.0, 1.0)
        if len(signal) and not sd > 1e-9 * max(abs(mean), 1e-300):
            raise DataError(f"{where}: all its values are equal, so no levels can be told apart; leave it out")
        known = replace(self, column=(mean, sd))
        assert self.learn is not None
        if "values" not in self.learn:
            return known._near(signal)
        few = sample_of(values)
        sizes = range(FEWEST, MOST + 1) if self.n_states == AUTO else [int(self.n_states or FEWEST)]
        best, least = None, np.inf
        for size in sizes:
            if len(np.unique(few)) < size:
                if best is not None:
                    break
                raise DataError(f"{where}: {len(np.unique(few))} different numbers for {size} levels; ask for fewer")
            spread = 1.0 if self.variance is None else self.variance
            first = replace(known, n_states=size, values=tuple(np.arange(size, dtype=float)), variance=spread)
            found, value = fit_mixture(first, few, size)
            cost = -2 * value + 2 * size * np.log(max(len(few), 2))
            if cost < least:
                best, least = found, cost
        assert best is not None
        return best

    def _near(self, signal: FloatArray) -> GaussianNoise:
        """With the variance around the nearest of the known values."""
        levels = np.asarray(self.values)
        away = np.abs(signal[:, None] - levels).min(1) if len(signal) else np.ones(1)
        return replace(self, variance=max(float((away**2).mean()), 1e-12))

    def bind(self, variable: Variable) -> GaussianNoise:
        """Take the state labels as values where none were given."""
        values = self.values
        assert self.learn is not None
        if values is None and "values" in self.learn:
            if self.n_states not in (AUTO, variable.n_states):
                raise ParameterError(
                    f"variable {variable.name!r} has {variable.n_states} states, not the {self.n_states} that "
                    "GaussianNoise shall learn; give it as many"
                )
            return self
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
        return replace(self, values=values)

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Gaussian log density of every value around every state's value."""
        levels, variance = self._known()
        signal = self._signal(values)
        out = -0.5 * ((signal[:, None] - levels) ** 2 / variance + np.log(2 * np.pi * variance))
        return out - signal[:, None] if self.log else out

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """State value plus Gaussian noise."""
        levels, variance = self._known()
        signal = levels[codes] + np.sqrt(variance) * rng.standard_normal(len(codes))
        return np.exp(signal) if self.log else signal

    def sums(self, values: NumberArray, weights: FloatArray) -> FloatArray:
        """Per state the number of values, their sum and their sum of squares, standardised: (n_states, 3)."""
        mean, sd = self.column or (0.0, 1.0)
        z = (self._signal(values) - mean) / sd
        return (np.stack([np.ones(len(z)), z, z * z]) @ weights).T

    def draw(self, sums: FloatArray, rng: np.random.Generator) -> GaussianNoise:
        """Levels given the variance, each between its neighbours; then the variance given the levels."""
        levels, variance = self._standard()
        n, total, _ = sums.T
        if "values" in (self.learn or ()):
            precision = n / variance + 1 / LEVEL_VARIANCE
            for x in range(len(levels)):
                low = levels[x - 1] if x else -np.inf
                high = levels[x + 1] if x + 1 < len(levels) else np.inf
                at = total[x] / variance / precision[x]
                levels[x] = between(at, precision[x] ** -0.5, low, high, rng)
        if "variance" in (self.learn or ()):
            variance = (RATE + self._residual(sums, levels) / 2) / rng.gamma(SHAPE + n.sum() / 2)
        return self._with_standard(levels, variance)

    def fit(self, sums: FloatArray) -> GaussianNoise:
        """Levels at their mode given the variance, then the variance at its mode."""
        levels, variance = self._standard()
        n, total, _ = sums.T
        if "values" in (self.learn or ()):
            levels = rising(total / (n + variance / LEVEL_VARIANCE), n)
        if "variance" in (self.learn or ()):
            variance = (RATE + self._residual(sums, levels) / 2) / (SHAPE + 1 + n.sum() / 2)
        return self._with_standard(levels, variance)

    @staticmethod
    def _residual(sums: FloatArray, levels: FloatArray) -> float:
        n, total, squares = sums.T
        return max(float((squares - 2 * levels * total + n * levels**2).sum()), 0.0)

    def parameters(self) -> FloatArray:
        """The levels, then the variance."""
        levels, variance = self._known()
        return np.append(levels, variance)

    def with_parameters(self, parameters: FloatArray) -> GaussianNoise:
        """The model with other levels and variance."""
        return replace(self, values=tuple(parameters[:-1].tolist()), variance=float(parameters[-1]))

    def parameter_names(self, variable: Variable) -> list[tuple[str, str]]:
        """A level per state, and the variance."""
        of = " of the logarithm" if self.log else ""
        return [*(("mean" + of, str(s)) for s in variable.states), ("variance" + of, "")]

    def fixed(self) -> GaussianNoise:
        """Levels and variance as they are."""
        return GaussianNoise(self.variance, self.values, log=self.log)

    def to_dict(self) -> dict[str, Any]:
        """Levels and variance."""
        levels, variance = self._known()
        return {"kind": self.kind, "variance": variance, "values": levels.tolist(), "log": bool(self.log)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> GaussianNoise:
        """What `to_dict` gave."""
        return cls(float(content["variance"]), tuple(content["values"]), log=bool(content["log"]))

    def _signal(self, values: NumberArray) -> FloatArray:
        signal = np.asarray(values, float)
        if not self.log:
            return signal
        if (signal <= 0).any():
            raise DataError(f"GaussianNoise with log=True needs numbers above zero, not {signal[signal <= 0][0]}")
        return np.log(signal)

    def _known(self) -> tuple[FloatArray, float]:
        if self.values is None or self.variance is None:
            raise ParameterError(
                "GaussianNoise: its levels and spread are not known yet; learn them, or give values= and variance="
            )
        return np.array(self.values, float), float(self.variance)

    def _standard(self) -> tuple[FloatArray, float]:
        """Levels and variance in terms of the column."""
        levels, variance = self._known()
        mean, sd = self.column or (0.0, 1.0)
        return (levels - mean) / sd, variance / sd**2

    def _with_standard(self, levels: FloatArray, variance: float) -> GaussianNoise:
        mean, sd = self.column or (0.0, 1.0)
        return replace(self, values=tuple((mean + sd * levels).tolist()), variance=float(variance * sd**2))
