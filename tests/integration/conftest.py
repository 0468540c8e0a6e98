"""A small cluster of Dask for whole fits."""

import pytest


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, processes=False) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found
