"""A process beside this one that compiles half of what sampling needs, the first time on a machine.

Numba compiles one function at a time in a process, and keeps what it compiled on disk. Draws of paths and draws of
parent sets take about as long to compile: while this process compiles the first, another one does the second. Whatever
keeps it from doing so, this process compiles that, too.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock

import numpy as np

from ctbnlearn.cores import usable_cores

_LOCK = Lock()
_RUNNING: list[subprocess.Popen[bytes]] = []
LONGEST = 120.0  # seconds to wait for it
COMMAND = "from ctbnlearn.learn.head_start import compile_sets; compile_sets()"


def kept_on_disk() -> bool:
    """Whether draws of parent sets were compiled before, or never will be."""
    from ctbnlearn.structure.set_draws import draw_sets

    stats = getattr(draw_sets, "stats", None)  # of numba's dispatcher; a plain function where compilation is off
    return stats is None or any(Path(stats.cache_path).glob("set_draws.draw_sets-*.nbc"))


def begin() -> None:
    """Start the process, unless there is nothing to compile, or no processor for it."""
    if usable_cores() < 2 or not sys.executable or getattr(sys, "frozen", False):
        return
    quiet = subprocess.DEVNULL
    with _LOCK, suppress(OSError):  # no further process is to be had
        if not _RUNNING and not kept_on_disk():
            command = [sys.executable, "-P", "-c", COMMAND]  # -P: no module of the working folder
            _RUNNING.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))


def finish() -> None:
    """Wait for the process, where it runs; what it compiled is then loaded."""
    if not _RUNNING:
        return
    with _LOCK:  # chains come here side by side, and all of them wait
        for process in _RUNNING:
            try:
                process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _RUNNING.clear()


@atexit.register
def _stop() -> None:
    """Nothing is left behind by a process that ends sooner."""
    for process in _RUNNING:
        process.kill()
        process.wait()


def compile_sets() -> None:
    """Draw the parent sets of a chain of two variables that has seen nothing."""
    from ctbnlearn.data.observations import Observations
    from ctbnlearn.learn.chain import Chain
    from ctbnlearn.learn.sampling import make_task
    from ctbnlearn.structure.problem import EdgeRules, Scoring

    obs = Observations.from_likelihoods([[0.0, 1.0]], [[np.ones((2, 2))] * 2], ["a", "b"])
    rules = EdgeRules.build(obs.names, None, None, None, None)
    Chain(make_task(obs, rules, Scoring("pushed", "size"), [None, None], "uniform"), None).draw_sets()
