"""Checkpoints of EM: all that the next round depends on, so that a run goes on as if it had never stopped.

The folder holds `checkpoint.safetensors`, the state after the last round, and with several random starts
`best.safetensors`, the best of those that have ended. Each file appears whole or not at all. Its note says which data,
settings, device and version it belongs to; `max_iter` may be raised, so that a run which stopped there goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ctbnlearn import __version__
from ctbnlearn.data.files import FilePath, as_path
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.messages import first_line
from ctbnlearn.errors import CheckpointError, CtbnlearnError, LockedError
from ctbnlearn.learn.tensor_file import read_note, read_tensors, remove_unfinished, write_tensors
from ctbnlearn.locks import FolderLock
from ctbnlearn.result.manifest import fingerprint, plain

FORMAT, FORMAT_VERSION = "ctbnlearn-checkpoint", 4
CURRENT, BEST = "checkpoint.safetensors", "best.safetensors"
LONGEST = 100  # letters of a setting up to which it is kept as it is


@dataclass(frozen=True, eq=False)
class Saved:
    """What a checkpoint holds.

    Attributes
    ----------
    arrays
        Numbers by name.
    start
        Number of the random start.
    round
        Rounds of EM done.
    state
        The rest of EM's state, in JSON types.
    """

    arrays: Mapping[str, NDArray[Any]]
    start: int
    round: int
    state: Mapping[str, Any]


class Checkpoint:
    """A folder that keeps the state of one run; as a context, no other run may use it meanwhile.

    Parameters
    ----------
    folder
        Where; made if it is not there.
    obs, settings
        What the run learns from, and its settings by name: those on which every round depends.
    resume
        Go on from the checkpoint that is there, if any. Otherwise none may be there.
    """

    def __init__(self, folder: FilePath, obs: Incomplete, settings: Mapping[str, Any], resume: bool) -> None:
        self.folder = as_path(folder, "the folder of a checkpoint")
        self._mark = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "version": __version__,
            "data": fingerprint(obs),
            "settings": {key: _short(value) for key, value in settings.items()},
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            os.rmdir(tempfile.mkdtemp(dir=self.folder))  # the one sure way to know that it can be written
            self._lock = FolderLock(self.folder, "a checkpoint", inside=True)
            there = (self.folder / CURRENT).exists()
            for name in (CURRENT, BEST):
                remove_unfinished(self.folder / name)
        except LockedError:
            raise
        except (OSError, ValueError) as problem:
            raise CheckpointError(
                f"{self.folder}: checkpoints cannot be kept there ({_reason(problem)}); choose another folder"
            ) from None
        if there and not resume:
            self._lock.release()
            last = saved_round(self.folder)
            what = "a damaged checkpoint" if last is None else f"a checkpoint of round {last}"
            raise CheckpointError(
                f"{self.folder}: {what} is there; go on from it with resume=True (--resume), or remove it or choose "
                "another folder to learn from the beginning"
            )

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *problem: object) -> None:
        self._lock.release()

    def load(self) -> Saved | None:
        """The state after the last round kept; None where there is none yet."""
        return self._load(CURRENT)

    def load_best(self, before: int) -> Saved | None:
        """The best of the random starts before that number; None where it was not kept."""
        best = self._load(BEST) if before > 0 else None
        return best if best is not None and best.start < before else None

    def save(self, saved: Saved, best: bool = False) -> None:
        """Keep a state in place of the last one."""
        note = {**self._mark, "start": saved.start, "round": saved.round, "state": saved.state}
        path = self.folder / (BEST if best else CURRENT)
        try:
            write_tensors(path, saved.arrays, note)
        except OSError as problem:
            last = saved_round(self.folder)
            kept = "no earlier one is there" if last is None else f"that of round {last} is whole"
            raise CheckpointError(
                f"{self.folder}: the checkpoint of round {saved.round} cannot be written ({_reason(problem)}); {kept}; "
                "make room there, then go on with resume=True (--resume)"
            ) from None

    def _load(self, name: str) -> Saved | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            arrays, note = read_tensors(path)
        except OSError as problem:
            raise CheckpointError(f"{path}: cannot be read ({_reason(problem)}); make it readable") from None
        self._check(path, note)
        kinds = {"start": int, "round": int, "state": dict}
        if not all(isinstance(note.get(key), kind) for key, kind in kinds.items()):
            raise CheckpointError(f"{path}: this checkpoint is damaged; remove it and learn from the beginning")
        return Saved(arrays, note["start"], note["round"], note["state"])

    def _check(self, path: Path, note: Mapping[str, Any]) -> None:
        """Raise unless the file is a checkpoint of this run."""
        otherwise = "use those again, or choose another folder"
        if note.get("format") != FORMAT:
            raise CheckpointError(f"{path}: this is no checkpoint; choose another folder")
        for key, what in (("format_version", "version of the format"), ("version", "version of ctbnlearn")):
            if note.get(key) != self._mark[key]:
                raise CheckpointError(
                    f"{path}: this checkpoint was made by another {what} ({note.get(key)}, here {self._mark[key]}); "
                    "use that one, or choose another folder to learn from the beginning"
                )
        if note.get("data") != self._mark["data"] or not isinstance(note.get("settings"), dict):
            raise CheckpointError(f"{path}: this checkpoint was made from other data; {otherwise}")
        here: dict[str, str] = self._mark["settings"]  # type: ignore[assignment]
        other = [key for key in here if note["settings"].get(key) != here[key]]
        if other:
            was, now = (", ".join(f"{key}={side.get(key)}" for key in other) for side in (note["settings"], here))
            raise CheckpointError(f"{path}: this checkpoint was made with {was}, not {now}; {otherwise}")


@contextmanager
def taking_up() -> Iterator[None]:
    """Inside, what a checkpoint holds becomes the state of a run; where it cannot, it was not kept by such a run."""
    try:
        yield
    except CtbnlearnError:
        raise
    except Exception as problem:
        raise CheckpointError(
            f"the checkpoint does not hold the state of this run ({first_line(problem)}); remove it and learn from the "
            "beginning"
        ) from None


def saved_round(folder: str | os.PathLike[str]) -> int | None:
    """Rounds of EM in the checkpoint in a folder; None where none can be read."""
    try:
        return int(read_note(Path(folder) / CURRENT)["round"])
    except (OSError, CheckpointError, KeyError, TypeError, ValueError):
        return None


def _short(value: object) -> str:
    """A setting as text, a long one as its fingerprint."""
    text = json.dumps(plain(value), sort_keys=True)
    return text if len(text) <= LONGEST else "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _reason(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or first_line(problem))
