"""How good a prediction is, by task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from benchmarks.problems.problem import Task


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The measure of a task.

    Attributes
    ----------
    name : str
        Name in tables.
    higher_is_better : bool
        Direction.
    """

    name: str
    higher_is_better: bool

    def better(self, value: float, reference: float) -> bool:
        """Say whether ``value`` is strictly better than ``reference``."""
        return value > reference if self.higher_is_better else value < reference


METRICS: dict[str, Metric] = {
    "binary": Metric(name="AUC", higher_is_better=True),
    "multiclass": Metric(name="accuracy", higher_is_better=True),
    "regression": Metric(name="RMSE", higher_is_better=False),
}


def accuracy(task: Task, y: np.ndarray, prediction: np.ndarray) -> float | None:
    """Return the share of rows whose most probable class is theirs; ``None`` of a regression."""
    if task == "regression":
        return None
    if task == "binary":
        return float(np.mean((prediction > 0.5) == y))
    return float(np.mean(np.argmax(prediction, axis=1) == y))


def measure(task: Task, y: np.ndarray, prediction: np.ndarray) -> float:
    """Return the area under the ROC curve, the accuracy, or the root of the mean squared error.

    Raises
    ------
    ValueError
        If the prediction has another shape than the task asks for, or a value that is not finite.
    """
    if task == "multiclass":
        if prediction.ndim != 2 or len(prediction) != len(y):
            raise ValueError(f"{len(y)} rows of predictions are expected, not {prediction.shape}.")
        if not np.isfinite(prediction).all():
            raise ValueError("A predicted probability is not finite.")
        return float(np.mean(np.argmax(prediction, axis=1) == y))
    if prediction.shape != y.shape:
        raise ValueError(f"{y.shape} predictions are expected, {prediction.shape} are there.")
    return float((roc_auc_score if task == "binary" else root_mean_squared_error)(y, prediction))
