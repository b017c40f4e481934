"""What a risk is about: states to reach, and times to reach them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.interface import spoken


def as_target(target: Mapping[str, Any], variables: Sequence[Variable]) -> dict[int, BoolArray]:
    """Variable number -> which of its states count, from {name: state or list of states}.

    Examples
    --------
    >>> {i: s.tolist() for i, s in as_target({"b": [1, 2]}, [Variable("a", (0, 1)), Variable("b", (0, 1, 2))]).items()}
    {1: [False, True, True]}
    """
    if not isinstance(target, Mapping) or not target:
        example = spoken('{"relapse": "yes"}', "--state relapse=yes")
        raise ParameterError(f"say what is to be reached, as in {example}, not {shown(target)}")
    place = {v.name: i for i, v in enumerate(variables)}
    out = {}
    for name, given in target.items():
        if name not in place:
            raise ParameterError(f"risk: there is no variable {shown(name)}; there are {named(place)}")
        variable = variables[place[name]]
        wanted = given if isinstance(given, (list, tuple, set, frozenset)) else [given]
        states = np.zeros(variable.n_states, bool)
        for label in wanted:
            states[_state(variable, label)] = True
        if not states.any() or states.all():
            raise ParameterError(
                f"risk: of the states of {shown(name)}, {named(variable.states)}, some must count and some not"
            )
        out[place[name]] = states
    return out


def _state(variable: Variable, label: object) -> int:
    """Number of a state by its label, or by its text, as the command line has it."""
    if label in variable.states:
        return variable.states.index(label)
    texts = [str(state) for state in variable.states]
    if isinstance(label, str) and texts.count(label) == 1:
        return texts.index(label)
    raise ParameterError(
        f"risk: variable {shown(variable.name)} has no state {shown(label)}; its states are {named(variable.states)}"
    )


def as_horizons(within: ArrayLike) -> FloatArray:
    """Times to look ahead (m,), checked: finite and positive."""
    try:
        times = np.atleast_1d(np.asarray(within, float))
    except (TypeError, ValueError, OverflowError):
        times = np.full(1, np.nan)
    if times.ndim != 1 or not len(times) or not (np.isfinite(times) & (times > 0)).all():
        option = spoken("within", "--within")
        raise ParameterError(f"{option} must be a positive time, or several, not {shown(within)}")
    return times
