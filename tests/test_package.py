"""The package as a whole: quick import, lazy names, typing mark."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

import ctbnlearn as cl


def test_every_public_name_resolves():
    for name in cl.__all__:
        assert getattr(cl, name) is not None
    assert set(cl.__all__) <= set(dir(cl))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cl.nonsense


@pytest.mark.parametrize("inference", ["sampling", "blocks"])
def test_sampling_and_blocks_of_few_variables_need_no_jax(inference):
    code = (
        "import sys, ctbnlearn as cl; net = cl.random_network(3, rng=1); "
        "obs = cl.observe(cl.simulate(net, 20, horizon=2.0, rng=2), n_times=4, rng=3); "
        f"learner = cl.StructureLearner(max_parents=1, inference={inference!r}).fit(obs); "
        "learner.score(obs), learner.smooth(obs, [0.5]); print('jax' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_command_line_needs_no_jax_for_them(tmp_path):
    rng = np.random.default_rng(1)
    rows = [f"{k},{t},{rng.integers(2)},{rng.integers(2)}" for k in range(20) for t in range(5)]
    (tmp_path / "table.csv").write_text("id,time,a,b\n" + "\n".join(rows))
    code = (
        "import sys; from ctbnlearn.cli import main; "
        "main(['learn', 'table.csv', '--sweeps', '20', '--quiet', '--out', 'r']); "
        "print('jax' in sys.modules)"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split()[-1] == "False"
    assert (tmp_path / "r").is_dir()


def test_import_is_quick_and_light():
    code = (
        "import time; t = time.perf_counter(); import ctbnlearn, sys; print(time.perf_counter() - t, "
        "*[m for m in ('jax', 'jaxtyping', 'numba', 'matplotlib', 'pandas', 'sklearn') if m in sys.modules])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert all(len(r) == 1 for r in runs), f"heavy modules were loaded: {runs}"
    assert min(float(r[0]) for r in runs) < 0.5


def test_the_package_is_marked_as_typed():
    assert (files("ctbnlearn") / "py.typed").is_file()
