"""Losses of a residual with a bounded gradient: absolute error, Huber, fair and quantile."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost.losses.squared import SquaredLoss, binary_exponent
from dpboost.losses.surface import Surface, SurfaceLoss

# Residuals of more widths than this weigh as those of so many.
WIDTHS = 16
NODES_PER_WIDTH_BITS = 5
# Widths in half-widths of the label range: narrower ones would not get anywhere, wider ones do
# not clip.
LEAST_WIDTH = 1 / 64
LARGEST_WIDTH = 2.0
# What takes the place of the kink of the absolute and the quantile loss.
KINK_WIDTH = 1 / 32
ABSOLUTE_WIDTH = 1 / 16  # a symmetric kink moves the median little: go faster
# Typical step in half-widths of the label range.
TYPICAL_STEP = 0.04


@dataclass(frozen=True, kw_only=True, eq=False)
class RobustLoss(SurfaceLoss):
    r"""A loss of the residual :math:`r = (score - label) / w` with a bounded gradient.

    Every gradient is in units of the largest one, and residuals are in units of a public width
    :math:`w`:

    =============== ================================== ======================================
    loss            gradient                           width
    =============== ================================== ======================================
    huber           :math:`r` clipped to [-1, 1]       ``alpha``
    regression_l1   the same                           1/16 of the labels' half-width
    quantile        :math:`r` clipped to [-1, 1], times 1/32 of the labels' half-width
                    ``alpha`` below zero and
                    ``1 - alpha`` above it
    fair            :math:`r / (1 + |r|)`              ``fair_c``
    =============== ================================== ======================================

    So the bound of the gradient is ``alpha`` (huber), 1, ``max(alpha, 1 - alpha)`` and
    ``fair_c``, as LightGBM's own formulas have it: these losses need no clip of labels for it.
    The hessian is the weight :math:`g(r) / r` of iteratively reweighted least squares, at most 1:
    with it a step is a weighted mean of residuals.

    Deviation: LightGBM takes the hessian 1 (the second derivative for fair) and then the median
    or quantile of a leaf's residuals, which would have to be released. Here the kink of these two
    losses is rounded off over a narrow width instead. Widths are kept between 1/64 and 2 of the
    labels' half-width.

    Parameters
    ----------
    labels : SquaredLoss
        Grid of labels and scores, from public label bounds.

    Privacy
    -------
    As :class:`SurfaceLoss`. The label bounds are assumed public.
    """

    labels: SquaredLoss

    @classmethod
    def absolute(cls, labels: SquaredLoss) -> RobustLoss:
        """Return the absolute error, with its kink rounded off."""
        return cls._of("regression_l1", labels, ABSOLUTE_WIDTH, 1.0, 1.0)

    @classmethod
    def huber(cls, labels: SquaredLoss, alpha: float) -> RobustLoss:
        """Return the Huber loss: squared up to a residual of ``alpha``, linear beyond."""
        return cls._of("huber", labels, alpha / labels.half_width, 1.0, 1.0)

    @classmethod
    def quantile(cls, labels: SquaredLoss, alpha: float) -> RobustLoss:
        """Return the loss of the ``alpha`` quantile, with its kink rounded off."""
        most = max(alpha, 1 - alpha)
        return cls._of("quantile", labels, KINK_WIDTH, alpha / most, (1 - alpha) / most)

    @classmethod
    def fair(cls, labels: SquaredLoss, fair_c: float) -> RobustLoss:
        """Return the fair loss ``c^2 (|x| / c - log(1 + |x| / c))``."""
        return cls._of("fair", labels, fair_c / labels.half_width, 1.0, 1.0, smooth=True)

    @classmethod
    def _of(
        cls,
        objective: str,
        labels: SquaredLoss,
        width: float,
        below: float,
        above: float,
        *,
        smooth: bool = False,
    ) -> RobustLoss:
        width = min(max(width, LEAST_WIDTH), LARGEST_WIDTH)
        width_units = max(round(width * labels.half_units), 1)
        shift = max(0, min(binary_exponent(width_units) - NODES_PER_WIDTH_BITS, 13))
        n_side = -(-WIDTHS * width_units >> shift)
        n_side = min(n_side, (4 * labels.half_units >> shift) + 1)
        residuals = np.arange(-n_side, n_side + 1) * (1 << shift) / width_units
        size = np.abs(residuals)
        # No function of the C library: the tables are the same on every machine.
        slope = 1 / (1 + size) if smooth else 1 / np.maximum(size, 1.0)
        top = float((slope * size).max())
        slope *= np.where(residuals < 0, below, above)
        slope[n_side] = max(below, above)
        return cls(
            name=objective,
            objective=objective,
            surface=Surface(
                gradients=(slope * residuals / top)[np.newaxis],
                hessians=slope[np.newaxis],
                origin=-n_side << shift,
                shift=shift,
                residual=True,
                low=-below,
                high=above,
                in_proportion=True,
            ),
            unit=labels.unit,
            units_per_one=max(round(width_units * top), 1),
            start_units=labels.start_units,
            rules={"gradient_clip": 1.0, "step_prior": TYPICAL_STEP / width},
            labels=labels,
        )

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to the bounds and round them to the score grid."""
        return self.labels.encode_labels(y)

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels scaled to [-1, 1]."""
        return self.labels.scaled_labels(labels)

    def starting_at(self, mean: float) -> RobustLoss:
        """Return this loss with a released mean of the scaled labels as its start."""
        return replace(self, start_units=self.labels.starting_at(mean).start_units)

    def inverse_link(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions from raw scores: the scores themselves."""
        return raw
