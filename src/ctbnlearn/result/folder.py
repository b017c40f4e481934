"""Folders as a whole: they appear complete or not at all, and replace only what is theirs to replace."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from ctbnlearn.data.files import FilePath, as_path
from ctbnlearn.data.messages import first_line
from ctbnlearn.errors import CtbnlearnError, DataError


def check_target(folder: FilePath, own: Collection[str], mark: str) -> Path:
    """The folder to write, resolved; raise where it cannot be written or holds what is not ours.

    Parameters
    ----------
    folder
        Where a folder is to appear: nothing there yet, an empty folder, or one written before.
    own
        Names of the files such a folder may hold.
    mark
        The file without which a folder is not one of ours.
    """
    given = as_path(folder, "write to")
    try:
        target = Path(os.path.realpath(given))
        if target.exists():
            if not target.is_dir():
                raise DataError(f"{given}: this is a file; name a folder for the result")
            there = sorted(os.listdir(target))
            foreign = [name for name in there if name not in own]
            if there and (foreign or mark not in there):
                raise DataError(
                    f"{given}: this folder holds {(foreign or there)[0]!r}, which is not part of a result, and would "
                    "be replaced as a whole; choose another folder, or move that file away"
                )
        parent = target.parent
        while not parent.exists():
            parent = parent.parent
        os.rmdir(tempfile.mkdtemp(dir=parent))  # the one sure way to know that it can be written
    except (OSError, ValueError) as problem:
        if isinstance(problem, CtbnlearnError):
            raise
        raise DataError(f"{given}: cannot write there ({_reason(problem)}); choose another folder") from None
    return target


def write_folder(folder: FilePath, fill: Callable[[Path], None], own: Collection[str], mark: str) -> None:
    """Let `fill` write into a new folder beside the target and move it into place when complete.

    What stood there is moved aside first and removed last, so that a whole folder, old or new, exists at any moment;
    if the machine stops between the two moves, the old one is left beside the target as `.NAME.old-*`.
    """
    target = check_target(folder, own, mark)
    fresh: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.new-", dir=target.parent))
        fill(fresh)
        umask = os.umask(0)
        os.umask(umask)
        fresh.chmod(0o777 & ~umask)
        _swap(fresh, target)
    except OSError as problem:
        raise DataError(
            f"{folder}: cannot write there ({_reason(problem)}); choose another folder, or make room"
        ) from None
    except UnicodeEncodeError as problem:
        letter = repr(problem.object[problem.start])
        raise DataError(f"{folder}: {letter} cannot be written as UTF-8; rename that variable or state") from None
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)


def _reason(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or first_line(problem))


def _swap(fresh: Path, target: Path) -> None:
    """Move `fresh` to `target`, which may be a folder already."""
    if not target.exists():
        os.rename(fresh, target)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old-", dir=target.parent))
    os.rename(target, aside)  # onto an empty folder
    try:
        os.rename(fresh, target)
    except OSError:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
