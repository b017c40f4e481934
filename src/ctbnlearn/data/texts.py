"""Labels and names as they stand in a text file: they must not be blank, and must look different."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Literal

from ctbnlearn.data.messages import named
from ctbnlearn.data.source import MISSING
from ctbnlearn.data.variables import Ids, Label, Variable
from ctbnlearn.errors import DataError


def quoting(texts: Iterable[str]) -> Literal[0, 1]:
    """Python's writer leaves a lone carriage return bare, and readers take it for a line end."""
    return csv.QUOTE_ALL if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL


def label_text(label: object) -> str:
    """A label as it stands in a cell; a number with all its digits."""
    return label if isinstance(label, str) else repr(label)


def state_texts(variable: Variable, labels: Sequence[Label], where: str) -> list[str]:
    """The labels of a variable as text; raise where they, or its name, would not survive in a file."""
    texts = [label_text(label) for label in labels]
    for text in texts:
        if not text.strip():
            raise DataError(
                f"{where}: variable {variable.name!r} has a blank state {text!r}, which would read as 'not seen'; "
                "rename it"
            )
    if len({text.strip() for text in texts}) != len(texts):
        raise DataError(
            f"{where}: variable {variable.name!r} has states that look the same as text, {named(labels)}; rename one"
        )
    if variable.name != variable.name.strip() or variable.name in MISSING:
        raise DataError(f"{where}: the name {variable.name!r} would not survive in a table; rename the variable")
    return texts


def text_ids(ids: Ids, where: str) -> list[str]:
    """Names of trajectories as text; they must differ and not be blank."""
    texts = [str(k) for k in ids]
    seen: set[str] = set()
    for text in texts:
        if text.strip() in seen or text.strip() in MISSING:
            raise DataError(f"{where}: the trajectory name {text!r} is blank or stands twice; give each its own id")
        seen.add(text.strip())
    return texts
