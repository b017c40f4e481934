"""Counts: y ~ Poisson(rate of x), as for visits, attacks or cells in a field.

The rates are known, or learned. They then have the prior Gamma(1, 1 / mean of the column), in the order of the states;
given states, the posterior of each is Gamma(1 + sum of counts, 1 / mean + number of counts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln

from ctbnlearn.arrays import BoolArray, FloatArray, NumberArray
from ctbnlearn.data.noise.model import (
    AUTO,
    FEWEST,
    MOST,
    LearnedNoise,
    check_states,
    fit_mixture,
    level_labels,
    rising,
    sample_of,
)
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError


@dataclass(frozen=True)
class PoissonNoise(LearnedNoise):
    """A count whose mean belongs to the state: y ~ Poisson(rates[x]).

    Parameters
    ----------
    rates
        One positive number per state, rising. None (default): learned, with `n_states`.
    n_states
        Learn the rates, of so many states; "auto": as many, from 2 to 4, as the counts speak for.
    learn
        Whether rates are learned; follows from what is left out.
    mean
        Mean of the column, which gives the prior its scale; filled in as a table is read.

    Examples
    --------
    >>> found = PoissonNoise(n_states=2).begin(np.array([0, 1, 0, 0, 1, 9, 11, 10, 8]), "here")
    >>> np.round(found.rates, 1).tolist()
    [0.6, 9.2]
    """

    rates: tuple[float, ...] | None = None
    n_states: int | str | None = None
    learn: bool | None = None
    mean: float | None = None
    kind: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "n_states", check_states(self.n_states, "PoissonNoise"))
        if self.rates is not None:
            try:
                rates = () if isinstance(self.rates, str) else tuple(float(r) for r in self.rates)
            except (TypeError, ValueError, OverflowError):
                rates = ()
            if len(rates) < 2 or not np.isfinite(rates).all() or min(rates) <= 0 or (np.diff(rates) < 0).any():
                raise ParameterError(
                    f"PoissonNoise: rates must be two or more positive, rising numbers, not {self.rates!r}"
                )
            put(self, "rates", rates)
        if self.learn is None:
            if (self.rates is None) == (self.n_states is None):
                raise ParameterError("PoissonNoise: give either rates=, one per state, or n_states= to learn them")
            put(self, "learn", self.rates is None)

    @property
    def learned(self) -> bool:
        """Whether rates are learned."""
        return bool(self.learn)

    def state_labels(self) -> tuple[Label, ...] | None:
        """Names of the levels."""
        n = len(self.rates) if self.rates is not None else self.n_states
        return level_labels(n) if isinstance(n, int) else None

    def problem(self, values: FloatArray) -> tuple[BoolArray, str] | None:
        """Counts are whole numbers, not negative."""
        bad = (values < 0) | (values != np.floor(values))
        bad &= ~np.isnan(values)
        return (bad, "a count is a whole number, 0 or more; correct it, or leave it blank") if bad.any() else None

    def begin(self, values: NumberArray, where: str) -> PoissonNoise:
        """Start from a mixture fitted to the counts of a column; choose the number of states where it is open."""
        if not self.learned or self.mean is not None:
            return self
        mean = float(np.mean(values)) if len(values) else 1.0
        if len(values) and len(np.unique(values)) < 2:
            raise DataError(f"{where}: all its counts are equal, so no levels can be told apart; leave it out")
        few = sample_of(values)
        best, least = None, np.inf
        for size in range(FEWEST, MOST + 1) if self.n_states == AUTO else [int(self.n_states or FEWEST)]:
            rising_ = tuple(mean * (1.0 + np.arange(size)))
            found, value = fit_mixture(replace(self, n_states=size, rates=rising_, mean=mean), few, size)
            cost = -2 * value + (2 * size - 1) * np.log(max(len(few), 2))
            if cost < least:
                best, least = found, cost
        assert best is not None
        return best

    def bind(self, variable: Variable) -> PoissonNoise:
        """Check the number of states."""
        n = len(self.rates) if self.rates is not None else self.n_states
        if n not in (AUTO, variable.n_states):
            raise ParameterError(f"variable {variable.name!r} has {variable.n_states} states, but PoissonNoise {n}")
        return self

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Poisson log probability of every count under every state's rate."""
        rates, y = self._known(), np.asarray(values, float)[:, None]
        return y * np.log(rates) - rates - gammaln(y + 1)

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """A count for every true state."""
        return rng.poisson(self._known()[codes]).astype(float)

    def sums(self, values: NumberArray, weights: FloatArray) -> FloatArray:
        """Per state the number of counts and their sum, (n_states, 2)."""
        return (np.stack([np.ones(len(values)), np.asarray(values, float)]) @ weights).T

    def draw(self, sums: FloatArray, rng: np.random.Generator) -> PoissonNoise:
        """Each rate from its Gamma posterior, between its neighbours."""
        rates = self._known()
        shape, rate = self._posterior(sums)
        for x in range(len(rates)):
            low = rates[x - 1] if x else 0.0
            high = rates[x + 1] if x + 1 < len(rates) else np.inf
            a, b = (float(gammainc(shape[x], bound * rate[x])) for bound in (low, high))
            value = float(gammaincinv(shape[x], a + (b - a) * rng.random())) / rate[x]
            rates[x] = min(max(value, low), high) if np.isfinite(value) else low
        return replace(self, rates=tuple(np.maximum(rates, 1e-300).tolist()))

    def fit(self, sums: FloatArray) -> PoissonNoise:
        """Rates at their posterior means."""
        shape, rate = self._posterior(sums)
        return replace(self, rates=tuple(rising(shape / rate, sums[:, 0]).tolist()))

    def _posterior(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        return 1.0 + sums[:, 1], 1.0 / max(self.mean or 1.0, 1e-12) + sums[:, 0]

    def parameters(self) -> FloatArray:
        """The rates."""
        return self._known()

    def with_parameters(self, parameters: FloatArray) -> PoissonNoise:
        """The model with other rates."""
        return replace(self, rates=tuple(parameters.tolist()))

    def parameter_names(self, variable: Variable) -> list[tuple[str, str]]:
        """The mean count of every state."""
        return [("mean count", str(s)) for s in variable.states]

    def fixed(self) -> PoissonNoise:
        """Rates as they are."""
        return PoissonNoise(self.rates)

    def to_dict(self) -> dict[str, Any]:
        """The rates."""
        return {"kind": self.kind, "rates": self._known().tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PoissonNoise:
        """What `to_dict` gave."""
        return cls(tuple(content["rates"]))

    def _known(self) -> FloatArray:
        if self.rates is None:
            raise ParameterError("PoissonNoise: its rates are not known yet; learn them, or give rates=")
        return np.array(self.rates, float)
