"""Workers with an accelerator each. Two processors of jax stand in for two accelerators, as tests have none."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import json
import ctbnlearn as cl
from ctbnlearn.execute.block_shards import _here
from ctbnlearn.execute.local import Processes
from ctbnlearn.inference.device import Device

def number(_):
    return _here(Device("gpu", "float64", None)).handle.id

if __name__ == "__main__":
    net = cl.random_network(2, 1, coupling=1.0, rng=0)
    obs = cl.observe(cl.simulate(net, 600, horizon=4.0, rng=2), n_times=6, rng=3)

    def edges(**settings):
        return cl.StructureLearner(1, inference="blocks", precision="float64", **settings).fit(obs).edge_probabilities_

    workers, used = Processes(2), set()
    for _ in range(50):  # until both have had some work
        used |= set(workers.map(number, [(k,) for k in range(4)], ["a", "b", "c", "d"]))
        if len(used) == 2:
            break
    workers.close()
    found = {"processors": edges(device="cpu"), "here": edges(device="gpu")}
    found |= {f"{n} workers": edges(device="gpu", executor=n) for n in (1, 2)}
    print(json.dumps({"used": sorted(used), **{k: v.tolist() for k, v in found.items()}}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    script = tmp_path_factory.mktemp("accelerators") / "run.py"
    script.write_text(SCRIPT)
    flags = "--xla_force_host_platform_device_count=2"
    cache = {"JAX_COMPILATION_CACHE_DIR": str(script.parent), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment = {**os.environ, **cache, "CTBNLEARN_ACCELERATOR": "cpu", "XLA_FLAGS": flags}
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_workers_take_accelerators_in_turn(found):
    assert found["used"] == [0, 1]


def test_the_answer_does_not_depend_on_the_number_of_workers(found):
    assert found["1 workers"] == found["2 workers"]


@pytest.mark.parametrize("who", ["here", "1 workers"])
def test_accelerators_find_what_processors_find(found, who):
    np.testing.assert_allclose(found[who], found["processors"], atol=1e-4)
