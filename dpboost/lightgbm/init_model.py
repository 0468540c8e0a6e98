"""Continuation of a released model: trees are kept, and scores start from its predictions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import scipy.sparse
from lightgbm.basic import LightGBMError
from numpy.typing import NDArray

from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.conform import conform
from dpboost.data.containers import as_array
from dpboost.data.table import Table
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.constraint_check import check_constraints
from dpboost.lightgbm.model_text.syntax import text_of_parts, text_parts
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.schema import Category, Column, Schema

_AVERAGES = re.compile(r"^average_output$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, eq=False)
class EarlierModel:
    """A model that is continued."""

    booster: Booster
    #: What predicts: the estimator that was given, or the booster.
    model: Any
    #: None for a model without one; what continues it is then not private.
    report: PrivacyReport | None
    #: Labels in their order, where the model knows them.
    classes: tuple[Any, ...] | None

    @classmethod
    def of(cls, init_model: Any) -> EarlierModel:
        """Read what a user may pass as ``init_model``.

        That is a fitted estimator of this library or of LightGBM, a Booster of either, or a model
        file. InvalidParameterError for anything else, an estimator that is not fitted, or a file
        that is no model.
        """
        classes, model = None, init_model
        found = init_model
        if hasattr(found, "booster_") or isinstance(found, lightgbm.LGBMModel):
            try:
                found = found.booster_
            except (AttributeError, ValueError) as error:
                raise _refused(init_model) from error
            classes = getattr(init_model, "classes_", None)
        if isinstance(found, lightgbm.Booster):
            text = found.model_to_string(num_iteration=-1)
            booster = Booster(model_str=text)
        elif isinstance(found, (str, os.PathLike)) and Path(found).is_file():
            booster = Booster(model_file=Path(found))
        else:
            raise _refused(init_model)
        if not hasattr(model, "ensemble_"):
            model = booster
        if _AVERAGES.search(booster.model_to_string(num_iteration=1)):
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model whose trees are added up. Got "
                "one of boosting='rf', which averages them: give its predictions as init_score."
            )
        return cls(
            booster=booster,
            model=model,
            report=booster.privacy_report,
            classes=None if classes is None else tuple(np.asarray(classes).tolist()),
        )

    def completed(self, schema: Schema, table: Table) -> Schema:
        """Declare the lists of categories of this model, which is public, where others do not.

        The table has the columns of the fit; only their names and kinds are looked at.
        InvalidParameterError if this model was released without any category of a column.
        """
        lists = self.booster.pandas_categorical or []
        if len(lists) != len(table.categorical):
            return schema
        known = schema.resolve(table.feature_names).categories
        added: dict[Column, tuple[Category, ...]] = {}
        for position, values in zip(sorted(table.categorical), lists, strict=True):
            if position in known:
                continue
            if not values:
                raise InvalidParameterError(
                    "The 'init_model' parameter of fit must be a model that knows categories of "
                    f"the column {table.feature_names[position]!r}: train it with "
                    "Schema(categories=...)."
                )
            added[position] = tuple(values)
        own = {column: values for column, values in schema.categories.items() if values}
        return replace(schema, categories={**own, **added})

    def raw_scores(self, X: Any, table: Table) -> NDArray[np.float64]:
        """Predict the private rows: where their scores start.

        ``X`` is what was passed to ``fit``, ``table`` the same, read. Returns an array of shape
        (n_rows,) or (n_rows, n_outputs).

        Privacy
        -------
        A map of each row by released trees; private like the row.
        """
        if table.n_features != self.booster.num_feature():
            raise InvalidParameterError(
                f"The 'init_model' parameter of fit is a model of {self.booster.num_feature()} "
                f"features. Got a table of {table.n_features}."
            )
        if not has_categories(self.booster, table.categorical):
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model of the same categorical columns "
                "with the same categories in the same order."
            )
        if table.n_rows == 0:  # a fold of few rows may leave none, which no error may tell
            shape = (0,) if self.n_outputs == 1 else (0, self.n_outputs)
            return np.empty(shape)
        return self.predict(X)

    def check_constraints(self, monotone: Any, interactions: Any, owner: str) -> None:
        """Raise unless this model keeps to the constraints of the one that continues it.

        Parameters
        ----------
        monotone, interactions : any
            As `dpboost.check_constraints` takes them.
        """
        found = check_constraints(self.booster, monotone, interactions)
        if not found:
            raise InvalidParameterError(
                f"The 'init_model' parameter of {owner} must be a model whose trees keep to the "
                f"constraints of this one: {'; '.join(found.reasons)}. Train it under them, or "
                "leave them out."
            )

    @property
    def n_outputs(self) -> int:
        """Raw scores of a row."""
        return int(self.booster.num_model_per_iteration())

    @property
    def n_rounds(self) -> int:
        """Rounds of this model, each with a tree for each output."""
        return int(self.booster.current_iteration())

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict raw scores of any rows."""
        own = self.model is self.booster
        rows = _as_doubles(X) if own else conform(X, self.model.ensemble_.binner)
        try:
            return np.asarray(self.booster.predict(rows, raw_score=True), dtype=np.float64)
        except (LightGBMError, ValueError, TypeError) as error:
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model that can predict the rows X."
            ) from error

    def prepend(self, text: str) -> str:
        """Put the trees of this model before those of a text that continues it."""
        head, new, tail = text_parts(text)
        _, blocks, _ = text_parts(self.booster.model_to_string(num_iteration=-1))
        return text_of_parts(head, [*blocks, *new], tail)


def _as_doubles(X: Any) -> Any:
    """Numbers as doubles: LightGBM would round integers to single precision."""
    if scipy.sparse.issparse(X):
        return checked_sparse(X)
    if hasattr(X, "columns"):
        return X
    array = as_array(X)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _refused(init_model: Any) -> InvalidParameterError:
    got = init_model if isinstance(init_model, (str, os.PathLike)) else type(init_model).__name__
    return refuse("init_model", "fit", "a fitted estimator, a Booster or a model file", got)


def has_categories(booster: Booster, listed: Mapping[int, Sequence[Any]]) -> bool:
    """Return whether a model has these lists of categories, by the positions of their columns."""
    lists = [list(values) for _, values in sorted(listed.items())]
    return lists == [list(values) for values in booster.pandas_categorical or []]
