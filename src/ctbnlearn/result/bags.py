"""What resampling of units says of every edge: how far its probability, and its sign, hang on who took part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Bags:
    """Edge probabilities over resampled units.

    Attributes
    ----------
    n_bags
        Number of times that units were drawn.
    mean : (n, n)
        Average probability of the edge [source, target]: the probability that is reported (BayesBag).
    spread : (n, n)
        Standard deviation of the probability over bags.
    sign_agreement : (n, n)
        Share of the bags with the sign that most have, of those in which the edge has one; NaN where none has.
    all_data : (n, n)
        Probability from the data as they are.
    """

    n_bags: int
    mean: FloatArray
    spread: FloatArray
    sign_agreement: FloatArray
    all_data: FloatArray

    def __post_init__(self) -> None:
        shape = np.shape(self.mean)
        for name in ("mean", "spread", "sign_agreement", "all_data"):
            array = np.asarray(getattr(self, name), float)
            if array.ndim != 2 or array.shape != shape or shape[0] != shape[1]:
                raise ParameterError(f"bags: {name} must have a row and a column per variable")
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, probabilities: Sequence[FloatArray], signs: Sequence[IntArray], all_data: FloatArray) -> Bags:
        """From probabilities and signs (-1, 0: none, 1) of every bag, each (n, n)."""
        many, marks = np.stack(list(probabilities)), np.stack(list(signs))
        plus, minus = (marks > 0).sum(0), (marks < 0).sum(0)
        signed = plus + minus
        agreement = np.where(signed > 0, np.maximum(plus, minus) / np.maximum(signed, 1), np.nan)
        return cls(len(many), many.mean(0), many.std(0), agreement, np.asarray(all_data))
