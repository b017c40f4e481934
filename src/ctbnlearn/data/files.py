"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from ctbnlearn.errors import DataError


def write_atomic(path: str | os.PathLike[str], content: str | Callable[[Path], None]) -> None:
    """Write text, or let a function write, beside `path` and move the finished file into place."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as problem:
        raise DataError(f"{target}: cannot write there ({problem.strerror}); choose a writable folder") from None
    temporary = Path(name)
    try:
        os.close(handle)
        if callable(content):
            content(temporary)
        else:
            temporary.write_text(content, encoding="utf-8")
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as problem:
        raise DataError(f"{target}: cannot write it ({problem.strerror})") from None
    finally:
        temporary.unlink(missing_ok=True)
