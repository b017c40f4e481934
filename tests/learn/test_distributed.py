"""One answer, bit for bit, whoever works: threads, processes, a real Dask cluster; also when its workers are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import ctbnlearn as cl
from ctbnlearn.errors import ExecutionError, LockedError
from ctbnlearn.execute import shards, workers
from ctbnlearn.execute.cluster import Cluster
from ctbnlearn.execute.local import Processes
from ctbnlearn.learn import sampling
from ctbnlearn.learn.checkpoint import saved_round

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:after .* sweeps the chains have not come to agree"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FEW = cl.Sampling(chains=2, sweeps=16, agreement=1e-9)
NOISE = cl.GaussianNoise(variance=0.2, values=(0, 1))


def rows(n_trajectories=60, n=4, seed=1):
    """A wide table with blanks; names of trajectories in no order."""
    net = cl.random_network(n, 2, rng=seed)
    obs = cl.observe(cl.simulate(net, n_trajectories, horizon=4.0, rng=seed + 1), n_times=6, noise=NOISE, rng=seed + 2)
    ids = np.random.default_rng(seed).permutation(n_trajectories)
    rng = np.random.default_rng(seed + 3)
    columns = {
        v.name: np.where(rng.random(len(s.values)) < 0.2, np.nan, s.values) for v, s in zip(obs.variables, obs.series)
    }
    return pa.table({"id": np.repeat(ids, 6), "time": obs.series[0].times, **columns})


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    """Chains settle as briefly on few data as on many."""
    monkeypatch.setattr(sampling, "SETTLE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def table():
    return rows()


@pytest.fixture(scope="module")
def obs(table):
    return cl.read_table(table, trajectory="id", noise=NOISE)


@pytest.fixture(scope="module")
def many():
    """So many trajectories that a step takes a while."""
    return cl.read_table(rows(400), trajectory="id", noise=NOISE)


@pytest.fixture(params=["in one piece", "in shards"])
def split(request, monkeypatch):
    """The data in one piece, or in shards."""
    if request.param == "in shards":
        monkeypatch.setattr(shards, "SHARD_UNITS", 4000 if "obs" in request.fixturenames else 15_000)
    return request.param == "in shards"


def learn(data, executor=None, **more):
    return cl.StructureLearner(2, **{"inference": FEW, **more}, executor=executor).fit(data)


def same(learner, expected):
    for name in ("edge_probabilities_", "chain_disagreement_"):
        np.testing.assert_array_equal(getattr(learner, name), getattr(expected, name))
    assert learner.network_.to_dict() == expected.network_.to_dict()
    assert learner.history_ == expected.history_


@pytest.fixture(params=["one process", "two processes", "threads", "cluster"])
def executor(request):
    """Whoever works."""
    if request.param == "threads":
        with ThreadPoolExecutor(3) as pool:
            yield pool
    elif request.param == "cluster":
        yield request.getfixturevalue("client")
    else:
        yield 1 if request.param == "one process" else 2


def test_every_executor_gives_the_same_answer(obs, executor, split):
    assert (shards.n_shards(obs.n_trajectories, 4, obs.n_values) > 1) == split
    expected = learn(obs)
    assert 0 < expected.edge_probabilities_.max() < 1.5
    same(learn(obs, executor), expected)


@pytest.fixture
def scan(table, tmp_path):
    """Three files, trajectories dealt out among them and cut by row groups."""
    ids = table["id"].to_numpy()
    for k in range(3):
        pq.write_table(table.filter(pa.array(ids % 3 == k)), tmp_path / f"{k}.parquet", row_group_size=25)
    return cl.scan_table(tmp_path / "*.parquet", trajectory="id", noise=NOISE)


def test_a_scan_gives_the_answer_of_the_table(obs, scan, split):
    assert (scan.n_trajectories, scan.n_values) == (obs.n_trajectories, obs.n_values)
    expected, found = learn(obs), learn(scan)
    same(found, expected)
    same(learn(scan, 2), expected)
    same(learn(scan, memory="100MB"), expected)
    assert found.score(scan) == pytest.approx(expected.score(obs))


def test_a_cluster_gives_the_answer_of_the_table_from_a_scan(obs, scan, client, split):
    same(learn(scan, client), learn(obs))


def test_the_order_of_trajectories_does_not_matter(obs, split):
    order = np.random.default_rng(0).permutation(obs.n_trajectories)
    same(learn(obs.select(order)), learn(obs))


def test_a_run_goes_on_with_other_workers(obs, split, tmp_path, client):
    """Stopped after every step, each step by other workers."""
    method = cl.Sampling(chains=2, sweeps=96, agreement=1e-9)
    expected = learn(obs, inference=method)

    def stop(sweeps, evidence):
        raise KeyboardInterrupt

    executors, steps = [None, 2, client], 0
    more = {"inference": method, "checkpoint": tmp_path / "state", "resume": True, "callback": stop}
    while True:
        try:
            found = learn(obs, executors[steps % 3], **more)
            break
        except KeyboardInterrupt:
            steps += 1
            assert saved_round(tmp_path / "state") >= 8 * min(steps, 5)
    assert steps >= 3
    same(found, expected)


class Killer:
    """Kills a worker a moment after every step has begun, as long as kills are left.

    A step begins when there are as many workers as `least`, so that each has something to take with it.
    """

    def __init__(self, pids, kills, least):
        self.pids, self.left, self.least, self.killed = pids, kills, least, []
        self.step = threading.Event()
        self.end = False
        self.thread = threading.Thread(target=self.run)

    def __call__(self, sweeps, evidence):
        until = time.monotonic() + 60
        while self.left and len(set(self.pids()) - set(self.killed)) < self.least and time.monotonic() < until:
            time.sleep(0.1)
        self.step.set()

    def run(self):
        rng = np.random.default_rng(0)
        while self.left and not self.end:
            if not self.step.wait(0.5):
                continue
            self.step.clear()
            time.sleep(float(rng.uniform(0, 0.1)))
            found = [pid for pid in self.pids() if pid not in self.killed]
            if found:
                self.killed.append(found[int(rng.integers(len(found)))])
                self.left -= 1
                os.kill(self.killed[-1], signal.SIGKILL)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *problem):
        self.end = True
        self.thread.join()


def worker_pids(client):
    return lambda: list(client.run(os.getpid, on_error="ignore").values())


def run_with_kills(obs, kills, executor, pids, least, sweeps):
    method = cl.Sampling(chains=2, sweeps=sweeps, agreement=1e-9)
    expected = learn(obs, inference=method)
    with Killer(pids, kills, least) as killer:
        found = learn(obs, executor, inference=method, callback=killer)
    same(found, expected)
    return len(set(killer.killed))


def test_processes_that_are_killed(many, split):
    who = Processes(2)
    assert run_with_kills(many, 3, who, who.pids, 0, 48) == 3


def test_dask_workers_that_are_killed(many, split, cluster, client):
    with distributed.Client(cluster) as other:
        assert run_with_kills(many, 2, client, worker_pids(other), 2, 24) == 2


def test_bags_are_fitted_by_dask_workers(cluster, client):
    """Also where one of them is killed meanwhile."""
    paths = cl.simulate(cl.random_network(3, 2, rng=1), 40, n_transitions=10, rng=2)
    expected = cl.Bagged(cl.StructureLearner(2), n_bags=4).fit(paths)
    with distributed.Client(cluster) as other:
        victim = worker_pids(other)()[0]

        def kill(event):
            if event.message.startswith("bag 1"):
                os.kill(victim, signal.SIGKILL)

        found = cl.Bagged(cl.StructureLearner(2, executor=client), n_bags=4, progress=kill).fit(paths)
    np.testing.assert_array_equal(found.edge_probabilities_, expected.edge_probabilities_)


@pytest.mark.slow
def test_twenty_dask_workers_that_are_killed(many, split, cluster, client):
    """More than twenty steps, a kill in each."""
    with distributed.Client(cluster) as other:
        assert run_with_kills(many, 20, client, worker_pids(other), 2, 800) == 20


def die(x):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_work_that_kills_every_worker_is_named(cluster, client, monkeypatch):
    """As a shard too large for the memory of any worker does."""
    monkeypatch.setattr(workers, "MOST_LOST", 0)
    with pytest.raises(ExecutionError, match=r"trajectories 1 to 9: workers were lost .* in a row"):
        Cluster(client).map(die, [(1,)], ["trajectories 1 to 9"])
    with pytest.raises(workers.LostError, match="trajectories 1 to 9"):
        Cluster(client).hold(die, [(1,)], ["trajectories 1 to 9"])


def test_a_lost_scheduler_is_told_and_the_run_goes_on_without_it(obs, tmp_path):
    method = cl.Sampling(chains=2, sweeps=96, agreement=1e-9)
    expected = learn(obs, inference=method)
    made = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0")
    client = distributed.Client(made)
    steps = []

    def lose(sweeps, evidence):
        steps.append(sweeps)
        if len(steps) == 2:
            made.close()

    with pytest.raises(ExecutionError, match=r"no longer answers.*resume=True"):
        learn(obs, client, inference=method, checkpoint=tmp_path / "state", callback=lose)
    client.close()
    same(learn(obs, inference=method, checkpoint=tmp_path / "state", resume=True), expected)


def test_two_runs_on_one_checkpoint(obs, tmp_path):
    """The second is refused while the first is at work, and not after."""
    refused = []

    def second(sweeps, evidence):
        if not refused:
            with pytest.raises(LockedError, match=rf"another run \(process {os.getpid()} on .*choose another folder"):
                learn(obs, checkpoint=tmp_path / "state", resume=True)
            refused.append(sweeps)

    first = learn(obs, checkpoint=tmp_path / "state", callback=second)
    assert refused
    same(learn(obs, checkpoint=tmp_path / "state", resume=True), first)
    assert not list(tmp_path.rglob("*.lock"))


def test_bad_data_of_a_shard_are_told_by_name(monkeypatch, client):
    monkeypatch.setattr(shards, "SHARD_UNITS", 20)
    table = pa.table({"id": [1, 1, 2, 2, 3, 3], "time": [0.0, 1.0] * 3, "a": ["off", "on", "on", "off", "off", "on"]})
    obs = cl.read_table(table, trajectory="id")
    rules = {"transitions": {"a": [("off", "on")]}, "initial_distribution": "uniform"}
    for executor in (None, 1, client):
        with pytest.raises(cl.CtbnlearnError, match="trajectory 2: what was seen of variable 'a' cannot happen"):
            cl.StructureLearner(inference=FEW, executor=executor, **rules).fit(obs)


def test_estimators_with_executors_can_be_cloned(client):
    learner = cl.StructureLearner(executor=client)
    assert clone(learner).executor is client
    assert isinstance(Cluster(client).count, int)
