"""A model text as a model that predicts tables and may be judged."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.table_files import typed
from dpboost.lightgbm.booster import Booster
from dpboost.schema import ResolvedSchema, Schema


def rows_of(booster: Any, table: Any, path: str) -> Any:
    """Return the columns of a table that a model knows, in its order and with its types.

    Parameters
    ----------
    booster : Booster
    table : DataFrame
    path : str
        Of the table, for messages.

    Returns
    -------
    DataFrame

    Raises
    ------
    InvalidParameterError
        For a table that lacks a column of the model.
    """
    known = {str(name).replace(" ", "_"): name for name in table.columns}
    names = booster.feature_name()
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidParameterError(
            f"The file {path!r} lacks columns of the model: {', '.join(missing)}."
        )
    columns = table[[known[name] for name in names]].set_axis(names, axis=1)
    lists = dict(zip(_nominal(booster), booster.pandas_categorical or [], strict=False))
    return typed(columns, lists, {name for name in names if name not in lists})


def objective_of(booster: Any) -> str:
    """Return LightGBM's name of an objective, with its parameters."""
    return str(booster.dump_model(num_iteration=1).get("objective", ""))


def _nominal(booster: Any) -> list[str]:
    """Names of the columns that hold categories, in their order."""
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    return [name for name in booster.feature_name() if infos.get(name, {}).get("values")]


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedRegressor:
    """What ``dpboost.evaluate`` asks of a regressor.

    Attributes
    ----------
    booster_ : Booster
    schema_ : ResolvedSchema
        With the label bounds, to which labels and predictions are clipped.
    alpha : float or None
        Level of a model of a quantile.
    """

    booster_: Any
    schema_: ResolvedSchema
    alpha: float | None = None

    @property
    def ensemble_(self) -> SimpleNamespace:
        """The objective, the number of outputs, and names of features."""
        return SimpleNamespace(
            objective=objective_of(self.booster_),
            n_outputs=self.booster_.num_model_per_iteration(),
            binner=SimpleNamespace(feature_names=self.booster_.feature_name()),
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict with the model."""
        return np.asarray(self.booster_.predict(X), dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedClassifier(SavedRegressor):
    """What ``dpboost.evaluate`` asks of a classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Declared, in the order in which the model has them.
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        found = super().predict(X)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found


def saved_model(booster: Booster, schema: Schema, labels: str) -> SavedRegressor:
    """Return a model text with what a schema says of its labels.

    Parameters
    ----------
    booster : Booster
    schema : Schema
        With classes or label bounds.
    labels : str
        What the user calls them, for messages.

    Raises
    ------
    InvalidParameterError
        Where the schema does not have the labels of the model.
    """
    objective, *options = objective_of(booster).split(" ")
    n_trees = booster.num_model_per_iteration()
    if objective in ("binary", "multiclass", "multiclassova"):
        n_classes = max(2, n_trees)
        if schema.classes is None or len(schema.classes) != n_classes:
            raise InvalidParameterError(
                f"The model has {n_classes} classes: list as many values of {labels} in the "
                "schema, those of the fit."
            )
        classes = np.array(sorted(schema.classes), dtype=_kind(schema.classes))
        return SavedClassifier(
            booster_=booster, schema_=schema.resolve(booster.feature_name()), classes_=classes
        )
    if schema.label_bounds is None:
        raise InvalidParameterError(
            f"The model predicts a number: say the range of {labels} in the schema."
        )
    levels = [float(each.partition(":")[2]) for each in options if each.startswith("alpha:")]
    return SavedRegressor(
        booster_=booster,
        schema_=schema.resolve(booster.feature_name()),
        alpha=levels[0] if levels else None,
    )


def _kind(classes: tuple[Any, ...]) -> Any:
    return object if all(isinstance(label, str) for label in classes) else None
