"""Fits to rows on the workers of a Dask or Spark cluster: replays on neighbors and without rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from dpboost.audit.neighboring_pairs import Pair, pair_of
from dpboost.audit.non_interference import non_interference
from dpboost.audit.pair_replay import Fit, replay_pair
from dpboost.audit.recorded_calls import FOR_CLASSES, FOR_NUMBERS, LABELS, NUMBERS, X
from dpboost.audit.recorded_calls import N_ROWS as N_CALL_ROWS
from dpboost.audit.run_trace import Violation
from dpboost.privacy.sensitivity.bound import Neighbors

#: Rows that the neighbors share, and those of a partition.
N_ROWS, PARTITION = 40, 16

#: Recipe, delta and parameters of a fit; the rows of the second are assigned to trees at random.
FITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("best", {"delta": 1e-6}),
    ("dpboost", {"delta": 0.0, "trees_per_ensemble": 3}),
    ("seq", {"delta": 0.0}),
)


def fits_on_workers() -> list[Violation]:
    """Replay fits on a cluster of this process, under both relations and in both directions.

    The row that differs is the last one: workers make coins of the numbers of rows.
    """
    with _workers() as client:
        return _replayed(_cases(client))


def fits_on_spark() -> list[Violation]:
    """Replay fits on a Spark session of this machine, whose tasks are processes of their own."""
    with _session() as session:
        return _replayed(_spark_cases(session))


def _replayed(cases: Iterable[tuple[Fit, Pair]]) -> list[Violation]:
    """Replay each fit on its pair in both directions."""
    return [
        violation
        for fit, pair in cases
        for one in (pair, pair.swapped)
        for violation in replay_pair(fit, one).violations
    ]


def why_no_spark() -> str | None:
    """Say what is missing for a Spark session here; None if nothing is."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        return "the extra 'spark' is not installed"
    from dpboost.spark.models import has_java

    return None if has_java() else "there is no Java runtime"


def transcripts_of_workers() -> list[Violation]:
    """Record fits on workers, and compare them with replays and with fits on far tables here."""
    import dask.array

    from dpboost.dask import DaskDPBoostClassifier, DaskDPBoostRegressor

    found: list[Violation] = []
    rows = dask.array.from_array(X, chunks=(PARTITION, 3))
    with _workers() as client:
        for kind, labels, schema in (
            (DaskDPBoostClassifier, LABELS, FOR_CLASSES),
            (DaskDPBoostRegressor, NUMBERS, FOR_NUMBERS),
        ):
            own = dask.array.from_array(labels, chunks=PARTITION)
            for recipe, settings in FITS:
                model = kind(
                    client=client,
                    recipe=recipe,
                    schema=schema,
                    **{"n_estimators": 3, "max_depth": 2, "verbosity": 0, "n_jobs": 1, **settings},
                )
                fit = partial(model.fit, rows, own)
                found += non_interference(fit, N_CALL_ROWS, every_size=False).violations
    # The cluster itself draws from global generators.
    return [each for each in found if each.check != "side effect"]


@contextmanager
def _workers() -> Iterator[Any]:
    """Open a cluster in this process."""
    from distributed import Client, LocalCluster

    cluster = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(processes=False, **cluster) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _session() -> Iterator[Any]:
    """Open a Spark session of two tasks at once."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("OFF")
        yield session
    finally:
        session.stop()


def _spark_cases(session: Any) -> Iterator[tuple[Fit, Pair]]:
    """Yield two fits of numbers, one with rows that are assigned to trees at random, in secret."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (N_ROWS, 2)).astype(float)
    y = np.tile([-1.0, 1.0], N_ROWS // 2)
    pair = pair_of(X, y, np.ones(2), 1.0, Neighbors.ADD_REMOVE, instead=(np.zeros(2), -1.0))
    for recipe, settings in FITS[:2]:
        yield _spark_fit_of(session, {"recipe": recipe, **settings}), pair


def _spark_fit_of(session: Any, terms: dict[str, Any]) -> Fit:
    """Return a fit to two partitions that shows model text and report."""
    from dpboost.spark import SparkDPBoostRegressor

    schema = {"bounds": {"a": (0.0, 1.0), "b": (0.0, 1.0)}, "label_bounds": (-1.0, 1.0)}
    given = {
        **{"schema": schema, "n_estimators": 3, "max_depth": 2, "max_bin": 4},
        **{"random_state": 0, "n_jobs": 1},
    }

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        rows = [(*row, label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
        frame = session.createDataFrame(
            session.sparkContext.parallelize(rows, 2), "a double, b double, label double"
        )
        own = SparkDPBoostRegressor(featuresCols=["a", "b"], verbosity=0, **given, **terms)
        model = own.fit(frame)
        return {
            "model text": model.to_local().booster_.model_to_string(),
            "report": model.privacy_report_.details(),
        }

    return fit


def _cases(client: Any) -> Iterator[tuple[Fit, Pair]]:
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (N_ROWS, 2)).astype(float)
    for neighbors in Neighbors:
        for recipe, settings in FITS:
            for classes in (False, True):
                y = random.integers(0, 2, N_ROWS) if classes else np.tile([-1.0, 1.0], N_ROWS // 2)
                labels = (1, 0) if classes else (1.0, -1.0)
                pair = pair_of(
                    X, y, np.ones(2), labels[0], neighbors, instead=(np.zeros(2), labels[1])
                )
                terms = {"recipe": recipe, "neighbors": neighbors.value, **settings}
                yield _fit_of(client, classes, terms), pair


def _fit_of(client: Any, classes: bool, terms: dict[str, Any]) -> Fit:
    """Return a fit to partitions that shows model text, report and fitted values."""
    import dask.array

    from dpboost.dask import DaskDPBoostClassifier, DaskDPBoostRegressor

    kind = DaskDPBoostClassifier if classes else DaskDPBoostRegressor
    labels = {"classes": [0, 1]} if classes else {"label_bounds": (-1.0, 1.0)}
    schema = {"bounds": dict.fromkeys(range(2), (0.0, 1.0)), **labels}

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        model = kind(
            client=client,
            schema=schema,
            n_estimators=3,
            max_depth=2,
            max_bin=4,
            random_state=0,
            verbosity=0,
            n_jobs=1,  # by default their number follows the load, which no table decides
            **terms,
        ).fit(
            dask.array.from_array(X, chunks=(PARTITION, 2)),
            dask.array.from_array(y, chunks=PARTITION),
        )
        return {
            "model text": model.booster_.model_to_string(),
            "report": model.privacy_report_.details(),
            "importances": model.feature_importances_.tolist(),
        }

    return fit
