"""Where to compute, on this machine's processor or an accelerator, and how precisely.

Sampling, and blocks on a processor, need no jax: it is loaded where a device of it is asked for.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ctbnlearn.arguments import one_of
from ctbnlearn.cores import usable_cores
from ctbnlearn.errors import ParameterError

if TYPE_CHECKING:
    import jax

# take an accelerator's memory as it is needed, unless the user has set the variable
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

PLATFORM = os.environ.get("CTBNLEARN_ACCELERATOR", "gpu")  # what jax calls the accelerators to use
DEVICES = ("auto", "cpu", "gpu")
PRECISIONS = ("auto", "float64", "float32")
MOST_WORKERS = 4  # calls of jax side by side, each of which takes several cores
Result = TypeVar("Result")
_process: int | None = None  # the process in which jax's threads live


@dataclass(frozen=True)
class Device:
    """A processor or an accelerator, the precision of the path posteriors, and the sizes of work that suit them.

    Attributes
    ----------
    kind
        "cpu" or "gpu".
    precision
        "float64" or "float32".
    handle
        The jax device; None where jax is not needed, and of an accelerator that each worker has to find.
    """

    kind: str
    precision: str
    handle: jax.Device | None

    @classmethod
    def find(cls, device: str = "auto", precision: str = "auto", number: int = 0) -> Device:
        """The device of that name; "auto" takes an accelerator where there is one.

        Precision "auto": double on a processor, single on an accelerator. Of several accelerators the one of that
        number is taken, counted round.
        """
        one_of(device, "device", DEVICES)
        one_of(precision, "precision", PRECISIONS)
        _refuse_after_fork()
        import jax

        handle = None
        if device != "cpu":
            try:
                there = jax.devices(PLATFORM)
                handle = there[number % len(there)]
            except RuntimeError:
                if device == "gpu":
                    raise ParameterError(
                        'device="gpu": jax finds none here; install jax with its CUDA extra, or use device="auto"'
                    ) from None
        kind = "cpu" if handle is None else "gpu"
        if precision == "auto":
            precision = "float64" if kind == "cpu" else "float32"
        return cls(kind, precision, jax.devices("cpu")[0] if handle is None else handle)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Context in which jax computes on this device, with products as precise as their numbers.

        Left to itself, an accelerator rounds the factors of single-precision products to ten bits.
        """
        import jax

        with jax.default_device(self.handle), jax.default_matmul_precision("highest"):
            yield

    @property
    def cells(self) -> int:
        """Cells times trajectories times two-state nodes that one call works on: what stays in a processor's cache."""
        return 60_000 if self.kind == "cpu" else 20_000_000

    def each(self, work: Callable[[int], Result], count: int, most: int = MOST_WORKERS) -> Iterator[Result]:
        """Results of `work` on 0, 1, ..., in order; on a processor some run side by side, at most `most`.

        Each call enters the contexts it needs itself: jax keeps them per thread.
        """
        workers = min(count, usable_cores(), most) if self.kind == "cpu" else 1
        if workers < 2:
            yield from map(work, range(count))
            return
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[Result]] = deque()
            for k in range(count + workers):  # no more results in memory than are being worked on
                if k < count:
                    waiting.append(pool.submit(work, k))
                if k >= workers:
                    yield waiting.popleft().result()

    @property
    def block(self) -> int:
        """Variables that one block of columns holds at most in the pass over all pairs."""
        return 128 if self.kind == "cpu" else 512

    @property
    def work_bytes(self) -> int:
        """Working memory of one batch of nodes in the pass over all pairs; small batches are quicker on a processor."""
        return 1 << 25 if self.kind == "cpu" else 1 << 33


PROCESSOR = Device("cpu", "float64", None)


def _refuse_after_fork() -> None:
    """Raise in a forked child of a process that used jax: its threads are not there, and calls would wait forever."""
    global _process
    if _process is None:
        _process = os.getpid()
    elif _process != os.getpid():
        raise ParameterError(
            "this process was forked from one that had used jax, whose threads do not survive a fork; start workers "
            'with multiprocessing.get_context("spawn"), or use inference="sampling", which needs no jax'
        )


def products_precision(precision: str, device: Device, n_variables: int) -> str:
    """Precision of the products over all pairs: single where asked for, on an accelerator, or for many variables."""
    if precision != "auto":
        return precision
    return "float32" if device.kind == "gpu" or n_variables > 64 else "float64"


@cache
def _compiler_options() -> dict[str, bool | int]:
    """Products on an accelerator by its own library as it comes: no slower, and trying out others takes 20 seconds."""
    import jax

    options: dict[str, bool | int] = {"xla_gpu_enable_triton_gemm": False, "xla_gpu_autotune_level": 0}
    try:
        with jax.default_device(jax.devices("cpu")[0]):
            jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:  # jax may come not to know the option
        return {}
    return options


def compiled(function: Callable[..., Any], **settings: Any) -> Any:
    """`jax.jit` with the options of our kernels; for outermost functions."""
    import jax

    return jax.jit(function, compiler_options=_compiler_options(), **settings)
