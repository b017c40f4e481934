"""Whatever is given, what comes out is sound or one of our errors; and what was found so, one by one."""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import pytest
from safetensors.numpy import load, save

import ctbnlearn as cl
import fuzzing
from ctbnlearn.data.frames import FrameSource
from ctbnlearn.errors import CheckpointError
from ctbnlearn.learn.tensor_file import read_tensors, write_tensors
from ctbnlearn.result.archive import _checksum


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_a_few_inputs_that_nobody_should_give(target):
    assert [found for number in range(25) if (found := fuzzing.attempt(target, number))] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_twenty_thousand_inputs_that_nobody_should_give(target):
    tried = [number for name, number in fuzzing.numbers(20_000) if name == target]
    assert [(n, found) for n in tried if (found := fuzzing.attempt(target, n))] == []


@pytest.mark.parametrize(("target", "number"), [("checkpoint", 281), ("result", 360), ("result", 893)])
def test_chains_without_sweeps_and_tables_without_draws(target, number):
    assert fuzzing.attempt(target, number) is None


def test_targets_share_all_inputs():
    assert len(list(fuzzing.numbers(20_000))) == 20_000


@pytest.fixture
def data():
    return fuzzing.sample()


def test_errors_stand_on_one_line(data):
    with pytest.raises(cl.CtbnlearnError) as problem:
        cl.StructureLearner(max_parents=np.ones((3, 3))).fit(data[1])
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (cl.HillClimb(structure_prior=1e308), "structure_prior"),
        (cl.HillClimb(rate_prior=(1e-300, 1e300)), "rate_prior"),
        (cl.HillClimb(rate_prior=np.array("x0")), "rate_prior"),
        (cl.HillClimb(rate_prior=([1], 2)), "rate_prior"),
        (cl.CTPC(correction=np.ones(2)), "correction"),
        (cl.Bagged(cl.StructureLearner(1), 2, checkpoint="a\0b"), "checkpoint"),
    ],
    ids=["odds", "prior", "text", "ragged", "correction", "path"],
)
def test_settings_out_of_range_are_refused(data, learner, words):
    with pytest.raises(cl.CtbnlearnError, match=words):
        learner.fit(data[1])


def test_a_tabu_list_may_be_endless(data):
    found = cl.Tabu(tenure=10**30).fit(data[1])
    assert found.network_.edges == cl.Tabu(tenure=1000).fit(data[1]).network_.edges


@pytest.mark.parametrize("method", [cl.Star(max_iter=2), cl.MeanField(max_iter=2)], ids=["star", "mean_field"])
def test_variables_without_candidates_are_learned(data, method):
    assert cl.StructuralEM(max_parents=0, inference=method).fit(data[2]).network_.edges == []


def test_times_past_all_numbers_are_refused(data):
    learner = cl.StructureLearner(1).fit(data[1])
    with pytest.raises(cl.CtbnlearnError, match="finite"):
        learner.smooth(data[2], [10**400])
    with pytest.raises(cl.CtbnlearnError, match="positive time"):
        learner.risk(data[2], {"x0": 1}, 10**400)


def test_a_frame_that_polars_itself_cannot_hand_over_is_refused():
    class PanicException(BaseException):
        pass

    class Column:
        def to_arrow(self):
            raise PanicException("assertion failed")

    class Frame:
        columns = ("time", "a")

        def get_column(self, name):
            return Column()

    source = FrameSource("table", frozenset(), Frame(), Frame.columns)
    with pytest.raises(cl.CtbnlearnError, match="column 'time': cannot be read"):
        source.load([], ["a"], ["time"])


def lose(arrays, note, key):
    del arrays[key]


def cut(arrays, note, key):
    arrays[key] = arrays[key][:0]


def spoil(arrays, note, key):
    arrays[key] = arrays[key] * math.nan


def start_late(arrays, note, key):
    note["start"] = 7


@pytest.mark.parametrize(
    ("method", "change", "key"),
    [
        ("exact", lose, "found/dwell/1"),
        ("exact", cut, "found/dwell/1"),
        ("exact", lose, "start_rates/0"),
        ("exact", start_late, ""),
        ("sampling", lose, "chain/0/net/stride"),
        ("sampling", lose, "chain/1/paths/count"),
    ],
)
def test_a_checkpoint_that_is_not_of_this_run_is_refused(tmp_path, method, change, key):
    with pytest.raises(fuzzing.Stop):
        fuzzing.checkpointed(method, tmp_path, False, fuzzing.stop_at_once)
    file = tmp_path / "checkpoint.safetensors"
    arrays, note = read_tensors(file)
    change(arrays, note, key)
    write_tensors(file, arrays, note)  # with the right checksum
    with pytest.raises(CheckpointError, match="does not hold the state of this run"):
        fuzzing.checkpointed(method, tmp_path, True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_that_are_no_numbers_are_refused(tmp_path):
    with pytest.raises(fuzzing.Stop):
        fuzzing.checkpointed("exact", tmp_path, False, fuzzing.stop_at_once)
    file = tmp_path / "checkpoint.safetensors"
    arrays, note = read_tensors(file)
    for key in arrays:
        if arrays[key].dtype.kind == "f":
            spoil(arrays, note, key)
    write_tensors(file, arrays, note)
    with pytest.raises(cl.CtbnlearnError):
        fuzzing.checkpointed("exact", tmp_path, True)


@pytest.mark.parametrize("what", ["parents", "manifest"])
def test_a_result_that_was_not_saved_by_us_is_refused(tmp_path, data, what):
    cl.StructureLearner(1).fit(data[1]).result_.save(tmp_path / "r")
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    if what == "parents":
        file = tmp_path / "r" / "arrays.safetensors"
        arrays = load(file.read_bytes())
        key = next(k for k in arrays if k.endswith("/parents") and arrays[k].size)
        arrays[key] = arrays[key].astype(bool)
        file.write_bytes(save(arrays))
        manifest["files"][file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    else:
        manifest["moves_per_gap"] = {"x0": {}, "x1": 1.0}
    (tmp_path / "r" / "manifest.json").write_text(json.dumps({**manifest, "checksum": _checksum(manifest)}))
    with pytest.raises(cl.CtbnlearnError, match="damaged"):
        cl.load_result(tmp_path / "r")
