"""A Spark session of this machine for the tests of the room."""

from __future__ import annotations

import os
import sys

import pytest


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """Four tasks at once, and Spark's own log of events."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    from dpboost.spark.models import has_java

    if not has_java():
        pytest.skip("there is no Java runtime")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    events = tmp_path_factory.mktemp("events")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.sql.shuffle.partitions": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    found.events = events
    yield found
    found.stop()
