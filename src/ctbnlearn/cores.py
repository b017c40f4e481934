"""How many cores there are to use."""

from __future__ import annotations

import os


def processors() -> int:
    """Processors this process may use: fewer than there are in a container or a batch system."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_cores() -> int:
    """Threads this process may start: fewer than processors where OMP_NUM_THREADS says so, as beside siblings."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(processors(), int(asked)) if asked.isdigit() and int(asked) > 0 else processors()
