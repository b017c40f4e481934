"""Sufficient statistics of a CTBN: dwell times T_i(x | u) and transition counts M_i(x, x' | u).

Counted from complete paths here; their expectations given incomplete data come from the inference engines
in the same form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Statistics:
    """Dwell times and transition counts of every node, per joint state of its parents.

    Attributes
    ----------
    variables
        The variables.
    parents
        Per node, the numbers of the variables the tables are split by.
    dwell
        Per node T(x | u), shape (n_parent_states, n_states).
    transitions
        Per node M(x, x' | u), shape (n_parent_states, n_states, n_states), zero diagonal.
    initial
        Per node, how often (expected) trajectories start in each state, shape (n_states,).
    """

    variables: tuple[Variable, ...]
    parents: tuple[tuple[int, ...], ...]
    dwell: tuple[FloatArray, ...]
    transitions: tuple[FloatArray, ...]
    initial: tuple[FloatArray, ...]

    def __add__(self, other: Statistics) -> Statistics:
        if self.variables != other.variables or self.parents != other.parents:
            raise ParameterError("statistics of different variables or parents cannot be added")

        def added(a: tuple[FloatArray, ...], b: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
            return tuple(x + y for x, y in zip(a, b))

        return Statistics(
            self.variables,
            self.parents,
            added(self.dwell, other.dwell),
            added(self.transitions, other.transitions),
            added(self.initial, other.initial),
        )


def as_parents(
    parents: Mapping[str, Sequence[str]] | None, variables: Sequence[Variable], default: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    """Parent numbers per node from None (the default) or a mapping from name to names."""
    if parents is None:
        return tuple(tuple(ps) for ps in default)
    if not isinstance(parents, Mapping):
        raise ParameterError("parents must map a variable's name to the names of its parents")
    index = {v.name: i for i, v in enumerate(variables)}
    for child, names in parents.items():
        for name in (child, *names):
            if name not in index:
                raise ParameterError(f"parents: unknown variable {name!r}; known: {list(index)}")
        if child in names:
            raise ParameterError(f"parents: {child!r} is named as its own parent")
    return tuple(tuple(index[name] for name in parents.get(v.name, ())) for v in variables)


def count_statistics(paths: Paths, parents: Mapping[str, Sequence[str]] | None = None) -> Statistics:
    """Count dwell times and transitions of complete paths, for one parent set per node.

    Parameters
    ----------
    paths
        Complete trajectories.
    parents
        Mapping from a variable's name to the names of its parents; default none.

    Examples
    --------
    >>> paths = Paths.from_trajectories({"a": (0, 1)}, [([0], [(0.5, "a", 1)], 3.0)])
    >>> count_statistics(paths).dwell[0].tolist()
    [[0.5, 2.5]]
    """
    cards = [v.n_states for v in paths.variables]
    sets = as_parents(parents, paths.variables, [()] * len(cards))
    sizes = [int(np.prod([cards[j] for j in ps], dtype=int)) for ps in sets]
    dwell = [np.zeros(size * card) for size, card in zip(sizes, cards)]
    transitions = [np.zeros(size * card * card) for size, card in zip(sizes, cards)]
    for block in paths.blocks():
        rows = block.intervals()
        jumps = np.flatnonzero(rows.node >= 0)
        jumps = jumps[np.argsort(rows.node[jumps], kind="stable")]
        bounds = np.searchsorted(rows.node[jumps], np.arange(len(cards) + 1))
        for i, card in enumerate(cards):
            cell = configuration(rows.states, (*sets[i], i), cards)
            dwell[i] += np.bincount(cell, rows.duration, len(dwell[i]))
            mine = jumps[bounds[i] : bounds[i + 1]]
            moved = cell[rows.before[mine]] * card + rows.target[mine]
            transitions[i] += np.bincount(moved, minlength=len(transitions[i]))
    return Statistics(
        paths.variables,
        sets,
        tuple(d.reshape(-1, card) for d, card in zip(dwell, cards)),
        tuple(m.reshape(-1, card, card) for m, card in zip(transitions, cards)),
        tuple(np.bincount(paths.initial[:, i], minlength=card).astype(float) for i, card in enumerate(cards)),
    )


def configuration(states: IntArray, nodes: Sequence[int], cards: Sequence[int]) -> IntArray:
    """Number of the joint state of `nodes` in every row, in C order."""
    row = np.zeros(len(states), np.int64)
    for j in nodes:
        row = row * cards[j] + states[:, j]
    return row
