"""Blocks give one answer, bit for bit, whoever works: this process, processes, a real Dask cluster; from files, too."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ctbnlearn as cl
from ctbnlearn.execute import block_shards, shards
from ctbnlearn.execute.local import Processes
from ctbnlearn.execute.memo import MEMO
from ctbnlearn.learn import block_search
from ctbnlearn.learn.checkpoint import saved_round
from ctbnlearn.model.ctbn import with_diagonal

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:after .* sweeps the chains have not come to agree"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NOISE = cl.LabelNoise(0.02)
LOOKS = 8


def restless(n_trajectories=60, seed=1):
    """Two variables of three states, the second of which runs after the first, and one of two; a table with blanks."""
    follow = [[[0.0 if y == x else (3.0 if y == u else 0.3) for y in range(3)] for x in range(3)] for u in range(3)]
    flip = [[0.0, 0.7, 0.7], [0.7, 0.0, 0.7], [0.7, 0.7, 0.0]]
    names = ("a", "b", "c")
    rates = {
        "a": with_diagonal(np.array([flip])),
        "b": with_diagonal(np.array(follow)),
        "c": [[-0.5, 0.5], [0.5, -0.5]],
    }
    net = cl.CTBN({"a": "xyz", "b": "xyz", "c": "xy"}, {"b": ["a"]}, rates)
    obs = cl.observe(cl.simulate(net, n_trajectories, horizon=5.0, rng=seed), n_times=LOOKS, noise=NOISE, rng=seed)
    rng = np.random.default_rng(seed)
    labels = np.array(["x", "y", "z", None], object)
    columns = {v: labels[np.where(rng.random(len(s.values)) < 0.1, 3, s.values)] for v, s in zip(names, obs.series)}
    ids = rng.permutation(n_trajectories)
    return pa.table({"id": np.repeat(ids, LOOKS), "time": obs.series[0].times, **columns})


@pytest.fixture(scope="module")
def table():
    return restless()


@pytest.fixture(scope="module")
def obs(table):
    return cl.read_table(table, trajectory="id", noise=NOISE)


@pytest.fixture
def scan(table, tmp_path):
    """Three files, trajectories dealt out among them and cut by row groups."""
    ids = table["id"].to_numpy()
    for k in range(3):
        pq.write_table(table.filter(pa.array(ids % 3 == k)), tmp_path / f"{k}.parquet", row_group_size=30)
    return cl.scan_table(tmp_path / "*.parquet", trajectory="id", noise=NOISE)


@pytest.fixture(params=[pytest.param("in one piece", marks=pytest.mark.slow), "in shards"])
def split(request, monkeypatch):
    """The data in one piece, or in shards."""
    if request.param == "in shards":
        cut(monkeypatch)
    return request.param == "in shards"


def cut(monkeypatch, units=1500):
    """Small shards."""
    monkeypatch.setattr(shards, "SHARD_UNITS", units)
    monkeypatch.setattr(block_shards, "LEAST", 1)


def learn(data, executor=None, **more):
    return cl.StructureLearner(2, **{"inference": "blocks", **more}, executor=executor).fit(data)


def same(learner, expected):
    np.testing.assert_array_equal(learner.edge_probabilities_, expected.edge_probabilities_)
    assert learner.network_.to_dict() == expected.network_.to_dict()
    assert learner.history_ == expected.history_
    for own, other in zip(learner.rate_tables_, expected.rate_tables_):
        np.testing.assert_array_equal(own.draws, other.draws)


@pytest.mark.parametrize("who", ["two processes", "cluster"])
def test_every_executor_gives_the_same_answer(request, obs, split, who):
    assert (shards.n_shards(obs.n_trajectories, 3, obs.n_values) > 2) == split
    expected = learn(obs)
    assert expected.edge_probabilities_[0, 1] > 0.9
    assert not MEMO._values  # nothing stays behind
    same(learn(obs, 2 if who == "two processes" else request.getfixturevalue("client")), expected)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_any_number_of_processes_gives_the_same_answer(obs, split, count):
    same(learn(obs, count), learn(obs))


def test_a_scan_gives_the_answer_of_the_table(obs, scan, client, split, monkeypatch):
    expected = learn(obs)
    for executor in (None, client):
        same(learn(scan, executor), expected)
    monkeypatch.setattr(block_shards.MEMO, "get", lambda key, make, limit: make())  # no room to keep anything
    same(learn(scan), expected)


def test_the_order_of_trajectories_does_not_matter(obs, split):
    order = np.random.default_rng(0).permutation(obs.n_trajectories)
    same(learn(obs.select(order)), learn(obs))


def test_auto_leaves_a_scan_on_which_chains_stick_to_blocks(scan, obs):
    found = learn(scan, inference="auto")
    assert found.inference_ == cl.Blocks()
    same(found, learn(obs, inference="auto"))


def test_sampling_of_a_scan_starts_some_chains_elsewhere_and_doubts(scan):
    said = []
    method = cl.Sampling(chains=2, sweeps=32, agreement=1e-9)
    found = learn(scan, inference=method, progress=said.append)
    assert any("1 of the chains go on from it" in str(line) for line in said)
    assert any("Chains may be stuck" in doubt for doubt in found.result_.manifest["warnings"])


def test_many_candidates_are_screened_shard_by_shard(monkeypatch):
    """More candidates than are looked at pair by pair."""
    net = cl.random_network(5, 2, rng=1)
    obs = cl.observe(cl.simulate(net, 40, horizon=4.0, rng=2), n_times=6, rng=3)
    monkeypatch.setattr(block_search, "SHORTLIST", 2)
    cut(monkeypatch, 4_000)
    assert shards.n_shards(40, 5, obs.n_values) > 1
    same(learn(obs, 2), learn(obs))


def test_a_run_goes_on_with_other_workers(obs, split, tmp_path, client):
    expected = learn(obs)

    def stop(turn, gained):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(obs, 2, checkpoint=tmp_path / "state", callback=stop)
    assert saved_round(tmp_path / "state") == 1
    same(learn(obs, client, checkpoint=tmp_path / "state", resume=True), expected)


def kill_now_and_then(pids, most, end):
    """Kills one of two workers every now and then; not while they start, when Dask would give them up."""
    killed, before, rng = [], [], np.random.default_rng(0)
    while len(killed) < most and not end.wait(float(rng.uniform(0.3, 0.6))):
        found = [pid for pid in pids() if isinstance(pid, int) and pid not in killed]
        if len(found) > 1 and set(found) <= set(before):
            killed.append(found[int(rng.integers(len(found)))])
            os.kill(killed[-1], signal.SIGKILL)
        before = found
    return killed


def run_with_kills(obs, executor, pids, most):
    expected, end, killed = learn(obs), threading.Event(), []
    killer = threading.Thread(target=lambda: killed.extend(kill_now_and_then(pids, most, end)))
    killer.start()
    try:
        for _ in range(10 * most):
            same(learn(obs, executor()), expected)
            if not killer.is_alive():
                break
    finally:
        end.set()
        killer.join()
    assert len(killed) == most


def test_processes_that_are_killed(obs, monkeypatch):
    cut(monkeypatch)
    at_work = []

    def new():
        at_work.append(Processes(2))
        return at_work[-1]

    run_with_kills(obs, new, lambda: at_work[-1].pids() if at_work else [], 3)


def test_dask_workers_that_are_killed(obs, monkeypatch, cluster, client):
    cut(monkeypatch)
    with distributed.Client(cluster) as other:
        run_with_kills(obs, lambda: client, lambda: list(other.run(os.getpid, on_error="ignore").values()), 3)


def test_bad_data_of_a_shard_are_told_by_name(monkeypatch, client):
    cut(monkeypatch, 20)
    table = pa.table({"id": [1, 1, 2, 2, 3, 3], "time": [0.0, 1.0] * 3, "a": ["off", "on", "on", "off", "off", "on"]})
    two = table.append_column("b", pa.array(["on", "off"] * 3))
    obs = cl.read_table(two, trajectory="id")
    for executor in (None, 1, client):
        with pytest.raises(cl.CtbnlearnError, match="trajectory 2: what was seen has probability zero"):
            learn(obs, executor, transitions={"a": [("off", "on")]})
