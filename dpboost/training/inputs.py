"""The rows of a fit, each part read and checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, worded
from dpboost.data.batches import Batches
from dpboost.data.labels import check_same_length, read_class_labels, read_regression_labels
from dpboost.data.table import ColumnFacts, Reading, Table
from dpboost.data.users import read_users
from dpboost.privacy.recording import note
from dpboost.recipes.recipe import Recipe
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import Schema, lightgbm_name
from dpboost.training.privacy_params import PrivacyRequest


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GivenRows:
    """Rows as given by the user; private, and not read yet."""

    #: Table of shape (n_rows, n_features), or batches of one.
    X: Any
    #: Array-like of shape (n_rows,).
    y: Any
    #: Weights, and where scores begin.
    sample_weight: Any = None
    init_score: Any = None
    #: Array-like of shape (n_rows,). User of each row.
    user_ids: Any = None
    #: With the same columns: ``X`` itself, or its first batch once batches are opened.
    example: Any = None

    @property
    def batched(self) -> bool:
        """Whether they come in batches."""
        return isinstance(self.X, Batches)


class AsideRows(NamedTuple):
    """Rows that take no part in training.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
    reading : Reading
        How the table is to be read.
    """

    X: Any
    labels: NDArray[Any]
    reading: Reading


def users_of(
    user_ids: Any, privacy: PrivacyRequest, n_rows: int, owner: str
) -> NDArray[np.int64] | None:
    """Return the user of each row, where users are what is protected."""
    check_users(user_ids, privacy, owner)
    return None if user_ids is None else read_users(user_ids, n_rows)


def check_users(user_ids: Any, privacy: PrivacyRequest, owner: str) -> None:
    """Raise unless users and the maximum rows per user are given together."""
    if user_ids is not None and privacy.rows_per_user is None:
        raise InvalidParameterError(
            "user_ids, or a column with the role 'user' in the data dictionary, need the maximum "
            f"number of rows of a user, and {owner} has rows_per_user=None: pass both or neither. "
            "A column that protects no users has the role 'ignore'."
        )
    if user_ids is None and privacy.rows_per_user is not None:
        raise InvalidParameterError(
            f"{owner} protects users (rows_per_user={privacy.rows_per_user}), and needs the user "
            "of each row: pass both or neither. Pass fit(..., user_ids=...), or set the role "
            "'user' for a column of X in the data dictionary."
        )


def read_extras(
    sample_weight: Any, init_score: Any, n_rows: int, *, continues: bool = False
) -> RowExtras:
    """Check what rows have beside features and labels; nothing is said about the values.

    Parameters
    ----------
    sample_weight, init_score : array-like or None
    continues : bool
        Whether the scores are predictions of a model that is continued.
    """
    return RowExtras(
        sample_weight=read_weights(sample_weight, n_rows),
        init_scores=_init_scores(init_score, n_rows, continues),
    )


def nominal_columns(
    columns: tuple[str | int, ...], table: Table | ColumnFacts, schema: Schema, owner: str
) -> frozenset[int]:
    """Return the positions of numeric columns named as categorical whose categories are open."""
    if not columns:
        return frozenset()
    resolved = schema.resolve(table.feature_names)
    positions = set()
    for column in columns:
        position = column
        if isinstance(column, str):
            name = lightgbm_name(column)
            position = table.feature_names.index(name) if name in table.feature_names else -1
        if not isinstance(position, (int, np.integer)) or not 0 <= position < table.n_features:
            raise InvalidParameterError(
                f"The 'categorical_feature' argument of {owner} names the column {column!r}, "
                "which X does not have."
            )
        positions.add(int(position))
    for position in positions & {*resolved.bounds, *resolved.edges}:
        raise InvalidParameterError(
            f"The column {table.feature_names[position]!r} is named in 'categorical_feature', but "
            "Schema declares bounds or edges for it: declare categories instead."
        )
    return frozenset(positions - {*resolved.categories, *table.categorical})


def known_classes(labels: NDArray[Any], task: str, privacy: PrivacyRequest) -> Any:
    """Return the classes that are declared or assumed public, None if they are neither."""
    if task == "regression" or privacy.schema.classes is not None:
        return privacy.schema.classes if task != "regression" else None
    return tuple(np.unique(labels).tolist()) if "classes" in privacy.assume_public else None


def read_labels(y: Any, n_rows: int, task: str) -> NDArray[Any]:
    """Private labels of the right kind and length, refused when they are not."""
    labels = read_regression_labels(y) if task == "regression" else read_class_labels(y)
    check_same_length(n_rows, labels)
    return labels


def note_labels(labels: NDArray[Any], classes: Any) -> None:
    """Note for a replay what is public of labels: their set, where it is, and their type."""
    note("classes", None if classes is None else tuple(classes))
    note("labels are text", labels.dtype.kind == "U")


def check_kind(labels: NDArray[Any], classes: Sequence[Any]) -> None:
    """Raise if labels are text and their public classes numbers, or the other way round."""
    if {isinstance(value, str) for value in classes} != {labels.dtype.kind == "U"}:
        raise InvalidParameterError(
            f"The declared classes {', '.join(map(repr, classes[:10]))} and the labels must be of "
            "one kind, all text or all numbers: "
            + worded(
                "change Schema(classes=...) or y.", "change the values of the target in the schema."
            )
        )


def check_number_of_classes(n_classes: int, recipe: Recipe) -> None:
    """Raise when a recipe cannot learn so many classes; their set is public or released."""
    if n_classes > 2 and not recipe.multiclass:
        raise InvalidParameterError(
            f"Only binary classification is supported by recipe={recipe.name!r}. The type of the "
            "target is multiclass: "
            + worded(
                "use recipe='best', or declare two classes with Schema(classes=...).",
                "use --recipe best, or declare two values of the target in the schema.",
            )
        )
    if n_classes > recipe.most_classes:
        raise InvalidParameterError(
            f"The recipe {recipe.name!r} supports at most {recipe.most_classes} classes, and the "
            "labels have more. Unknown label type: for a regression use a regressor. Otherwise "
            "declare fewer"
            + worded(" with Schema(classes=...).", " values of the target in the schema.")
        )


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights of rows, None if there are none, or raise for what are no weights."""
    if sample_weight is None:
        return None
    weights = _numbers("sample_weight", sample_weight)
    if weights.ndim != 1:
        raise InvalidParameterError(
            "The 'sample_weight' parameter of fit must have one dimension. Sample weights must be "
            "1D array or scalar."
        )
    check_same_length(n_rows, weights)
    if (weights < 0).any():
        raise InvalidParameterError(
            "The 'sample_weight' parameter of fit must not be negative: a weight is the number of "
            "times that a row counts. Remove rows that must not count, or set their weight to 0."
        )
    return weights


def _init_scores(init_score: Any, n_rows: int, continues: bool) -> NDArray[np.float64] | None:
    """Scores by output; LightGBM's flat form has one output after the other."""
    if init_score is None:
        return None
    scores = _numbers("init_model" if continues else "init_score", init_score)
    if scores.ndim == 2 and len(scores) == n_rows:
        scores = scores.T
    elif scores.ndim == 1 and n_rows and len(scores) % n_rows == 0 and len(scores):
        scores = scores.reshape(-1, n_rows)
    elif scores.size == n_rows == 0:  # of a fold without rows, which no error may tell
        scores = scores.reshape(1, 0)
    else:
        raise InvalidParameterError(
            "The 'init_score' parameter of fit must have one number for each row, or one for each "
            "row and class."
        )
    return np.ascontiguousarray(scores)


def _numbers(name: str, values: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise InvalidParameterError(
            f"The {name!r} parameter of fit must be an array of finite numbers. Input contains "
            "NaN, infinity or something else."
        )
    return numbers
