"""`learn` killed, interrupted and resumed."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.learn.checkpoint import Checkpoint, saved_round

KILLED = """
import os, signal, sys
from ctbnlearn.cli import main
from ctbnlearn.learn.checkpoint import Checkpoint

honest = Checkpoint.save
Checkpoint.save = lambda *given: (honest(*given), os.kill(os.getpid(), signal.SIGKILL))
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "settings", ['inference = "star"\nmax_iter = 40\n', "sweeps = 400\nseed = 3\n"], ids=["star", "sampling"]
)
def test_learn_is_killed_interrupted_and_goes_on(run, tmp_path, monkeypatch, settings):
    data, state = tmp_path / "d.csv", tmp_path / "state"
    make = ["simulate", "--nodes", "3", "--max-parents", "1", "--trajectories", "40", "--seed", "2", "--missing", "0.1"]
    assert run(*make, "-q", "--out", data)[0] == 0  # as in `test_commands`: compiled code is shared
    (tmp_path / "c.toml").write_text(f'checkpoint = "state"\nmax_parents = 1\n{settings}')
    command = ["learn", data, "--config", tmp_path / "c.toml", "--out", tmp_path / "r"]
    child = subprocess.run([sys.executable, "-c", KILLED, *map(str, command), "-q"], check=False)
    assert child.returncode == -signal.SIGKILL
    reached = saved_round(state)
    assert reached >= 1
    assert not (tmp_path / "r").exists()

    honest = Checkpoint.save
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", lambda *a: (honest(*a), signal.raise_signal(signal.SIGINT)))
        code, _, err = run(*command, "--resume")
    assert code == 130
    assert saved_round(state) > reached
    assert err == (
        f"ctbnlearn: interrupted; {state} holds the state after round {saved_round(state)}: the same command with "
        "--resume goes on from there\n"
    )
    code, _, err = run(*command, "-q")
    assert code == 2
    assert "go on from it with resume=True (--resume)" in err

    code = run(*command, "--resume", "-q")[0]
    assert code in (0, 3)
    assert run(*command[:-1], tmp_path / "whole", "--checkpoint", tmp_path / "other", "-q")[0] == code
    found, whole = (cl.load_result(tmp_path / name) for name in ("r", "whole"))
    np.testing.assert_array_equal(found.edge_probabilities, whole.edge_probabilities)
    assert found.history == whole.history
    assert found.network.to_dict() == whole.network.to_dict()

    code, _, err = run(*command, "--resume", "-q", "--max-parents", "2")
    assert code == 2
    assert "this checkpoint was made with max_parents=1, not max_parents=2" in err


def test_wrong_use_of_checkpoints(run, tmp_path):
    data = tmp_path / "d.csv"
    assert run("simulate", "--nodes", "2", "--trajectories", "2", "--seed", "2", "-q", "--out", data)[0] == 0
    code, _, err = run("learn", data, "--resume", "--out", tmp_path / "r")
    assert code == 2
    assert "--checkpoint" in err
    for inside in ("r", "r/state"):
        code, _, err = run("learn", data, "--checkpoint", tmp_path / inside, "--out", tmp_path / "r")
        assert code == 2
        assert "keep checkpoints outside it" in err


def test_complete_paths_need_no_checkpoint(run, tmp_path):
    cl.write_paths(cl.simulate(cl.random_network(3, rng=3), 5, n_transitions=5, rng=1), tmp_path / "p.csv")
    code, out, _ = run("learn", tmp_path / "p.csv", "--complete", "--checkpoint", tmp_path / "s", "-o", tmp_path / "r")
    assert code == 0
    assert "no checkpoint is kept" in out
    assert not (tmp_path / "s").exists()
