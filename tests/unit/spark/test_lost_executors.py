"""Executors that are killed cost time, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from dpboost import DPBoostRegressor, InvalidParameterError  # noqa: E402
from dpboost.privacy.ledger import Ledger  # noqa: E402
from dpboost.spark import SparkDPBoostRegressor  # noqa: E402
from dpboost.spark.models import has_java  # noqa: E402
from tests.unit.spark.losing import OPTIONS, descendants  # noqa: E402
from tests.unit.spark.rows import NAMES, on_spark, table  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not has_java(), reason="there is no Java runtime"),
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
]
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.nightly
def test_a_killed_executor_changes_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.spark.losing", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["killed"] == 2
    # Twice each before the first loss, and once each after either.
    assert found["readings"] >= 8
    assert found["same text"]
    assert found["same report"]
    assert found["releases"][0] == found["releases"][1] > 6


@pytest.fixture
def lost(session, tmp_path):
    """A frame whose rows change once its Python workers are killed, which a callback does."""
    rows = on_spark(session, 2)
    changed = tmp_path / "changed"

    def read(batches):
        for batch in batches:
            yield batch.slice(1) if changed.exists() else batch

    def kill(*, and_change):
        if and_change:
            changed.touch()
        for process in descendants(session.sparkContext._gateway.proc.pid):
            with suppress(OSError):
                if "pyspark" in Path(f"/proc/{process}/cmdline").read_text():
                    os.kill(process, signal.SIGKILL)

    yield rows.mapInArrow(read, rows.schema), kill
    # Spark may hand dead workers to the next tasks, which fail with them.
    for _ in range(20):
        with suppress(Exception):
            session.range(0, 8, 1, 4).mapInArrow(lambda batches: batches, "id long").collect()


def counted(monkeypatch):
    """Return a list that gets an entry for each release."""
    drawn = []
    release = Ledger.release
    monkeypatch.setattr(
        Ledger, "release", lambda *each, **more: drawn.append(1) or release(*each, **more)
    )
    return drawn


def fitted(lost, monkeypatch, *, and_change):
    """Return the model, or the error, of a fit that loses its workers; and its releases."""
    drawn = counted(monkeypatch)
    frame, kill = lost
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", **OPTIONS)
    look = [lambda env: kill(and_change=and_change) if env.iteration == 2 else None]
    try:
        return own.fit(frame, callbacks=look).to_local(), len(drawn)
    except InvalidParameterError as error:
        return error, len(drawn)


@pytest.mark.filterwarnings("ignore")
def test_tasks_that_are_tried_again_are_told_what_was_released(lost, monkeypatch):
    model, n_releases = fitted(lost, monkeypatch, and_change=False)
    monkeypatch.undo()
    drawn = counted(monkeypatch)
    rows = table()
    labels = rows.column("regression").to_numpy()
    expected = DPBoostRegressor(**OPTIONS).fit(rows.select(NAMES), labels)
    assert model.booster_.model_to_string() == expected.booster_.model_to_string()
    assert model.privacy_report_.to_dict() == expected.privacy_report_.to_dict()
    assert len(drawn) == n_releases


@pytest.mark.filterwarnings("ignore")
def test_rows_that_are_others_when_they_are_read_again_end_the_fit(lost, monkeypatch):
    error, n_releases = fitted(lost, monkeypatch, and_change=True)
    assert "held other rows" in str(error)
    assert n_releases > 0
