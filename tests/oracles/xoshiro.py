"""xoshiro256++ (Blackman & Vigna 2019) in whole numbers, and the seeding of its rows by splitmix64's finaliser."""

from __future__ import annotations

import math

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def _rotate(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


class Stream:
    """Four words of state; the published algorithm."""

    def __init__(self, words):
        self.words = [int(w) for w in words]

    def next(self):
        a, b, c, d = self.words
        out = (_rotate((a + d) & MASK, 23) + a) & MASK
        t = (b << 17) & MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        self.words = [a, b, c, _rotate(d, 45)]
        return out

    def uniform(self):
        return (self.next() >> 11) / 2**53

    def exponential(self):
        return -math.log(1.0 - self.uniform())


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def row(first, second, k):
    """State of stream k of a key of two words."""
    z = mix((first + k * GOLDEN) & MASK) ^ second
    return [mix((z + j * GOLDEN) & MASK) for j in (1, 2, 3, 4)]
