"""Labels that are sometimes wrong: p(label seen | state), a confusion matrix.

It is known, or learned. Every row then has the prior Dirichlet(9 for the right label, 1 shared by the others): one
label in ten is wrong, as sure as ten labels of known states would make it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ctbnlearn.arrays import FloatArray, NumberArray
from ctbnlearn.data.messages import shown
from ctbnlearn.data.noise.model import LearnedNoise
from ctbnlearn.data.variables import Label, Variable, plain_label
from ctbnlearn.errors import ParameterError

RIGHT, WRONG = 9.0, 1.0  # prior counts of a row: of the right label, of all others together


@dataclass(frozen=True)
class LabelNoise(LearnedNoise):
    """A state reported through a confusion matrix: p(label seen | true state).

    Parameters
    ----------
    confusion
        Matrix [true state, label seen] whose rows sum to one, or a number: the probability of an error,
        shared equally by the other labels. None (default): learned.
    labels
        The labels as they stand in the data, in the column order of `confusion`. Default: the states.
    learn
        Whether the matrix is learned; follows from what is left out.
    """

    confusion: Any = None
    labels: tuple[Label, ...] | None = None
    learn: bool | None = None
    kind: ClassVar[str] = "labels"
    numeric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.learn is None:
            object.__setattr__(self, "learn", self.confusion is None)
        if self.confusion is not None:
            self._check_confusion()
        if self.labels is not None:
            if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
                raise ParameterError(f"LabelNoise: labels must be a list of labels, not {shown(self.labels)}")
            labels = tuple(plain_label(s, "LabelNoise") for s in self.labels)
            if len(set(labels)) != len(labels):
                raise ParameterError(f"LabelNoise: a label stands twice in {list(labels)}")
            object.__setattr__(self, "labels", labels)

    def _check_confusion(self) -> None:
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
                    "LabelNoise: confusion must be a matrix of probabilities, one row per state, or the probability of "
                    f"an error, not {shown(self.confusion)}"
                )
            if not np.allclose(matrix.sum(1), 1, atol=1e-6):
                row = int(np.argmax(np.abs(matrix.sum(1) - 1)))
                raise ParameterError(
                    f"LabelNoise: row {row} of confusion sums to {matrix[row].sum():g}, not to 1; rows are true "
                    "states, columns the labels seen"
                )
            object.__setattr__(self, "confusion", tuple(map(tuple, matrix.tolist())))

    @property
    def learned(self) -> bool:
        """Whether the matrix is learned."""
        return bool(self.learn)

    def bind(self, variable: Variable) -> LabelNoise:
        """Expand a bare error probability and check the shape."""
        n = variable.n_states
        labels = variable.states if self.labels is None else self.labels
        if self.confusion is None:
            if len(labels) != n:
                raise ParameterError(
                    f"variable {variable.name!r} has {n} states and {len(labels)} labels; to learn how they go "
                    "together LabelNoise needs a label for every state"
                )
            matrix = _prior(n) / (RIGHT + WRONG)
        elif isinstance(self.confusion, float):
            matrix = np.full((n, n), self.confusion / (n - 1))
            np.fill_diagonal(matrix, 1 - self.confusion)
        else:
            matrix = np.asarray(self.confusion)
        if matrix.shape != (n, len(labels)):
            raise ParameterError(
                f"variable {variable.name!r} has {n} states and {len(labels)} labels, but LabelNoise's confusion "
                f"matrix is {matrix.shape[0]} x {matrix.shape[1]}"
            )
        return LabelNoise(matrix, labels, self.learn)

    def log_likelihood(self, values: NumberArray) -> FloatArray:
        """Column of the confusion matrix for every label code."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.confusion)).T[values]

    def sample(self, codes: NumberArray, rng: np.random.Generator) -> NumberArray:
        """A label code for every true state."""
        cumulative = np.cumsum(np.asarray(self.confusion), axis=1)
        cumulative[:, -1] = 1.0
        return (rng.random(len(codes))[:, None] >= cumulative[codes]).sum(1)

    def sums(self, values: NumberArray, weights: FloatArray) -> FloatArray:
        """How often each label was seen in each state, (n_states, n_labels)."""
        return np.stack([np.bincount(values, w, minlength=weights.shape[1]) for w in weights.T])

    def draw(self, sums: FloatArray, rng: np.random.Generator) -> LabelNoise:
        """Rows from their Dirichlet posteriors."""
        drawn = rng.gamma(_prior(len(sums)) + sums) + 1e-300
        return replace(self, confusion=drawn / drawn.sum(1, keepdims=True))

    def fit(self, sums: FloatArray) -> LabelNoise:
        """Rows at the means of their posteriors."""
        counts = _prior(len(sums)) + sums
        return replace(self, confusion=counts / counts.sum(1, keepdims=True))

    def parameters(self) -> FloatArray:
        """The matrix, row by row."""
        return np.asarray(self.confusion, float).reshape(-1)

    def with_parameters(self, parameters: FloatArray) -> LabelNoise:
        """The model with another matrix; its rows are made to sum to one."""
        matrix = parameters.reshape(np.shape(self.confusion))
        return replace(self, confusion=matrix / matrix.sum(1, keepdims=True))

    def parameter_names(self, variable: Variable) -> list[tuple[str, str]]:
        """The probability of every label in every state."""
        return [(f"probability of {y}", str(x)) for x in variable.states for y in self.labels or variable.states]

    def fixed(self) -> LabelNoise:
        """The matrix as it is."""
        return replace(self, learn=False)

    def to_dict(self) -> dict[str, Any]:
        """Matrix and labels."""
        return {"kind": self.kind, "confusion": np.asarray(self.confusion).tolist(), "labels": list(self.labels or ())}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LabelNoise:
        """What `to_dict` gave."""
        return cls(np.array(content["confusion"], float), tuple(content["labels"]) or None)


def _prior(n: int) -> FloatArray:
    """Counts that the prior adds."""
    counts = np.full((n, n), WRONG / max(n - 1, 1))
    np.fill_diagonal(counts, RIGHT)
    return counts
