"""Files as a whole: read with clear errors, written so that they appear complete or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from ctbnlearn.data.messages import first_line, shown
from ctbnlearn.errors import CtbnlearnError, DataError, ParameterError

FilePath: TypeAlias = str | os.PathLike[str]


def as_path(path: FilePath, purpose: str) -> Path:
    """Raise unless `path` is text or a path; `purpose` completes 'a path to ...'."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"a path to {purpose} is needed, not {type(path).__name__}")
    name = os.fspath(path)
    if not isinstance(name, str):
        raise ParameterError(f"the path must be text, not {shown(name)}")
    return Path(name)


def read_bytes(path: Path, kind: str, size: int = -1) -> bytes:
    """Read a file, or its first bytes; `kind` says which files would do."""
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe or a device could be waited for forever
            raise DataError(f"{path}: this is a pipe, socket or device, not a file; name a {kind} file")
        with open(path, "rb") as file:
            return file.read(size)
    except CtbnlearnError:
        raise
    except IsADirectoryError:
        raise DataError(f"{path}: this is a folder; name a {kind} file in it") from None
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path") from None
    except (OSError, ValueError) as problem:
        raise DataError(f"{path}: cannot be opened ({first_line(problem)}); check the path") from None


def write_atomic(path: str | os.PathLike[str], content: str | Callable[[Path], None]) -> None:
    """Write text, or let a function write, beside `path` and move the finished file into place."""
    target = as_path(path, "write to")
    temporary: Path | None = None
    try:
        if target.is_dir():
            raise DataError(f"{target}: this is a folder; name a file in it")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        if callable(content):
            content(temporary)
        else:
            temporary.write_text(content, encoding="utf-8")
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, target)
    except CtbnlearnError:
        raise
    except OSError as problem:
        raise DataError(f"{target}: cannot write there ({problem.strerror}); choose a writable folder") from None
    except UnicodeEncodeError as problem:
        letter = shown(problem.object[problem.start])
        raise DataError(f"{target}: {letter} cannot be written as UTF-8; rename that label") from None
    except ValueError as problem:
        raise DataError(f"{target}: cannot be written ({first_line(problem)}); choose another path") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
