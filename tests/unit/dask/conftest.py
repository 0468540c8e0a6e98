"""Small clusters for the tests of the room."""

from __future__ import annotations

from contextlib import contextmanager

import pytest


@contextmanager
def cluster(**options):
    """Two workers with one thread each."""
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**workers, processes=options.pop("processes")) as own,
        distributed.Client(own, **options) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client():
    """Workers in this process."""
    with cluster(processes=False) as found:
        yield found


@pytest.fixture(scope="session")
def processes():
    """Workers in processes of their own, which may be killed."""
    with cluster(processes=True, set_as_default=False) as found:
        yield found
