"""What a worker keeps in memory from one piece of work to the next: as many objects as fit into a number of bytes.

Pieces of work come round in the same order, so what is there stays, and what does not fit is recomputed every time: to
drop the least recently used would drop each object just before its turn. What belongs to earlier runs goes first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Key = tuple[str, int]  # run, and number of the object in it


class Memo:
    """Objects by key; safe for threads, each object made by one of them."""

    def __init__(self) -> None:
        self._values: dict[Key, tuple[Any, int]] = {}
        self._making: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Any], limit: int) -> Any:
        """The object of a key, made if it is not there, and kept where all objects of the run stay within `limit`."""
        with self._lock:
            if key in self._values:
                return self._values[key][0]
            mine = self._making.setdefault(key, threading.Lock())
        with mine:
            with self._lock:
                if key in self._values:
                    return self._values[key][0]
            value = make()
            size = n_bytes(value)
            with self._lock:
                if sum(s for k, (_, s) in self._values.items() if k[0] == key[0]) + size <= limit:
                    self._values = {k: v for k, v in self._values.items() if k[0] == key[0]}
                    self._values[key] = value, size
                self._making.pop(key, None)
        return value

    def drop(self, run: str) -> None:
        """Forget what belongs to a run."""
        with self._lock:
            self._values = {k: v for k, v in self._values.items() if k[0] != run}


def n_bytes(value: Any) -> int:
    """Bytes of all arrays in an object made of tuples, or what it says itself."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    return sum(map(n_bytes, value)) if isinstance(value, (tuple, list)) else 0


MEMO = Memo()  # of this process
