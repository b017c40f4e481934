"""Workers of every kind: order, what is put and held, lost workers, errors in words."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor as AnyExecutor
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from ctbnlearn.errors import DataError, ExecutionError, ParameterError
from ctbnlearn.execute import cluster, limits, local, scratch, workers
from ctbnlearn.execute.cluster import connect
from ctbnlearn.execute.executors import as_workers
from ctbnlearn.execute.local import Processes, Threads
from ctbnlearn.execute.memo import Memo
from ctbnlearn.execute.memory import available, memory_budget


def square(x):
    return x * x


def grow(kept, by):
    value = scratch.read(kept) + by
    return value, int(value.sum())


def wait_then(seconds, value):
    time.sleep(seconds)
    return value


def die(x):
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def die_while_writing(marker):
    """The first time, end in the middle of a result, as a process does that is killed there."""
    if Path(marker).exists():
        return "done"
    Path(marker).touch()
    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["result_queue"]._writer._send(struct.pack("!i", 1000) + b"some of it")
    os.kill(os.getpid(), signal.SIGKILL)


def starve(x):
    raise MemoryError


def complain(x):
    raise DataError(f"shard {x}: cannot be read; write it again")


def complain_or_wait(seconds):
    if not seconds:
        complain(0)
    return wait_then(seconds, seconds)


def there(pid):
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def threads():
    return os.environ.get("OMP_NUM_THREADS"), os.environ.get("XLA_FLAGS", "")


@pytest.fixture(scope="module")
def two():
    made = Processes(2)
    yield made
    made.close()


def names(count):
    return [f"piece {k}" for k in range(count)]


def test_results_come_in_order_whoever_is_slow(two):
    items = [(0.3, 0), (0.0, 1), (0.1, 2), (0.0, 3)]
    for who in (two, Threads(3)):
        assert who.map(wait_then, items, names(4)) == [0, 1, 2, 3]


def test_results_as_they_are_finished(two):
    found = list(two.as_finished(wait_then, [(0.6, "a"), (0.0, "b"), (0.0, "c"), (0.0, "d")], names(4)))
    assert sorted(found) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    assert found[-1] == (0, "a")
    assert list(two.as_finished(square, [], [])) == []


def test_what_runs_beside_a_piece_that_fails_is_handed_over(two):
    results = two.as_finished(complain_or_wait, [(0.0,), (0.4,), (0.4,)], names(3))
    assert next(results) == (1, 0.4)
    with pytest.raises(DataError, match="shard 0"):
        next(results)


def test_a_killed_worker_delays_what_comes_as_it_is_finished():
    """Both processes are lost with the one that is killed, and both pieces begun again."""
    who, found = Processes(2), []
    for k, value in who.as_finished(wait_then, [(0.3, k) for k in range(6)], names(6)):
        found.append((k, value))
        if len(found) in (2, 4):
            os.kill(who.pids()[0], signal.SIGKILL)
    who.close()
    assert sorted(found) == [(k, k) for k in range(6)]


def test_nothing_goes_on_after_the_end_was_called_for():
    who = Processes(2)
    results = who.as_finished(wait_then, [(0.0, 0), *((60.0, k) for k in range(1, 5))], names(5))
    assert next(results) == (0, 0)
    running, begun = who.pids(), time.monotonic()
    results.close()
    who.abandon()
    while any(thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate()):
        assert time.monotonic() - begun < 30
        time.sleep(0.05)
    while any(map(there, running)):
        assert time.monotonic() - begun < 30
        time.sleep(0.05)


def test_what_is_put_and_held_stays_with_the_workers(two):
    for who in (two, Threads(2)):
        first = [who.put(np.arange(3)), who.put(np.arange(4))]
        states, sums = who.hold(grow, [(s, 1) for s in first], names(2))
        again, more = who.hold(grow, [(s, 10) for s in states], names(2))
        assert (sums, more) == ([6, 10], [36, 50])
        np.testing.assert_array_equal(who.fetch(again)[1], [11, 12, 13, 14])
        who.forget(states)
    assert all(isinstance(s, scratch.Kept) for s in two.hold(grow, [(np.arange(2), 1)], names(1))[0])


def test_a_worker_that_is_killed_costs_nothing_but_time():
    who = Processes(2)
    killed = []

    def kill():
        time.sleep(0.5)
        killed.append(who.pids()[0])
        os.kill(killed[0], signal.SIGKILL)

    who.map(square, [(1,), (2,)], names(2))
    killer = threading.Thread(target=kill)
    killer.start()
    assert who.map(wait_then, [(0.4, k) for k in range(6)], names(6)) == list(range(6))
    killer.join()
    assert killed
    folder = who._scratch.folder
    who.close()
    assert not folder.exists()


ORPHANS = """
import time
from ctbnlearn.execute.local import Processes

if __name__ == "__main__":
    who = Processes(2)
    who.map(time.sleep, [(0.2,), (0.2,)], ["a", "b"])
    print(*who.pids(), flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_processes_end_with_the_one_that_started_them(tmp_path):
    """Also where that is killed and has no time to say so."""
    (tmp_path / "script.py").write_text(ORPHANS)
    with subprocess.Popen([sys.executable, tmp_path / "script.py"], stdout=subprocess.PIPE, text=True) as started:
        pids = [int(pid) for pid in started.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(there, pids))
        started.kill()
    until = time.monotonic() + 60
    while any(map(there, pids)) and time.monotonic() < until:
        time.sleep(0.1)
    left = [pid for pid in pids if there(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_a_worker_that_is_killed_while_it_writes_a_result(tmp_path, monkeypatch):
    """The pool would wait for the rest of it."""
    monkeypatch.setattr(local, "LOOK", 0.2)
    who = Processes(2)
    assert who.map(die_while_writing, [(str(tmp_path / "begun"),)], names(1)) == ["done"]
    assert who.map(square, [(3,)], names(1)) == [9]
    who.close()


def test_work_that_kills_its_worker_every_time_is_named(monkeypatch):
    monkeypatch.setattr(workers, "MOST_LOST", 2)
    who = Processes(1)
    with pytest.raises(ExecutionError, match=r"piece 1: workers were lost 2 times in a row.*memory.*resume"):
        who.map(die, [(1,), (3,)], names(2))
    who.abandon()


def test_errors_of_the_work(two):
    with pytest.raises(DataError, match="shard 2: cannot be read"):
        two.map(complain, [(2,)], names(1))
    with pytest.raises(ExecutionError, match="piece 0: a worker ran out of memory"):
        two.map(starve, [(2,)], names(1))
    assert two.map(square, [(2,)], names(1)) == [4]  # they go on


def test_processes_are_held_to_their_share(two):
    count, flags = two.map(threads, [()], names(1))[0]
    assert int(count) == limits.share(2) == max(1, limits.processors() // 2)
    assert ("intra_op_parallelism_threads=1" in flags) == (int(count) == 1)


class Broken(AnyExecutor):
    def submit(self, function, /, *given, **more):
        future = Future()
        future.set_exception(BrokenProcessPool())
        return future


def test_executors_of_others():
    with ThreadPoolExecutor(2) as pool:
        who = as_workers(pool)
        assert who.local
        array = np.arange(3)
        assert who.put(array) is array
        assert who.map(square, [(2,), (3,)], names(2)) == [4, 9]
        who.close()
        assert pool.submit(square, 5).result() == 25  # theirs goes on
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:  # forks do not go with jax
        who = as_workers(pool)
        states, sums = who.hold(grow, [(who.put(np.ones(2)), 1)], names(1))
        assert sums == [4]
        assert isinstance(states[0], scratch.Kept)
        who.close()
    with pytest.raises(ExecutionError, match=r"lost a worker.*number of processes"):
        as_workers(Broken()).map(square, [(1,)], names(1))


@pytest.mark.parametrize("bad", [0, -1, True, 2.5, "two", object()])
def test_what_is_no_executor(bad):
    with pytest.raises(ParameterError, match="executor must be"):
        as_workers(bad)


def test_no_dask_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"pip install 'ctbnlearn\[dask\]'"):
        connect("tcp://127.0.0.1:8786")


def test_a_memo_keeps_what_fits_and_drops_other_runs():
    memo, made = Memo(), []

    def make(k):
        made.append(k)
        return np.zeros(10)

    for _ in range(3):
        for k in range(4):
            memo.get(("a", k), lambda k=k: make(k), 200)
    assert made == [0, 1, 2, 3, 2, 3, 2, 3]  # two fit and stay
    memo.get(("b", 0), lambda: make("b"), 200)
    memo.get(("a", 0), lambda: make("again"), 200)
    assert made[-2:] == ["b", "again"]


def test_amounts_of_memory():
    assert memory_budget("4GB") == 4_000_000_000
    assert memory_budget("4gib") == 4 << 30
    assert available() > 0
    for bad in ("lots", -1, 0, True, "4 parsecs", float("nan"), []):
        with pytest.raises(ParameterError, match="memory must be a number of bytes"):
            memory_budget(bad)


@pytest.fixture
def deserted(monkeypatch):
    """A client of a Dask cluster without workers, looked at often."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.1)
    settings = {"n_workers": 0, "processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as made, distributed.Client(made) as client:
        yield client


def test_a_cluster_without_workers_is_waited_for(deserted, caplog):
    starter = threading.Timer(0.5, deserted.cluster.scale, [1])
    starter.start()
    assert cluster.Cluster(deserted).map(square, [(2,), (3,)], names(2)) == [4, 9]
    starter.join()
    assert [r.levelname for r in caplog.records if "has no workers" in r.message] == ["WARNING"]


@pytest.mark.parametrize("work_fails", [False, True])
def test_a_result_that_comes_while_one_looks_is_taken(deserted, work_fails):
    """The wait ends, and by the time one asks the work is done; or the work itself took too long."""

    class Future:
        waits = 0
        status = "error" if work_fails else "finished"

        def result(self, timeout=None):
            self.waits += 1
            if self.waits < 3 or work_fails:  # what was found takes a while to arrive
                raise TimeoutError
            return 9

    workers = cluster.Cluster(deserted)
    if work_fails:
        with pytest.raises(TimeoutError):
            workers._finish(Future())
    else:
        assert workers._finish(Future()) == 9


def test_a_cluster_that_stays_without_workers_ends_the_run(deserted, monkeypatch):
    monkeypatch.setattr(cluster, "MOST_SECONDS_ALONE", 0.3)
    with pytest.raises(ExecutionError, match=r"no workers for 0\.3 s; start some with `dask worker`"):
        cluster.Cluster(deserted).map(square, [(2,)], names(1))
