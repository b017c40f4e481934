"""Parent sets of a node: every set up to a size among the allowed parents, with the required ones inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any, overload

import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.errors import ParameterError

MAX_SETS = 50_000_000
MOST_LISTED = 200_000  # parent sets of all nodes together up to which complete data list them all
NOTABLE = 0.05  # probability above which an edge gets an effect


class ParentSets(Sequence[tuple[str, ...]]):
    """A list of parent sets of one node, kept as an array; items read as tuples of names.

    Parameters
    ----------
    members : (n_sets, width)
        Parents as node numbers in increasing order, filled up with -1.
    names
        Names of all variables.
    """

    def __init__(self, members: IntArray, names: Sequence[str]) -> None:
        self.members: IntArray = np.asarray(members, np.int64)
        self.names = tuple(names)
        self.sizes: IntArray = (self.members >= 0).sum(1)

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, item: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, item: slice) -> ParentSets: ...
    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return ParentSets(self.members[item], self.names)
        return tuple(self.names[j] for j in self.members[item] if j >= 0)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        shown = ", ".join(str(s) for s in self[:3])
        return f"ParentSets({len(self)} sets: {shown}{', ...' if len(self) > 3 else ''})"

    def numbers(self, k: int) -> tuple[int, ...]:
        """Node numbers of set k."""
        return tuple(int(j) for j in self.members[k] if j >= 0)

    def take(self, order: IntArray) -> ParentSets:
        """The sets in another order."""
        return ParentSets(self.members[order], self.names)

    def notable(self, edges: FloatArray, weights: FloatArray) -> list[int]:
        """For each edge of noticeable probability the number of the heaviest set with it; heaviest first, each once.

        Parameters
        ----------
        edges : (n_variables,)
            Probability of an edge from each variable.
        weights : (n_sets,)
            Weights of the sets; those of weight zero do not count.
        """
        found = set()
        for j in np.flatnonzero(edges > NOTABLE):
            inside = np.where((self.members == j).any(1), weights, 0.0)
            if inside.any():
                found.add(int(np.argmax(inside)))
        return sorted(found, key=lambda k: -weights[k])

    def edge_probabilities(self, weights: FloatArray) -> FloatArray:
        """Total weight of the sets that hold each node, shape (n_variables,)."""
        out = np.zeros(len(self.names) + 1)
        for column in np.where(self.members < 0, len(self.names), self.members).T:
            out += np.bincount(column, weights, len(out))
        return out[:-1]


def enumerate_sets(
    allowed: Sequence[int], required: Sequence[int], max_parents: int | None, names: Sequence[str], node: int
) -> ParentSets:
    """All sets with required <= set <= allowed and at most `max_parents` members, smallest first.

    Examples
    --------
    >>> list(enumerate_sets([0, 1], [], None, ["a", "b", "c"], node=2))
    [(), ('a',), ('b',), ('a', 'b')]
    """
    free = sorted(set(allowed) - set(required))
    base = sorted(required)
    if not set(base) <= set(allowed):
        missing = sorted(names[j] for j in set(base) - set(allowed))
        raise ParameterError(
            f"{names[node]!r}: required parents {missing} are not among the allowed ones; take them out of "
            "`forbidden` or add them to `candidates`"
        )
    limit = len(allowed) if max_parents is None else min(max_parents, len(allowed))
    if len(base) > limit:
        raise ParameterError(
            f"{names[node]!r} has {len(base)} required parents {[names[j] for j in base]}, more than max_parents="
            f"{max_parents}; raise max_parents or require fewer"
        )
    extra = range(limit - len(base) + 1)
    total = sum(comb(len(free), k) for k in extra)
    if total > MAX_SETS:
        raise ParameterError(
            f"{names[node]!r} has {total:.3g} parent sets up to size {limit} among {len(allowed)} candidates; lower "
            "max_parents or restrict `candidates`"
        )
    parts = []
    for k in extra:
        flat = np.fromiter((j for c in combinations(free, k) for j in c), np.int64, comb(len(free), k) * k)
        block = np.full((comb(len(free), k), limit), -1, np.int64)
        block[:, : len(base)] = base
        block[:, len(base) : len(base) + k] = flat.reshape(len(block), k)
        width = len(base) + k
        block[:, :width] = np.sort(block[:, :width], axis=1)
        parts.append(block)
    return ParentSets(np.concatenate(parts), names)
