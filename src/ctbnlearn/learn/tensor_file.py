"""Named arrays and a note in one file of the safetensors format: a length, a JSON header, raw numbers. No pickle.

Arrays are written one by one, without a second copy in memory, to a file beside the old one that takes its place when
all is on the disk. Whenever the process or the machine stops, the old file is there, or the new one, and whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.errors import CheckpointError

KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "I16": "<i2", "BOOL": "|b1"}
UNFINISHED = ".part"
BAD = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, MemoryError)
Arrays = Mapping[str, NDArray[Any]]


def write_tensors(path: Path, arrays: Arrays, note: Mapping[str, Any]) -> None:
    """Write arrays (of the kinds above) and a note in JSON types; OSError where that cannot be done."""
    names = {kind: name for name, kind in KINDS.items()}
    flat = {name: np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"), copy=False) for name, a in arrays.items()}
    header: dict[str, Any] = {}
    place = 0
    for name, a in flat.items():
        header[name] = {"dtype": names[a.dtype.str], "shape": a.shape, "data_offsets": [place, place + a.nbytes]}
        place += a.nbytes
    text_of_note = json.dumps(note)
    header["__metadata__"] = {"note": text_of_note, "sha256": _checksum(header, text_of_note, flat.values())}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", suffix=UNFINISHED, dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for a in flat.values():
                file.write(_bytes(a))
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def read_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the note; CheckpointError where the file is damaged."""
    try:
        with open(path, "rb") as file:
            header, note, expected = _header(file)
            arrays: dict[str, NDArray[Any]] = {}
            for name, entry in header.items():
                begin, end = entry["data_offsets"]
                kind = np.dtype(KINDS[entry["dtype"]])
                arrays[name] = np.fromfile(file, kind, (end - begin) // kind.itemsize).reshape(entry["shape"])
            whole = not file.read(1) and _checksum(header, note, arrays.values()) == expected
            found = json.loads(note)
    except BAD:
        raise _damaged(path) from None
    if not whole or not isinstance(found, dict):
        raise _damaged(path)
    return arrays, found


def read_note(path: Path) -> dict[str, Any]:
    """The note alone."""
    try:
        with open(path, "rb") as file:
            found = json.loads(_header(file)[1])
    except BAD:
        raise _damaged(path) from None
    if not isinstance(found, dict):
        raise _damaged(path)
    return found


def remove_unfinished(path: Path) -> None:
    """Remove what writers of this file left when they were killed."""
    for left in path.parent.glob(f".{path.name}.*{UNFINISHED}"):
        left.unlink(missing_ok=True)


def listed(name: str, arrays: Iterable[Any]) -> dict[str, NDArray[Any]]:
    """Arrays of a list under numbered names."""
    return {f"{name}/{k}": np.asarray(a) for k, a in enumerate(arrays)}


def unlisted(arrays: Arrays, name: str, count: int) -> list[NDArray[Any]]:
    """The list that `listed` took apart."""
    return [arrays[f"{name}/{k}"] for k in range(count)]


def _header(file: BinaryIO) -> tuple[dict[str, Any], str, str]:
    """Entries of the arrays, the note as text, and the checksum of all."""
    status = os.fstat(file.fileno())
    length = int.from_bytes(file.read(8), "little")
    if not stat.S_ISREG(status.st_mode) or length > status.st_size:
        raise ValueError("the header is longer than the file")
    header = json.loads(file.read(length))
    marks = header.pop("__metadata__")
    return header, marks["note"], marks["sha256"]


def _checksum(header: Mapping[str, Any], note: str, arrays: Iterable[NDArray[Any]]) -> str:
    """SHA-256 of everything in a file: entries, note and numbers."""
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    digest = hashlib.sha256(json.dumps([entries, note], sort_keys=True).encode())
    for array in arrays:
        digest.update(_bytes(array))
    return digest.hexdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"{path}: this file is damaged, or no checkpoint; remove it and learn from the beginning")
