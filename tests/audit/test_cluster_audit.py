"""Fits on a cluster are replayed, and bugs that only workers can have are seen."""

from __future__ import annotations

import secrets
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from dpboost.audit import cluster_audit
from dpboost.audit.cluster_audit import fits_on_workers, transcripts_of_workers
from dpboost.audit.non_interference import REPLAY
from dpboost.audit.run_trace import CoinRequest, _AlignedCoins
from dpboost.cluster import partitioned_rows
from dpboost.cluster.partition_state import DealByKey
from dpboost.privacy.randomness import RowCoins

dask_rows = pytest.importorskip("dpboost.dask.dask_rows", reason="needs the extra 'dask'")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def one_fit(monkeypatch):
    """Look at the fit whose rows are dealt by coins alone."""
    monkeypatch.setattr(cluster_audit, "FITS", cluster_audit.FITS[1:2])


def test_nothing_is_found_on_workers():
    assert fits_on_workers() == []


def test_sums_that_are_added_twice_are_seen(one_fit):
    merge = partitioned_rows.merge

    def twice(*partials):
        total = merge(*partials)
        if isinstance(total.answer, np.ndarray):
            return replace(total, answer=2 * total.answer)
        return total

    with mock.patch.object(partitioned_rows, "merge", twice):
        assert "entry cost" in {violation.check for violation in fits_on_workers()}


def test_coins_that_workers_toss_themselves_are_seen(one_fit):
    """One more row could then move all others to other trees."""

    def tossed(self, rows):
        rows.deal(self.shares, RowCoins(secrets.token_bytes(32)))
        return rows

    with mock.patch.object(DealByKey, "__call__", tossed):
        assert "entry cost" in {violation.check for violation in fits_on_workers()}


def test_fits_on_workers_are_functions_of_their_transcripts(one_fit, monkeypatch):
    assert transcripts_of_workers() == []
    begin = dask_rows.DaskRows.__init__

    def telling(self, client, parts, *others):
        print(f"{len(parts)} partitions")
        begin(self, client, parts, *others)

    monkeypatch.setattr(dask_rows.DaskRows, "__init__", telling)
    assert {violation.check for violation in transcripts_of_workers()} == {REPLAY}


def test_a_key_that_would_give_rows_the_coins_of_others_is_not_handed_out():
    request = CoinRequest((), np.arange(5, dtype=np.uint64), b"k" * 32)
    assert _AlignedCoins(np.arange(4), request).key_for_workers() == request.key
    assert request.readings == [(0, 4)]
    with pytest.raises(RuntimeError, match="stand by id"):
        _AlignedCoins(np.array([4, 0, 1]), request).key_for_workers()
