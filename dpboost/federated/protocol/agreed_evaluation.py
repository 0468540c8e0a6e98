"""Agreements on an evaluation: the recipe is ``"evaluation"``, the terms are in ``hyper``.

All parties have the model text, and each predicts its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.table import Table
from dpboost.evaluating.evaluate import metric_names
from dpboost.evaluating.evaluated_rows import MOST_GROUPS, Groups
from dpboost.evaluating.saved_model import SavedClassifier, SavedRegressor, level_of, objective_of
from dpboost.federated.protocol.agreement import AgreedFolds, Agreement
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.init_model import has_categories
from dpboost.schema import lightgbm_name

#: The recipe of such an agreement.
EVALUATION = "evaluation"
_TERMS = ("model", "metrics", "groups")
# Links that give probabilities.
_OF_CLASSES = ("binary", "cross_entropy", "multiclass", "multiclassova")
_OWNER = "an evaluation over parties"


@dataclass(frozen=True, kw_only=True, eq=False)
class AgreedEvaluation:
    """The model of an agreement, or that of each fold, and the requested metrics.

    Groups are named values of a column, given by its index, and all other rows; or the folds.
    """

    models: tuple[SavedRegressor, ...]
    metrics: tuple[str, ...]
    column: int | None
    names: tuple[Any, ...]
    by_fold: bool = False

    @classmethod
    def of(cls, agreement: Agreement) -> AgreedEvaluation:
        """Read and check the terms of an agreement."""
        if agreement.recipe != EVALUATION:
            raise refuse("recipe", _OWNER, repr(EVALUATION), agreement.recipe)
        if agreement.folds is not None and not agreement.folds.is_evaluation:
            raise refuse("folds", _OWNER, "those of an evaluation", agreement.folds)
        if set(agreement.hyper) != set(_TERMS):
            must = f"a dict of {', '.join(_TERMS)}"
            raise refuse("hyper", _OWNER, must, sorted(agreement.hyper))
        if agreement.weighted or agreement.objective or agreement.init_model is not None:
            raise InvalidParameterError(
                f"The agreement on {_OWNER} must leave out 'weighted', 'objective' and "
                "'init_model': all rows weigh the same, and nothing is trained."
            )
        text, metrics, groups = (agreement.hyper[name] for name in _TERMS)
        models = tuple(
            _model(Booster(model_str=each), agreement) for each in _texts(text, agreement.folds)
        )
        names = metric_names(models[0], None if metrics is None else tuple(metrics))
        if agreement.folds is None:
            return cls(models=models, metrics=names, **_groups(groups, agreement))
        if groups is not None:
            raise refuse("groups", _OWNER, "None where folds are the groups", groups)
        folds = tuple(range(agreement.folds.n_folds))
        return cls(models=models, metrics=names, column=None, names=folds, by_fold=True)

    @property
    def model(self) -> SavedRegressor:
        """The model, or that of the first fold: all have the same labels."""
        return self.models[0]

    @property
    def groups(self) -> Groups:
        """The groups, without any row."""
        codes = np.zeros(0, dtype=np.int64)
        return Groups(names=self.names, codes=codes, others=not self.by_fold)

    def group_codes(self, table: Table, listed: dict[int, list[Any]]) -> NDArray[np.int64]:
        """Return the group of each row: its position, one more where it is not named."""
        codes = np.full(table.n_rows, len(self.names), dtype=np.int64)
        if self.column is None:
            codes[:] = 0
            return codes
        values, known = table.column(self.column), listed.get(self.column)
        for position, name in enumerate(self.names):
            if known is None:
                codes[values == name] = position
            elif name in known:
                codes[values == known.index(name)] = position
        return codes


def _texts(text: Any, folds: AgreedFolds | None) -> tuple[str, ...]:
    """Return the text of the model, or those of all folds."""
    if folds is None:
        if not isinstance(text, str):
            raise refuse("model", _OWNER, "a model text", type(text).__name__)
        return (text,)
    listed = tuple(text) if isinstance(text, (tuple, list)) else ()
    if len(listed) != folds.n_folds or not all(isinstance(each, str) for each in listed):
        raise refuse("model", _OWNER, "a model text for each fold", type(text).__name__)
    return listed


def _model(booster: Booster, agreement: Agreement) -> SavedRegressor:
    """Return the model with the labels of the agreement."""
    names = [lightgbm_name(name) for name in agreement.features]
    if booster.feature_name() != names:
        raise InvalidParameterError(
            f"The 'features' of the agreement on {_OWNER} must be the columns of its model, in "
            "their order."
        )
    if not has_categories(booster, agreement.listed):
        raise InvalidParameterError(
            f"The categories in the schema of the agreement on {_OWNER} must be those of its "
            "model, in their order."
        )
    schema = agreement.declared.resolve(agreement.features)
    objective = objective_of(booster).split(" ")[0]
    n_trees = booster.num_model_per_iteration()
    if agreement.task == "classification":
        classes = list(schema.classes or ())
        outputs = 1 if len(classes) == 2 else len(classes)
        if objective not in _OF_CLASSES or len(classes) < 2 or n_trees != outputs:
            raise InvalidParameterError(
                f"The schema of the agreement on {_OWNER} must list the classes of its model, "
                "which gives their probabilities."
            )
        order = np.empty(len(classes), dtype=object)
        order[:] = classes
        return SavedClassifier(booster_=booster, schema_=schema, classes_=order)
    if schema.label_bounds is None or n_trees != 1:
        raise InvalidParameterError(
            f"The schema of the agreement on {_OWNER} must say the label bounds, and its model "
            "must predict one number."
        )
    return SavedRegressor(booster_=booster, schema_=schema, alpha=level_of(booster))


def _groups(groups: Any, agreement: Agreement) -> dict[str, Any]:
    """Return column and names of the groups, of ``(column, names)``."""
    if groups is None:
        return {"column": None, "names": ()}
    pair = isinstance(groups, (tuple, list)) and len(groups) == 2
    if not pair or groups[0] not in agreement.features or not isinstance(groups[1], (tuple, list)):
        raise refuse("groups", _OWNER, "a column of the agreement, and its values", groups)
    names = tuple(groups[1])
    plain = all(isinstance(name, (str, int, float)) for name in names)
    if not plain or not 1 <= len(names) <= MOST_GROUPS or len(set(names)) < len(names):
        must = f"1 to {MOST_GROUPS} different numbers or texts"
        raise refuse("groups", _OWNER, must, names[:10])
    if "other" in names:
        raise refuse("groups", _OWNER, "other names than 'other'", names[:10])
    return {"column": agreement.features.index(groups[0]), "names": names}
