"""Timing helpers shared by the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Row = tuple[str, str, str, str]  # what, measured, ratio, against what


def best_of(call: Callable[[], Any], repeats: int = 5) -> float:
    """Shortest of several runs in seconds, after one warm-up; these machines are noisy."""
    call()
    out = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        out.append(time.perf_counter() - start)
    return min(out)


def once(call: Callable[[], Any]) -> float:
    """Seconds of a single run."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"
