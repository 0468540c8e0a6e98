"""Conversion of the arguments of ``fit`` other than rows and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.budgeting.claim import Claim
from dpboost.data.evaluation_rows import (
    is_training_pair,
)
from dpboost.data.table import Reading
from dpboost.estimators.evaluation_sets import STOPPING, Evaluator, PublicSet
from dpboost.lightgbm.installed import metric_function


@dataclass(frozen=True)
class Feval:
    """A metric of ``(predictions, dataset)``, as ``train`` takes it."""

    function: Callable[..., Any]

    def __call__(self, predictions: Any, dataset: Any) -> Any:
        """Apply the function."""
        return self.function(predictions, dataset)


@dataclass(frozen=True, kw_only=True, eq=False)
class FitOptions:
    """Arguments of ``fit`` other than its rows."""

    #: Rows that anyone may see, with a mark instead of the training rows.
    evaluation: Sequence[tuple[Any, Any]] = ()
    #: One for each of them.
    eval_names: Any = None
    eval_sample_weight: Any = None
    eval_class_weight: Any = None
    eval_init_score: Any = None
    #: LightGBM's names, or ``f(y_true, y_pred[, weight])``.
    eval_metric: Any = None
    feature_name: Any = "auto"
    categorical_feature: Any = "auto"
    callbacks: Any = None
    #: A released model to continue.
    init_model: Any = None
    #: What the fit takes of a budget.
    claim: Claim | None = None
    #: Part of the rows that intervals or sets of predictions are to cover.
    conformal: float | None = None

    def reading(self, fit: Mapping[str, Any]) -> Reading:
        """Return how the table is to be read."""
        names = self.feature_name
        categorical = self.categorical_feature
        if isinstance(categorical, str) and categorical == "auto":
            categorical = fit.get("categorical_feature", ())
        return Reading(
            feature_names=None if _is_auto(names) else tuple(names),
            categorical=_columns(categorical),
            zero_as_missing=bool(fit.get("zero_as_missing", False)),
        )

    def evaluator(
        self,
        *,
        fit: Mapping[str, Any],
        parameters: Mapping[str, Any],
        task: str,
        owner: str,
    ) -> Evaluator | None:
        """Return what looks on while the model is trained, None if nothing does.

        Parameters
        ----------
        fit : mapping
            Parameters that ``fit`` reads, by LightGBM's canonical names.
        parameters : mapping
            All parameters, for callbacks.
        task : {"regression", "classification"}
        """
        sets, skipped = self._sets()
        callbacks = list(self.callbacks or ())
        if sets:
            callbacks += _early_stopping(fit, parameters)
        elif self.stopping(fit, owner) is not None:
            callbacks = [each for each in callbacks if not isinstance(each, STOPPING)]
        if not sets and not skipped and not callbacks:
            return None
        metrics, functions = named_metrics(self.eval_metric, fit.get("metric"))
        return Evaluator(
            owner=owner,
            task=task,
            sets=sets,
            skipped=skipped,
            metrics=metrics,
            and_default=fit.get("metric") is None,
            functions=functions,
            callbacks=callbacks,
            parameters=dict(parameters),
            metric_parameters=metric_parameters(fit, parameters),
            zero_as_missing=bool(fit.get("zero_as_missing", False)),
        )

    def stopping(self, fit: Mapping[str, Any], owner: str) -> int | None:
        """Return after how many rounds without an improvement held out rows end training.

        Parameters
        ----------
        fit : mapping
            Parameters that ``fit`` reads, by LightGBM's canonical names.

        Returns
        -------
        int or None
            None if none are held out, where no one asks for it, or where public rows do it.

        Raises
        ------
        InvalidParameterError
            If improvements below a size are to count as none, which noise decides here.
        """
        held = self.claim is not None and self.claim.holdout is not None
        if not held or self.evaluation:
            return None
        asked = [each for each in self.callbacks or () if isinstance(each, STOPPING)]
        own: Any = asked[0] if asked else None
        rounds = own.stopping_rounds if asked else fit.get("early_stopping_round") or 0
        least = own.min_delta if asked else fit.get("early_stopping_min_delta") or 0.0
        if check_integer("early_stopping_round", owner, rounds) <= 0:
            return None
        if least not in (0, 0.0, [0.0]):
            raise refuse(
                "early_stopping_min_delta",
                owner,
                "0 where rows held out stop training: less than its noise is no improvement",
                least,
            )
        return rounds

    def continued(self, predict: Callable[[Any], NDArray[np.float64]]) -> FitOptions:
        """Return options whose evaluation sets begin where a released model has brought them."""
        offsets: list[Any] = []
        for position, (own_X, own_y) in enumerate(self.evaluation):
            if is_training_pair((own_X, own_y)):
                offsets.append(None)
                continue
            given = _item(self.eval_init_score, "eval_init_score", position)
            offsets.append(predict(own_X) + (0.0 if given is None else np.asarray(given)))
        return replace(self, eval_init_score=offsets) if offsets else self

    def _sets(self) -> tuple[list[PublicSet], str | None]:
        """Return the public sets, and what the training rows are called if they are among them."""
        sets: list[PublicSet] = []
        skipped = None
        for position, (own_X, own_y) in enumerate(self.evaluation):
            name = _item(self.eval_names, "eval_names", position)
            if is_training_pair((own_X, own_y)):
                # As in LightGBM, which has one such set, whatever its position.
                skipped = "training" if name is None else str(name)
                continue
            weight = _item(self.eval_sample_weight, "eval_sample_weight", position)
            class_weight = _item(self.eval_class_weight, "eval_class_weight", position)
            if class_weight is not None:
                of_class = compute_sample_weight(class_weight, own_y)
                weight = of_class if weight is None else np.multiply(weight, of_class)
            sets.append(
                PublicSet(
                    name=f"valid_{position}" if name is None else str(name),
                    X=own_X,
                    y=own_y,
                    weight=weight,
                    init_score=_item(self.eval_init_score, "eval_init_score", position),
                )
            )
        return sets, skipped


def _item(collection: Any, name: str, position: int) -> Any:
    """Return what is given for the evaluation set at this position."""
    if collection is None:
        return None
    if isinstance(collection, str):
        collection = [collection]
    if isinstance(collection, Mapping):
        return collection.get(position)
    if not isinstance(collection, (list, tuple)):
        raise InvalidParameterError(f"{name} should be dict or list")
    return collection[position] if position < len(collection) else None


def _early_stopping(
    fit: Mapping[str, Any], parameters: Mapping[str, Any]
) -> list[Callable[..., Any]]:
    """Return LightGBM's callback where parameters ask for it."""
    rounds = fit.get("early_stopping_round") or 0
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)):
        raise InvalidParameterError(
            f"early_stopping_round should be an integer. Got {type(rounds).__name__!r}"
        )
    if rounds <= 0:
        return []
    return [
        lightgbm.early_stopping(
            stopping_rounds=int(rounds),
            first_metric_only=bool(fit.get("first_metric_only", False)),
            min_delta=fit.get("early_stopping_min_delta", 0.0),
            verbose=(parameters.get("verbosity") or 0) > 0,
        )
    ]


def metric_parameters(fit: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants that LightGBM's metrics read, where they are given."""
    values = {name: fit.get(name) for name in ("multi_error_top_k", "auc_mu_weights")}
    values |= {name: parameters.get(name) for name in ("alpha", "fair_c", "tweedie_variance_power")}
    return {name: value for name, value in values.items() if value is not None}


def named_metrics(eval_metric: Any, metric: Any) -> tuple[list[str], list[Callable[..., Any]]]:
    """Divide metrics into LightGBM's names and functions; those of ``fit`` come first."""
    asked = list(eval_metric) if isinstance(eval_metric, (list, tuple)) else [eval_metric]
    if isinstance(metric, str):
        metric = metric.split(",")
    asked += list(metric) if isinstance(metric, (list, tuple, set)) else [metric]
    names = [each.strip() for each in asked if isinstance(each, str)]
    functions: list[Callable[..., Any]] = [
        each if isinstance(each, Feval) else metric_function(each)
        for each in asked
        if callable(each)
    ]
    return list(dict.fromkeys(names)), functions


def _columns(columns: Any) -> tuple[str | int, ...]:
    """Read LightGBM's ways of naming columns."""
    if columns is None or _is_auto(columns):
        return ()
    if isinstance(columns, str):
        named = columns.startswith("name:")
        parts = [part for part in columns.removeprefix("name:").split(",") if part]
        return tuple(parts) if named else tuple(int(p) if p.isdigit() else p for p in parts)
    if isinstance(columns, (int, np.integer)):
        return (int(columns),)
    return tuple(columns)


def _is_auto(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value == "auto")
