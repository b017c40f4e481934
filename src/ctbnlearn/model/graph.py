"""Graphs as users give them: a CTBN, a networkx DiGraph, a 0/1 matrix, or a list of named edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray
from ctbnlearn.errors import ParameterError
from ctbnlearn.model.ctbn import CTBN


class DirectedGraph(Protocol):
    """What is used of a networkx DiGraph."""

    nodes: Any
    edges: Any

    def is_directed(self) -> bool:
        """Whether edges have a direction."""


# what `candidates`, `forbidden`, `required` and `truth` may be; as_adjacency checks it
Graph: TypeAlias = CTBN | DirectedGraph | ArrayLike | Iterable[tuple[str, str]]


def as_adjacency(graph: Any, names: Sequence[str], what: str = "graph") -> BoolArray:
    """Boolean matrix [source, target] over `names`, with a clear error for anything else.

    Examples
    --------
    >>> as_adjacency([("a", "b")], ["a", "b"]).astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    n = len(names)
    if isinstance(graph, CTBN):
        pairs = graph.edges
    elif hasattr(graph, "edges") and hasattr(graph, "nodes"):
        if not graph.is_directed():
            raise ParameterError(f"{what}: the graph must be directed; use networkx.DiGraph")
        pairs = list(graph.edges())
    elif is_matrix(graph):
        matrix = np.asarray(graph)
        if matrix.shape != (n, n):
            raise ParameterError(f"{what}: the matrix must be {n} x {n} [source, target], not {matrix.shape}")
        if not np.isin(matrix, (0, 1)).all():
            raise ParameterError(f"{what}: a matrix holds 0 and 1 only")
        if matrix.diagonal().any():
            i = int(np.flatnonzero(matrix.diagonal())[0])
            raise ParameterError(f"{what}: {names[i]!r} points to itself; self-loops have no meaning in a CTBN")
        return matrix.astype(bool)
    else:
        pairs = _as_pairs(graph, what)
    index = {name: i for i, name in enumerate(names)}
    out = np.zeros((n, n), bool)
    for source, target in pairs:
        for name in (source, target):
            if name not in index:
                raise ParameterError(f"{what}: unknown variable {name!r}; known: {list(names)}")
        if source == target:
            raise ParameterError(f"{what}: {source!r} points to itself; self-loops have no meaning in a CTBN")
        out[index[source], index[target]] = True
    return out


def is_matrix(graph: Any) -> bool:
    """Whether a graph is given as a matrix of numbers."""
    try:
        array = np.asarray(graph)
    except ValueError:
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"


def _as_pairs(graph: Any, what: str) -> list[tuple[Any, Any]]:
    try:
        edges = None if isinstance(graph, (str, bytes, Mapping)) else list(graph)
        pairs = None if edges is None or any(isinstance(e, (str, bytes)) for e in edges) else [tuple(e) for e in edges]
    except TypeError:
        pairs = None
    if pairs is None or not all(len(p) == 2 for p in pairs):
        raise ParameterError(
            f"{what}: give a CTBN, a networkx.DiGraph, a 0/1 matrix [source, target] or a list of (source, target) "
            "names"
        )
    return [(a, b) for a, b in pairs]
