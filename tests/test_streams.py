"""Random streams: words against the published algorithm, then distributions against scipy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from ctbnlearn.streams import choose, compiled, exponential, gamma, normal, streams, uniform
from oracles import xoshiro

N = 100_000
LEAST_P = 1e-4  # a fixed seed fails a true distribution with this probability


@compiled
def many(draw, s, out):
    for k in range(len(out)):
        out[k] = draw(s)
    return out


@compiled
def many_gamma(s, shape, out):
    for k in range(len(out)):
        out[k] = gamma(s, shape)
    return out


@compiled
def many_chosen(s, weights, count, out):
    for k in range(len(out)):
        out[k] = choose(s, weights, count)
    return out


def test_the_reference_gives_the_published_words():
    stream = xoshiro.Stream([1, 2, 3, 4])
    assert [stream.next() for _ in range(5)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
    ]


@pytest.mark.parametrize("seed", [0, 5])
def test_words_are_those_of_the_reference(seed):
    rows = streams(seed, 3)
    for s in rows:
        reference = xoshiro.Stream(s)
        for _ in range(200):
            assert uniform(s) == reference.uniform()
            assert [int(w) for w in s] == reference.words


def test_rows_are_seeded_like_the_reference():
    first, second = (int(w) for w in np.random.SeedSequence(8).generate_state(2, np.uint64))
    rows = streams(8, 50)
    assert rows.dtype == np.uint64
    assert [[int(w) for w in s] for s in rows] == [xoshiro.row(first, second, k) for k in range(50)]


def test_seeds_of_every_kind_and_any_count():
    rows = streams(3, 5)
    np.testing.assert_array_equal(rows, streams(np.random.SeedSequence(3), 5))
    np.testing.assert_array_equal(rows[:2], streams(3, 2))
    one, other = streams(np.random.default_rng(3), 2), streams(np.random.default_rng(3), 2)
    np.testing.assert_array_equal(one, other)
    again = np.random.default_rng(3)
    streams(again, 2)
    assert not np.array_equal(one, streams(again, 2)), "a generator moves on"
    assert not np.array_equal(rows, streams(4, 5))
    assert not np.array_equal(streams(None, 1), streams(None, 1))


def test_a_copy_of_the_row_resumes():
    s = streams(1, 1)[0]
    many(normal, s, np.empty(101))
    kept = s.copy()
    np.testing.assert_array_equal(many(normal, s, np.empty(50)), many(normal, kept, np.empty(50)))


@pytest.mark.parametrize(
    ("draw", "truth"),
    [(uniform, stats.uniform()), (exponential, stats.expon()), (normal, stats.norm())],
    ids=["uniform", "exponential", "normal"],
)
def test_distributions(draw, truth):
    check(many(draw, streams(11, 1)[0], np.empty(N)), truth)


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.999, 1.0, 1.7, 12.0, 3000.0])
def test_gamma(shape):
    check(many_gamma(streams(12, 1)[0], shape, np.empty(N)), stats.gamma(shape))


def check(x, truth):
    """Moments within four standard errors, and Kolmogorov and Smirnov's test."""
    assert stats.kstest(x, truth.cdf).pvalue > LEAST_P
    mean, variance, kurtosis = (float(m) for m in truth.stats("mvk"))
    assert abs(x.mean() - mean) < 4 * np.sqrt(variance / N)
    assert abs(x.var() - variance) < 4 * variance * np.sqrt((kurtosis + 2) / N)


def test_uniform_stays_below_one_and_reaches_zero():
    """The smallest and the largest word: the numbers are in [0, 1), so that 1 - u has a logarithm."""
    assert uniform(np.zeros(4, np.uint64)) == 0.0
    assert exponential(np.zeros(4, np.uint64)) == 0.0
    top = np.array([0, 0, 0, xoshiro.MASK], np.uint64)  # the rotated sum is all ones
    assert uniform(top.copy()) == 1 - 2.0**-53
    assert np.isfinite(exponential(top))


def test_choose_follows_its_weights():
    weights = np.array([0.0, 2.0, 0.0, 0.5, 1.5, 0.0, 9.0])  # the last is beyond the count
    chosen = many_chosen(streams(13, 1)[0], weights, 6, np.empty(N, np.int64))
    counts = np.bincount(chosen, minlength=7)
    assert counts[[0, 2, 5, 6]].tolist() == [0, 0, 0, 0]
    assert stats.chisquare(counts[[1, 3, 4]], N * np.array([2.0, 0.5, 1.5]) / 4).pvalue > LEAST_P


def test_choose_of_one_and_of_very_unequal_weights():
    s = streams(14, 1)[0]
    assert set(many_chosen(s, np.array([3.0]), 1, np.empty(100, np.int64))) == {0}
    unequal = many_chosen(s, np.array([1e-300, 1e300, 0.0]), 3, np.empty(1000, np.int64))
    assert set(unequal) == {1}


def test_rows_are_independent():
    """Correlations between rows, at lags too, and of the first numbers of many rows."""
    n_rows, n = 40, 4000
    u = np.stack([many(uniform, s, np.empty(n)) for s in streams(15, n_rows)])
    z = (u - 0.5) * np.sqrt(12)
    for lag in (0, 1, 2, 7):
        correlation = z[:, lag:] @ z[:, : n - lag].T / np.sqrt(n - lag)  # standard normal off the diagonal
        off = correlation[~np.eye(n_rows, dtype=bool)]
        assert np.abs(off).max() < 5
        assert abs((off**2).mean() - 1) < 0.15
        if lag:
            assert np.abs(np.diag(correlation)).max() < 4.5, "a row and its own past"
    first = np.array([uniform(s) for s in streams(16, 20_000)])
    assert stats.kstest(first, "uniform").pvalue > LEAST_P
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) * np.sqrt(len(first)) < 4


def test_neighbouring_seeds_give_unrelated_rows():
    first = np.array([[uniform(s) for s in streams(seed, 3)] for seed in range(3000)])
    assert stats.kstest(first.reshape(-1), "uniform").pvalue > LEAST_P
    assert abs(np.corrcoef(first[1:, 0], first[:-1, 0])[0, 1]) * np.sqrt(len(first)) < 4
    assert len(np.unique(streams(0, 10_000))) == 40_000


NOWHERE = """
from numba.core import caching

def refuse(self):
    raise OSError(30, "Read-only file system")

for kind in caching.CacheImpl._locator_classes:
    kind.ensure_cache_path = refuse
import ctbnlearn as cl
print(cl.simulate(cl.random_network(2, 1, rng=1), 5, n_transitions=6, rng=2).n_trajectories)
"""


def test_where_no_folder_can_be_written_to_nothing_is_kept():
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", NOWHERE], capture_output=True, text=True, timeout=300)
    assert run.stdout.strip() == "5", run.stderr
