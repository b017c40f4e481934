"""Threads of a worker: as many workers as there are processors, each with its share of them and no more."""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any

from ctbnlearn.cores import processors

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

_held: list[Any] = []  # limits last as long as the object that made them


def worker_number() -> int:
    """Number of this process among those that its parent has started, from 0."""
    identity: tuple[int, ...] = multiprocessing.current_process()._identity
    return identity[-1] - 1 if identity else 0


def share(workers: int) -> int:
    """Threads of each of some workers on this machine."""
    return max(1, processors() // max(workers, 1))


def environment(threads: int) -> dict[str, str]:
    """Variables under which a process that is started takes no more threads: BLAS, numba, XLA."""
    settings = dict.fromkeys(VARIABLES, str(threads))
    if threads == 1:
        settings["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_XLA_THREAD}".strip()
    return settings


def limit_threads(threads: int = 1) -> None:
    """Hold this process to some threads; XLA can be told only before it is loaded."""
    if _held:
        return
    from threadpoolctl import threadpool_limits

    wanted = environment(threads)
    if "jax" in sys.modules:
        wanted.pop("XLA_FLAGS", None)
    os.environ.update(wanted)
    _held.append(threadpool_limits(limits=threads))
