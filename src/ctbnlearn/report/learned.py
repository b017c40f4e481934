"""Results as figures take them: a figure reads what it needs from a `Result`, or is given plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.report.check import probability_matrix
from ctbnlearn.structure.parent_sets import ParentSets


class Learned(Protocol):
    """What figures read of a `Result`."""

    names: Sequence[str]
    variables: Sequence[Variable]
    edge_probabilities: FloatArray
    parent_sets: Sequence[ParentSets]
    parent_set_weights: Sequence[FloatArray]
    rate_tables: Sequence[Sequence[Any]]
    history: Any
    units: Sequence[Any]
    edges: Any
    time_unit: str | None


def is_learned(given: object) -> TypeGuard[Learned]:
    """Whether this is a `Result` rather than an array."""
    return hasattr(given, "edge_probabilities") and hasattr(given, "rate_tables")


def edge_matrix(given: Any, names: Sequence[str] | None) -> tuple[FloatArray, list[str]]:
    """Edge probabilities [source, target] and names, from a `Result` or from an array and names."""
    if is_learned(given):
        matrix, own = given.edge_probabilities, given.names if names is None else names
    elif names is None:
        raise ParameterError("names: give the names of the variables with an array, or pass a Result alone")
    else:
        matrix, own = given, names
    found = [str(name) for name in own]
    return probability_matrix(matrix, found), found


def node_of(learned: Learned, name: Any) -> int:
    """Number of the variable a figure is about."""
    if name not in learned.names:
        raise ParameterError(f"name: say which variable is drawn, one of {list(learned.names)}, not {name!r}")
    return list(learned.names).index(name)


def edge_signs(given: Learned) -> tuple[list[list[str]], FloatArray]:
    """Signs ("+", "-" or "") and sizes of effects [source, target] of a `Result`; sizes are NaN where not known."""
    n = len(given.names)
    place = {name: i for i, name in enumerate(given.names)}
    signs, sizes = [[""] * n for _ in range(n)], np.full((n, n), np.nan)
    for edge in given.edges.to_pylist():
        s, t = place[edge["source"]], place[edge["target"]]
        signs[s][t] = edge["sign"]
        if edge["effect"] is not None:
            sizes[s, t] = abs(edge["effect"])
    return signs, sizes
