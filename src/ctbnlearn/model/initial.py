"""Initial distribution: a product of marginals, or conditional tables that form no cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ModelError

InitialSpec: TypeAlias = Mapping[str, ArrayLike | tuple[Sequence[str], ArrayLike]]  # see `InitialDistribution.build`


@dataclass(frozen=True, eq=False)
class InitialDistribution:
    """Tables p(x_i | given_i) at the start of every trajectory.

    Attributes
    ----------
    given
        Per variable, the numbers of the variables its table depends on.
    tables
        Per variable, an array (joint states of `given` in C order, n_states).
    order
        An order of the variables in which each comes after those it depends on.
    """

    given: tuple[tuple[int, ...], ...]
    tables: tuple[FloatArray, ...]
    order: tuple[int, ...]

    @property
    def is_product(self) -> bool:
        """Whether the variables start independently."""
        return not any(self.given)

    @classmethod
    def build(
        cls, variables: Sequence[Variable], spec: InitialSpec | InitialDistribution | None = None
    ) -> InitialDistribution:
        """From None (uniform) or a mapping: name -> vector, or name -> (names it depends on, table)."""
        if isinstance(spec, InitialDistribution):
            return spec
        index = {v.name: i for i, v in enumerate(variables)}
        spec = {} if spec is None else spec
        if not isinstance(spec, Mapping):
            raise ModelError("initial must map variable names to probabilities, or be None for uniform")
        for name in spec:
            if name not in index:
                raise ModelError(f"initial names the unknown variable {name!r}; known: {list(index)}")
        given: list[tuple[int, ...]] = []
        tables: list[FloatArray] = []
        for v in variables:
            entry = spec.get(v.name, np.full(v.n_states, 1 / v.n_states))
            names: Sequence[str] = ()
            if isinstance(entry, tuple) and len(entry) == 2 and not np.isscalar(entry[0]) and _all_text(entry[0]):
                names, entry = entry
            for name in names:
                if name not in index or name == v.name:
                    raise ModelError(f"initial of {v.name!r} depends on {name!r}, which is not another variable")
            if len(set(names)) != len(names):
                raise ModelError(f"initial of {v.name!r} names a variable twice: {list(names)}")
            shape = [variables[index[name]].n_states for name in names]
            table = _table(entry, v.name)
            if table.size != np.prod(shape, dtype=int) * v.n_states or table.shape[-1] != v.n_states:
                raise ModelError(
                    f"initial of {v.name!r}: its table needs shape {(*shape, v.n_states)}, not {table.shape}"
                )
            table = table.reshape(-1, v.n_states)
            if not np.isfinite(table).all() or (table < 0).any() or np.abs(table.sum(1) - 1).max() > 1e-6:
                raise ModelError(
                    f"initial of {v.name!r}: probabilities must not be negative and each row must sum to 1"
                )
            given.append(tuple(index[name] for name in names))
            tables.append(table / table.sum(1, keepdims=True))
        return cls(tuple(given), tuple(tables), _topological(given, variables))

    def marginals(self, variables: Sequence[Variable]) -> list[FloatArray]:
        """Marginal distribution of every variable (exact for products; else by summing the joint)."""
        if self.is_product:
            return [t[0] for t in self.tables]
        cards = [v.n_states for v in variables]
        out: list[FloatArray] = []
        for i in range(len(variables)):
            need = _ancestors(i, self.given)
            size = int(np.prod([cards[j] for j in need], dtype=float))
            if size > 1 << 22:
                raise ModelError(f"initial of {variables[i].name!r} depends on too many variables to sum over")
            digits = np.unravel_index(np.arange(size), [cards[j] for j in need])
            column = dict(zip(need, digits))
            p = self.probability(column, cards, need)
            out.append(np.asarray(np.bincount(column[i], p, cards[i]), float))
        return out

    def probability(self, digits: Mapping[int, IntArray], cards: Sequence[int], nodes: Sequence[int]) -> FloatArray:
        """Product of the tables of `nodes` at given state codes (arrays of equal length)."""
        p = np.ones(len(next(iter(digits.values()))))
        for j in nodes:
            p *= self.tables[j][self.row(j, digits, cards), digits[j]]
        return p

    def row(self, node: int, digits: Mapping[int, IntArray] | IntArray, cards: Sequence[int]) -> IntArray | int:
        """Row of a node's table for given state codes."""
        row: IntArray | int = 0
        for g in self.given[node]:
            row = row * cards[g] + np.asarray(digits[g], np.int64)
        return row


def _all_text(names: object) -> bool:
    return isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names)


def _table(entry: ArrayLike, name: str) -> FloatArray:
    try:
        table = np.asarray(entry, float)
    except (TypeError, ValueError):
        raise ModelError(f"initial of {name!r} must be an array of probabilities") from None
    return table if table.ndim else table.reshape(1)


def _ancestors(node: int, given: Sequence[tuple[int, ...]]) -> list[int]:
    found, queue = [node], [node]
    while queue:
        for g in given[queue.pop()]:
            if g not in found:
                found.append(g)
                queue.append(g)
    return found


def _topological(given: Sequence[tuple[int, ...]], variables: Sequence[Variable]) -> tuple[int, ...]:
    order: list[int] = []
    left = set(range(len(given)))
    while left:
        ready = sorted(i for i in left if not left.intersection(given[i]))
        if not ready:
            names = sorted(variables[i].name for i in left)
            raise ModelError(f"initial: the conditional tables of {names} depend on each other in a circle")
        order += ready
        left.difference_update(ready)
    return tuple(order)
