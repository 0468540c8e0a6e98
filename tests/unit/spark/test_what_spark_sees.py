"""What comes into Spark's own books of a fit: no cell, no label and no sum."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from dpboost.spark import SparkDPBoostRegressor  # noqa: E402
from dpboost.spark import task_hub as hub_module  # noqa: E402
from dpboost.spark.spark_rows import SparkRows  # noqa: E402
from tests.unit.spark.rows import FEW, LABELS, NAMES, SCHEMA, on_spark, table  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def written(session):
    return "".join(
        path.read_text(errors="replace") for path in session.events.rglob("*") if path.is_file()
    )


def test_neither_rows_nor_sums_come_into_the_log_of_events(session, monkeypatch):
    sums, tokens = [], []
    complete, connect = SparkRows._complete, hub_module.TaskHub.__init__

    def noting(self, partial):
        sums.append(partial.answer)
        return complete(self, partial)

    def beginning(self, *arguments):
        connect(self, *arguments)
        tokens.append(self.address.token)

    monkeypatch.setattr(SparkRows, "_complete", noting)
    monkeypatch.setattr(hub_module.TaskHub, "__init__", beginning)
    frame = on_spark(session, 2)
    before = len(written(session))
    schema = SCHEMA | LABELS["regression"]
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", schema=schema, **FEW)
    own.fit(frame)
    log = written(session)[before:]
    assert "mapInArrow" in log or "MapInArrow" in log
    cells = [repr(value) for value in table().column("a").to_pylist()]
    labels = [repr(value) for value in table().column("regression").to_pylist()]
    found = set(map(repr, np.concatenate([np.ravel(s) for s in sums]).tolist()))
    large = {number for number in found if len(number) > 6}
    assert len(large) > 10
    words = set(re.findall(r"-?[\d.]+(?:e-?\d+)?", log))
    assert not words & {*cells, *labels}
    assert not words & large
    assert len(tokens) == 2
    assert not any(token.hex() in log for token in tokens)


def test_no_row_stays_with_spark(session):
    schema = SCHEMA | LABELS["regression"]
    context = session.sparkContext._jsc.sc()
    kept = len(context.getRDDStorageInfo())
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", schema=schema, **FEW)
    own.fit(on_spark(session, 2))
    assert len(context.getRDDStorageInfo()) == kept
