from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

from dpboost.cluster.partition_state import Cell, WorkerMessage  # noqa: E402
from dpboost.dask.partition_tasks import ask  # noqa: E402


class Rows:
    def __init__(self):
        self.n_orders = 0


class Count:
    def evaluate(self, rows):
        return np.array([rows.n_orders])


def order(rows):
    rows.n_orders += 1
    return rows


def test_a_worker_adds_up_its_partitions_and_names_those_behind(monkeypatch):
    monkeypatch.setattr("dpboost.dask.partition_tasks._threads", lambda: 3)
    cells = [Cell(number, Rows(), position) for number, position in enumerate((1, 0, 1))]
    message = WorkerMessage(release=5, first=1, orders=[order], query=Count(), remembered=False)
    found = ask(cells, message.pack())
    assert (found.release, found.counted, found.behind) == (5, {0, 2}, {1: 0})
    assert found.answer == [2]
    assert cells[0]._rows.threads.now() == 3
