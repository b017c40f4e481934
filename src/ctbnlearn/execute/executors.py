"""What may be given as `executor`, and the workers it means."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TypeAlias

from ctbnlearn.arguments import whole
from ctbnlearn.errors import ParameterError
from ctbnlearn.execute.cluster import Client, Cluster
from ctbnlearn.execute.local import Borrowed, Processes, Threads
from ctbnlearn.execute.workers import Workers

Executors: TypeAlias = int | Workers | Executor | Client | None


def as_workers(executor: Executors, name: str = "executor") -> Workers:
    """The workers meant by `executor`, or how the user calls it: None, a number of processes, a Dask client, ..."""
    if executor is None:
        return Threads()
    if isinstance(executor, Workers):
        return executor
    if isinstance(executor, Executor):
        return Borrowed(executor)
    if type(executor).__module__.split(".")[0] == "distributed" and hasattr(executor, "submit"):
        return Cluster(executor)
    if isinstance(executor, (bool, str)) or not hasattr(executor, "__index__"):
        raise ParameterError(
            f"{name} must be None, a number of processes, a dask.distributed Client or a concurrent.futures Executor, "
            f"not {executor!r}"
        )
    return Processes(whole(executor, name, 1))
