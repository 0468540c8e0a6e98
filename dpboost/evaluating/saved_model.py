"""Adapters that evaluate a model text."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.booster import Booster
from dpboost.schema import ResolvedSchema, Schema


def objective_of(booster: Any) -> str:
    """Return LightGBM's name of an objective, with its parameters."""
    return str(booster.dump_model(num_iteration=1).get("objective", ""))


def level_of(booster: Booster) -> float | None:
    """Return the level of a model of a quantile, which the report has and the text has not."""
    report = booster.privacy_report
    level = None if report is None else report.facts.get("alpha")
    return float(level) if isinstance(level, (int, float)) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedRegressor:
    """The regressor interface that ``dpboost.evaluate`` uses.

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

    def predict(self, X: Any, **options: int) -> NDArray[np.float64]:
        """Predict with the model."""
        return np.asarray(self.booster_.predict(X, **options), dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedClassifier(SavedRegressor):
    """The classifier interface that ``dpboost.evaluate`` uses.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Declared, in the order in which the model has them.
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Any, **options: int) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        found = self.predict(X, **options)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found


def saved_model(booster: Booster, schema: Schema, labels: str) -> SavedRegressor:
    """Return a model text with what a schema says of its labels.

    The schema has classes or label bounds, which messages call ``labels``. InvalidParameterError
    where it does not have the labels of the model.
    """
    objective = objective_of(booster).split(" ")[0]
    n_trees = booster.num_model_per_iteration()
    if objective in ("binary", "multiclass", "multiclassova"):
        n_classes = max(2, n_trees)
        if schema.classes is None or len(schema.classes) != n_classes:
            raise InvalidParameterError(
                f"The model has {n_classes} classes: list the same number of values of {labels} "
                "in the schema, as in the fit."
            )
        classes = np.array(sorted(schema.classes), dtype=_kind(schema.classes))
        return SavedClassifier(
            booster_=booster, schema_=schema.resolve(booster.feature_name()), classes_=classes
        )
    if schema.label_bounds is None:
        raise InvalidParameterError(
            f"The model predicts a number: declare the range of {labels} in the schema."
        )
    return SavedRegressor(
        booster_=booster,
        schema_=schema.resolve(booster.feature_name()),
        alpha=level_of(booster),
    )


def _kind(classes: tuple[Any, ...]) -> Any:
    return object if all(isinstance(label, str) for label in classes) else None
