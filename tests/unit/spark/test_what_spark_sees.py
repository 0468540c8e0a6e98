"""What comes into Spark's log of events and onto its page: no cell, no label and no sum."""

from __future__ import annotations

import re
from urllib.request import urlopen

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


# Not the environment, whose settings of the session have round numbers as sums have.
PAGES = ("jobs", "stages", "storage", "executors", "SQL")
LISTS = ("jobs", "stages?details=true", "executors", "storage/rdd", "sql")


def shown(session):
    """What the web page shows of a running session, and what its REST API says."""
    context = session.sparkContext
    api = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
    addresses = [f"{context.uiWebUrl}/{page}/" for page in PAGES]
    addresses += [f"{api}/{name}" for name in LISTS]
    found = []
    for address in addresses:
        with urlopen(address, timeout=60) as page:
            found.append(page.read().decode())
    return "".join(found)


def test_neither_rows_nor_sums_come_into_log_and_page(session, monkeypatch):
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
    page = shown(session)
    for text in (log, page):
        assert "mapInArrow" in text or "MapInArrow" in text
    cells = [repr(value) for value in table().column("a").to_pylist()]
    labels = [repr(value) for value in table().column("regression").to_pylist()]
    found = set(map(repr, np.concatenate([np.ravel(s) for s in sums]).tolist()))
    large = {number for number in found if len(number) > 6}
    assert len(large) > 10
    for text in (log, page):
        words = set(re.findall(r"-?[\d.]+(?:e-?\d+)?", text))
        assert not words & {*cells, *labels}
        assert sorted(words & large) == []
    assert len(tokens) == 2
    assert not any(token.hex() in log + page for token in tokens)


def test_no_row_stays_with_spark(session):
    schema = SCHEMA | LABELS["regression"]
    context = session.sparkContext._jsc.sc()
    kept = len(context.getRDDStorageInfo())
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", schema=schema, **FEW)
    own.fit(on_spark(session, 2))
    assert len(context.getRDDStorageInfo()) == kept
