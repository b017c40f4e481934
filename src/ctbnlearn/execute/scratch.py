"""Objects on disk for a while: what workers on this machine hand to each other, or what memory has no room for.

A `Kept` is the name of such an object; it is small, travels anywhere on the machine, and is read when it is needed.
Files are this user's alone, and are removed with the folder when the run ends.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from ctbnlearn.errors import ExecutionError


class Kept(NamedTuple):
    """The name of an object on disk."""

    path: str


class Scratch:
    """A folder of one run for objects on disk; in the usual place for temporary files (TMPDIR)."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._end: Any = None

    @property
    def folder(self) -> Path:
        """Made when it is first needed."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ctbnlearn-"))
            self._end = weakref.finalize(self, shutil.rmtree, self._folder, True)
        return self._folder

    def keep(self, value: Any) -> Kept:
        """Write an object."""
        return write(str(self.folder), value)

    def close(self) -> None:
        """Remove everything."""
        if self._end is not None:
            self._end()


def write(folder: str, value: Any) -> Kept:
    """Write an object under a new name."""
    path = ""
    try:
        handle, path = tempfile.mkstemp(dir=folder)
        with open(handle, "wb") as file:
            pickle.dump(value, file, protocol=5)
    except OSError as problem:
        Path(path).unlink(missing_ok=True)
        raise ExecutionError(
            f"{folder}: temporary files cannot be written there ({problem.strerror}); make room, or name a larger "
            "place with the variable TMPDIR"
        ) from None
    return Kept(path)


def read(kept: Any) -> Any:
    """The object behind a name; anything else is itself."""
    if not isinstance(kept, Kept):
        return kept
    try:
        with open(kept.path, "rb") as file:
            return pickle.load(file)
    except FileNotFoundError:
        raise ExecutionError(
            f"{kept.path}: a worker does not find what this process wrote there; workers on other machines need a "
            "common place for temporary files (TMPDIR), or a Dask cluster"
        ) from None


def forget(kept: Any) -> None:
    """Remove the object behind a name, if it is one."""
    if isinstance(kept, Kept):
        Path(kept.path).unlink(missing_ok=True)
