"""Random streams for compiled loops: xoshiro256++ (Blackman & Vigna 2019), one row of four words per stream.

Every unit of work, such as a trajectory, has a row of its own, so results do not depend on how work is split, and a
checkpoint of the rows resumes bit for bit. Importing this module loads numba.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp, log, sqrt
from typing import Any, TypeVar

import numpy as np
from numba import njit

from ctbnlearn.arguments import AnySeed
from ctbnlearn.arrays import FloatArray, WordArray

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
Function = TypeVar("Function", bound=Callable[..., Any])  # what is compiled keeps its signature


def compiled(function: Function) -> Function:
    """Have numba compile a function, and keep that on disk."""
    return compile_by(OPTIONS)(function)


def compile_by(options: Mapping[str, Any]) -> Callable[[Function], Function]:
    """Have numba compile functions by some options; where no folder can be written to, nothing is kept on disk."""

    def compiling(function: Function) -> Function:
        try:
            out: Function = njit(**options)(function)
        except RuntimeError:  # what numba says where it finds no folder
            out = njit(**{**options, "cache": False})(function)
        return out

    return compiling


def streams(seed: AnySeed, count: int, first: int = 0) -> WordArray:
    """`count` streams (count, 4) from a seed, a `SeedSequence` or a `Generator`; row k does not depend on count.

    Rows are those from number `first` on.

    Examples
    --------
    >>> bool((streams(7, 2) == streams(7, 3)[:2]).all())
    True
    >>> bool((streams(7, 2, first=3) == streams(7, 5)[3:]).all())
    True
    """
    if isinstance(seed, np.random.Generator):
        seed = np.random.SeedSequence(seed.integers(0, 2**32, 8).tolist())
    elif not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(seed)
    key = seed.generate_state(2, np.uint64)
    return _fill(np.empty((count, 4), np.uint64), key[0], key[1], np.uint64(first))


@compiled
def _mix(z: np.uint64) -> np.uint64:
    """The finaliser of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _fill(rows: WordArray, one: np.uint64, two: np.uint64, first: np.uint64) -> WordArray:
    """Words of every row from the key and its number, well mixed."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    for k in range(len(rows)):
        z = _mix(one + (first + np.uint64(k)) * golden) ^ two
        for j in range(4):
            z += golden
            rows[k, j] = _mix(z)
    return rows


@compiled
def uniform(s: WordArray) -> float:
    """A number in [0, 1)."""
    total = s[0] + s[3]
    out = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s[0]
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << np.uint64(45)) | (s[3] >> np.uint64(19))
    return float(out >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def exponential(s: WordArray) -> float:
    """An exponential number of mean one."""
    return -log(1.0 - uniform(s))


@compiled
def normal(s: WordArray) -> float:
    """A standard normal number (Marsaglia's polar method)."""
    while True:
        a, b = 2.0 * uniform(s) - 1.0, 2.0 * uniform(s) - 1.0
        r = a * a + b * b
        if 0.0 < r < 1.0:
            return a * sqrt(-2.0 * log(r) / r)


@compiled
def gamma(s: WordArray, shape: float) -> float:
    """A Gamma(shape, 1) number (Marsaglia & Tsang 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = exp(log(1.0 - uniform(s)) / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal(s)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if log(1.0 - uniform(s)) < 0.5 * x * x + d - d * v + d * log(v):
                return boost * d * v


@compiled
def choose(s: WordArray, weights: FloatArray, count: int) -> int:
    """A number below `count`, with probability proportional to its weight."""
    total = 0.0
    for k in range(count):
        total += weights[k]
    left = uniform(s) * total
    last = 0
    for k in range(count):
        if weights[k] > 0.0:
            last = k
            left -= weights[k]
            if left < 0.0:
                return k
    return last
