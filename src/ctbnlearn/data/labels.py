"""State labels: which label a cell stands for, found in the data or matched with declared states."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray
from ctbnlearn.data.cut import suggest_cuts
from ctbnlearn.data.messages import shown
from ctbnlearn.data.source import Cells, is_blank
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import DataError, MeasuredColumnError
from ctbnlearn.interface import spoken

HOLE, UNKNOWN = -1, -2  # in place of a state's number: not seen; cannot be a state
MANY_NUMBERS = 7  # more different numbers than this are a measurement or a count, not states
MOST_DECLARED = 32
MANY_WORDS = 256
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTH = ({"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"})


def is_int(text: str) -> bool:
    """Whether text is a whole number as Python would write it."""
    return len(text) < 19 and text.removeprefix("-").isdecimal() and text.isascii() and str(int(text)) == text


def discover(cells: Cells, used: BoolArray, missing: frozenset[str]) -> tuple[tuple[Label, ...], list[int]]:
    """The labels that occur, sorted unless their order is the user's, and the number of each distinct cell's."""
    typed = _typed(cells, used, missing)
    endless = [isinstance(v, float) and not math.isfinite(v) for v in typed]
    found = dict.fromkeys(v for v, bad in zip(typed, endless) if v is not None and not bad)
    alphabet = tuple(found) if cells.ordered else tuple(sorted(found))
    if len(found) == 2 and not cells.ordered and all(isinstance(v, str) for v in found):
        alphabet = tuple(sorted(found, key=lambda v: (v.lower(), v)))  # "no" before "Yes"
    code = {label: k for k, label in enumerate(alphabet)}
    return alphabet, [UNKNOWN if bad else HOLE if v is None else code[v] for v, bad in zip(typed, endless)]


def _typed(cells: Cells, used: BoolArray, missing: frozenset[str]) -> list[Any]:
    """The label each distinct cell stands for, None for 'not seen' and for cells that do not occur.

    Text becomes numbers or truth values only where all of it does, so that "01" stays text.
    """
    raw = [None if not u or is_blank(v, missing) else v for u, v in zip(used, cells.labels)]
    if not cells.text:
        return raw
    texts = [None if v is None else v.strip() for v in raw]
    present = {t for t in texts if t is not None}
    if all(is_int(t) for t in present):
        return [None if t is None else int(t) for t in texts]
    if all(_NUMBER.fullmatch(t) or t.lower().lstrip("+-") in ("inf", "infinity", "nan") for t in present):
        return [None if t is None else float(t) + 0.0 for t in texts]
    if any(present <= words for words in _TRUTH):
        return [None if t is None else t.lower() == "true" for t in texts]
    return texts


def look_alike(labels: Sequence[Label]) -> list[Label]:
    """Labels that differ only in case or in blanks, the first such group.

    Examples
    --------
    >>> look_alike(["Yes", "no", "yes"])
    ['Yes', 'yes']
    """
    groups: dict[str, list[Label]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault("".join(label.split()).lower(), []).append(label)
    return next((group for group in groups.values() if len(group) > 1), [])


def levels_option(name: str) -> str:
    """How to ask for learned levels of a column."""
    return spoken(f"noise={{{name!r}: Levels(3)}}", f"--levels {name}=3")


def measured(name: str, numbers: Sequence[float]) -> str:
    """What to do about a column of many different numbers: the options to add."""
    cuts = suggest_cuts(np.asarray(numbers, float))
    levels = levels_option(name)
    cut = spoken(f"cut={{{name!r}: [{', '.join(cuts)}]}}", f"--cut {name}={','.join(cuts)}")
    return f"learn its levels with {levels}, or cut it into states with {cut}, or leave it out"


def check_discovered(name: str, where: str, labels: tuple[Label, ...], also: str) -> None:
    """Raise unless the labels found look like the states of a variable."""
    if not labels:
        raise DataError(
            f"{where} was never observed: all its cells are blank; leave it out, or declare its states{also}"
        )
    if len(labels) == 1:
        raise DataError(
            f"{where} has only one state, {shown(labels[0])}; leave it out, or declare with states= all the "
            f"states it can take{also}"
        )
    if not isinstance(labels[0], (str, bool)) and len(labels) > MANY_NUMBERS:
        numbers = [float(v) for v in labels]
        few = f", or declare all of them with {spoken('states=', '--ordered')}" if len(labels) <= MOST_DECLARED else ""
        raise MeasuredColumnError(
            f"{where} has {len(labels)} different numbers, too many for states: {measured(name, numbers)}{few}",
            name,
            levels_option(name),
        )
    if len(labels) > MANY_WORDS:
        raise DataError(f"{where} has {len(labels)} different words, too many for states; leave the column out")


def match(cells: Cells, used: BoolArray, alphabet: Sequence[Label], missing: frozenset[str]) -> list[int]:
    """The number of the declared state each distinct cell stands for."""
    exact = {(type(s) is str, s): k for k, s in enumerate(alphabet)}
    truth = {s: k for k, s in enumerate(alphabet) if isinstance(s, bool)}

    def find(label: Any) -> int:
        if not isinstance(label, str):
            return exact.get((False, label), UNKNOWN)
        text = label.strip()
        if not text:
            return HOLE
        for candidate in (label, text):
            if (True, candidate) in exact:
                return exact[True, candidate]
        if text in missing:
            return HOLE
        if any(text in words for words in _TRUTH) and (text.lower() == "true") in truth:
            return truth[text.lower() == "true"]
        if _NUMBER.fullmatch(text):
            number = int(text) if is_int(text) else float(text)
            return exact.get((False, number), UNKNOWN)
        return UNKNOWN

    return [find(label) if u else HOLE for u, label in zip(used, cells.labels)]
