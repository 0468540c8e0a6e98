"""Private estimators for Spark DataFrames, with the interface of ``pyspark.ml``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pyspark.ml import Estimator
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.budget import Budget
from dpboost.data.containers import unpack
from dpboost.estimators import docs
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.tree_estimators import DPTreeClassifier, DPTreeRegressor
from dpboost.spark.models import (
    ClassColumns,
    SparkColumns,
    SparkDPClassificationModel,
    SparkDPRegressionModel,
    Stored,
    check_java,
)
from dpboost.spark.spark_rows import column_of, fit_dataframe
from dpboost.spark.task import Columns
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.request import FitRequest

#: Arguments of the local ``fit`` that Spark has not, with what there is in their place.
_ONE_PROCESS = (
    "works on rows in the memory of one process only: fit dpboost.{local} on rows that the driver "
    "holds"
)
_PUBLIC_ROWS = (
    "has no place on Spark: evaluate the model afterwards, by model.transform(...) on public rows"
)
_NOT_HERE = {
    "callbacks": "is for rounds, and dpboost.{local} has none",
    "holdout": f"{_ONE_PROCESS}, or evaluate the model on them with model.to_local()",
    "conformal": _ONE_PROCESS,
    "init_model": _ONE_PROCESS,
    "init_score": _ONE_PROCESS,
    "eval_set": _PUBLIC_ROWS,
    "eval_X": _PUBLIC_ROWS,
    "eval_y": _PUBLIC_ROWS,
    "eval_metric": _PUBLIC_ROWS,
    "eval_names": _PUBLIC_ROWS,
    "sample_weight": "is a column of the DataFrame: name it in weightCol='...'",
    "user_ids": "is a column of the DataFrame: name it in userCol='...'",
    "y": "is a column of the DataFrame: name it in labelCol='...'",
    "feature_name": "is what featuresCols=[...] says",
    "categorical_feature": "is what the schema says: Schema(categories={'column': [...]})",
}

_COLUMNS = """    featuresCol : str, default="features"
        Column of vectors.
    featuresCols : list of str, optional
        Columns of numbers or declared categories instead of a column of vectors; null is missing.
    labelCol : str, default="label"
    weightCol, userCol : str, optional
        Columns of row weights and of user ids.
    predictionCol, probabilityCol, rawPredictionCol : str
        Output columns, by default ``"prediction"``, ``"probability"`` and ``"rawPrediction"``; a
        regressor adds only the first.
    lightgbmParams : dict, optional
        Further parameters of LightGBM by name.
"""

_EXAMPLE = """
Examples
--------
>>> from pyspark.sql import SparkSession
>>> from dpboost.spark import {name}
>>> spark = SparkSession.builder.master("local[2]").getOrCreate()
>>> rows = spark.createDataFrame([(i % 10 / 10, {label}) for i in range(300)], ["x", "y"])
>>> schema = {{"bounds": {{"x": (0, 1)}}, {declared}}}
>>> estimator = {name}(
...     epsilon=1.0, delta=1e-6, schema=schema, featuresCols=["x"], labelCol="y"
... )
>>> model = estimator.fit(rows)
>>> model.transform(rows).columns
{columns}
>>> model.privacy_report_.private
True
>>> spark.stop()
"""


def _defaults(local: type) -> dict[str, Any]:
    """Return the parameters of an estimator of this process, with their default values."""
    init: Any = local.__init__
    named = list(inspect.signature(init).parameters.values())[1:]
    return {each.name: each.default for each in named if each.kind is not each.VAR_KEYWORD}


class _Rows:
    """Column names of a DataFrame for the fit on the driver, without access to rows."""

    def __init__(self, frame: Any, columns: Columns) -> None:
        self.frame = frame
        self.own = columns
        self.n_features = len(columns.features)
        if not columns.vector:
            self.columns = list(columns.features)

    @property
    def public_example(self) -> Any:
        """A table without rows that has the names and types of the columns."""
        if self.own.vector:
            return np.zeros((1, self.n_features))
        features = self.frame.select(*map(column_of, self.own.features))
        return unpack(to_arrow_schema(features.schema).empty_table())


class _OnSpark:
    """Mixin that trains an estimator on Spark; a base before the estimator of one process."""

    def _train(self, rows: GivenRows, request: FitRequest) -> FittedModel:
        given: _Rows = rows.X
        fitted = fit_dataframe(given.frame, given.own, rows, request)
        given.n_features = fitted.ensemble.binner.n_features
        return fitted


class _SparkEstimator(Estimator[Any], SparkColumns, Stored):
    """Shared code of the four estimators."""

    _local: ClassVar[type]
    _there: ClassVar[type]
    _model: ClassVar[type]

    lightgbmParams: Param[dict[str, Any]] = Param(
        Params._dummy(),
        "lightgbmParams",
        "further parameters of LightGBM by their names",
    )

    def __init_subclass__(cls) -> None:
        """Set the parameters and docstring of the local estimator."""
        super().__init_subclass__()
        local = cls._local
        for name in _defaults(local):
            setattr(cls, name, Param(Params._dummy(), name, f"as in dpboost.{local.__name__}"))
        cls._there = type(cls.__name__, (_OnSpark, local), {"__module__": cls.__module__})
        text = docs.docstring_of(local)
        before, _, _ = text.partition("**kwargs" if "**kwargs" in text else "\nAttributes\n")
        several = issubclass(cls, ClassColumns)
        example = _EXAMPLE.format(
            name=cls.__name__,
            label="i % 2" if several else "i % 3 / 2",
            declared='"classes": [0, 1]' if several else '"label_bounds": (0, 1)',
            columns=[
                "x",
                "y",
                *(["rawPrediction", "probability"] if several else []),
                "prediction",
            ],
        )
        cls.__doc__ = f"{before}{textwrap.dedent(_COLUMNS)}{example}"

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        self._setDefault(**_defaults(self._local))
        self.setParams(**parameters)

    def setParams(self, **parameters: Any) -> Any:
        """Set parameters of this estimator.

        Raises
        ------
        InvalidParameterError
            If a name is unknown.
        """
        for name in parameters:
            if not self.hasParam(name):
                raise InvalidParameterError(
                    f"{type(self).__name__} has no parameter {name!r}: other names of LightGBM go "
                    "into lightgbmParams={...}."
                )
        return self._set(**parameters)

    def fit(
        self,
        dataset: Any,
        params: Any = None,
        *,
        budget: Budget | None = None,
        fraction: float | Fraction | None = None,
        callbacks: Sequence[Callable[..., Any]] | None = None,
        **others: Any,
    ) -> Any:
        """Train privately on the rows of a DataFrame.

        Parameters
        ----------
        dataset : pyspark.sql.DataFrame
            Must return the same rows in the same order at each reading, with at most as many
            partitions as the cluster runs concurrent tasks.
        params : dict, or list of them, optional
            Parameters that override those of this estimator, as in ``pyspark.ml``; a list gives one
            model for each item.
        budget, fraction, callbacks : optional
            As in :meth:`dpboost.DPBoostClassifier.fit`; a tree has no callbacks.
        **others
            Other arguments of that method are refused; the message names an alternative on Spark.

        Returns
        -------
        SparkDPClassificationModel or SparkDPRegressionModel

        Raises
        ------
        InvalidParameterError
            If parameters or input are invalid, before anything is drawn or charged, or the rows of
            a partition change when it is read again.
        BudgetExceededError
            If too little of the budget remains; nothing is drawn or charged.
        FitFailedError
            If the Spark job fails.

        Privacy
        -------
        Uses ``epsilon`` once, or its fraction of the budget, even if tasks are retried; see
        ``privacy_report_``.
        """
        local: Any = self._local
        if callbacks is not None and "callbacks" not in inspect.signature(local.fit).parameters:
            others["callbacks"] = callbacks
        for name in others:
            cure = _NOT_HERE.get(name, "is not known: see the parameters of this method")
            raise InvalidParameterError(
                f"The {name!r} argument of {type(self).__name__}.fit "
                f"{cure.format(local=local.__name__)}."
            )
        options: dict[str, Any] = {"budget": budget, "fraction": fraction, "callbacks": callbacks}
        if isinstance(params, (list, tuple)):
            return [self.fit(dataset, each, **options) for each in params]
        own = self.copy(params) if params else self
        return own._fit(dataset, **options)

    def _fit(self, dataset: Any, **options: Any) -> Any:
        columns = self._columns(dataset)
        given = {param.name: value for param, value in self._paramMap.items()}
        known = {name: given[name] for name in _defaults(self._local) if name in given}
        options = {name: value for name, value in options.items() if value is not None}
        local = self._there(**known, **given.get("lightgbmParams", {}))
        local.fit(
            _Rows(dataset, columns),
            columns.label,
            sample_weight=columns.weight,
            user_ids=columns.user,
            **options,
        )
        local.__class__ = self._local
        return self._copyValues(self._model(local))

    def _columns(self, dataset: Any) -> Columns:
        """Return the roles of columns, or raise if the DataFrame lacks them."""
        owner = type(self).__name__
        if type(dataset).__module__.startswith("pyspark.sql.connect"):
            raise InvalidParameterError(
                f"{owner} does not run over Spark Connect, which has no barrier stages of its "
                "own: use a session of the driver, SparkSession.builder.master(...)."
            )
        if not isinstance(dataset, DataFrame):
            check_java()
            raise refuse("dataset", f"{owner}.fit", "a pyspark.sql.DataFrame", dataset)
        features, vector = self._features()
        optional = {
            name: self.getOrDefault(name) if self.isDefined(name) else None
            for name in ("weightCol", "userCol")
        }
        asked = {"featuresCol" if vector else "featuresCols": features}
        asked["labelCol"] = (self.getLabelCol(),)
        asked |= {name: (each,) for name, each in optional.items() if each is not None}
        for parameter, names in asked.items():
            for name in names:
                if name not in dataset.columns:
                    raise InvalidParameterError(
                        f"The {parameter!r} parameter of {owner} names the column {name!r}, which "
                        "the DataFrame does not have."
                    )
        if vector and not isinstance(dataset.schema[features[0]].dataType, VectorUDT):
            raise InvalidParameterError(
                f"The column {features[0]!r} of 'featuresCol' does not hold vectors: assemble one "
                "with VectorAssembler, or name plain columns in featuresCols=[...]."
            )
        return Columns(
            features=features,
            vector=vector,
            label=self.getLabelCol(),
            weight=optional["weightCol"],
            user=optional["userCol"],
        )


class SparkDPBoostRegressor(_SparkEstimator):
    """Differentially private gradient boosting for regression on a Spark cluster."""

    _local = DPBoostRegressor
    _model = SparkDPRegressionModel


class SparkDPBoostClassifier(_SparkEstimator, ClassColumns):
    """Differentially private gradient boosting for classification on a Spark cluster."""

    _local = DPBoostClassifier
    _model = SparkDPClassificationModel


class SparkDPTreeRegressor(_SparkEstimator):
    """Differentially private regression tree on a Spark cluster."""

    _local = DPTreeRegressor
    _model = SparkDPRegressionModel


class SparkDPTreeClassifier(_SparkEstimator, ClassColumns):
    """Differentially private classification tree on a Spark cluster."""

    _local = DPTreeClassifier
    _model = SparkDPClassificationModel
