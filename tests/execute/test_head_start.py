"""What another process compiles is there for this one; where it cannot be had, nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctbnlearn.execute import head_start

BESIDE = """
import sys
from ctbnlearn.execute import head_start
head_start.usable_cores = lambda: 2
head_start.begin()
assert head_start._AWAITED
head_start.finish()
assert not head_start._AWAITED
head_start._STARTED[0].wait()
from ctbnlearn.model.jump_loop import fill
from ctbnlearn.structure.set_draws import draw_initial
import ctbnlearn as cl
obs = cl.observe(cl.simulate(cl.random_network(3, 1, rng=1), 5, n_transitions=6, rng=2), n_times=4, rng=3)
cl.StructureLearner(inference=cl.Sampling(chains=1, sweeps=40)).fit(obs)
for f in draw_initial, fill:
    print(sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values()))
head_start._STARTED.clear()
head_start.begin()
print(len(head_start._STARTED))
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
    assert run.stdout.split() == ["1", "0", "1", "0", "0"]  # found on disk, not compiled again, and not begun again


@pytest.fixture(autouse=True)
def nothing_begun():
    head_start._stop()  # what an earlier test began, and may still be at work
    head_start._STARTED.clear()
    head_start._AWAITED.clear()
    yield
    head_start._stop()
    head_start._STARTED.clear()
    head_start._AWAITED.clear()


@pytest.mark.parametrize("executable", ["", "/nowhere/python", "/bin/sh", sys.executable])
def test_nothing_is_started_where_it_cannot_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, executable: str
) -> None:
    monkeypatch.setattr(head_start, "kept_on_disk", lambda: False)
    monkeypatch.setattr(head_start, "usable_cores", lambda: 1 if executable == sys.executable else 2)
    monkeypatch.setattr(sys, "executable", executable)
    head_start.begin()
    assert not head_start._STARTED
    head_start.finish()


def test_one_that_fails_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_start, "kept_on_disk", lambda: False)
    monkeypatch.setattr(head_start, "usable_cores", lambda: 2)
    monkeypatch.setattr(head_start, "COMMAND", "raise SystemExit(1)")
    head_start.begin()
    assert head_start._AWAITED
    head_start.finish()
    assert not head_start._AWAITED


def test_one_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_start, "kept_on_disk", lambda: False)
    monkeypatch.setattr(head_start, "usable_cores", lambda: 2)
    monkeypatch.setattr(head_start, "COMMAND", "import time; time.sleep(600)")
    monkeypatch.setattr(head_start, "LONGEST", 0.2)
    head_start.begin()
    head_start.finish()
    assert head_start._STARTED[0].poll() is not None


FORKED = """
import os, signal, threading, time
from ctbnlearn.execute import head_start
head_start.usable_cores = lambda: 2
head_start.kept_on_disk = lambda: False
head_start.COMMAND = "import time; time.sleep(3)"
head_start.begin()
thread = threading.Thread(target=head_start.finish)
thread.start()
time.sleep(0.5)
child = os.fork()
if child == 0:
    head_start.finish()
    os._exit(0)
time.sleep(1.0)
done = os.waitpid(child, os.WNOHANG) == (child, 0)
print(done)
if not done:
    os.kill(child, signal.SIGKILL)
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_is_forked_meanwhile_does_not_wait() -> None:
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["True"]
