"""StructureLearner among scikit-learn's tools: cloning, pipelines, cross-validation, common checks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import ctbnlearn as cl
from ctbnlearn.data.segments import Segments
from ctbnlearn.errors import ParameterError

NET = cl.random_network(3, 2, coupling=-1.0, rng=1)
PATHS = cl.simulate(NET, 40, n_transitions=10, rng=2)
OBS = cl.observe(PATHS, n_times=8, noise=cl.GaussianNoise(variance=0.2), missing=0.1, rng=3)


def test_parameters_are_stored_as_given():
    given = {"max_parents": 2, "required": [("x0", "x1")], "rate_prior": (1.0, 2.0), "checkpoint": "folder"}
    given |= {"inference": cl.Sampling(chains=2), "weights": cl.Mixture(concentration=0.5)}
    learner = cl.StructureLearner(**given)
    told = learner.get_params()
    assert all(told[key] is value for key, value in given.items())
    twin = clone(learner)
    assert twin.get_params() == told
    assert twin.set_params(max_parents=1).max_parents == 1
    assert learner.max_parents == 2
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        learner.set_params(nonsense=1)
    assert cl.StructureLearner(max_parents="many").get_params()["max_parents"] == "many"  # judged in fit


def test_a_fit_changes_no_parameter_and_can_be_repeated():
    learner = cl.StructureLearner(max_parents=2)
    for method in (lambda: learner.score(PATHS), lambda: learner.smooth(OBS, [1.0]), lambda: learner.result_):
        with pytest.raises(NotFittedError):
            method()
    before = dict(learner.get_params())
    assert learner.fit(PATHS) is learner
    first = learner.edge_probabilities_.copy()
    np.testing.assert_array_equal(learner.fit(PATHS, None).edge_probabilities_, first)
    assert learner.get_params() == before
    assert learner.n_features_in_ == 3
    assert list(learner.feature_names_in_) == list(NET.names)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.edge_probabilities_, first)
    assert again.score(PATHS) == learner.score(PATHS)


@pytest.mark.parametrize("data", [PATHS, OBS, Segments.from_paths(PATHS)], ids=lambda d: type(d).__name__)
def test_trajectories_are_samples(data):
    assert (len(data), data.shape) == (40, (40, 3))
    mask = np.arange(40) % 7 == 0
    for chosen, numbers in (
        (3, [3]),
        (-1, [39]),
        (slice(0, 4, 2), [0, 2]),
        ([5, 1], [5, 1]),
        (mask, [0, 7, 14, 21, 28, 35]),
        ((np.array([2, 2]), ...), [2, 2]),
    ):
        part = data[chosen]
        assert type(part) is type(data)
        assert list(part.ids) == numbers
        np.testing.assert_array_equal(part.start, data.start[numbers])
    assert [list(one.ids) for one in data] == [[k] for k in range(40)]
    assert repr(data[range(40)]) == repr(data)
    with pytest.raises(IndexError):
        data[40]
    for wrong in ([99], "x", (0, 1), [True]):
        with pytest.raises(ParameterError, match="by number, slice, list or mask"):
            data[wrong]
    with pytest.raises(ParameterError, match="no trajectory was chosen"):
        data[:0]


def test_segments_keep_what_was_seen():
    segments = Segments.from_paths(PATHS)
    part, expected = segments[[7, 3]], Segments.from_paths(PATHS[[7, 3]])
    for name in ("trajectory", "node", "begin", "finish", "state"):
        np.testing.assert_array_equal(getattr(part, name), getattr(expected, name))


def test_a_pipeline_ends_in_a_learner():
    half = make_pipeline(FunctionTransformer(lambda paths: paths[:20]), cl.StructureLearner(1))
    expected = cl.StructureLearner(1).fit(PATHS[:20])
    found = half.fit(PATHS)[-1].edge_probabilities_
    np.testing.assert_array_equal(found, expected.edge_probabilities_)
    assert half.score(PATHS) == expected.score(PATHS[:20])
    half.set_params(structurelearner__max_parents=0).fit(PATHS)
    assert not half[-1].edge_probabilities_.any()


def test_settings_are_compared_on_trajectories_held_out():
    """Coupled variables are better predicted by a model of their coupling; scores are those of fits by hand."""
    search = GridSearchCV(cl.StructureLearner(), {"max_parents": [0, 1, 2]}, cv=3).fit(PATHS)
    assert search.best_params_["max_parents"] > 0
    scores = cross_val_score(cl.StructureLearner(2), PATHS, cv=3)
    expected = [cl.StructureLearner(2).fit(PATHS[a]).score(PATHS[b]) for a, b in KFold(3).split(PATHS)]
    np.testing.assert_array_equal(scores, expected)
    assert [search.cv_results_[f"split{k}_test_score"][2] for k in range(3)] == expected


@pytest.mark.filterwarnings("ignore:after 64 sweeps the chains have not come to agree")
def test_settings_are_compared_on_incomplete_data():
    """Numbers of parents, and methods with settings of their own; a fit by hand gives the same score."""
    methods = [cl.Sampling(chains=2, sweeps=64, agreement=1.0), cl.Star(tol=0.01)]
    grid = {"max_parents": [1, 2], "inference": methods}
    search = GridSearchCV(cl.StructureLearner(), grid, cv=2, refit=False).fit(OBS)
    for number, parameters in enumerate(search.cv_results_["params"]):
        for fold, (a, b) in enumerate(KFold(2).split(OBS)):
            by_hand = cl.StructureLearner(**parameters).fit(OBS[a]).score(OBS[b])
            assert search.cv_results_[f"split{fold}_test_score"][number] == by_hand


class TakesArrays(cl.StructureLearner):
    """The learner under a false flag, so that scikit-learn tries all its checks on it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


NEEDS_TIMES = "`predict` needs the times to predict at, which the check does not give"
IN_OUR_WORDS = "arrays are refused whatever they hold, in other words than the check looks for"
EXPECTED = {
    "check_estimators_unfitted": NEEDS_TIMES,
    "check_complex_data": IN_OUR_WORDS,
    "check_estimators_empty_data_messages": IN_OUR_WORDS,
    "check_estimators_nan_inf": IN_OUR_WORDS,
    "check_estimator_sparse_tag": IN_OUR_WORDS,
    "check_estimator_sparse_array": IN_OUR_WORDS,
    "check_estimator_sparse_matrix": IN_OUR_WORDS,
    "check_positive_only_tag_during_fit": IN_OUR_WORDS,
    "check_fit2d_1sample": IN_OUR_WORDS,
    "check_fit2d_1feature": IN_OUR_WORDS,
}


def test_the_common_checks():
    """The rules of the interface hold; checks that fit on arrays are refused, each for a reason known."""
    with pytest.warns(SkipTestWarning, match="Can't test estimator StructureLearner"):
        told = check_estimator(cl.StructureLearner(), on_fail="raise")
    assert any(check["status"] == "passed" for check in told)
    told = check_estimator(TakesArrays(), expected_failed_checks=EXPECTED, on_skip=None, on_fail=None)
    passed = {check["check_name"] for check in told if check["status"] == "passed"}
    assert {"check_no_attributes_set_in_init", "check_estimator_cloneable", "check_fit1d"} <= passed
    failed = [check for check in told if check["status"] == "failed"]
    assert failed
    for check in failed:
        assert str(check["exception"]).startswith("fit needs Paths or Observations"), check["check_name"]
