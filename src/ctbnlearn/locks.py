"""One run per folder: a second run is refused, and overwrites nothing.

The lock is the operating system's: it ends with the process that holds it, however that ends, so nothing is ever left
locked. Beside a folder that is replaced as a whole, inside one that stays.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import TextIO

from ctbnlearn.errors import LockedError


class FolderLock:
    """Holds a folder for one run, as a context or until `release`.

    Parameters
    ----------
    folder
        The folder, which need not exist; its parent is made if it is not there.
    purpose
        What is kept there, for the message: "a checkpoint", "a result".
    inside
        Whether the lock lies in the folder; default: beside it, for a folder that may be replaced as a whole.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "state"
    >>> with FolderLock(place, "a checkpoint"):
    ...     FolderLock(place, "a checkpoint")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ctbnlearn.errors.LockedError: ...state: another run ... keeps a checkpoint there; ...
    >>> FolderLock(place, "a checkpoint").release()
    """

    def __init__(self, folder: str | os.PathLike[str], purpose: str, inside: bool = False) -> None:
        target = Path(os.path.realpath(folder))
        self.path = target / ".lock" if inside else target.parent / f".{target.name}.lock"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO | None = None
        while self._file is None:  # whoever had it may remove it between our opening and locking it
            file = open(self.path, "a+", encoding="utf-8")  # noqa: SIM115
            if not _try_lock(file):
                file.seek(0)
                who = _holder(file.read())
                file.close()
                raise LockedError(
                    f"{folder}: another run{who} keeps {purpose} there; wait for it to end, or choose another folder"
                )
            if _in_place(file):
                self._file = file
            else:
                file.close()
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps({"process": os.getpid(), "machine": socket.gethostname()}))
        self._file.flush()

    def release(self) -> None:
        """Let others have the folder."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)  # while it is still held: nobody can hold a file that is not there
            self._file.close()
            self._file = None

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.release()


def _try_lock(file: TextIO) -> bool:
    """Lock a file; False where another has it. Where a file system has no locks, everybody gets it."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the latter is how Windows says it
        return False
    except OSError:
        return True
    return True


def _in_place(file: TextIO) -> bool:
    """Whether the file is still the one of that name."""
    try:
        return os.fstat(file.fileno()).st_ino == os.stat(file.name).st_ino
    except FileNotFoundError:
        return False


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f" (process {holder['process']} on {holder['machine']})"
    except (ValueError, KeyError, TypeError):
        return ""
