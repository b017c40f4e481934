"""Where to draw the nodes of a graph: stress majorisation (Gansner, Koren & North 2004), part by part.

Nodes a path of d edges apart are drawn about d apart. Connected parts are set on shelves, unlinked nodes in rows below.
The same graph always gets the same picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist

from ctbnlearn.arrays import FloatArray

ON_A_CIRCLE = 8
CLEARANCE = 0.7
ROUNDS = 120


def place(linked: ArrayLike) -> FloatArray:
    """Coordinates (n, 2) of the nodes of a graph, in lengths of an edge.

    Parameters
    ----------
    linked : (n, n)
        True where an edge is drawn, in either direction.

    Examples
    --------
    >>> place([[0, 1], [0, 0]]).shape
    (2, 2)
    """
    graph = np.asarray(linked, bool)
    graph = graph | graph.T
    n = len(graph)
    if n <= ON_A_CIRCLE:
        angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
        return np.column_stack([np.cos(angle), np.sin(angle)]) * (n > 1)
    _, part = connected_components(graph, directed=False)
    sizes = np.bincount(part)
    parts = [np.flatnonzero(part == k) for k in np.argsort(-sizes, kind="stable") if sizes[k] > 1]
    drawn = [_stress(graph[np.ix_(members, members)]) for members in parts]
    out = np.zeros((n, 2))
    boxes = [xy.max(0) + 1.0 for xy in drawn]
    width = max([float(np.sqrt(1.3 * max(sum(b[0] * b[1] for b in boxes), n))), *(float(b[0]) for b in boxes)])
    left, bottom, shelf = 0.0, 0.0, 0.0
    for members, xy, box in zip(parts, drawn, boxes):
        if left and left + box[0] > width + 1e-9:
            left, bottom, shelf = 0.0, bottom - shelf, 0.0
        out[members] = xy + np.array([left, bottom - xy[:, 1].max()])
        left, shelf = left + box[0], max(shelf, float(box[1]))
    alone = np.flatnonzero(sizes[part] == 1)
    columns = max(int(width), 1)
    out[alone] = np.column_stack([np.arange(len(alone)) % columns, bottom - shelf - np.arange(len(alone)) // columns])
    return out


def _stress(graph: FloatArray) -> FloatArray:
    """Coordinates of a connected graph, lower left corner at the origin, longer side across."""
    k = len(graph)
    distance = shortest_path(graph.astype(float), directed=False, unweighted=True)
    with np.errstate(divide="ignore"):
        weight = np.where(np.eye(k, dtype=bool), 0.0, distance**-2.0)
    inverse = np.linalg.inv(np.diag(weight.sum(1)) - weight + 1 / k)  # acts as the pseudo-inverse on centred points
    xy = _scaling(distance) + np.random.default_rng(0).normal(0.0, 0.05, (k, 2))
    for _ in range(ROUNDS):
        apart = cdist(xy, xy)
        pull = -weight * distance / np.maximum(apart, 1e-6)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(1))
        xy = inverse @ (pull @ xy)
    for _ in range(30):  # nodes with the same neighbours may lie on each other: push them apart
        apart = cdist(xy, xy)
        push = np.where((apart < CLEARANCE) & ~np.eye(k, dtype=bool), CLEARANCE / np.maximum(apart, 1e-6) - 1, 0.0)
        if not push.any():
            break
        xy = xy + 0.4 * (push.sum(1)[:, None] * xy - push @ xy)
    xy = xy - xy.mean(0)
    _, axes = np.linalg.eigh(xy.T @ xy)
    xy = xy @ axes[:, ::-1]
    return xy - xy.min(0)


def _scaling(distance: FloatArray) -> FloatArray:
    """Classical scaling of a distance matrix to the plane."""
    square = distance**2
    centred = -(square - square.mean(0) - square.mean(1)[:, None] + square.mean()) / 2
    k = len(distance)
    value, vector = eigh(centred, subset_by_index=[k - 2, k - 1])
    return vector * np.sqrt(np.maximum(value, 0.0))
