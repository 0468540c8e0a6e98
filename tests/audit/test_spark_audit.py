"""Fits on tasks of Spark are replayed, and a sum that counts a partition twice is seen."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from dpboost.audit import cluster_audit, parts
from dpboost.audit.cluster_audit import fits_on_spark, why_no_spark
from dpboost.cluster import partitioned_rows

pytestmark = pytest.mark.filterwarnings("ignore")
needs_spark = pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))


@needs_spark
@pytest.mark.nightly
def test_nothing_is_found_on_spark():
    assert fits_on_spark() == []


@needs_spark
@pytest.mark.nightly
def test_sums_that_are_added_twice_are_seen(monkeypatch):
    monkeypatch.setattr(cluster_audit, "FITS", cluster_audit.FITS[1:2])
    merge = partitioned_rows.merge

    def twice(*partials):
        total = merge(*partials)
        if isinstance(total.answer, np.ndarray):
            return replace(total, answer=2 * total.answer)
        return total

    with mock.patch.object(partitioned_rows, "merge", twice):
        assert "entry cost" in {violation.check for violation in fits_on_spark()}


def test_a_machine_without_java_is_named_in_the_audit(monkeypatch):
    monkeypatch.setattr(parts, "why_no_spark", lambda: "there is no Java runtime")
    plan = parts.plan(parts.Request(names=("spark",)))
    assert plan.parts == []
    assert "Spark: there is no Java runtime" in plan.left_out
    monkeypatch.setattr(parts, "why_no_spark", lambda: None)
    assert [part.name for part in parts.plan(parts.Request(names=("spark",))).parts] == ["spark"]
