"""Summary curves of a model check as places in small pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT, MARGIN = 320, 120, 18
MOST = 24  # pictures on a page


def curve_pictures(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One picture a curve: band, line and dots in its coordinates, and what its axes reach to.

    Examples
    --------
    >>> row = {"variable": "a", "what": "mean", "seen": 1.0, "simulated": 0.5, "low": 0.0, "high": 1.0}
    >>> curve_pictures([{**row, "time": 0.0}, {**row, "time": 2.0}])[0]["dots"]
    [(18.0, 18.0), (302.0, 18.0)]
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["variable"], row["what"]), []).append(row)
    return [_picture(*key, points) for key, points in list(groups.items())[:MOST] if len(points) > 1]


def _picture(variable: str, what: str, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    times = [p["time"] for p in points]
    low = min(min(p["low"], p["seen"]) for p in points)
    high = max(max(p["high"], p["seen"]) for p in points)
    first, last = min(times), max(times)

    def place(time: float, value: float) -> tuple[float, float]:
        x = (time - first) / ((last - first) or 1.0)
        y = (value - low) / ((high - low) or 1.0)
        return round(MARGIN + x * (WIDTH - 2 * MARGIN), 1), round(HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN), 1)

    def path(places: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{x},{y}" for x, y in places)

    upper = [place(p["time"], p["high"]) for p in points]
    lower = [place(p["time"], p["low"]) for p in reversed(points)]
    return {
        "variable": variable,
        "what": what,
        "width": WIDTH,
        "height": HEIGHT,
        "band": path([*upper, *lower]),
        "line": path([place(p["time"], p["simulated"]) for p in points]),
        "dots": [place(p["time"], p["seen"]) for p in points],
        "low": low,
        "high": high,
        "last": last,
    }
