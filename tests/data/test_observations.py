"""Observations: what `observe` draws, observation models, raw likelihoods."""

from __future__ import annotations

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.data.series import Series
from ctbnlearn.errors import CtbnlearnError

NET = cl.random_network(3, rng=0)


def test_exact_observations_are_the_states():
    paths = cl.simulate(NET, 5, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=7, rng=2)
    truth = paths.lookup(np.repeat(np.arange(5), 7), obs.series[0].times)
    for i, s in enumerate(obs.series):
        np.testing.assert_array_equal(s.values, truth[:, i])
        np.testing.assert_array_equal(np.argmax(s.log_likelihood(), 1), truth[:, i])
    np.testing.assert_array_equal(obs.start, np.zeros(5))
    np.testing.assert_array_equal(obs.end, paths.end)
    again = cl.observe(paths, n_times=7, rng=2)
    np.testing.assert_array_equal(again.series[0].times, obs.series[0].times)


def test_given_times_common_or_ragged():
    paths = cl.simulate(NET, 2, horizon=4.0, rng=1)
    assert cl.observe(paths, times=[0.0, 4.0]).series[0].times.tolist() == [0.0, 4.0, 0.0, 4.0]
    assert cl.observe(paths, times=np.array([[0.5], [1.5]])).series[0].times.tolist() == [0.5, 1.5]
    ragged = cl.observe(paths, times=[[0.5], [0.1, 0.2]])
    assert ragged.series[1].offsets.tolist() == [0, 1, 3]
    with pytest.raises(CtbnlearnError, match="window"):
        cl.observe(paths, times=[5.0])
    with pytest.raises(CtbnlearnError, match="stands twice"):
        cl.observe(paths, times=[1.0, 1.0])
    with pytest.raises(CtbnlearnError, match="either n_times or times"):
        cl.observe(paths)


def test_missing_entries_are_left_out_at_random():
    paths = cl.simulate(NET, 300, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=10, missing=0.3, rng=3)
    assert obs.n_values / 9000 == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 9000))
    for k in (0, 17, 299):
        for i, s in enumerate(obs.series):
            rows = slice(s.offsets[k], s.offsets[k + 1])
            expected = paths.lookup(np.full(rows.stop - rows.start, k), s.times[rows])[:, i]
            np.testing.assert_array_equal(s.values[rows], expected)
    assert cl.observe(paths, n_times=4, missing=1.0, rng=0).n_values == 0
    assert cl.observe(paths, n_times=0, rng=0).n_values == 0


def test_gaussian_noise_has_its_moments():
    paths = cl.simulate(NET, 2000, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), rng=3)
    s = obs.series[0]
    truth = paths.lookup(np.repeat(np.arange(2000), 10), s.times)[:, 0] * 2 - 1
    error = s.values - truth
    assert error.mean() == pytest.approx(0, abs=4 * np.sqrt(0.2 / 20000))
    assert error.var() == pytest.approx(0.2, abs=4 * 0.2 * np.sqrt(2 / 20000))
    from scipy.stats import norm

    np.testing.assert_allclose(
        s.log_likelihood(), norm.logpdf(s.values[:, None], [-1, 1], np.sqrt(0.2)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("log", [False, True])
def test_threshold_noise_samples_what_its_likelihood_says(log):
    """By Bayes' rule, not by Phi: the share of "over" among values near y is the normalised likelihood."""
    model = cl.ThresholdNoise(2.0, 0.5, log=log).bind(cl.Variable("a", ("under", "over")))
    codes = np.repeat([0, 1], 200_000)
    y = model.sample(codes, np.random.default_rng(0))
    edges = np.quantile(y, [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
    for low, high in zip(edges, edges[1:]):
        near = (y >= low) & (y <= high)
        p = np.exp(model.log_likelihood(y[near]))
        np.testing.assert_allclose(p.sum(1), 1)
        assert codes[near].mean() == pytest.approx(p[:, 1].mean(), abs=0.01)
    signal = np.log(y) if log else y
    assert (signal.mean(), signal.std()) == pytest.approx((2.0, 0.5), abs=0.01)


def test_threshold_noise_is_monotone_and_finite_far_out():
    table = cl.ThresholdNoise(0.0, 1.0).log_likelihood(np.array([-1e3, -40.0, -1.0, 0.0, 3.0, 1e3]))
    assert np.isfinite(table).all()
    assert (np.diff(table[:, 1]) >= 0).all()
    assert (np.diff(table[:, 0] - table[:, 1]) < 0).all()
    assert np.exp(table[2, 1]) == pytest.approx(0.15865525, abs=1e-8)


def test_label_noise_follows_its_confusion_matrix():
    net = cl.random_network(1, dynamics="random", n_states=3, rng=0)
    confusion = [[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0]]
    paths = cl.simulate(net, 3000, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=10, noise=cl.LabelNoise(confusion), rng=3)
    truth = paths.lookup(np.repeat(np.arange(3000), 10), obs.series[0].times)[:, 0]
    for x in range(3):
        seen = np.bincount(obs.series[0].values[truth == x], minlength=3)
        np.testing.assert_allclose(seen / seen.sum(), confusion[x], atol=4 * np.sqrt(0.25 / seen.sum()))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(obs.log_likelihood("x0")[0]), np.array(confusion)[:, obs.series[0].values[0]])


def test_noise_by_variable():
    paths = cl.simulate(NET, 3, horizon=4.0, rng=1)
    obs = cl.observe(paths, n_times=3, noise={"x1": cl.LabelNoise(0.1)}, rng=0)
    np.testing.assert_allclose(np.exp(obs.log_likelihood("x1")).sum(1), 1.0)
    assert np.isneginf(obs.log_likelihood("x0")).any()
    with pytest.raises(CtbnlearnError, match="unknown variables"):
        cl.observe(paths, n_times=3, noise={"zz": None})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cl.GaussianNoise(variance=0.0), "positive"),
        (lambda: cl.GaussianNoise(variance=np.nan), "positive"),
        (lambda: cl.GaussianNoise(variance=1.0, values=(1, 1)), "different"),
        (lambda: cl.GaussianNoise(1, "ab"), "different finite numbers"),
        (lambda: cl.GaussianNoise(1, 3), "different finite numbers"),
        (lambda: cl.ThresholdNoise(np.nan, 1.0), "mean must be a finite number"),
        (lambda: cl.ThresholdNoise(0.0, 0.0), "sd must be a positive finite number"),
        (lambda: cl.ThresholdNoise("a"), "mean must be"),
        (lambda: cl.ThresholdNoise(0.0, 1.0, log="yes"), "log must be"),
        (lambda: cl.ThresholdNoise(0.0, 1.0).bind(cl.Variable("a", (0, 1, 2))), "for two"),
        (lambda: cl.ThresholdNoise(0.0, 1.0, True).log_likelihood(np.array([1.0, -2.0])), "above zero, not -2.0"),
        (lambda: cl.observe(cl.simulate(NET, 1, horizon=1.0, rng=0), 1, noise=cl.ThresholdNoise()), "give mean="),
        (lambda: cl.LabelNoise("x"), "matrix of probabilities"),
        (lambda: cl.LabelNoise([[1, 0], [1]]), "matrix of probabilities"),
        (lambda: cl.LabelNoise(0.1, 3), "list of labels"),
        (lambda: cl.LabelNoise(0.1, "ab"), "list of labels"),
        (lambda: cl.GaussianNoise(1.0, (1, 2, 3)).bind(cl.Variable("a", (0, 1))), "one per state"),
        (lambda: cl.GaussianNoise(1.0).bind(cl.Variable("a", ("u", "v"))), "not numbers"),
        (lambda: cl.LabelNoise(1.5), r"\[0, 1\)"),
        (lambda: cl.LabelNoise([[0.5, 0.6], [0, 1]]), "row 0"),
        (lambda: cl.LabelNoise([[0.5, 0.5], [-1, 2]]), "probabilities"),
        (lambda: cl.LabelNoise([[1, 0], [0, 1]]).bind(cl.Variable("a", (0, 1, 2))), "2 x 2"),
        (lambda: cl.observe(cl.simulate(NET, 1, horizon=1.0, rng=0), n_times=1, noise="gauss"), "noise must be"),
        (lambda: cl.observe(cl.simulate(NET, 1, horizon=1.0, rng=0), n_times=1, noise=cl.LabelNoise), "call it"),
        (lambda: cl.observe(cl.simulate(NET, 1, horizon=1.0, rng=0), n_times=1, missing=2), "probability"),
    ],
)
def test_bad_noise(make, words):
    with pytest.raises(CtbnlearnError, match=words):
        make()


def test_offsets_must_fit():
    s = cl.observe(cl.simulate(cl.random_network(1, rng=0), 2, horizon=4.0, rng=1), n_times=1, rng=2).series[0]
    for offsets in ([0, 3, 2], [1, 1, 2], [0, 2]):
        odd = type(s)(np.array(offsets), s.times, s.values, s.noise)
        with pytest.raises(CtbnlearnError, match="do not fit together"):
            cl.Observations({"x0": (-1, 1)}, (odd,), [0, 0], [4, 4])


def test_shared_times_are_checked_once(monkeypatch):
    from ctbnlearn.data import observations

    obs = cl.observe(cl.simulate(NET, 2, horizon=4.0, rng=1), n_times=3, rng=2)
    own = Series(obs.series[2].offsets, obs.series[2].times.copy(), obs.series[2].values, None)
    seen = []
    monkeypatch.setattr(observations, "check_times", lambda *a, **k: seen.append(a[2]))
    cl.Observations(obs.variables, (*obs.series[:2], own), obs.start, obs.end)
    assert [id(times) for times in seen] == [id(obs.series[0].times), id(own.times)]


GOOD = [[[1.0, 0.0], [0.2, 0.8]]]


@pytest.mark.parametrize(
    ("times", "likelihoods", "variables", "words"),
    [
        ([], [], ["a"], "no trajectories"),
        ([[0, 1]], [], ["a"], "give one each"),
        ([[0, 1]], [GOOD], ["a", "b"], "2 variables"),
        ([[0, 1, 2]], [GOOD], ["a"], "2 likelihood rows for 3 times"),
        ([[1, 0]], [GOOD], ["a"], "sort the rows"),
        ([[1, 1]], [GOOD], ["a"], "stands twice"),
        ([[-1, 1]], [GOOD], ["a"], "not negative"),
        ([[0, np.inf]], [GOOD], ["a"], "finite"),
        ([[0, 1]], [[[[1, np.nan], [1, 0]]]], ["a"], "row 0"),
        ([[0, 1]], [[[[1, 0], [-1, 0]]]], ["a"], "row 1"),
        ([[0, 1]], [[[[1, 0], [0, 0]]]], ["a"], "all likelihoods are zero"),
        ([[0, 1]], [[[[1], [1]]]], ["a"], "two or more"),
        ([[0, 1], []], [GOOD, [np.empty((0, 2))]], ["a"], "trajectory 1 is empty"),
        ([[0, 1]], [GOOD], {"a": (0, 1, 2)}, r"\(n_times, 3\)"),
    ],
)
def test_bad_likelihoods(times, likelihoods, variables, words):
    with pytest.raises(CtbnlearnError, match=words):
        cl.Observations.from_likelihoods(times, likelihoods, variables)


def test_likelihoods_with_windows_and_an_empty_trajectory():
    obs = cl.Observations.from_likelihoods(
        [[1, 2], []], [GOOD, [np.empty((0, 2))]], ["a"], start=0.0, end=[3.0, 4.0], ids=["p", "q"]
    )
    assert obs.select([1]).ids == ["q"]
    assert obs.select([1]).n_values == 0
    assert obs.end.tolist() == [3.0, 4.0]
