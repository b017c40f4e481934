"""A process beside this one that compiles half of what a first fit by sampling needs, the first time on a machine.

Numba compiles one function at a time in a process, and keeps what it compiled on disk. Draws of paths and draws of
parent sets (`structure/set_draws.py`) take about as long to compile: while this process compiles the first, another one
does the second, then simulation, which reports need. Whatever keeps it from doing so, this process compiles that, too.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock

from ctbnlearn.cores import usable_cores

_LOCK = Lock()
_STARTED: list[subprocess.Popen[bytes]] = []  # one at most
_AWAITED: list[subprocess.Popen[bytes]] = []  # those whose draws of parent sets are waited for
LONGEST = 120.0  # seconds to wait
COMMAND = "from ctbnlearn.learn.sampling import compile_beside; compile_beside()"


def kept_on_disk() -> bool:
    """Whether draws of parent sets were compiled before, or what is compiled will not be kept."""
    from ctbnlearn.structure import set_draws

    last = set_draws.draw_initial  # of what the other process compiles of them
    folder = getattr(getattr(last, "stats", None), "cache_path", None)  # none of a function that is not compiled
    if folder is None:
        return True
    names = f"set_draws.draw_initial-*.py{sys.version_info.major}{sys.version_info.minor}*.nbc"
    source = Path(set_draws.__file__).stat().st_mtime
    return any(file.stat().st_mtime > source for file in Path(folder).glob(names))


def begin() -> None:
    """Start the process, unless there is nothing to compile, or no processor for it."""
    is_python = Path(sys.executable or "").name.startswith("python") and not getattr(sys, "frozen", False)
    if usable_cores() < 2 or not is_python:
        return
    quiet = subprocess.DEVNULL
    with _LOCK, suppress(OSError):  # no further process is to be had
        if not _STARTED and not kept_on_disk():
            command = [sys.executable, "-P", "-c", COMMAND]  # -P: no module of the working folder
            flags = getattr(subprocess, "CREATE_NO_WINDOW", 0)
            _STARTED.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, creationflags=flags))
            _AWAITED.extend(_STARTED)


def finish() -> None:
    """Wait until draws of parent sets are compiled, where that was begun; they are then loaded."""
    if not _AWAITED:
        return
    with _LOCK:  # chains come here side by side, and all of them wait
        last = time.monotonic() + LONGEST
        for process in _AWAITED:
            while process.poll() is None and not kept_on_disk():
                if time.monotonic() > last:
                    process.kill()
                time.sleep(0.01)
        _AWAITED.clear()


def _forget() -> None:
    """In a process that was forked: what the parent waits for is not this one's to wait for."""
    global _LOCK
    _LOCK = Lock()
    _STARTED.clear()
    _AWAITED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@atexit.register
def _stop() -> None:
    """Nothing is left behind by a process that ends sooner."""
    for process in _STARTED:
        process.kill()
        process.wait()
