"""One fit on Spark, measured: ``python -m benchmarks.cluster.spark_one '{...}'``."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.cluster.one import Watcher

METHODS = ("best", "dpboost", "local")


@dataclass(frozen=True, kw_only=True)
class SparkRun:
    """What is fitted, on what.

    Parameters
    ----------
    method : {"best", "dpboost", "local"}
        A recipe on Spark, or ``best`` in this process on the same rows.
    rows, features : int
        Of the table, drawn by Spark from fixed seeds at each reading.
    partitions : int
        And tasks at once, with one thread each.
    rounds : int
    """

    method: str
    rows: int
    features: int
    partitions: int
    rounds: int


@dataclass(frozen=True, kw_only=True)
class SparkMeasured:
    """What it took.

    Parameters
    ----------
    seconds : float
        Of the whole fit, both readings included.
    round_seconds : float
        Median of the rounds after the first ones.
    sent_bytes, sum_bytes : float
        What all tasks together are reported and asked in a round, and what they return; mean of the
        rounds after the first ones, without what TLS adds.
    peak_bytes : int
        Largest sum of the resident sizes of driver, JVM and workers during the fit.
    """

    seconds: float
    round_seconds: float
    sent_bytes: float
    sum_bytes: float
    peak_bytes: int


def rows_of(session: Any, run: SparkRun) -> Any:
    """Return features between -1 and 1, and a label; the same at each reading."""
    from pyspark.sql import functions

    rows = session.range(0, run.rows, 1, run.partitions)
    drawn = [(functions.rand(seed) * 2 - 1).alias(f"x{seed}") for seed in range(run.features)]
    noise = (functions.rand(run.features) - 0.5).alias("noise")
    label = functions.expr("x0 + x1 * x2 + noise").alias("label")
    return rows.select(*drawn, noise).select("*", label).drop("noise")


def measure(run: SparkRun) -> SparkMeasured:
    """Start a session, fit once and return what it took."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{run.partitions}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    rows = rows_of(session, run)
    names = [f"x{position}" for position in range(run.features)]
    settings = {
        "schema": {"bounds": dict.fromkeys(names, (-1, 1)), "label_bounds": (-2.5, 2.5)},
        "recipe": "best" if run.method == "local" else run.method,
        "preset": "paper" if run.method == "dpboost" else None,
        "n_estimators": run.rounds,
        "random_state": 0,
        "verbosity": -1,
    }
    moved = _count_bytes()
    marks: list[tuple[float, int, int]] = []

    def look(_: Any) -> None:
        marks.append((time.perf_counter(), moved["sent"], moved["received"]))

    if run.method == "local":
        from dpboost import DPBoostRegressor

        table = rows.toPandas()
        X, y = table[names], table["label"]
        session.stop()
        start = time.perf_counter()
        with Watcher([]) as watcher:
            DPBoostRegressor(**settings).fit(X, y, callbacks=[look])
    else:
        from dpboost.spark import SparkDPBoostRegressor

        # The session, its Python workers and their imports are there before the clock starts.
        small = SparkRun(**{**asdict(run), "rows": 200 * run.partitions, "rounds": 1})
        own = SparkDPBoostRegressor(featuresCols=names, **{**settings, "n_estimators": 1})
        own.fit(rows_of(session, small))
        marks.clear()
        own = SparkDPBoostRegressor(featuresCols=names, **settings)
        start = time.perf_counter()
        with Watcher([]) as watcher:
            own.fit(rows, callbacks=[look])
    seconds = time.perf_counter() - start
    times, sent, received = np.diff(np.array(marks), axis=0)[len(marks) // 4 :].T
    return SparkMeasured(
        seconds=seconds,
        round_seconds=statistics.median(times),
        sent_bytes=statistics.mean(sent),
        sum_bytes=statistics.mean(received),
        peak_bytes=watcher.peak_bytes,
    )


def _count_bytes() -> dict[str, int]:
    """Count what the driver sends and receives from now on."""
    from dpboost.spark import task_hub

    moved = {"sent": 0, "received": 0}
    send, receive = task_hub.send, task_hub.receive

    def sending(link: Any, content: Any) -> None:
        moved["sent"] += len(content) if isinstance(content, bytes) else 0
        send(link, content)

    def receiving(link: Any) -> bytes:
        content = receive(link)
        moved["received"] += len(content)
        return content

    task_hub.send, task_hub.receive = sending, receiving
    return moved


if __name__ == "__main__":
    print(json.dumps(asdict(measure(SparkRun(**json.loads(sys.argv[1]))))))
