"""Attributes of rows other than features and labels: weights, initial scores, users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import InvalidParameterError

# The largest weight in units of weights.
WEIGHT_ONE = 2**16


@dataclass(frozen=True, kw_only=True)
class RelativeWeight:
    """Weights that make errors relative to the size of labels; public."""

    #: Of the grid that labels are on.
    unit: float
    #: A label of this size or less has the weight 1, a larger one ``floor`` over its size.
    floor: float

    def of(self, targets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weight of each row, in [0, 1], by its clipped label on the grid."""
        weights: NDArray[np.float64] = self.floor / np.maximum(
            np.abs(targets * self.unit), self.floor
        )
        return weights


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """The rule that combines weights of rows and classes; public."""

    #: Weights are clipped to [0, max_weight], then divided by it.
    max_weight: float
    #: Weight of each class.
    factors: tuple[float, ...] | None = None
    #: Weight of each row by its label, at most 1.
    relative: RelativeWeight | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RowExtras:
    """Checked private arrays in addition to rows and labels."""

    #: Of shape (n_rows,).
    sample_weight: NDArray[np.float64] | None = None
    #: Of shape (n_outputs, n_rows).
    init_scores: NDArray[np.float64] | None = None

    def take(self, rows: NDArray[np.intp]) -> RowExtras:
        """Return those of some rows."""
        weights, scores = self.sample_weight, self.init_scores
        return RowExtras(
            sample_weight=None if weights is None else weights[rows],
            init_scores=None if scores is None else np.ascontiguousarray(scores[:, rows]),
        )

    def weight_units(
        self, weighting: Weighting, classes: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.int32] | None:
        """Return each row's weight in units of 2^-16 of the largest one; None for equal weights.

        Classes are positions, targets the clipped labels on the grid of the loss.

        Privacy
        -------
        A row-wise map with a public bound.
        """
        given = weighting.factors, weighting.relative
        if self.sample_weight is None and given == (None, None):
            return None
        weights = np.ones(len(classes)) if self.sample_weight is None else self.sample_weight
        if weighting.factors is not None:
            with np.errstate(over="ignore"):  # a weight that is clipped must not show itself
                weights = weights * np.array(weighting.factors)[classes]
        most = weighting.max_weight
        units = np.clip(weights, 0.0, most) / most * WEIGHT_ONE
        if weighting.relative is not None:
            units *= weighting.relative.of(targets)
        return to_integer_units(units, 0, WEIGHT_ONE, dtype=np.int32)

    def scores_for(self, n_outputs: int) -> NDArray[np.float64] | None:
        """Return the initial scores, or raise when there are not as many as outputs."""
        scores = self.init_scores
        if scores is not None and scores.shape == (1, 0):  # without rows all forms are alike
            return np.empty((n_outputs, 0))
        if scores is not None and len(scores) != n_outputs:
            raise InvalidParameterError(
                "The 'init_score' parameter of fit must have one number for each row"
                + (f" and each of {n_outputs} classes." if n_outputs > 1 else ".")
            )
        return scores
