"""Compiled programs kept between runs of the command line, so that a second run starts at once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def cache_folder() -> Path:
    """Where they are kept: $XDG_CACHE_HOME/ctbnlearn, or ~/.cache/ctbnlearn."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "ctbnlearn"


def use_cache() -> None:
    """Let jax keep what it compiles, here and in processes started from here; where it cannot be written, do without.

    jax reads these variables when it is loaded, which many runs never do.
    """
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):  # the user has a place of their own
        return
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def cache_size() -> tuple[int, int]:
    """Number of files kept and their bytes."""
    sizes = [p.stat().st_size for p in cache_folder().rglob("*") if p.is_file()]
    return len(sizes), sum(sizes)


def clear_cache() -> tuple[int, int]:
    """Remove what is kept; returns how much that was."""
    found = cache_size()
    shutil.rmtree(cache_folder(), ignore_errors=True)
    return found
