"""A measured number against an uncertain threshold: the observation model of two-state variables.

A variable is "over" when its signal exceeds a threshold that is itself uncertain, N(mean, sd^2). A measured y then has
P(over | y) = Phi((y - mean) / sd), and the likelihoods, up to a factor common to both states,

    p(y | over) ~ Phi((y - mean) / sd),    p(y | under) ~ 1 - Phi((y - mean) / sd):

the larger y, the more it speaks for "over". The paper uses this model for gene expression, where it prints the error
function in place of Phi and the two states the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_ndtr

from ctbnlearn.arguments import finite
from ctbnlearn.arrays import BoolArray, FloatArray, NumberArray
from ctbnlearn.data.noise.model import NoiseModel
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError


@dataclass(frozen=True)
class ThresholdNoise(NoiseModel):
    """A number that speaks for the second of two states the more, the larger it is.

    Parameters
    ----------
    mean, sd
        The threshold and its uncertainty, of y or, with `log`, of ln y. Default: mean and standard deviation of the
        column as it is read, which other data read later will not share.
    log
        Take the natural logarithm of y first, as for concentrations or gene expression.

    Notes
    -----
    The states of a column for which none are declared are 0 (under) and 1 (over).

    Simulated values are those of a signal that is N(mean, sd^2) when both states are equally frequent: a skew normal
    distribution in each state.

    Examples
    --------
    >>> model = ThresholdNoise(mean=10.0, sd=2.0).bind(Variable("gene", ("under", "over")))
    >>> np.exp(model.log_likelihood(np.array([10.0, 12.0]))).round(3).tolist()
    [[0.5, 0.5], [0.159, 0.841]]
    """

    mean: float | None = None
    sd: float | None = None
    log: bool = False
    kind: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        for name in ("mean", "sd"):
            value = getattr(self, name)
            if value is None:
                continue
            object.__setattr__(self, name, finite(value, f"ThresholdNoise: {name}", positive=name == "sd"))
        if not isinstance(self.log, (bool, np.bool_)):
            raise ParameterError(f"ThresholdNoise: log must be True or False, not {self.log!r}")

    def state_labels(self) -> tuple[Label, ...]:
        """Under and over."""
        return 0, 1

    def problem(self, values: FloatArray) -> tuple[BoolArray, str] | None:
        """Only numbers above zero have a logarithm."""
        if self.log and (values <= 0).any():
            return values <= 0, "only a number above zero has a logarithm; correct it, or leave it blank"
        return None

    def begin(self, values: NumberArray, where: str) -> ThresholdNoise:
        """Take what was left open from the values of a column; `where` begins the message if that cannot be."""
        if (self.mean is not None and self.sd is not None) or not len(values):
            return self
        signal = self._signal(values)
        mean = float(signal.mean()) if self.mean is None else self.mean
        sd = float(signal.std()) if self.sd is None else self.sd
        if not sd > 0:
            raise DataError(f"{where}: all its values are equal, so sd cannot be taken from them; give it")
        return ThresholdNoise(mean, sd, self.log)

    def bind(self, variable: Variable) -> ThresholdNoise:
        """Check that there are two states."""
        if variable.n_states != 2:
            raise ParameterError(
                f"variable {variable.name!r} has {variable.n_states} states; ThresholdNoise is for two: under and over"
            )
        return self

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Log Phi(-z) and log Phi(z) of every value's distance z from the threshold."""
        z = (self._signal(values) - self._known("mean")) / self._known("sd")
        return log_ndtr(np.stack([-z, z], axis=1))

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """Skew normal values of density 2 phi(z) Phi(+-z) around the threshold."""
        mean, sd = self._known("mean"), self._known("sd")
        away, noise = np.abs(rng.standard_normal(len(codes))), rng.standard_normal(len(codes))
        signal = mean + sd * (np.where(np.asarray(codes) == 1, away, -away) + noise) / np.sqrt(2)
        return np.exp(signal) if self.log else signal

    def to_dict(self) -> dict[str, Any]:
        """Threshold and its uncertainty."""
        return {"kind": self.kind, "mean": self.mean, "sd": self.sd, "log": bool(self.log)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ThresholdNoise:
        """What `to_dict` gave."""
        return cls(content["mean"], content["sd"], bool(content["log"]))

    def _signal(self, values: NumberArray) -> FloatArray:
        signal = np.asarray(values, float)
        if not self.log:
            return signal
        if (signal <= 0).any():
            raise DataError(f"ThresholdNoise with log=True needs numbers above zero, not {signal[signal <= 0][0]}")
        return np.log(signal)

    def _known(self, name: str) -> float:
        value = getattr(self, name)
        if value is None:
            raise ParameterError(f"ThresholdNoise: there is no column to take {name} from; give {name}=")
        return float(value)
