"""The continuous-time Bayesian network: variables, graph, conditional intensity matrices, initial state.

Node i jumps from x to x' at rate R_i(x, x' | u), where u is the joint state of its parents (Nodelman et
al. 2002). Rows of an intensity matrix sum to zero. The graph may have cycles, but no self-loops.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.files import as_path, read_bytes
from ctbnlearn.data.messages import first_line
from ctbnlearn.data.variables import Variable, VariableSpec, as_variables
from ctbnlearn.errors import CtbnlearnError, ModelError
from ctbnlearn.model.initial import InitialDistribution, InitialSpec
from ctbnlearn.notebook import page_part

if TYPE_CHECKING:
    import networkx

FORMAT, VERSION = "ctbnlearn-network", 1


def with_diagonal(rates: FloatArray) -> FloatArray:
    """Intensity matrices (..., S, S): off-diagonals as given, diagonals such that rows sum to zero."""
    eye = np.eye(rates.shape[-1], dtype=bool)
    off = np.where(eye, 0.0, rates)
    return np.where(eye, -off.sum(-1, keepdims=True), off)


class CTBN:
    """A continuous-time Bayesian network.

    Parameters
    ----------
    variables
        List of `Variable`, or a mapping from name to state labels.
    parents
        Mapping from a variable's name to the names of its parents; absent means none.
    rates
        Mapping from a variable's name to its conditional intensity matrices: an array
        (*parents' numbers of states in the order of `parents`, n_states, n_states), entry [..., x, x'] the
        rate from x to x', each row summing to zero.
    initial
        Distribution at the start: None (uniform), or a mapping from name to probabilities, or to
        (names it depends on, table [*their states, n_states]).

    Attributes
    ----------
    variables : tuple of Variable
    parents : tuple of tuples of int
        Parents of each node as node numbers.
    cims : tuple of arrays (n_parent_states, n_states, n_states)
        Intensity matrices, joint parent states in C order (the last parent varies fastest).
    initial : InitialDistribution

    Examples
    --------
    >>> net = CTBN(
    ...     {"rain": ("no", "yes"), "wet": ("no", "yes")},
    ...     {"wet": ["rain"]},
    ...     {"rain": [[-1, 1], [2, -2]], "wet": [[[-0.1, 0.1], [3, -3]], [[-5, 5], [0.1, -0.1]]]},
    ... )
    >>> net.edges
    [('rain', 'wet')]
    """

    def __init__(
        self,
        variables: VariableSpec,
        parents: Mapping[str, Sequence[str]] | None,
        rates: Mapping[str, ArrayLike],
        initial: InitialSpec | InitialDistribution | None = None,
    ) -> None:
        self.variables: tuple[Variable, ...] = as_variables(variables)
        self._index = {v.name: i for i, v in enumerate(self.variables)}
        parents = parents or {}
        for mapping, what in ((parents, "parents"), (rates, "rates")):
            for name in mapping:
                if name not in self._index:
                    raise ModelError(f"{what} names the unknown variable {name!r}; known: {list(self._index)}")
        self.parents: tuple[tuple[int, ...], ...] = tuple(
            self._parent_numbers(v.name, parents.get(v.name, ())) for v in self.variables
        )
        self.cims: tuple[FloatArray, ...] = tuple(self._checked_cim(i, rates) for i in range(len(self.variables)))
        self.initial = InitialDistribution.build(self.variables, initial)

    def _parent_numbers(self, child: str, names: Sequence[str]) -> tuple[int, ...]:
        if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(n, str) for n in names):
            raise ModelError(f"parents of {child!r} must be a list of names, not {names!r}")
        for name in names:
            if name not in self._index:
                raise ModelError(f"{child!r} has the unknown parent {name!r}; known: {list(self._index)}")
            if name == child:
                raise ModelError(f"{child!r} is named as its own parent; self-loops have no meaning in a CTBN")
        if len(set(names)) != len(names):
            raise ModelError(f"{child!r} names a parent twice: {list(names)}")
        return tuple(self._index[name] for name in names)

    def _checked_cim(self, i: int, rates: Mapping[str, ArrayLike]) -> FloatArray:
        v, cards = self.variables[i], [self.variables[j].n_states for j in self.parents[i]]
        if v.name not in rates:
            raise ModelError(f"rates of {v.name!r} are missing")
        try:
            cim = np.array(rates[v.name], dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"rates of {v.name!r} must be a rectangular array of numbers") from None
        n, n_rows = v.n_states, int(np.prod(cards, dtype=int))
        full, flat = (*cards, n, n), (n_rows, n, n)
        if cim.shape not in (full, flat):
            raise ModelError(f"rates of {v.name!r} need shape {full} (or {flat}), not {cim.shape}")
        cim = cim.reshape(flat)
        off = cim[:, ~np.eye(n, dtype=bool)].reshape(n_rows, n, n - 1)
        safe = np.where(np.isfinite(cim), cim, 0.0)
        scale = np.abs(safe).max(-1)
        for problem, bad in (
            ("is not finite", ~np.isfinite(cim).all(-1)),
            ("holds a negative rate off the diagonal", (off < 0).any(-1)),
            ("does not sum to zero", np.abs(safe.sum(-1)) > 1e-6 * scale),
        ):
            if bad.any():
                u, x = np.argwhere(bad)[0]
                raise ModelError(
                    f"rates of {v.name!r}, {self._describe(i, int(u))}row of state {v.states[x]!r}: "
                    f"{cim[u, x].tolist()} {problem}"
                )
        diagonal = np.arange(n)
        cim[:, diagonal, diagonal] = 0.0
        cim[:, diagonal, diagonal] = -cim.sum(-1)
        cim.setflags(write=False)
        return cim

    def _describe(self, i: int, u: int) -> str:
        cards = [self.variables[j].n_states for j in self.parents[i]]
        if not cards:
            return ""
        states = np.unravel_index(u, cards)
        parts = (f"{self.variables[j].name}={self.variables[j].states[s]!r}" for j, s in zip(self.parents[i], states))
        return f"parents {', '.join(parts)}, "

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(self._index)

    @property
    def n_states(self) -> tuple[int, ...]:
        """Number of states of every variable."""
        return tuple(v.n_states for v in self.variables)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """All edges as (source, target) names."""
        return [(self.names[j], self.names[i]) for i, ps in enumerate(self.parents) for j in ps]

    @property
    def adjacency(self) -> IntArray:
        """0/1 matrix [source, target]."""
        matrix = np.zeros((len(self.variables),) * 2, dtype=np.int64)
        for i, ps in enumerate(self.parents):
            matrix[list(ps), i] = 1
        return matrix

    def index(self, name: str) -> int:
        """Number of a variable."""
        if name not in self._index:
            raise ModelError(f"unknown variable {name!r}; known: {list(self._index)}")
        return self._index[name]

    def rates(self, name: str) -> FloatArray:
        """Intensity matrices of a variable, shape (*parents' numbers of states, n_states, n_states)."""
        i = self.index(name)
        cards = [self.n_states[j] for j in self.parents[i]]
        return self.cims[i].reshape(*cards, self.n_states[i], self.n_states[i])

    def __repr__(self) -> str:
        return f"CTBN({len(self.variables)} variables, {len(self.edges)} edges)"

    def _repr_html_(self) -> str:
        rows = [
            [v.name, ", ".join(map(str, v.states)), ", ".join(self.variables[j].name for j in own) or "none"]
            for v, own in zip(self.variables, self.parents)
        ]
        return page_part(repr(self), ["variable", "states", "parents"], rows)

    def to_networkx(self) -> networkx.DiGraph:
        """Directed graph with the variables as nodes (attribute `states`) in their order."""
        import networkx

        graph = networkx.DiGraph()
        for v in self.variables:
            graph.add_node(v.name, states=v.states)
        graph.add_edges_from(self.edges)
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary of JSON types."""
        entries = []
        for i, v in enumerate(self.variables):
            entries.append(
                {
                    "name": v.name,
                    "states": list(v.states),
                    "ordered": bool(v.ordered),
                    "parents": [self.names[j] for j in self.parents[i]],
                    "rates": self.rates(v.name).tolist(),
                    "initial": {
                        "given": [self.names[g] for g in self.initial.given[i]],
                        "table": self.initial.tables[i].tolist(),
                    },
                }
            )
        return {"format": FORMAT, "version": VERSION, "variables": entries}

    @classmethod
    def from_dict(cls, content: Any) -> CTBN:
        """Inverse of `to_dict`."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ModelError("this is not a network saved by ctbnlearn (no format mark)")
        if not isinstance(content.get("version"), int) or not 1 <= content["version"] <= VERSION:
            raise ModelError(
                f"this network was saved in version {content.get('version')!r} of the format, this program "
                f"reads up to {VERSION}: update ctbnlearn"
            )
        try:
            entries = content["variables"]
            variables = [Variable(e["name"], tuple(e["states"]), e.get("ordered")) for e in entries]
            initial = {
                e["name"]: (e["initial"]["given"], np.array(e["initial"]["table"], dtype=float)) for e in entries
            }
            parents = {e["name"]: e["parents"] for e in entries}
            rates = {e["name"]: e["rates"] for e in entries}
            return cls(variables, parents, rates, initial)
        except CtbnlearnError:
            raise
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as problem:
            raise ModelError(f"the saved network is damaged: {problem!r}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON; labels keep their types. The file appears whole or not at all."""
        from ctbnlearn.data.files import write_atomic

        write_atomic(path, json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CTBN:
        """Read what `save` wrote."""
        try:
            content = json.loads(read_bytes(as_path(path, "a network"), "JSON").decode())
        except CtbnlearnError as problem:
            raise ModelError(str(problem)) from None
        except (UnicodeDecodeError, ValueError, RecursionError) as problem:
            raise ModelError(f"{path}: not a readable JSON file ({first_line(problem)}); check the path") from None
        try:
            return cls.from_dict(content)
        except CtbnlearnError as problem:
            raise ModelError(f"{path}: {problem}") from None
