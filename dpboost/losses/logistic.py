"""Logistic loss of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._kernels import gradient
from dpboost._utils.validation import InvalidParameterError
from dpboost.losses.link_table import TABLE_RANGE, TABLE_SHIFT, logistic_table, two_sided_table
from dpboost.losses.newton_loss import (
    GRADIENT_ONE,
    HESSIAN_UNIT,
    SCORE_BITS,
    NewtonLoss,
    filter_units,
    gradient_units,
)
from dpboost.privacy.sensitivity.bound import ContributionBound


@dataclass(frozen=True, kw_only=True)
class LogisticLoss(NewtonLoss):
    """Logistic loss of two classes.

    The gradient is ``probability - label`` and the hessian the constant 1/4 that dominates
    ``p (1 - p)`` (Boehning 1992, the quadratic lower bound of the log-likelihood): a public
    number, so that gains and leaves have the constants of the squared loss. The probability comes
    from an integer table of the logistic function with linear interpolation, error below 2^-20
    before it is rounded to 2^-16; no floating-point function runs on a row. Where gradients are
    clipped, sums of leaves compare labels with what leaves the odds of their labels at rest
    (`link_table.two_sided_table`): a clipped gradient of the probability would make rare classes
    rarer.

    Parameters
    ----------
    start_units : int
        Start value in units of 2^-20.
    objective : str
        LightGBM's name of the loss in the model text.

    Privacy
    -------
    Releases nothing. ``packed_gradients`` is a row-wise map by public numbers only: one row decides
    one word, and a word's gradient is at most ``gradient_limit`` in absolute value. The two
    classes are assumed public.
    """

    name: ClassVar[str] = "logistic"
    kernel: ClassVar[str] = "logistic"
    rules: ClassVar[dict[str, Any]] = {}
    hessian: ClassVar[float] = 0.25
    n_outputs: ClassVar[int] = 1
    gradient_bound: ClassVar[float] = 1.0
    hessian_unit: ClassVar[float] = HESSIAN_UNIT
    hessian_reach: ClassVar[ContributionBound] = ContributionBound.single(
        round(0.25 / HESSIAN_UNIT)
    )
    unit: ClassVar[float] = 2.0**-SCORE_BITS
    units_per_one: ClassVar[int] = 1 << SCORE_BITS

    start_units: int = 0
    objective: str = "binary sigmoid:1"

    def starting_at(self, mean: float) -> LogisticLoss:
        """Return this loss with the log-odds of a released share of class 1 as its start.

        Parameters
        ----------
        mean : float
            Clipped to [0.01, 0.99].
        """
        share = min(max(mean, 0.01), 0.99)
        log_odds = math.log(share / (1 - share))
        return replace(self, start_units=round(log_odds / self.unit))

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels whose mean is the start: 0 and 1."""
        return labels.astype(np.float64)

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Check that indices of classes are 0 or 1, or raise."""
        labels = np.asarray(y)
        if not ((labels == 0) | (labels == 1)).all():
            raise InvalidParameterError(
                "The 'y' parameter of LogisticLoss must hold class indices 0 and 1 only."
            )
        return (labels == 1).astype(np.int64, casting="safe")

    def packed_gradients(
        self,
        scores: NDArray[np.int64],
        labels: NDArray[np.int64],
        rows: NDArray[np.int32],
        *,
        filter_limit: float | None = None,
        gradient_limit: float = 1.0,
        n_threads: int = 1,
    ) -> NDArray[np.int64]:
        """Packed gradients and counts of some rows.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,), int64
            In units of 2^-20.
        labels : ndarray of shape (n_rows,), int64
            0 or 1.
        rows : ndarray of shape (n_selected,), int32
        filter_limit : float, optional
            Rows with ``|gradient|`` above it get word 0. None drops no row.
        gradient_limit : float, default=1.0
            Gradients are clipped to +- this, at most 1.

        Returns
        -------
        ndarray of shape (n_selected,), int64
            ``(gradient << 32) + 1`` with the gradient in units of 2^-16, or 0.
        """
        packed = np.empty(len(rows), dtype=np.int64)
        gradient.logistic(
            scores,
            labels,
            rows,
            logistic_table(),
            TABLE_SHIFT,
            TABLE_RANGE,
            filter_units(filter_limit, GRADIENT_ONE),
            gradient_units(gradient_limit),
            packed,
            n_threads,
        )
        return packed

    def kernel_numbers(self, gradient_limit: float) -> tuple[Any, ...]:
        """Return tables and numbers that the kernels take, in their order."""
        limit = gradient_units(gradient_limit)
        return two_sided_table(limit), limit

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradient of a row goes, in units of 2^-16."""
        return ContributionBound.single(gradient_units(gradient_limit))
