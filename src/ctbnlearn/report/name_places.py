"""Where to write the names beside the nodes of a drawn graph, so that they hide neither arrowheads nor each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray

# direction, horizontal and vertical alignment, and how much freer a side must be to be preferred to the ones before
SIDES = (
    ((0, -1), "center", "top", 0.0),
    ((0, 1), "center", "bottom", 0.05),
    ((1, 0), "left", "center", 0.3),
    ((-1, 0), "right", "center", 0.3),
)
LETTER = 0.62  # width of a letter over the size of the font


def choose_sides(
    points: FloatArray, linked: BoolArray, names: Sequence[str], radius: float, font: float
) -> list[tuple[tuple[float, float], str, str]]:
    """Offset of every name from its node in points, with its alignment; the nodes with most edges choose first.

    Parameters
    ----------
    points : (n, 2)
        Nodes, in points.
    linked : (n, n)
        Edges [source, target] between them.
    names
        Their names.
    radius, font
        Radius of a node and size of the letters, in points.
    """
    chosen: list[tuple[tuple[float, float], str, str]] = [((0.0, 0.0), "center", "center")] * len(points)
    taken = np.zeros((0, 2, 2))
    for i in np.argsort(-(linked.sum(0) + linked.sum(1)), kind="stable"):
        to = points[linked[i] | linked[:, i]] - points[i]
        head = np.where(linked[:, i], 1.0, 0.8)[linked[i] | linked[:, i]]  # an arrowhead matters more than a line
        bearing = to * (head / np.maximum(np.linalg.norm(to, axis=1), 1e-9))[:, None]
        boxes, costs = [], []
        for side, _, _, cost in SIDES:
            way = np.array(side, float)
            half = np.array([LETTER * font * len(names[i]), 1.1 * font]) / 2
            centre = points[i] + way * (radius + 1.5 + half)
            box = np.array([centre - half, centre + half])
            hits = ((taken[:, 0] < box[1]) & (taken[:, 1] > box[0])).all(1).sum()
            near = np.clip(points, box[0], box[1])
            covered = (np.linalg.norm(points - near, axis=1) < radius).sum()
            crowding = float((bearing @ way).max()) if len(to) else 0.0
            boxes.append(box)
            costs.append(cost + crowding + 2.0 * hits + 1.5 * covered)
        best = int(np.argmin(costs))
        taken = np.concatenate([taken, boxes[best][None]])
        (dx, dy), across, along, _ = SIDES[best]
        chosen[i] = (dx * (radius + 1.5), dy * (radius + 1.5)), across, along
    return chosen
