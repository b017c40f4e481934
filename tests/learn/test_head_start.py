"""What another process compiles is there for this one; where it cannot be had, nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctbnlearn.learn import head_start

BESIDE = """
import sys
from ctbnlearn.learn import head_start
head_start.usable_cores = lambda: 2
head_start.begin()
assert head_start._RUNNING
head_start.finish()
assert not head_start._RUNNING
from ctbnlearn.structure.set_draws import draw_sets
import ctbnlearn as cl
obs = cl.observe(cl.simulate(cl.random_network(3, 1, rng=1), 5, n_transitions=6, rng=2), n_times=4, rng=3)
cl.StructureLearner(inference=cl.Sampling(chains=1, sweeps=40)).fit(obs)
print(sum(draw_sets.stats.cache_hits.values()), sum(draw_sets.stats.cache_misses.values()))
head_start.begin()
print(len(head_start._RUNNING))
"""


def test_what_was_compiled_beside_is_loaded(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", BESIDE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["1", "0", "0"]  # found on disk, not compiled again, and not begun again


@pytest.mark.parametrize("executable", ["", "/nowhere/python", sys.executable])
def test_nothing_is_started_where_it_cannot_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, executable: str
) -> None:
    monkeypatch.setattr(head_start, "kept_on_disk", lambda: False)
    monkeypatch.setattr(head_start, "usable_cores", lambda: 1 if executable == sys.executable else 2)
    monkeypatch.setattr(sys, "executable", executable)
    head_start.begin()
    assert not head_start._RUNNING
    head_start.finish()


def test_one_that_fails_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_start, "kept_on_disk", lambda: False)
    monkeypatch.setattr(head_start, "usable_cores", lambda: 2)
    monkeypatch.setattr(head_start, "COMMAND", "raise SystemExit(1)")
    head_start.begin()
    assert head_start._RUNNING
    head_start.finish()
    assert not head_start._RUNNING
