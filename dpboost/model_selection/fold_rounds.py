"""Choice of the evaluated rounds of a cross-validation, and substitutes for the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from lightgbm.basic import LightGBMError
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from dpboost._utils.validation import RefusedError, check_integer, refuse
from dpboost.estimators.evaluation_sets import Metrics, metrics_of_classes
from dpboost.model_selection.fold_metrics import FoldMetric, fold_metrics
from dpboost.model_selection.secret_folds import SecretKFold

#: A line of results: set, metric, mean, whether higher is better, deviation.
Line = tuple[str, str, float, bool, float]

#: LightGBM's names for no metric at all.
NO_METRIC = ("", "none", "null", "na", "custom")
# Tables on which a function has to agree with a known metric, and their rows.
_N_MADE_UP, _ROWS_MADE_UP = 3, 60


class ModelAtRound:
    """A released model, truncated after a round.

    ``n_rounds`` count from the first round of its Booster on.
    """

    def __init__(self, model: Any, n_rounds: int) -> None:
        self._model = model
        self._n_rounds = n_rounds

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if name in ("predict", "predict_proba"):
            return partial(found, num_iteration=self._n_rounds)
        return found


def chosen_rounds(n_rounds: int, how_many: int | str) -> list[int]:
    """Return the rounds whose metrics are released, the first and the last among them.

    ``how_many`` is a number or "all"; with 1 it is the last round alone.
    """
    if how_many == "all" or n_rounds == 1:
        return list(range(1, n_rounds + 1))
    number = check_integer("metric_rounds", "cv", how_many, low=1)
    if number == 1:
        return [n_rounds]
    steps = range(number)
    return sorted({1 + round(step * (n_rounds - 1) / (number - 1)) for step in steps})


def check_rounds(how_many: Any) -> None:
    """Raise for what is no number of rounds."""
    if how_many != "all":
        if isinstance(how_many, str):
            raise refuse("metric_rounds", "cv", "an integer of at least 1, or 'all'", how_many)
        check_integer("metric_rounds", "cv", how_many, low=1)


def repeated(released: dict[int, list[Line]], n_rounds: int) -> list[list[Line]]:
    """Return lines for every round: those of the last one released before, or nan before all.

    An index of the smallest or largest value is then one of a round that was released.
    """
    first = released[min(released)]
    found = [(name, metric, np.nan, better, np.nan) for name, metric, _, better, _ in first]
    lines = []
    for position in range(1, n_rounds + 1):
        found = released.get(position, found)
        lines.append(list(found))
    return lines


def number_of_folds(folds: Any, n_folds: int) -> tuple[int, str | None]:
    """Return how many folds there are, and a remark where the given ones are not followed.

    ``folds`` is a splitter of scikit-learn, an iterable of (train, test), or None for ``n_folds``.
    """
    if folds is None:
        return n_folds, None
    if isinstance(folds, (KFold, StratifiedKFold, SecretKFold)):
        number = int(folds.n_splits)
    elif hasattr(folds, "split") or isinstance(folds, str) or not hasattr(folds, "__iter__"):
        raise RefusedError(
            f"The 'folds' argument of cv cannot be {type(folds).__name__}: rows are assigned "
            "at random, in secret, not by groups or time. Give nfold; where groups are users, "
            "rows_per_user and Dataset(..., user_ids=...) keep the rows of each in one fold."
        )
    else:
        number = sum(1 for _ in folds)
    return number, (
        f"folds: rows are assigned to {number} folds at random, in secret, as a choice of folds "
        "would reveal rows; the given folds set only their number"
    )


def divided(
    asked: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    *,
    n_classes: int,
    raw: bool,
    quantile: bool,
) -> tuple[list[FoldMetric], list[tuple[str, bool]]]:
    """Divide metrics into those that can be charged, and the names of the others.

    ``asked`` are LightGBM's names, or those of `evaluate`. ``functions`` are the user's, as
    ``feval``: one that computes a known metric is released like it, and of others no bound is
    known. ``n_classes`` is 0 in a regression; ``raw`` says whether a classifier gives raw scores
    alone, for which nothing can be paid. Others are names with whether higher is better.
    """
    objective = "regression"
    if n_classes:
        objective = "binary sigmoid:1" if n_classes == 2 else f"multiclass num_class:{n_classes}"
    paid: list[FoldMetric] = []
    others: list[tuple[str, bool]] = []
    for name in asked:
        if name.lower() in NO_METRIC:
            continue
        try:
            found = fold_metrics([name], classifier=n_classes > 0, quantile=quantile)
        except RefusedError:
            known = _known(name, objective)
            if not known:
                raise
            others += known
            continue
        if raw:
            others += [(each.name, each.higher_is_better) for each in found]
        else:
            paid += found
    if functions:
        own = Metrics(objective, ["None"], {}, functions, max(n_classes, 1))
        same = {} if raw else _recognized(functions, objective, n_classes)
        paid += same.values()
        others += [line for line in own.names() if line[0] not in same]
    return list(dict.fromkeys(paid)), list(dict.fromkeys(others))


def _recognized(
    functions: Sequence[Callable[..., Any]], objective: str, n_classes: int
) -> dict[str, FoldMetric]:
    """Return the known metrics that functions compute of synthetic rows, by their own names."""
    random = np.random.default_rng(0)
    metrics = Metrics(objective, ["None"], {}, functions, max(n_classes, 1))
    expected: dict[str, list[float]] = {}
    scores = []
    for number in range(_N_MADE_UP):
        labels: Any = random.uniform(0.1, 3, _ROWS_MADE_UP).astype(np.float32)  # as a Dataset has
        if n_classes:
            labels = np.arange(_ROWS_MADE_UP) % n_classes
        shape = (_ROWS_MADE_UP, n_classes) if n_classes > 2 else (_ROWS_MADE_UP,)
        # Positive, of which logarithms exist; and both signs of the scores of classes.
        raw = random.normal(size=shape) if n_classes else random.uniform(0.1, 3, shape)
        scores.append(raw)
        metrics.add_set(str(number), labels.astype(float), None, None)
        for name, value in _values(labels, raw, n_classes).items():
            expected.setdefault(name, []).append(value)
    try:
        lines = metrics.evaluate(scores)
    except Exception:  # what it makes of rows is its own affair
        return {}
    found: dict[str, FoldMetric] = {}
    for name in dict.fromkeys(line[1] for line in lines):
        own = [line for line in lines if line[1] == name]
        values = [line[2] for line in own]
        for known, same in expected.items():
            if len(values) == len(same) and np.allclose(values, same, rtol=1e-6, atol=0):
                (metric,) = fold_metrics([known], classifier=n_classes > 0, quantile=False)
                found[name] = replace(metric, name=name, higher_is_better=bool(own[0][3]))
    return found


def _values(labels: NDArray[Any], raw: NDArray[np.float64], n_classes: int) -> dict[str, float]:
    """Return the known metrics of rows by name."""
    if not n_classes:
        error = raw - labels
        squared = float(np.mean(error**2))
        return {"l1": float(np.mean(abs(error))), "l2": squared, "rmse": math.sqrt(squared)}
    scores = raw if n_classes > 2 else np.column_stack((np.zeros(len(raw)), raw))
    probability = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    accuracy = float(np.mean(probability.argmax(axis=1) == labels))
    kind = "binary" if n_classes == 2 else "multi"
    loss = -float(np.mean(np.log(probability[np.arange(len(labels)), labels])))
    auc = {"auc": float(roc_auc_score(labels, raw))} if n_classes == 2 else {}
    return {f"{kind}_logloss": loss, f"{kind}_error": 1 - accuracy, "accuracy": accuracy, **auc}


def _known(name: str, objective: str) -> list[tuple[str, bool]]:
    """Return what LightGBM calls a metric, nothing where it knows none of the name."""
    try:
        return Metrics(objective, metrics_of_classes([name], objective), {}, ()).names()
    except LightGBMError:
        return []
