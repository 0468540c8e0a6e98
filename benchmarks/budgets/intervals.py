"""How often intervals of ``dpboost.evaluate`` hold the metric, and how far off its AUC is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)

import dpboost

EPSILON, DELTA = 1.0, 1e-5
FRACTION = 0.1
POPULATION = 400_000
N_FEATURES = 5
Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric over repeats.

    Attributes
    ----------
    name : str
    n_rows : int
    truth : float
        Of the population.
    covered : float
        Share of the repeats whose interval holds it.
    errors : ndarray
        Private value less that of the same rows without privacy, of each repeat.
    """

    name: str
    n_rows: int
    truth: float
    covered: float
    errors: Array


class Released:
    """A released model by its predictions, which stand in for the rows."""

    def __init__(self, model: Any) -> None:
        self.schema_ = model.schema_
        self.ensemble_ = model.ensemble_
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_
            self.predict_proba = lambda X: np.column_stack((1 - X[:, 0], X[:, 0]))

    def predict(self, X: Array) -> Array:
        """Return the predictions."""
        return X[:, 0] > 0.5 if hasattr(self, "classes_") else X[:, 0]


CLASS_METRICS: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": lambda y, p: float(accuracy_score(y, p > 0.5)),
    "log_loss": lambda y, p: float(log_loss(y, p)),
    "brier": lambda y, p: float(brier_score_loss(y, p)),
    "auc": lambda y, p: float(roc_auc_score(y, p)),
}
NUMBER_METRICS: dict[str, Callable[[Array, Array], float]] = {
    "rmse": lambda y, p: math.sqrt(mean_squared_error(y, p)),
    "mae": lambda y, p: float(mean_absolute_error(y, p)),
    "r2": lambda y, p: float(r2_score(y, p)),
}


def rows(n_rows: int, random: np.random.Generator, *, classes: bool) -> tuple[Array, Array]:
    """Return generated features and labels; a quarter of the classes is positive."""
    X = random.normal(size=(n_rows, N_FEATURES))
    line = 1.2 * X[:, 0] + 0.8 * X[:, 1] - 0.5 * X[:, 2] * X[:, 0]
    if classes:
        return X, (random.random(n_rows) < 1 / (1 + np.exp(1.5 - line))).astype(int)
    return X, np.clip(line + random.normal(size=n_rows), -8, 8)


def measure(
    n_rows: int, repeats: int, *, classes: bool, seed: int = 0, names: Sequence[str] | None = None
) -> list[Metric]:
    """Draw rows from a population again and again, and evaluate one model on them.

    Parameters
    ----------
    n_rows : int
    repeats : int
    classes : bool
        Of two classes, else of numbers.
    seed : int
        Of the population and the samples; noise is fresh.
    names : sequence of str, optional
        Of the metrics.
    """
    random = np.random.default_rng(seed)
    schema: dict[str, Any] = {"bounds": dict.fromkeys(range(N_FEATURES), (-4, 4))}
    kind: Any = dpboost.DPBoostClassifier if classes else dpboost.DPBoostRegressor
    schema |= {"classes": [0, 1]} if classes else {"label_bounds": (-8, 8)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(epsilon=2.0, delta=DELTA, schema=schema, n_jobs=1, verbosity=-1)
        model.fit(*rows(20_000, random, classes=classes))
    X, y = rows(POPULATION, random, classes=classes)
    p = model.predict_proba(X)[:, 1] if classes else np.clip(model.predict(X), -8, 8)
    metrics = CLASS_METRICS if classes else NUMBER_METRICS
    chosen = {name: metrics[name] for name in names or metrics}
    truth = {name: metric(y, p) for name, metric in chosen.items()}
    inside: dict[str, list[bool]] = {name: [] for name in chosen}
    errors: dict[str, list[float]] = {name: [] for name in chosen}
    released = Released(model)
    for _ in range(repeats):
        drawn = random.integers(0, POPULATION, n_rows)
        budget = dpboost.Budget(epsilon=EPSILON, delta=DELTA)
        found = dpboost.evaluate(
            released,
            p[drawn, np.newaxis],
            y[drawn],
            budget=budget,
            fraction=FRACTION,
            metrics=list(chosen),
        )
        for name, metric in chosen.items():
            figure = found[name]
            inside[name].append(figure.low <= truth[name] <= figure.high)
            errors[name].append(figure.value - metric(y[drawn], p[drawn]))
    return [
        Metric(
            name=name,
            n_rows=n_rows,
            truth=truth[name],
            covered=float(np.mean(inside[name])),
            errors=np.array(errors[name]),
        )
        for name in chosen
    ]
