"""What cannot be had on Spark is refused, before anything is drawn or charged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from pyspark.sql import functions  # noqa: E402
from pyspark.sql.types import DoubleType  # noqa: E402

from dpboost import InvalidParameterError  # noqa: E402
from dpboost.spark import FitFailedError, SparkDPBoostClassifier, SparkDPBoostRegressor  # noqa: E402
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
