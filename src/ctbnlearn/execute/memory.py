"""How much memory a run may take, and what of it goes to what."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from ctbnlearn.cores import processors
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute.shards import n_shards

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)
LEAST = 100_000_000
PROGRAM, WORKER = (
    300_000_000,
    270_000_000,
)  # this process, and each worker process, with all that is loaded and compiled
SCATTER = 1.15  # memory that is free but cannot be given back


def memory_budget(memory: Any) -> int:
    """Bytes meant by a number, or text such as "4GB"; None: half of what is free here.

    Examples
    --------
    >>> memory_budget("1.5 GB"), memory_budget("2GiB"), memory_budget(300e6)
    (1500000000, 2147483648, 300000000)
    """
    if memory is None:
        return max(LEAST, available() // 2)
    number = isinstance(memory, (int, float)) and not isinstance(memory, bool) and memory == memory
    if isinstance(memory, str) and (found := _AMOUNT.fullmatch(memory)):
        memory, number = float(found[1]) * UNITS[(found[2] or "").upper()], True
    if not number or not LEAST <= memory < 2**62:
        raise ParameterError(
            f'memory must be a number of bytes, or text such as "4GB" ("100MB" at least), not {memory!r}'
        )
    return int(memory)


def observations_share(budget: int, workers: int) -> int:
    """Bytes of observations that each worker may keep; what does not fit is read again when it is needed."""
    return budget // 2 // max(workers, 1)


class Size(NamedTuple):
    """What memory depends on."""

    trajectories: int
    variables: int
    states: int  # of the variable that has most
    values: int
    scanned: bool  # whether observations stay in files


def estimated_bytes(size: Size, chains: int, processes: int, budget: int) -> int:
    """Estimate the memory of sampling over all processes (0: threads of this one); within 30 % where measured."""
    paths = size.trajectories * size.variables
    count = n_shards(size.trajectories, size.variables, size.values)
    seen = size.values * 8 * (1 + size.states) + 8 * paths
    at_once = 1 if count == 1 and processes == 0 else max(processes, 1) if processes else processors()
    shard = paths / count
    first = 25.0 * size.states * (size.values + paths) / count  # room of the first draw
    packed = path_bytes(size.trajectories, size.variables, size.values)
    total = PROGRAM + processes * WORKER + 60.0 * size.trajectories
    if not size.scanned:
        total += 10.0 * size.values + seen
    if count == 1:
        return int(
            SCATTER
            * (total + (processes + size.scanned) * seen + chains * (3.0 * packed + 26 * paths) + chains * first)
        )
    share = observations_share(budget, max(processes, 1))
    if processes:
        total += processes * min(seen, share)
    else:
        total += min(seen, share) if size.scanned else 0
        total += 0 if spills(packed, chains, budget) else chains * packed
    work = first + 26 * shard + 3.0 * packed / count + (seen / count if size.scanned or processes else 0)
    return int(SCATTER * (total + at_once * work))


def spills(packed: int, chains: int, budget: int) -> bool:
    """Whether the paths of all chains are too much for memory, and lie on disk."""
    return 2 * chains * packed > budget


def path_bytes(n_trajectories: int, n_variables: int, n_values: float) -> int:
    """Estimate the bytes of one chain's packed paths: two jumps per three observations, at most four per path."""
    paths = n_trajectories * n_variables
    return int(32 * n_trajectories + 6 * paths + 10 * min(0.67 * n_values, 4.0 * paths))


def available() -> int:
    """Bytes of memory that are free on this machine, or in its container."""
    free = 4 << 30
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, AttributeError, OSError):
            return free
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = int(file.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            free = min(free, max(0, limit - int(file.read())))
    except (OSError, ValueError):  # no limit
        pass
    return free
