"""Private ``train`` with the interface of ``lightgbm.train``."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import lightgbm
import lightgbm.engine
import numpy as np
from numpy.typing import NDArray

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.open_budgets import carry
from dpboost.budgeting.windows import Window
from dpboost.data.batches import Batches
from dpboost.data.containers import unpack
from dpboost.data.evaluation_rows import TRAINING_ROWS, is_training_set
from dpboost.estimators.autologging import autologged
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.fit_arguments import Feval, metric_parameters, named_metrics
from dpboost.estimators.kept_booster import Judge, KeptBooster
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.dataset import rows_of
from dpboost.lightgbm.parameters import canonical_names, read_text, value_of
from dpboost.schema import Schema
from dpboost.transcripts.recorded import recorded
from dpboost.transcripts.transcript import Transcript

_BINARY = ("binary",)
_MULTICLASS = ("multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr")


def _keep(booster: Booster, transcript: Transcript) -> Booster:
    """Return a booster with its transcript."""
    booster.transcript = transcript
    return booster


@autologged
@recorded(_keep)
@one_warning
def train(
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int | None = None,
    valid_sets: Any = None,
    valid_names: Any = None,
    feval: Any = None,
    init_model: Any = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    *,
    budget: Budget | DisjointTable | Window | None = None,
    fraction: Any = None,
) -> Booster:
    """Train privately.

    Parameters
    ----------
    params : dict
        LightGBM's parameters under any of its names, and those of the estimators: ``epsilon``,
        ``delta``, ``recipe``, ``schema``, ... The objective decides between regression (the
        default), ``binary`` with labels 0 and 1, and ``multiclass`` with labels from 0 to
        ``num_class - 1``; these labels are public. A function ``objective(preds, train_data)``
        trains a regression. With ``num_class`` of 3 and more it trains a classification; ``preds``
        and the two results then have the shape (n, num_class).
    train_set : Dataset
        Of dpboost or of LightGBM, with its raw data.
    num_boost_round : int, optional
        Number of rounds, unless ``params`` has one. The default is the rule of the recipe.
        LightGBM's default of 100 is too small for steps that are shrunk by their noise.
    valid_sets : Dataset or list of Dataset, optional
        Public rows on which each round is evaluated. The training set is skipped with a warning:
        its metrics are ``nan`` in each round, and early stopping ignores them.
    valid_names : str or list of str, optional
        Names of the evaluation sets.
    feval : callable or list of callable, optional
        Metrics of ``(predictions, dataset)``, which return ``(name, value, higher_is_better)``.
        The dataset they get has the labels and weights of the evaluation set.
    init_model : str, Path or Booster, optional
        Model to continue.
    keep_training_booster : bool
        Whether the Booster keeps the evaluation sets for its ``eval_valid``, ``add_valid`` and
        ``eval``. The training rows are never kept, so training cannot continue: pass the model as
        ``init_model`` to another call.
    callbacks : list of callable, optional
        LightGBM's callbacks: see :mod:`dpboost.callback`.
    budget : Budget, optional
        The budget whose ledger records the fit. Inside ``with Budget(...)`` that budget by default.
    fraction : float or Fraction, optional
        Fraction of the budget for the fit, in (0, 1].

    Returns
    -------
    Booster
        A ``lightgbm.Booster`` with the privacy report. After early stopping it ends with the best
        iteration; ``params`` contains the values used and those that the user gave.

    Raises
    ------
    InvalidParameterError
        For invalid parameters or input, before anything is drawn or charged.

    Privacy
    -------
    Spends ``epsilon`` once, 1 by default, or its fraction of a budget; see
    ``booster.privacy_report``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> import dpboost
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}}
    >>> params = {"objective": "binary", "epsilon": 2.0, "schema": schema, "verbosity": -1}
    >>> booster = dpboost.train(params, dpboost.Dataset(X, y), num_boost_round=20)
    >>> booster.num_trees()
    20
    >>> booster.privacy_report.epsilon_spent <= 2
    True
    """
    estimator, labels = build_estimator(params, train_set, num_boost_round, owner="train")
    carry(train_set, estimator)
    sets = listed(valid_sets)
    names = listed(valid_names)
    judged: list[Any] = []
    for place, valid in enumerate(sets):
        if isinstance(valid, str) and valid == TRAINING_ROWS:  # of a replay
            judged.append(None)
            continue
        check_dataset(valid, "valid_sets", place)
        judged.append(None if is_training_set(valid, train_set) else valid)
    given = {
        "sample_weight": train_set.weight,
        "init_score": train_set.init_score,
        "init_model": init_model,
        "user_ids": getattr(train_set, "user_ids", None),
        "callbacks": callbacks,
        "eval_metric": [Feval(function) for function in listed(feval)] or None,
        "eval_set": [_pair(estimator, valid) for valid in judged] or None,
        "eval_names": names or None,
        "eval_sample_weight": [getattr(valid, "weight", None) for valid in judged] or None,
        "eval_init_score": [getattr(valid, "init_score", None) for valid in judged] or None,
        "budget": budget,
        "fraction": fraction,
    }
    rows = rows_of(train_set)
    if isinstance(rows, Batches):
        rows.read_labels = partial(labels_for, estimator)
        if isinstance(train_set.weight, str):
            del given["sample_weight"]
    estimator.fit(
        rows,
        labels,
        feature_name=train_set.feature_name,
        categorical_feature=train_set.categorical_feature,
        **{name: value for name, value in given.items() if value is not None},
    )
    booster: Booster = estimator.booster_
    booster.trained_by = estimator
    if keep_training_booster:
        booster = _kept(estimator, train_set, params, judged, names)
    asked = {**(train_set.params or {}), **params}
    booster.params.update({name: each for name, each in asked.items() if not callable(each)})
    if callable(value_of(asked, "objective")):
        booster.params["objective"] = "none"  # as LightGBM calls it
    return booster


def _pair(estimator: Any, valid: lightgbm.Dataset | None) -> tuple[Any, Any]:
    """Return rows and labels of an evaluation set, of which None is that of the training."""
    if valid is None:
        return TRAINING_ROWS, TRAINING_ROWS
    return unpack(valid), labels_for(estimator, valid.label)


def _kept(
    estimator: Any,
    train_set: lightgbm.Dataset,
    params: Mapping[str, Any],
    sets: Sequence[lightgbm.Dataset | None],
    names: Sequence[str],
) -> KeptBooster:
    """Return the Booster of an estimator with its evaluation sets."""
    asked = {**(train_set.params or {}), **params}
    constants = {name: value_of(asked, name) for name in ("multi_error_top_k", "auc_mu_weights")}
    scores = getattr(estimator, "predict_proba", estimator.predict)
    judge = Judge(
        objective=estimator.ensemble_.objective,
        metrics=named_metrics(None, value_of(asked, "metric"))[0],
        parameters=metric_parameters(constants, estimator.get_params()),
        raw=lambda data, **more: scores(unpack(data), raw_score=True, **more),
        labels=lambda data: labels_for(estimator, data.label),
        trained_on=weakref.ref(train_set),
        n_outputs=estimator.ensemble_.n_outputs,
    )
    known = [*names, *(f"valid_{position}" for position in range(len(names), len(sets)))]
    public = [(name, each) for name, each in zip(known, sets, strict=False) if each is not None]
    return KeptBooster.of(estimator.booster_, judge, public)


def build_estimator(
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int | None,
    *,
    owner: str,
) -> tuple[Any, Any]:
    """Return the estimator for a dict of parameters, and its labels.

    Parameters
    ----------
    num_boost_round : int or None
        Where ``params`` says nothing.

    Returns
    -------
    estimator : DPBoostRegressor or DPBoostClassifier
    labels : ndarray of shape (n_rows,), or None if they come with batches
    """
    if not isinstance(params, Mapping):
        raise InvalidParameterError(f"The 'params' argument of {owner} must be a dict.")
    if not isinstance(train_set, lightgbm.Dataset):
        raise InvalidParameterError(
            f"{owner}() only accepts Dataset object, train_set has type "
            f"{type(train_set).__name__!r}."
        )
    rows = rows_of(train_set)
    with_rows = isinstance(rows, Batches) and rows.labeled
    if train_set.label is None and not with_rows:
        raise InvalidParameterError("The training set has no labels: give Dataset(data, label).")
    chosen = read_text({**(train_set.params or {}), **params})
    names = canonical_names()
    if not any(names.get(name) == "num_iterations" for name in chosen):
        chosen["n_estimators"] = num_boost_round
    rounds = value_of(chosen, "num_iterations")
    if isinstance(rounds, int) and rounds <= 0:
        raise InvalidParameterError(
            f"Number of boosting rounds must be greater than 0. Got {rounds}."
        )
    objective = value_of(chosen, "objective")
    if callable(objective):
        chosen = {name: each for name, each in chosen.items() if names.get(name) != "objective"}
        chosen["objective"] = DatasetObjective(objective)
    kind: Any = DPBoostRegressor
    classes: tuple[int, ...] | None = None
    if objective in _BINARY:
        kind, classes = DPBoostClassifier, (0, 1)
    elif callable(objective) and value_of(chosen, "num_class") not in (None, 1):
        kind, classes = DPBoostClassifier, tuple(range(_number_of_classes(chosen)))
        if len(classes) == 2:
            raise InvalidParameterError(
                "The 'num_class' parameter cannot be 2 with a function as objective: two classes "
                "have one score a row. Leave it out, with Schema(label_bounds=(0, 1))."
            )
    elif objective in _MULTICLASS:
        kind, classes = DPBoostClassifier, tuple(range(_number_of_classes(chosen)))
    if classes is not None:
        schema = Schema.coerce(chosen.get("schema"))
        if schema.classes is None:
            chosen["schema"] = replace(schema, classes=classes)
    estimator = kind(**chosen)
    return estimator, None if with_rows else labels_for(estimator, train_set.label)


def labels_for(estimator: Any, labels: Any) -> Any:
    """Return labels of a Dataset as LightGBM reads them: of two classes, all above 0 are one."""
    if not isinstance(estimator, DPBoostClassifier):
        return labels
    numbers = np.asarray(labels, dtype=np.float64)
    of_several = estimator.objective in _MULTICLASS
    if of_several or len(Schema.coerce(estimator.schema).classes or ()) != 2:
        return numbers
    return np.where(np.isnan(numbers), np.nan, numbers > 0)


def _number_of_classes(params: Mapping[str, Any]) -> int:
    number = value_of(params, "num_class")
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 2:
        raise InvalidParameterError(
            "Number of classes should be specified and greater than 1 for multiclass training: "
            f"the 'num_class' parameter must be an integer of at least 2. Got {number!r} instead."
        )
    return int(number)


def check_dataset(value: Any, name: str, place: int = 0) -> None:
    """Raise unless the argument is a Dataset."""
    if not isinstance(value, lightgbm.Dataset):
        raise InvalidParameterError(
            f"Every item in {name} must be a Dataset object. Item {place} has type "
            f"{type(value).__name__!r}."
        )


def listed(value: Any) -> list[Any]:
    """Return a list from a single value, a list or None."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class DatasetObjective:
    """Adapter for a custom objective of ``lightgbm.train``, ``function(preds, train_data)``.

    Parameters
    ----------
    function : callable
        Reads labels by ``train_data.get_label()``.

    Privacy
    -------
    The function receives labels and scores like any custom objective; the training set has no
    other readable attributes.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> Any:
        """Return gradients and hessians."""
        return self.function(y_pred, _Labels(y_true))


class _Labels:
    """The training set that a custom objective receives: the rows of this call."""

    def __init__(self, labels: NDArray[np.float64]) -> None:
        self._labels = labels

    def get_label(self) -> NDArray[np.float64]:
        """Return the labels."""
        return self._labels

    def num_data(self) -> int:
        """Return their number."""
        return len(self._labels)

    def get_weight(self) -> None:
        """Return no weights: they are multiplied after the function was called."""


train.__doc__ = with_effects(train, effects=OF_CALLS)
