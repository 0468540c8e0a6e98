"""Private metrics of all folds of a cross-validation, with one charge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import RefusedError
from dpboost.evaluating.class_figures import CLASS_METRICS
from dpboost.evaluating.evaluate import quantile_level
from dpboost.evaluating.evaluated_rows import Groups, predicted_rows, scored_rows
from dpboost.evaluating.gate import Gate
from dpboost.evaluating.number_figures import NUMBER_METRICS
from dpboost.evaluating.released_figures import of_classes, of_numbers
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import handle_of
from dpboost.rows.evaluation_queries import PredictedRows, ScoredRows

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FoldMetric:
    """A metric with its name in LightGBM and in `evaluate`."""

    name: str
    #: The figure of an evaluation that it comes from.
    figure: str
    #: Turns that into the metric.
    of_figure: Callable[[float], float] = float
    higher_is_better: bool = False


def _square(value: float) -> float:
    return value * value


def _rest(value: float) -> float:
    return 1 - value


_OF_CLASSES = {
    "binary_logloss": ("log_loss", ("binary",)),
    "binary_error": ("accuracy", ()),
    "multi_logloss": ("log_loss", ("multiclass", "softmax")),
    "multi_error": ("accuracy", ()),
}
_OF_NUMBERS = {
    "l1": ("mae", ("mean_absolute_error", "regression_l1")),
    "l2": ("rmse", ("mean_squared_error", "mse", "regression_l2", "regression")),
    "rmse": ("rmse", ("root_mean_squared_error", "l2_root")),
    "quantile": ("quantile_loss", ()),
}
_BETTER = ("accuracy", "auc", "r2")


def _known(classifier: bool) -> dict[str, FoldMetric]:
    """Return the metrics of a task by all their names."""
    found: dict[str, FoldMetric] = {}
    for name, (figure, aliases) in (_OF_CLASSES if classifier else _OF_NUMBERS).items():
        turned = _square if name == "l2" else _rest if name.endswith("error") else float
        metric = FoldMetric(name=name, figure=figure, of_figure=turned)
        found |= dict.fromkeys((name, *aliases), metric)
    for name in CLASS_METRICS if classifier else NUMBER_METRICS:
        better = name in _BETTER
        found.setdefault(name, FoldMetric(name=name, figure=name, higher_is_better=better))
    # LightGBM's own name of it is the shorter one.
    return found | ({} if classifier else {"mae": found["l1"]})


def fold_metrics(asked: Sequence[str], *, classifier: bool, quantile: bool) -> list[FoldMetric]:
    """Return the metrics that are asked for, each once.

    ``asked`` are names of LightGBM or of `evaluate`; ``quantile`` says whether the model is one of
    a quantile.
    """
    known = _known(classifier)
    if not quantile:
        known = {name: each for name, each in known.items() if each.figure != "quantile_loss"}
    for name in asked:
        if name not in known:
            own = dict.fromkeys(each.name for each in known.values())
            raise RefusedError(
                f"The metric {name!r} cannot be released privately: it is none of an evaluation of "
                f"this task. Give one of {', '.join(own)}, or public rows in public_sets."
            )
    return list(dict.fromkeys(known[name] for name in asked))


def release_fold_metrics(
    metrics: Sequence[FoldMetric],
    models: Sequence[Any],
    rows: Sequence[tuple[Any, NDArray[Any]]],
    *,
    budget: PrivacyCost,
    ledger: Ledger,
    alike: int,
) -> list[tuple[str, list[float], bool]]:
    """Release the metrics of each fold's model on the rows that it has not seen.

    There is a released model for each fold, and private rows ``(X, y)``: a row is in one fold.
    ``alike`` rows may be one and the same. Yields a name, the values, and whether higher is better.

    Privacy
    -------
    The releases of an evaluation whose groups are the folds. A row is scored by one model and
    counted in one group, so that their sensitivities hold as they are.
    """
    names = tuple(dict.fromkeys(each.figure for each in metrics))
    terms: dict[str, Any] = {"budget": budget, "alike": alike}
    with ledger.sequential("evaluation"), np.errstate(all="ignore"):
        if hasattr(models[0], "predict_proba"):
            classes = sorted({label for model in models for label in model.classes_.tolist()})
            scored, groups = _scored(models, rows, classes)
            gate = Gate(handle_of(scored), ledger)
            _, by_fold, _, _ = of_classes(classes, gate, groups, names, **terms)
        else:
            ends = [model.schema_.label_bounds for model in models]
            bounds = min(low for low, _ in ends), max(high for _, high in ends)
            predicted, groups = _predicted(models, rows)
            gate = Gate(handle_of(predicted), ledger)
            level = quantile_level(models[0])
            _, by_fold, _, _ = of_numbers(bounds, level, gate, groups, names, **terms)
    return [
        (
            each.name,
            [each.of_figure(by_fold[fold][each.figure].value) for fold in groups.names],
            each.higher_is_better,
        )
        for each in metrics
    ]


class _OfClasses:
    """A released model extended to probabilities of further classes."""

    def __init__(self, model: Any, classes: Sequence[Any]) -> None:
        self.model = model
        self.classes_ = np.asarray(classes)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities, 0 of classes that it does not know."""
        own = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        found = np.zeros((len(own), len(self.classes_)))
        found[:, np.searchsorted(self.classes_, self.model.classes_)] = own
        return found


def _groups(sizes: Sequence[int]) -> Groups:
    """Return the folds as groups."""
    codes = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return Groups(names=tuple(range(len(sizes))), codes=codes, others=False)


def _scored(
    models: Sequence[Any], rows: Sequence[tuple[Any, NDArray[Any]]], classes: Sequence[Any]
) -> tuple[ScoredRows, Groups]:
    parts = []
    for fold, (model, (X, y)) in enumerate(zip(models, rows, strict=True)):
        own = np.full(len(y), fold, dtype=np.int64)
        found, known = scored_rows(_OfClasses(model, classes), X, y, len(y), own)
        parts.append(found.take(np.flatnonzero(known)))
    joined = ScoredRows(
        scores=np.concatenate([each.scores for each in parts], axis=1),
        labels=np.concatenate([each.labels for each in parts]),
        groups=np.concatenate([each.groups for each in parts]),
        hits=np.concatenate([each.hits for each in parts]),
    )
    return joined, _groups([len(each.labels) for each in parts])


def _predicted(
    models: Sequence[Any], rows: Sequence[tuple[Any, NDArray[Any]]]
) -> tuple[PredictedRows, Groups]:
    parts = []
    for fold, (model, (X, y)) in enumerate(zip(models, rows, strict=True)):
        own = np.full(len(y), fold, dtype=np.int64)
        parts.append(predicted_rows(model, X, y, len(y), own))
    joined = PredictedRows(
        labels=np.concatenate([each.labels for each in parts]),
        predictions=np.concatenate([each.predictions for each in parts]),
        groups=np.concatenate([each.groups for each in parts]),
    )
    return joined, _groups([len(each.labels) for each in parts])
