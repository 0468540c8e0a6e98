"""Metrics that are means over rows, with a public bound of what one row may add.

Proof: docs/proofs/metrics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.contribution import ContributionBound
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.privacy.sensitivity.constants import newton_sums
from dpboost.rows.start_queries import ROW_UNITS

#: A row's log loss counts at most this much: that of a probability of one in a thousand.
LARGEST_LOG_LOSS = math.log(1000.0)

# A mean of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0

#: LightGBM's names of each metric that can be paid for.
NAMES = {
    "l1": ("l1", "mean_absolute_error", "mae", "regression_l1"),
    "l2": ("l2", "mean_squared_error", "mse", "regression_l2", "regression"),
    "rmse": ("rmse", "root_mean_squared_error", "l2_root"),
    "binary_logloss": ("binary_logloss", "binary"),
    "binary_error": ("binary_error",),
    "multi_logloss": ("multi_logloss", "multiclass", "softmax"),
    "multi_error": ("multi_error",),
}


@dataclass(frozen=True, kw_only=True)
class RowLoss:
    """A metric that is a mean over rows.

    Parameters
    ----------
    name : str
        LightGBM's.
    bound : float
        Public bound of a row's loss.
    root : bool
        Whether the metric is the root of the mean.
    """

    name: str
    bound: float
    root: bool = False

    # A numpy warning about an odd cell would tell that there is one.
    @np.errstate(all="ignore")
    def of_rows(self, labels: NDArray[Any], predictions: NDArray[Any]) -> NDArray[np.float64]:
        """Losses of single rows, divided by their bound, in [0, 1]."""
        if self.name in ("l1", "l2", "rmse"):
            losses = np.abs(predictions - labels) ** (1 if self.name == "l1" else 2)
        else:
            probability = predictions
            if probability.ndim == 1:
                probability = np.column_stack([1 - probability, probability])
            own = np.take_along_axis(probability, labels[:, np.newaxis], axis=1)[:, 0]
            if self.name.endswith("error"):
                losses = (own < probability.max(axis=1)).astype(np.float64)
            else:
                losses = -np.log(np.maximum(own, 1e-15))
        bounded: NDArray[np.float64] = np.nan_to_num(losses, nan=self.bound) / self.bound
        return np.clip(bounded, 0.0, 1.0)

    def value(self, mean: float) -> float:
        """Return the metric of a released mean of ``of_rows``."""
        mean = min(max(mean, 0.0), 1.0) * self.bound
        return math.sqrt(mean) if self.root else mean


def row_loss(name: str, model: Any) -> RowLoss:
    """Return a metric with the public bound of a row's loss, of a released model."""
    if name in ("l1", "l2", "rmse"):
        low, high = model.schema_.label_bounds
        width = high - low
        return RowLoss(name=name, bound=width if name == "l1" else width**2, root=name == "rmse")
    return RowLoss(name=name, bound=1.0 if name.endswith("error") else LARGEST_LOG_LOSS)


def loss_sums(
    losses: Sequence[RowLoss],
    held: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    neighbours: Neighbours,
) -> Sensitive:
    """Sum a metric and the rows of every fold.

    Parameters
    ----------
    losses : sequence of RowLoss
        One for each fold.
    held : sequence of (labels, predictions)
        Private: of the rows of each fold.
    neighbours : Neighbours

    Returns
    -------
    Sensitive of shape (2, n_folds)
        Sums of losses and numbers of rows.

    Privacy
    -------
    A row is in one fold, to which it adds at most one unit of loss and one of rows: the vector
    is bounded as gradient and hessian sums are (``constants.newton_sums``).
    """
    sums = np.zeros((2, len(losses)), dtype=np.int64)
    for fold, (loss, (labels, predictions)) in enumerate(zip(losses, held, strict=True)):
        units = np.rint(loss.of_rows(labels, predictions) * ROW_UNITS).astype(np.int64)
        sums[:, fold] = units.sum(), ROW_UNITS * len(units)
    reach = ContributionBound.single(ROW_UNITS)
    return Sensitive(sums, newton_sums(reach, reach, neighbours), 1 / ROW_UNITS)
