"""Variables: a name and its labelled states."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ctbnlearn.errors import DataError

Label = str | int | float | bool
# words that stand for a truth value have an order that needs no telling
_NO_YES = {("no", "yes"), ("n", "y"), ("false", "true"), ("off", "on"), ("absent", "present"), ("negative", "positive")}

Ids: TypeAlias = Sequence[Hashable]  # names of trajectories


def plain_label(label: object, where: str = "state") -> Label:
    """Turn a numpy or pyarrow scalar into the Python label it stands for."""
    if hasattr(label, "as_py"):
        label = label.as_py()
    elif hasattr(label, "item"):
        label = label.item()
    if not isinstance(label, (str, int, float, bool)):
        raise DataError(f"{where}: a label must be text, a number or a boolean, not {type(label).__name__}")
    if isinstance(label, float) and not math.isfinite(label):
        raise DataError(f"{where}: {label} cannot be a state; leave the cell blank for 'not seen'")
    return label


@dataclass(frozen=True)
class Variable:
    """A named variable with two or more labelled states.

    Parameters
    ----------
    name, states
        Its name and the labels of its states.
    ordered
        Whether the states have an order; only then has an effect a sign. None (default): numbers that rise, False and
        True, and pairs such as "no" and "yes" have one, other text has not.

    Examples
    --------
    >>> pain = Variable("pain", ("none", "mild", "strong"), ordered=True)
    >>> pain.n_states, pain.ordered, Variable("colour", ("red", "blue")).ordered, Variable("dose", (0, 1)).ordered
    (3, True, False, True)
    """

    name: str
    states: tuple[Label, ...]
    ordered: bool | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DataError(f"a variable's name must be non-empty text, not {self.name!r}")
        states = tuple(plain_label(s, f"variable {self.name!r}") for s in self.states)
        object.__setattr__(self, "states", states)
        if len(states) < 2:
            raise DataError(
                f"variable {self.name!r} has {len(states)} state(s) {list(states)}; a variable needs two or "
                "more: leave it out, or declare the states it can take"
            )
        if len(set(states)) != len(states):
            raise DataError(f"variable {self.name!r} names a state twice: {list(states)}")
        if self.ordered is None:
            object.__setattr__(self, "ordered", _has_order(states))

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.states)

    def code(self, label: object) -> int:
        """Return the index of a state label."""
        label = plain_label(label, f"variable {self.name!r}")
        try:
            return self.states.index(label)
        except ValueError:
            raise DataError(
                f"variable {self.name!r} has no state {label!r}; its states are {list(self.states)}"
            ) from None


def _has_order(states: tuple[Label, ...]) -> bool:
    """Whether labels have an order that everybody knows, and stand in it."""
    if all(isinstance(s, (int, float)) for s in states):
        return all(a < b for a, b in zip(states, states[1:]))  # type: ignore[operator]
    return tuple(str(s).strip().lower() for s in states) in _NO_YES


VariableSpec: TypeAlias = Iterable[Variable] | Mapping[str, Iterable[Label]]


def as_variables(spec: VariableSpec) -> tuple[Variable, ...]:
    """Accept a list of `Variable`, or a mapping from name to states; check that names differ."""
    if isinstance(spec, Mapping):
        variables = tuple(Variable(str(name), tuple(states)) for name, states in spec.items())
    elif isinstance(spec, Iterable) and not isinstance(spec, str):
        variables = tuple(spec)
        for v in variables:
            if not isinstance(v, Variable):
                raise DataError(f"variables must be Variable objects or a mapping from name to states, not {v!r}")
    else:
        raise DataError("variables must be a list of Variable objects or a mapping from name to states")
    if not variables:
        raise DataError("at least one variable is needed")
    check_unique([v.name for v in variables], "variable")
    return variables


def check_unique(names: Sequence[str], what: str) -> None:
    """Raise when a name stands twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"the {what} name {name!r} stands twice; rename one of them")
        seen.add(name)
