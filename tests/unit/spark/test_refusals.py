"""What cannot be had on Spark is refused, before anything is drawn or charged."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

import pyspark  # noqa: E402
from pyspark.sql import functions  # noqa: E402
from pyspark.sql.types import DoubleType  # noqa: E402

from dpboost import Budget, InvalidParameterError, evaluate  # noqa: E402
from dpboost.evaluating.evaluated_rows import read_rows  # noqa: E402
from dpboost.spark import (  # noqa: E402
    FitFailedError,
    SparkDPBoostClassifier,
    SparkDPBoostRegressor,
    SparkDPRegressionModel,
    SparkDPTreeRegressor,
    models,
)
from dpboost.spark.spark_rows import _why  # noqa: E402
from tests.unit.spark.rows import LABELS, NAMES, SCHEMA, on_spark, table  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SECRET = 1.2345678912345


@pytest.fixture(autouse=True)
def nothing_is_drawn(monkeypatch):
    drawn = []
    monkeypatch.setattr("dpboost.privacy.ledger.Ledger.release", lambda *_, **__: drawn.append(1))
    yield
    assert not drawn


def regress(frame, **more):
    given = {"featuresCols": NAMES, "labelCol": "regression", "verbosity": -1}
    schema = SCHEMA | LABELS["regression"]
    return SparkDPBoostRegressor(**given | {"schema": schema, **more}).fit(frame)


@pytest.fixture(scope="module")
def frame(session):
    return on_spark(session, 3).persist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"featuresCols": ["a", "q"]}, "'featuresCols' parameter .* names the column 'q'"),
        ({"labelCol": "q"}, "'labelCol' parameter .* names the column 'q'"),
        ({"weightCol": "q"}, "'weightCol' parameter .* names the column 'q'"),
        ({"userCol": "user"}, "pass both or neither"),
        ({"rows_per_user": 2}, "pass both or neither"),
        ({"rows_per_user": 2, "userCol": "b"}, "in several partitions"),
        ({"weightCol": "regression", "max_weight": 1.0}, "must not be negative"),
        ({"labelCol": "c"}, "NaN|missing|finite"),
        ({"epsilon": -1}, "'epsilon' parameter of SparkDPBoostRegressor"),
        ({"gradient_clip": 0.001, "n_estimators": 1}, "larger gradient_clip"),
    ],
)
def test_bad_parameters_and_rows_are_refused(frame, given, message):
    with pytest.raises(InvalidParameterError, match=message):
        regress(frame, **given)


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(InvalidParameterError, match=r"no parameter 'epsilom'.*lightgbmParams"):
        SparkDPBoostRegressor(epsilom=2)


def test_what_is_no_dataframe_of_this_driver_is_refused():
    with pytest.raises(InvalidParameterError, match=r"must be a pyspark\.sql\.DataFrame"):
        regress(table())
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(InvalidParameterError, match="does not run over Spark Connect"):
        regress(remote)


CONNECT = """
import sys
from pyspark.sql import SparkSession
from dpboost.spark import SparkDPBoostRegressor
session = SparkSession.builder.remote("local[1]").getOrCreate()
try:
    SparkDPBoostRegressor().fit(session.range(3))
except ValueError as error:
    print(f"refused: {error}")
finally:
    session.stop()
"""


@pytest.mark.nightly
def test_a_session_of_spark_connect_is_refused():
    pytest.importorskip("grpc_status", reason="the extra 'connect' of pyspark is not installed")
    if pyspark.__version__ < "4":
        pytest.skip("PySpark 3.5 has no server of Spark Connect in its package")
    run = [sys.executable, "-c", CONNECT]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert "refused: SparkDPBoostRegressor does not run over Spark Connect" in done.stdout, (
        done.stderr[-3000:]
    )


def test_a_machine_without_java_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    monkeypatch.setattr(models.SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(InvalidParameterError, match=r"needs Java 17 or later.*JAVA_HOME"):
        regress(table())
    with pytest.raises(InvalidParameterError, match=r"needs Java 17 or later.*JAVA_HOME"):
        SparkDPBoostRegressor.load(str(tmp_path))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"holdout": 0.3}, r"'holdout' argument .*memory of one process.*to_local"),
        ({"conformal": 0.9}, "'conformal' argument .*fit dpboost.DPBoostRegressor on rows"),
        ({"init_model": "model.txt"}, "'init_model' argument .*memory of one process"),
        ({"eval_set": [(1, 2)]}, "'eval_set' argument .*public rows"),
        ({"sample_weight": [1.0]}, "'sample_weight' argument .*weightCol"),
        ({"user_ids": [1]}, "'user_ids' argument .*userCol"),
        ({"epsilom": 1}, "'epsilom' argument .*is not known"),
    ],
)
def test_arguments_of_one_process_are_refused(given, message):
    with pytest.raises(InvalidParameterError, match=message):
        SparkDPBoostRegressor().fit(None, **given)
    with pytest.raises(InvalidParameterError, match="'callbacks' argument .*DPTreeRegressor"):
        SparkDPTreeRegressor().fit(None, callbacks=[print])


def test_rows_of_a_period_are_refused(frame):
    budget = Budget(epsilon=1, delta=1e-6, periods=1)
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", schema=SCHEMA)
    with pytest.raises(InvalidParameterError, match="does not take rows of Dask or Spark"):
        own.fit(frame, budget=budget.window("q0"), fraction=0.5)
    assert budget.lines == ()


def test_an_evaluation_names_what_it_takes(frame):
    model = SparkDPRegressionModel(None)
    budget = Budget(epsilon=1, delta=1e-6)
    with pytest.raises(InvalidParameterError, match=r"model.to_local\(\).*toPandas"):
        evaluate(model, frame, frame, budget=budget, fraction=0.5)
    with pytest.raises(InvalidParameterError, match="DataFrames of Spark are not read"):
        read_rows(frame, "evaluate")
    assert budget.lines == ()


def test_a_column_that_holds_no_vectors_is_refused(frame):
    own = SparkDPBoostRegressor(featuresCol="a", labelCol="regression")
    with pytest.raises(InvalidParameterError, match="VectorAssembler"):
        own.fit(frame)


def test_vectors_of_several_lengths_are_refused(session):
    from pyspark.ml.linalg import Vectors

    rows = [(Vectors.dense([1.0]), 1.0), (Vectors.dense([1.0, SECRET]), 0.0)]
    own = SparkDPBoostRegressor(schema={"label_bounds": (0, 1)})
    with pytest.raises(InvalidParameterError, match="of one length") as found:
        own.fit(session.createDataFrame(rows, ["features", "label"]).coalesce(1))
    assert str(SECRET) not in str(found.value)


def test_more_partitions_than_tasks_at_once_are_refused(session):
    with pytest.raises(InvalidParameterError, match="has 6 partitions, and the cluster runs 4"):
        regress(on_spark(session, 6))


def test_partitions_that_spark_puts_together_are_refused(session):
    with pytest.raises(InvalidParameterError, match=r"coalesce\(\), union\(\)"):
        regress(on_spark(session, 4).coalesce(2))


def test_executors_that_come_and_go_are_refused(session, monkeypatch):
    conf = {"spark.dynamicAllocation.enabled": "true", "spark.driver.host": "127.0.0.1"}
    monkeypatch.setattr(type(session.sparkContext), "getConf", lambda self: conf)
    with pytest.raises(InvalidParameterError, match="dynamicAllocation"):
        regress(on_spark(session, 2))


def test_a_table_without_rows_is_refused(frame):
    with pytest.raises(InvalidParameterError, match=r"0 sample\(s\)"):
        regress(frame.where("a > 5"))


@pytest.mark.nightly
def test_rows_that_are_others_at_each_reading_are_refused(session):
    """Drawn anew by an own function, as by a table to which somebody writes."""
    drawn = functions.udf(lambda: float(np.random.default_rng().random()), DoubleType())
    frame = on_spark(session, 2).withColumn("a", drawn.asNondeterministic()())
    with pytest.raises(InvalidParameterError, match="held other rows"):
        regress(frame)


def test_rows_in_another_order_at_each_reading_are_refused(session):
    def shuffle(batches):
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            yield from rows.take(np.random.default_rng().permutation(len(rows))).to_batches()

    frame = on_spark(session, 2)
    with pytest.raises(InvalidParameterError, match="in another order"):
        regress(frame.mapInArrow(shuffle, frame.schema))


def test_an_error_of_a_task_says_its_kind_and_no_cell(session, monkeypatch):
    def broken(batches):
        for batch in batches:
            raise ValueError(f"cell {SECRET}")
            yield batch

    frame = on_spark(session, 2)
    with pytest.raises(FitFailedError) as found:
        regress(frame.mapInArrow(broken, frame.schema))
    assert str(SECRET) not in str(found.value)
    assert found.value.__cause__ is None


def test_workers_without_the_package_are_named():
    error = _why(RuntimeError("ModuleNotFoundError: No module named 'dpboost'"))
    assert isinstance(error, InvalidParameterError)
    assert "PYSPARK_PYTHON" in str(error)


def test_classes_of_two_kinds_in_partitions_are_refused(session):
    rows = table().set_column(5, "classification", pa.array(["x"] * 240))
    own = SparkDPBoostClassifier(
        featuresCols=["a"], labelCol="classification", schema={"classes": [0, 1]}
    )
    with pytest.raises(InvalidParameterError, match="of one kind"):
        own.fit(on_spark(session, 2, rows))
