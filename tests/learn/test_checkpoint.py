"""Runs that stop and go on: the same result bit for bit, files that are whole whatever happens, refusals in words."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import safetensors.numpy

import ctbnlearn as cl
from ctbnlearn.errors import CheckpointError, ParameterError
from ctbnlearn.inference import engine
from ctbnlearn.learn import incomplete
from ctbnlearn.learn.checkpoint import CURRENT, FORMAT, saved_round
from ctbnlearn.learn.tensor_file import read_note, read_tensors, write_tensors


def observations(seed=4):
    """As in `test_many_candidates`: compiled code is shared."""
    paths = cl.simulate(cl.random_network(6, 2, rng=seed), 60, horizon=4.0, rng=seed + 1)
    return cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), rng=seed + 2)


@pytest.fixture(scope="module")
def obs():
    return observations()


def stop(iteration, objective):
    raise KeyboardInterrupt


def same(learner, expected):
    """Equal bit for bit: weights, rates, history."""
    np.testing.assert_array_equal(learner.edge_probabilities_, expected.edge_probabilities_)
    assert learner.network_.to_dict() == expected.network_.to_dict()
    assert learner.history_ == expected.history_
    assert (learner.n_iter_, learner.converged_) == (expected.n_iter_, expected.converged_)


@pytest.mark.filterwarnings("ignore:EM has not converged")
@pytest.mark.parametrize("case", ["dense", "exact", "paths not kept", "mixture", "random", "many candidates"])
def test_a_run_stopped_after_every_round_ends_with_the_same_result(obs, tmp_path, monkeypatch, case):
    few = {"tol": 1e-4, "max_iter": 4}
    more = {
        "exact": {"inference": cl.Exact(**few)},
        "mixture": {"weights": "mixture"},
        "random": {"inference": cl.Star(**few, initial="random", n_init=2), "random_state": 1},
    }
    if case == "paths not kept":
        monkeypatch.setattr(engine, "KEEP_BYTES", 0)
    if case == "many candidates":
        monkeypatch.setattr(incomplete, "MOST_JOINT_STATES", 1)
    settings = {"max_parents": 2, "inference": cl.Star(**few), **more.get(case, {})}
    expected = cl.StructureLearner(**settings).fit(obs)
    learner = cl.StructureLearner(**settings, checkpoint=tmp_path / "state", resume=True, callback=stop)
    rounds = 0
    while True:
        try:
            learner.fit(obs)
            break
        except KeyboardInterrupt:
            rounds += 1
            assert 1 <= saved_round(tmp_path / "state") <= 4
    assert rounds >= expected.n_iter_
    same(learner, expected)
    same(learner.fit(obs), expected)  # from the end
    assert learner.result_.manifest["settings"] == expected.result_.manifest["settings"]


@pytest.mark.filterwarnings("ignore:EM has not converged")
def test_more_rounds_can_be_had_of_a_run_that_ended_too_early(obs, tmp_path):
    expected = cl.StructureLearner(2, inference=cl.Star(tol=1e-4, max_iter=4)).fit(obs)
    learner = cl.StructureLearner(2, inference=cl.Star(tol=1e-4, max_iter=2), checkpoint=tmp_path).fit(obs)
    assert learner.n_iter_ == 2 < expected.n_iter_
    same(learner.set_params(inference=cl.Star(tol=1e-4, max_iter=4), resume=True).fit(obs), expected)
    with pytest.raises(ParameterError, match="holds 4 rounds, more than max_iter; raise"):
        learner.set_params(inference=cl.Star(tol=1e-4, max_iter=3)).fit(obs)


def test_what_does_not_belong_together_is_refused(obs, tmp_path):
    learner = cl.StructureLearner(2, inference="star", checkpoint=tmp_path, callback=stop, structure_prior="flat")
    with pytest.raises(KeyboardInterrupt):
        learner.fit(obs)
    before = (tmp_path / CURRENT).read_bytes()
    with pytest.raises(CheckpointError, match="a checkpoint of round 1 is there; go on from it with resume=True"):
        learner.fit(obs)
    learner.set_params(resume=True)
    with pytest.raises(CheckpointError, match="made from other data"):
        learner.fit(observations(7))
    other = cl.StructureLearner(max_parents=1, inference="star", checkpoint=tmp_path, resume=True)
    with pytest.raises(CheckpointError, match='max_parents=2, structure_prior="flat", not max_parents=1, struct'):
        other.fit(obs)
    assert (tmp_path / CURRENT).read_bytes() == before
    (tmp_path / CURRENT).write_bytes(before[: len(before) // 2])
    with pytest.raises(CheckpointError, match="damaged"):
        learner.fit(obs)
    arrays, note = read_tensors(_put(tmp_path / CURRENT, before))
    write_tensors(tmp_path / CURRENT, arrays, {**note, "version": "0.0.1"})
    with pytest.raises(CheckpointError, match=r"another version of ctbnlearn \(0.0.1, here"):
        learner.fit(obs)
    with pytest.raises(ParameterError, match="needs `checkpoint`"):
        cl.StructureLearner(resume=True).fit(obs)


def test_no_room_is_a_clear_error_and_the_last_checkpoint_stays(obs, tmp_path):
    """The limit on the size of files is the kernel's own refusal to write, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up(iteration, objective):
        size = (tmp_path / CURRENT).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1000, limits[1]))

    star = cl.Star(tol=1e-4)
    settings = {"inference": star, "checkpoint": tmp_path}
    try:
        with pytest.raises(
            CheckpointError, match=r"of round 2 cannot be written .*; that of round 1 is whole; make room"
        ):
            cl.StructureLearner(2, **settings, callback=fill_up).fit(obs)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == [CURRENT]
    same(cl.StructureLearner(2, **settings, resume=True).fit(obs), cl.StructureLearner(2, inference=star).fit(obs))


def test_a_folder_that_cannot_be_written_is_told_before_learning(obs, tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "/proc/none"):
        with pytest.raises(CheckpointError, match=r"cannot be kept there .*choose another folder"):
            cl.StructureLearner(checkpoint=folder).fit(obs)


def test_complete_data_keep_nothing(tmp_path):
    said = []
    paths = cl.simulate(cl.random_network(3, rng=1), 5, n_transitions=5, rng=2)
    cl.StructureLearner(checkpoint=tmp_path / "state", progress=said.append).fit(paths)
    assert "one pass: no checkpoint is kept" in said[0].message
    assert not (tmp_path / "state").exists()


def test_the_file_is_one_of_the_safetensors_format(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "doubles": rng.random((3, 4)),
        "turned": rng.random((3, 4)).T,
        "singles": rng.random(5).astype(np.float32),
        "none": np.empty((0, 2)),
        "numbers": np.array([[1, -2]]),
    }
    write_tensors(tmp_path / "f", arrays, {"round": 3})
    found, note = read_tensors(tmp_path / "f")
    others = safetensors.numpy.load_file(tmp_path / "f")
    assert note == read_note(tmp_path / "f") == {"round": 3}
    assert set(found) == set(others) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == others[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        np.testing.assert_array_equal(others[name], array)
    content = (tmp_path / "f").read_bytes()
    for damaged in (b"", content[:5], content[:-8], content[:100], _flipped(content, -3), _flipped(content, 20)):
        with pytest.raises(CheckpointError, match="damaged"):
            read_tensors(_put(tmp_path / "f", damaged))


def test_no_flipped_bit_changes_what_is_read(tmp_path):
    arrays, note = {"a": np.arange(6.0).reshape(2, 3)}, {"round": 3, "state": {"phases": ["rates"]}}
    write_tensors(tmp_path / "f", arrays, note)
    content = (tmp_path / "f").read_bytes()
    for place in range(len(content)):
        try:
            found, told = read_tensors(_put(tmp_path / "f", _flipped(content, place)))
        except CheckpointError:
            continue
        assert told == note, place  # only blanks between the parts of the header may differ
        np.testing.assert_array_equal(found["a"], arrays["a"])


@pytest.mark.parametrize(
    "note", [[], 3, "x", None, {"round": []}, {"format": FORMAT, "state": 1}, {"format": {}, "settings": 5, "data": []}]
)
def test_hostile_notes_are_one_clear_error(obs, tmp_path, note):
    write_tensors(tmp_path / CURRENT, {"a": np.zeros(2)}, note)
    with pytest.raises(CheckpointError):
        cl.StructureLearner(checkpoint=tmp_path, resume=True, inference="star").fit(obs)


def test_deep_notes_and_headers_are_damaged(tmp_path):
    deep = b"[" * 100_000
    with pytest.raises(CheckpointError, match="damaged"):
        read_tensors(_put(tmp_path / "f", len(deep).to_bytes(8, "little") + deep))


KILLS = """
    import os, random, signal, sys, time
    from pathlib import Path
    import numpy as np
    from ctbnlearn.learn.tensor_file import read_note, read_tensors, remove_unfinished, write_tensors

    path, draw, reached, cut_short = Path(sys.argv[1]), random.Random(1), 0, 0
    for kill in range(40):
        child = os.fork()
        if child == 0:
            for number in range(reached + 1, 10**9):
                write_tensors(path, {"a": np.full(30_000, number), "b": np.full(5, 0.5)}, {"round": number})
        while not path.exists() or read_note(path)["round"] <= reached:
            time.sleep(0.001)
        time.sleep(draw.uniform(0.001, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        arrays, note = read_tensors(path)
        assert set(arrays) == {"a", "b"} and (arrays["a"] == note["round"]).all()
        assert note["round"] > reached
        reached = note["round"]
        cut_short += len(list(path.parent.iterdir())) > 1
        remove_unfinished(path)
        assert list(path.parent.iterdir()) == [path]
    print(reached, cut_short)
"""


def test_forty_kills_while_writing_never_leave_a_broken_file(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(KILLS), str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    reached, cut_short = map(int, done.stdout.split())
    assert reached >= 40
    assert cut_short > 0  # kills did hit a file half written


def _put(path, content):
    path.write_bytes(content)
    return path


def _flipped(content, place):
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)
