"""The private rows of an evaluation: their predictions, labels and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.containers import is_batched, is_distributed, is_frame, unpack
from dpboost.data.labels import (
    check_same_length,
    encode_classes,
    read_class_labels,
    read_regression_labels,
)
from dpboost.evaluating.score_bins import LARGEST_SCORE
from dpboost.rows.evaluation_queries import PredictedRows, ScoredRows
from dpboost.schema import lightgbm_name

#: Groups that may be declared.
MOST_GROUPS = 1000


def is_classifier(model: Any) -> bool:
    """Return whether a model gives probabilities of public classes.

    InvalidParameterError for what is no fitted model of this library, and for a classifier that was
    fitted with a function as objective: it gives raw scores.
    """
    if hasattr(model, "to_local"):
        raise InvalidParameterError(
            "The 'model' argument of evaluate must be an estimator of one process, but this one "
            "is of a cluster: pass model.to_local(), and load all evaluated rows into this process "
            "(toPandas() of Spark, compute() of Dask)."
        )
    if not hasattr(model, "predict") or not hasattr(model, "schema_"):
        raise InvalidParameterError(
            "The 'model' argument of evaluate must be a fitted estimator of dpboost: its classes "
            "or label bounds limit the contribution of a row."
        )
    classifier = hasattr(model, "predict_proba") and hasattr(model, "classes_")
    if classifier and callable(getattr(model, "objective", None)):
        raise refuse(
            "objective",
            "an evaluated classifier",
            "one of LightGBM's names: the link of a function's raw scores is unknown",
            "a function",
        )
    return classifier


def read_rows(X: Any, owner: str) -> tuple[Any, int]:
    """Return a table of private rows, and their number.

    InvalidParameterError for rows that are not in the memory of this process.
    """
    if is_batched(X) or is_distributed(X):
        raise InvalidParameterError(
            f"The 'X' argument of {owner} must be in the memory of this process: batches, Dask "
            "collections and DataFrames of Spark are not read. Load the rows into this process, "
            "or a subset that is chosen independently of their content."
        )
    X = unpack(X)
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise refuse("X", owner, "a table with rows and columns", type(X).__name__)
    return X, int(X.shape[0])


def scored_rows(
    model: Any, X: Any, y: Any, n_rows: int, groups: NDArray[np.int64], **options: int
) -> tuple[ScoredRows, NDArray[np.bool_]]:
    """Score rows with a classifier, and tell which have a label that it knows."""
    labels = read_class_labels(y)
    check_same_length(n_rows, labels)
    classes = model.classes_.tolist()
    codes, known = encode_classes(labels, classes)
    if n_rows:
        probability = np.asarray(model.predict_proba(X, **options), dtype=np.float64)
    else:
        probability = np.empty((0, len(classes)))
    hits = probability.argmax(axis=1) == codes if len(classes) > 1 else np.ones(len(codes), bool)
    own = probability[:, 1:2] if len(classes) == 2 else probability
    own = np.nan_to_num(own, nan=0.5)
    scores = np.log(own) - np.log1p(-own)
    rows = ScoredRows(
        scores=np.ascontiguousarray(np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE).T),
        labels=codes,
        groups=groups,
        hits=hits,
    )
    return rows, known


def predicted_rows(
    model: Any, X: Any, y: Any, n_rows: int, groups: NDArray[np.int64], **options: int
) -> PredictedRows:
    """Predict rows with a regressor, labels and predictions clipped to its label bounds."""
    labels = read_regression_labels(y)
    check_same_length(n_rows, labels)
    low, high = model.schema_.label_bounds
    found = model.predict(X, **options) if n_rows else np.empty(0)
    predictions = np.asarray(found, dtype=np.float64)
    middle = low / 2 + high / 2
    return PredictedRows(
        labels=np.clip(labels, low, high),
        predictions=np.clip(np.nan_to_num(predictions, nan=middle), low, high),
        groups=groups,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Public groups, and the private one of each row."""

    #: Declared; none for all rows together.
    names: tuple[Any, ...]
    #: Of shape (n_rows,). Position among the names; one more for rows of no declared group.
    codes: NDArray[np.int64]
    #: Whether there may be rows of no declared group.
    others: bool = True

    @property
    def n_groups(self) -> int:
        """How many there are, the one of all others included."""
        return max(len(self.listed), 1)

    @property
    def listed(self) -> tuple[Any, ...]:
        """Their names, ``"other"`` for rows of no declared group; none without groups."""
        return (*self.names, "other") if self.names and self.others else self.names

    @classmethod
    def read(cls, groups: Any, X: Any, n_rows: int, model: Any, *, held: bool) -> Groups:
        """Return the groups that a user asks for.

        ``groups`` is a column, a column or values with names, or None. The schema of the model
        lists the categories of a column; ``held`` says whether the rows were held out by secret
        random assignment.
        """
        if groups is None:
            return cls(names=(), codes=np.zeros(n_rows, dtype=np.int64))
        pair = isinstance(groups, tuple) and len(groups) == 2 and _is_list(groups[1])
        of_rows, declared = groups if pair else (groups, None)
        if isinstance(of_rows, (str, int, np.integer)):
            if declared is None:
                declared = _listed(of_rows, model)
            values = _column(of_rows, X)
        elif declared is None or held:
            raise refuse(
                "groups",
                "evaluate",
                "a column of X, or (column, names)"
                if held
                else "a column of X, or (column or values of the rows, names)",
                groups,
            )
        else:
            values = np.asarray(of_rows)
            check_same_length(n_rows, values)
        names = tuple(declared)
        if not 1 <= len(names) <= MOST_GROUPS or len(set(names)) < len(names) or "other" in names:
            must = f"with 1 to {MOST_GROUPS} different names, none of them 'other'"
            raise refuse("groups", "evaluate", must, names[:10])
        codes = np.full(n_rows, len(names), dtype=np.int64)
        for position, name in enumerate(names):
            codes[np.array([value == name for value in values.tolist()], dtype=bool)] = position
        return cls(names=names, codes=codes)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray, range))


def _position(column: Any, model: Any) -> int:
    if isinstance(column, str):
        names = list(model.ensemble_.binner.feature_names)
        if lightgbm_name(column) not in names:
            raise refuse("groups", "evaluate", "a column of X", column)
        return names.index(lightgbm_name(column))
    return int(column)


def _listed(column: Any, model: Any) -> Sequence[Any]:
    found = model.schema_.categories.get(_position(column, model))
    if found is None:
        raise InvalidParameterError(
            f"The 'groups' argument of evaluate names the column {column!r}, whose values are "
            "not declared: pass groups=(column, names)."
        )
    return list(found)


def _column(column: Any, X: Any) -> NDArray[Any]:
    if is_frame(X) and column in X.columns:
        return np.asarray(X[column])
    inside = not isinstance(column, str) and 0 <= int(column) < X.shape[1]
    if inside and is_frame(X):
        return np.asarray(X.iloc[:, int(column)])
    if inside and isinstance(X, np.ndarray):
        return X[:, int(column)]
    raise refuse("groups", "evaluate", "a column of X", column)
