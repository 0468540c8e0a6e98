"""Models for Spark pipelines: fitted estimators that transform DataFrames."""

from __future__ import annotations

import base64
import os
import pickle
import shutil
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import SparkSession, functions

from dpboost._utils.validation import InvalidParameterError
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.spark.spark_rows import column_of


class SparkColumns(HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol):
    """Column name parameters of estimators and models in ``pyspark.ml``."""

    featuresCols: Param[list[str]] = Param(
        Params._dummy(),
        "featuresCols",
        "names of the columns of features, in place of one column of vectors",
    )
    userCol: Param[str] = Param(
        Params._dummy(),
        "userCol",
        "name of the column of user ids, if rows_per_user protects users",
    )

    def _features(self) -> tuple[tuple[str, ...], bool]:
        """Return the columns of features, and whether they are one of vectors."""
        if self.isSet("featuresCols"):
            return tuple(self.getOrDefault("featuresCols")), False
        return (self.getFeaturesCol(),), True


class ClassColumns(HasProbabilityCol, HasRawPredictionCol):
    """Names of the additional output columns of classifiers."""


class _Writer(MLWriter):
    """Saves one object with its parameters."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write to a folder of any file system that Spark knows."""
        given = {param.name: value for param, value in self.instance.extractParamMap().items()}
        content = cloudpickle.dumps((given, getattr(self.instance, "local", None)))
        extra = {"content": base64.b64encode(content).decode("ascii")}
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sc, extra, paramMap={})


class _Reader(MLReader[Any]):
    """Load an object that `_Writer` has saved."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Load from the folder; as for any pickle, the source must be trusted."""
        check_java()
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        given, local = pickle.loads(base64.b64decode(metadata["content"]))
        instance = self.kind() if local is None else self.kind(local)
        instance._resetUid(metadata["uid"])
        return instance._set(**given)


def has_java() -> bool:
    """Return whether Spark can find a Java runtime."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=None if home is None else os.path.join(home, "bin"))
    return found is not None


def check_java() -> None:
    """Raise if there is neither a Spark session nor a Java runtime to start one."""
    if SparkSession.getActiveSession() is None and not has_java():
        raise InvalidParameterError(
            "Spark needs Java 17 or later, and there is none: install a Java runtime, or set "
            "JAVA_HOME to where it is."
        )


class Stored(MLReadable[Any], MLWritable):
    """Mixin to save and load objects as in ``pyspark.ml``."""

    def write(self) -> MLWriter:
        """Return what saves this object."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return what loads such objects."""
        return _Reader(cls)


class SparkDPRegressionModel(Model, SparkColumns, Stored):
    """A released regressor that adds a column of predictions to DataFrames.

    Parameters
    ----------
    local : DPBoostRegressor or DPTreeRegressor
        Fitted.

    Privacy
    -------
    Post-processing of what was released.

    Examples
    --------
    What a fit of this process released, for DataFrames: ``model.transform(frame)`` adds columns.

    >>> import numpy as np
    >>> import dpboost
    >>> from dpboost.spark import SparkDPRegressionModel
    >>> X = np.random.default_rng(0).uniform(size=(300, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    >>> local = dpboost.DPTreeRegressor(epsilon=1.0, schema=schema).fit(X, X[:, 0])
    >>> model = SparkDPRegressionModel(local)
    >>> model.to_local() is local, model.privacy_report_.private
    (True, True)
    """

    def __init__(self, local: Any) -> None:
        super().__init__()
        self.local = local

    def to_local(self) -> Any:
        """Return the model as an estimator of this process.

        Returns
        -------
        DPBoostRegressor, DPBoostClassifier, DPTreeRegressor or DPTreeClassifier
            With its text, report and certificate, and with its transcript unless the model was
            loaded from a file.
        """
        return self.local

    @property
    def privacy_report_(self) -> PrivacyReport:
        """The privacy report of the fit."""
        report: PrivacyReport = self.local.privacy_report_
        return report

    @property
    def numFeatures(self) -> int:
        """Number of features, as in models of ``pyspark.ml``."""
        n_features: int = self.local.ensemble_.binner.n_features
        return n_features

    def _outputs(self) -> dict[str, str]:
        """Return the output columns with their types."""
        several = self.local.ensemble_.n_outputs > 1
        return {self.getPredictionCol(): "array<double>" if several else "double"}

    def _values(self, X: Any) -> list[np.ndarray]:
        """Return the output values in the order of `_outputs`."""
        return [self.local.predict(X)]

    def _transform(self, dataset: Any) -> Any:
        names, vector = self._features()
        features = [column_of(name) for name in names]
        if vector:
            features = [vector_to_array(features[0]).alias("features")]
        outputs = self._outputs()
        values = self._values
        kinds = {name: kind.replace("vector", "array<double>") for name, kind in outputs.items()}

        def predict(rows: pd.DataFrame) -> pd.DataFrame:
            found = values(np.stack(rows.iloc[:, 0].tolist()) if vector else rows)
            return pd.DataFrame({f"c{n}": list(each) for n, each in enumerate(found)})

        # PySpark types this function differently in each release.
        pandas_udf: Any = functions.pandas_udf
        added = ", ".join(f"c{n} {kind}" for n, kind in enumerate(kinds.values()))
        found = "_predictions"
        result = dataset.withColumn(
            found, pandas_udf(predict, returnType=added)(functions.struct(*features))
        )
        for number, (name, kind) in enumerate(outputs.items()):
            own = functions.col(f"{found}.c{number}")
            result = result.withColumn(name, array_to_vector(own) if kind == "vector" else own)
        return result.drop(found)


class SparkDPClassificationModel(SparkDPRegressionModel, ClassColumns):
    """A released classifier that adds columns of raw scores, probabilities and predictions.

    Parameters
    ----------
    local : DPBoostClassifier or DPTreeClassifier
        Fitted.

    Privacy
    -------
    Post-processing of what was released.

    Examples
    --------
    What a fit of this process released, for DataFrames: ``model.transform(frame)`` adds columns.

    >>> import numpy as np
    >>> import dpboost
    >>> from dpboost.spark import SparkDPClassificationModel
    >>> X = np.random.default_rng(0).uniform(size=(300, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "classes": [0, 1]}
    >>> local = dpboost.DPTreeClassifier(epsilon=1.0, schema=schema).fit(X, (X[:, 0] > 0.5) * 1)
    >>> model = SparkDPClassificationModel(local)
    >>> model.to_local() is local, model.privacy_report_.private
    (True, True)
    """

    @property
    def numClasses(self) -> int:
        """Number of classes, as in models of ``pyspark.ml``."""
        return len(self.local.classes_)

    def _outputs(self) -> dict[str, str]:
        kind = "string" if self.local.classes_.dtype.kind == "U" else "double"
        return {
            self.getRawPredictionCol(): "vector",
            self.getProbabilityCol(): "vector",
            self.getPredictionCol(): kind,
        }

    def _values(self, X: Any) -> list[np.ndarray]:
        raw = self.local.decision_function(X)
        raw = np.column_stack((-raw, raw)) if raw.ndim == 1 else raw
        probability = self.local.predict_proba(X)
        return [raw, probability, self.local.classes_[probability.argmax(axis=1)]]
