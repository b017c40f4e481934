"""Tasks that no machine could finish, refused before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.interface import spoken
from ctbnlearn.structure.problem import EdgeRules

MOST_RATES = 50_000  # of a variable under one parent set; path inference holds tables of that size for every cell


def check_rates(variables: Sequence[Variable], rules: EdgeRules) -> None:
    """Raise where a variable has more rates under its largest parent set than path inference can hold."""
    cards = [v.n_states for v in variables]
    for i, v in enumerate(variables):
        allowed = sorted(rules.allowed[i], key=lambda j: -cards[j])
        for size in (1, 2):  # larger sets are weighed inside pools, as far as they fit
            if size > len(allowed) or (rules.max_parents is not None and size > rules.max_parents):
                break
            parents = allowed[:size]
            rates = cards[i] * (cards[i] - 1) * prod(cards[j] for j in parents)
            if rates > MOST_RATES:
                names = " and ".join(f"{variables[j].name!r} ({cards[j]} states)" for j in parents)
                fewer = spoken(f"max_parents={size - 1}", f"--max-parents {size - 1}")
                raise ParameterError(
                    f"variable {v.name!r} has {cards[i]} states, and with the parent{'s' * (size > 1)} {names} "
                    f"{rates:,} rates, more than {MOST_RATES:,}: merge states that belong together, "
                    f"{spoken('leave one of them out of `variables`', 'leave one of them out with --variables')}, or "
                    f"set {fewer}"
                )
