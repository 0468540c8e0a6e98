"""What the rows are to teach: a loss, labels on its grid, weights and where scores begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.boosting.start import release_class_sizes, release_start
from dpboost.losses import ClassLoss, CustomLoss, Loss
from dpboost.objective import ObjectiveRequest, RowExtras
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.ledger import Ledger


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """What rows are to teach: loss, labels on its grid, who takes part, weights.

    Parameters
    ----------
    loss : Loss
    targets : ndarray of shape (n_rows,), int64
        Private.
    present : ndarray of shape (n_rows,), bool
        Rows with a label that counts; private.
    classes : tuple
        Public classes in their order, empty for a regression.
    indices : ndarray of shape (n_rows,), int64
        Private class of each row.
    objective : ObjectiveRequest
    extras : RowExtras
        Private weights and initial scores.
    """

    loss: Loss
    targets: NDArray[np.int64]
    present: NDArray[np.bool_]
    classes: tuple[Any, ...]
    indices: NDArray[np.int64]
    objective: ObjectiveRequest
    extras: RowExtras

    @property
    def init_scores(self) -> NDArray[np.float64] | None:
        """Where the scores of rows begin, beside the start of the loss; private."""
        return self.extras.scores_for(self.loss.n_outputs)

    def release(
        self, budget: Budget, ledger: Ledger
    ) -> tuple[Loss, NDArray[np.int32] | None, float]:
        """Release a start value and a row count, or class sizes; return weights by row."""
        objective, loss = self.objective, self.loss
        fixed = isinstance(loss, CustomLoss)
        if self.init_scores is not None:
            # LightGBM does not boost from an average either where scores are given.
            zeros = (0,) * loss.n_outputs
            loss = loss.starting_from(zeros)
            fixed = True
        if objective.class_weight != "balanced":
            weights = self.extras.weight_units(objective.max_weight, self._factors())
            loss, n_rows = release_start(
                loss,
                self.targets,
                self.present,
                budget=budget,
                ledger=ledger,
                weights=weights,
                fixed=fixed,
            )
            return loss, weights, n_rows
        n_classes = len(self.classes)
        sizes = release_class_sizes(
            n_classes, self.indices, self.present, budget=budget, ledger=ledger
        )
        factors = sizes.min() / sizes
        weights = self.extras.weight_units(
            objective.max_weight if self.extras.sample_weight is not None else 1.0,
            factors[self.indices],
        )
        if not fixed:
            if isinstance(loss, ClassLoss):
                loss = loss.starting_at(np.full(n_classes, 1 / n_classes))
            else:
                loss = loss.starting_at(0.5)
        return loss, weights, float(sizes.min() * n_classes)

    def _factors(self) -> NDArray[np.float64] | None:
        """Return the weight of each row's class where the user gives some."""
        given = self.objective.class_weight
        if not isinstance(given, Mapping):
            return None
        factors = np.array([given.get(label, 1.0) for label in self.classes], dtype=np.float64)
        return factors[self.indices]
