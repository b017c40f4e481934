"""Times as users write them: dates become numbers, in a unit chosen by their span, from each trajectory's own zero."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.messages import shown
from ctbnlearn.errors import ParameterError
from ctbnlearn.interface import spoken

Dates = NDArray[np.datetime64]  # in microseconds; NaT where blank
_DAY = 86_400_000_000
MICROSECONDS = {
    "seconds": 1_000_000,
    "minutes": 60_000_000,
    "hours": 3_600_000_000,
    "days": _DAY,
    "weeks": 7 * _DAY,
    "months": 2_629_800_000_000,
    "years": 31_557_600_000_000,  # 365.25 days
}
CHOSEN = ("years", "days", "hours", "minutes")  # without being asked: the first of which there are two or more
_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\s*\d{4}-\d{2}\s*$|\s*\d{1,2}:\d{2}")
_MONTH = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True, eq=False)
class Clock:
    """What the times of a set of trajectories mean.

    Attributes
    ----------
    unit
        "years", "days", ...; None if unknown.
    zero : (n_trajectories,) or None
        The date at time 0 of every trajectory, where times were dates.
    """

    unit: str | None = None
    zero: Dates | None = None

    def select(self, chosen: IntArray) -> Clock:
        """That of some trajectories."""
        return self if self.zero is None else Clock(self.unit, self.zero[chosen])

    def numbers(self, dates: Dates, who: IntArray) -> FloatArray:
        """Dates of trajectories `who` as times; NaN where they are blank."""
        assert self.zero is not None
        assert self.unit is not None
        gap = (dates - self.zero[who]).astype("timedelta64[us]")
        out = gap.astype(np.int64) / MICROSECONDS[self.unit]
        return np.where(np.isnat(gap), np.nan, out)


NO_CLOCK = Clock()


def check_unit(unit: object) -> str | None:
    """A unit of time by its name, or a clear error.

    Examples
    --------
    >>> check_unit("day")
    'days'
    """
    if unit is None:
        return None
    name = unit.strip().lower() if isinstance(unit, str) else ""
    name = name if name.endswith("s") else name + "s"
    if name not in MICROSECONDS:
        option = spoken("time_unit", "--time-unit")
        raise ParameterError(f"{option} must be one of {', '.join(MICROSECONDS)}, not {shown(unit)}")
    return name


def choose_unit(span: np.timedelta64) -> str:
    """The largest usual unit of which a span holds two or more."""
    length = int(span.astype("timedelta64[us]").astype(np.int64))
    return next((unit for unit in CHOSEN if length >= 2 * MICROSECONDS[unit]), "seconds")


def per_unit(unit: str | None) -> str:
    """How rates are read: "per year", or "per unit of time"."""
    return f"per {unit.removesuffix('s')}" if unit else "per unit of time"


def looks_like_date(text: object) -> bool:
    """Whether text is written like a date or a clock time, right or wrong."""
    return isinstance(text, str) and bool(_DATE.match(text))


def parse_dates(texts: Sequence[object]) -> tuple[Dates, int | None]:
    """Dates of texts (None: blank), and the number of the first that is none.

    ISO 8601: 2024-03-31, 2024-03-31T14:30, 2024-03, also with slashes; with an offset they become universal time.

    Examples
    --------
    >>> parse_dates(["2024-03-31T02:00+02:00", None])[0].astype(str).tolist()
    ['2024-03-31T00:00:00.000000', 'NaT']
    """
    out = np.full(len(texts), np.datetime64("NaT"), "datetime64[us]")
    kinds: set[bool] = set()
    for k, text in enumerate(texts):
        if text is None:
            continue
        plain = str(text).strip()
        if re.match(r"\d{4}/\d{1,2}/\d{1,2}", plain):
            day, *rest = re.split(r"(?=[T ])", plain, maxsplit=1)
            plain = "-".join(f"{int(part):02d}" for part in day.split("/")) + "".join(rest)
        if _MONTH.fullmatch(plain):
            plain += "-01"
        try:
            when = datetime.fromisoformat(plain) if "-" in plain else None
        except ValueError:
            when = None
        if when is None:
            return out, k
        kinds.add(when.tzinfo is not None)
        if len(kinds) > 1:  # a date with an offset and one without cannot be compared
            return out, k
        out[k] = np.datetime64(when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo else when, "us")
    return out, None
