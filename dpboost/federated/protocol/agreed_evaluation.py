"""What an agreement says of an evaluation: its recipe is ``"evaluation"``, its terms are in hyper.

The model is a text that all parties have: each predicts its own rows by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.table import Table
from dpboost.evaluating.evaluate import metric_names, quantile_level
from dpboost.evaluating.evaluated_rows import MOST_GROUPS, Groups
from dpboost.evaluating.saved_model import SavedClassifier, SavedRegressor, level_of, objective_of
from dpboost.federated.protocol.agreement import Agreement
from dpboost.lightgbm.booster import Booster
from dpboost.schema import lightgbm_name

#: The recipe of such an agreement.
EVALUATION = "evaluation"
_TERMS = ("model", "metrics", "groups")
# Links that give probabilities.
_OF_CLASSES = ("binary", "cross_entropy", "multiclass", "multiclassova")
_OWNER = "an evaluation over parties"


@dataclass(frozen=True, kw_only=True, eq=False)
class AgreedEvaluation:
    """The model of an agreement, and what is asked of it.

    Parameters
    ----------
    model : SavedRegressor
        With classes or label bounds of the agreement.
    metrics : tuple of str
    column : int or None
        Position of the column whose values are groups.
    names : tuple
        Of the groups; rows of no named one are a group as well.
    """

    model: SavedRegressor
    metrics: tuple[str, ...]
    column: int | None
    names: tuple[Any, ...]

    @classmethod
    def of(cls, agreement: Agreement) -> AgreedEvaluation:
        """Read and check the terms of an agreement.

        Raises
        ------
        InvalidParameterError
            If they are not those of an evaluation, or do not fit its schema.
        """
        if agreement.recipe != EVALUATION:
            raise refuse("recipe", _OWNER, repr(EVALUATION), agreement.recipe)
        if set(agreement.hyper) != set(_TERMS):
            must = f"a dict of {', '.join(_TERMS)}"
            raise refuse("hyper", _OWNER, must, sorted(agreement.hyper))
        if agreement.weighted or agreement.objective or agreement.init_model is not None:
            raise InvalidParameterError(
                f"The agreement on {_OWNER} must leave out 'weighted', 'objective' and "
                "'init_model': all rows weigh the same, and nothing is trained."
            )
        text, metrics, groups = (agreement.hyper[name] for name in _TERMS)
        if not isinstance(text, str):
            raise refuse("model", _OWNER, "a model text", type(text).__name__)
        model = _model(Booster(model_str=text), agreement)
        names = metric_names(model, None if metrics is None else tuple(metrics))
        return cls(model=model, metrics=names, **_groups(groups, agreement))

    @property
    def groups(self) -> Groups:
        """The groups, without any row."""
        return Groups(names=self.names, codes=np.zeros(0, dtype=np.int64))

    @property
    def quantile(self) -> float | None:
        """Level of the quantile loss, where it is asked for."""
        return quantile_level(self.model) if "quantile_loss" in self.metrics else None

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


def _model(booster: Booster, agreement: Agreement) -> SavedRegressor:
    """Return the model with the labels of the agreement."""
    names = [lightgbm_name(name) for name in agreement.features]
    if booster.feature_name() != names:
        raise InvalidParameterError(
            f"The 'features' of the agreement on {_OWNER} must be the columns of its model, in "
            "their order."
        )
    lists = [list(values) for _, values in sorted(agreement.listed.items())]
    if lists != [list(values) for values in booster.pandas_categorical or []]:
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
