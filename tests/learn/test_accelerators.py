"""Workers with an accelerator each. Two processors of jax stand in for two accelerators, as tests have none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.execute import block_shards, shards

TURNS = """
import json
from ctbnlearn.execute.block_shards import _here
from ctbnlearn.execute.local import Processes
from ctbnlearn.inference.device import Device

def number(_):
    return _here(Device("gpu", "float64", None)).handle.id

if __name__ == "__main__":
    workers, used = Processes(2), set()
    for _ in range(50):  # until both have had some work
        used |= set(workers.map(number, [(k,) for k in range(4)], ["a", "b", "c", "d"]))
        if len(used) == 2:
            break
    workers.close()
    print(json.dumps(sorted(used)))
"""

LEARN = """
import json
import sys
import ctbnlearn as cl
from ctbnlearn.execute import block_shards, shards

if __name__ == "__main__":
    shards.SHARD_UNITS, block_shards.LEAST = 400, 1
    net = cl.random_network(2, 1, coupling=1.0, rng=0)
    obs = cl.observe(cl.simulate(net, 16, horizon=4.0, rng=2), n_times=6, rng=3)
    settings = {"device": "gpu", "precision": "float64", "executor": json.loads(sys.argv[1])}
    print(json.dumps(cl.StructureLearner(1, inference="blocks", **settings).fit(obs).edge_probabilities_.tolist()))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a script where there are two accelerators; what it compiles is kept for the next."""
    folder = tmp_path_factory.mktemp("accelerators")
    flags = "--xla_force_host_platform_device_count=2"
    kept = {"JAX_COMPILATION_CACHE_DIR": str(folder), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment = {**os.environ, **kept, "CTBNLEARN_ACCELERATOR": "cpu", "XLA_FLAGS": flags}

    @cache
    def run(script, *arguments):
        (folder / "run.py").write_text(script)
        command = [sys.executable, str(folder / "run.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def processors(monkeypatch):
    """What processors find."""
    monkeypatch.setattr(shards, "SHARD_UNITS", 400)
    monkeypatch.setattr(block_shards, "LEAST", 1)
    net = cl.random_network(2, 1, coupling=1.0, rng=0)
    obs = cl.observe(cl.simulate(net, 16, horizon=4.0, rng=2), n_times=6, rng=3)
    assert shards.n_shards(16, 2, obs.n_values) == 2
    return cl.StructureLearner(1, inference="blocks", device="cpu").fit(obs).edge_probabilities_


def test_workers_take_accelerators_in_turn(run):
    assert run(TURNS) == [0, 1]


def test_accelerators_find_what_processors_find(run, processors):
    assert 0.01 < processors[0, 1] < 0.99
    np.testing.assert_allclose(run(LEARN, "null"), processors, atol=1e-4)


def test_a_worker_with_an_accelerator_finds_what_processors_find(run, processors):
    np.testing.assert_allclose(run(LEARN, "1"), processors, atol=1e-4)


def test_the_answer_does_not_depend_on_the_number_of_workers(run):
    """Bit for bit."""
    assert run(LEARN, "1") == run(LEARN, "2")
