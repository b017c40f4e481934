"""A cluster of processes on this machine, for tests that ask for one."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def cluster():
    """Two Dask workers, each a process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as made:
        yield made


@pytest.fixture
def client(cluster):
    """A connection to them."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as made:
        yield made
