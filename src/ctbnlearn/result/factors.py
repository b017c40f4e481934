r"""What an edge does to each transition of its target: rate ratios, and sentences that say them.

Under a parent set that holds the source, let D(x, x' | y, v) be the log ratio of the rate from x to x' with the source
in state y to that with the source in its first state, the other parents in v. Over v they are averaged with the inverse
of their posterior variance as weights. exp D is the factor: "no -> yes 4.8 times as fast". Unlike the effect of an
edge (`ctbnlearn.result.effects`) it mixes no upward with downward moves, and needs no order of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.result.effects import NORMAL_975, log_rates
from ctbnlearn.result.rate_table import RateTable


class Factor(NamedTuple):
    """How many times as fast a transition of the target is with the source in one state rather than in its first.

    Attributes
    ----------
    state, reference
        State of the source, and its first state, with which it is compared.
    start, end
        The transition of the target.
    factor, low, high
        Ratio of the rates with its 95 % interval.
    """

    state: Label
    reference: Label
    start: Label
    end: Label
    factor: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 1, no change."""
        return self.low > 1 or self.high < 1

    def __str__(self) -> str:
        interval = f"({two_digits(self.low)} to {two_digits(self.high)})"
        return f"{self.start} → {self.end} {two_digits(self.factor)} times as fast {interval}"


def two_digits(number: float) -> str:
    """Two digits that count, written out as far as they can be read.

    Examples
    --------
    >>> two_digits(4.84), two_digits(131.2), two_digits(0.0123), two_digits(2.5e7)
    ('4.8', '130', '0.012', '2.5e+07')
    """
    rounded = float(f"{number:.2g}")
    return f"{rounded:.0f}" if 100 <= rounded < 1e6 else f"{rounded:.2g}"


def edge_factors(table: RateTable, source: int, variables: Sequence[Variable], target: int) -> list[Factor]:
    """Factors of one of the parents of a table, by states of the source, then transitions of the target."""
    mean, variance, draws, possible = log_rates(table, source, [v.n_states for v in variables])
    labels, states = variables[source].states, variables[target].states
    out = []
    for y in range(1, len(mean)):
        for x, z in np.argwhere(possible.any(0)).tolist():
            can = possible[:, x, z]
            weight = 1 / (variance[y] + variance[0])[can, x, z]
            middle = float((weight * (mean[y] - mean[0])[can, x, z]).sum() / weight.sum())
            margin = NORMAL_975 / float(np.sqrt(weight.sum()))
            low, high = middle - margin, middle + margin
            if draws is not None:  # the rates of a sweep belong together
                each = (draws[:, y] - draws[:, 0])[:, can, x, z]
                low, high = np.quantile((each * weight).sum(-1) / weight.sum(), [0.025, 0.975]).tolist()
            factor, low, high = np.exp(np.clip([middle, low, high], -700, 700)).tolist()
            out.append(Factor(labels[y], labels[0], states[x], states[z], factor, low, high))
    return out


def in_words(source: str, factors: Sequence[Factor]) -> list[str]:
    """Sentences, one per state of the source.

    Examples
    --------
    >>> in_words("smoker", [Factor("yes", "no", "well", "ill", 4.84, 3.61, 6.3)])
    ['When smoker = yes rather than no: well → ill 4.8 times as fast (3.6 to 6.3).']
    """
    sentences: dict[Label, list[Factor]] = {}
    for factor in factors:
        sentences.setdefault(factor.state, []).append(factor)
    return [
        f"When {source} = {state} rather than {same[0].reference}: {', '.join(map(str, same))}."
        for state, same in sentences.items()
    ]
