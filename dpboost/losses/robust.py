"""Losses of a residual with a bounded gradient: absolute error, Huber, fair and quantile."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost.losses.squared import SquaredLoss, binary_exponent
from dpboost.losses.tabulated import Surface, TabulatedLoss

# Residuals of more widths than this weigh as those of so many.
WIDTHS = 16
NODES_PER_WIDTH_BITS = 5
# Widths in half-widths of the label range: narrower ones would not get anywhere, wider ones do
# not clip.
LEAST_WIDTH = 1 / 64
LARGEST_WIDTH = 2.0
# Of huber and fair: typical step in half-widths of the label range.
TYPICAL_STEP = 0.04
# Of the absolute and the quantile loss: a step where all gradients are the largest, in half-widths
# of the label range; residuals that take the place of the kink, and typical steps, in such steps.
LARGEST_STEP = 3 / 32
KINK_PART = 1 / 12
KINK_NODES_BITS = 3
TYPICAL_PART = 0.047


@dataclass(frozen=True, kw_only=True, eq=False)
class RobustLoss(TabulatedLoss):
    r"""A loss of the residual :math:`r = (score - label) / w` with a bounded gradient.

    Every gradient is in units of the largest one, and residuals are in units of a public width
    :math:`w`:

    =============== ================================== ======================================
    loss            gradient                           width
    =============== ================================== ======================================
    huber           :math:`r` clipped to [-1, 1]       ``alpha``
    fair            :math:`r / (1 + |r|)`              ``fair_c``
    quantile        from ``-alpha`` to ``1 - alpha``,  1/128 of the half-width of the range of
                    linear for r within [-1, 1]        labels
    regression_l1   the same, from -1 to 1             the same
    =============== ================================== ======================================

    So the bound of the gradient is ``alpha`` (huber), 1, ``max(alpha, 1 - alpha)`` and
    ``fair_c``, as LightGBM's own formulas have it: these losses need no clip of labels for it.

    The hessian of huber and fair is the weight :math:`g(r) / r` of iteratively reweighted least
    squares, at most 1: with it a step is a weighted mean of residuals. That of the other two is 1,
    as LightGBM's, and a step of 1 is 3/32 of the half-width: gradients are zero on average where
    the predictions are quantiles of labels that are blurred evenly over the width, whatever the
    size of other residuals. The width has to be small beside the spread of labels around
    predictions; training on these two losses therefore releases first where labels lie inside
    their bounds (``privacy.bounds.release_label_range``).

    Deviation: LightGBM takes the hessian 1 for huber and the second derivative for fair. For
    regression_l1 and quantile it then renews a leaf by the median or quantile of its residuals,
    which would have to be released. Widths of huber and fair are kept between 1/64 and 2 of the
    labels' half-width.

    Parameters
    ----------
    labels : SquaredLoss
        Grid of labels and scores, from public label bounds.

    Privacy
    -------
    As :class:`TabulatedLoss`. The label bounds are assumed public.
    """

    labels: SquaredLoss

    @classmethod
    def absolute(cls, labels: SquaredLoss) -> RobustLoss:
        """Return the absolute error, with its kink rounded off."""
        return cls._with_kink("regression_l1", labels, 1.0, 1.0)

    @classmethod
    def huber(cls, labels: SquaredLoss, alpha: float) -> RobustLoss:
        """Return the Huber loss: squared up to a residual of ``alpha``, linear beyond."""
        return cls._smooth("huber", labels, alpha / labels.half_width)

    @classmethod
    def quantile(cls, labels: SquaredLoss, alpha: float) -> RobustLoss:
        """Return the loss of the ``alpha`` quantile, with its kink rounded off."""
        most = max(alpha, 1 - alpha)
        return cls._with_kink("quantile", labels, alpha / most, (1 - alpha) / most)

    @classmethod
    def fair(cls, labels: SquaredLoss, fair_c: float) -> RobustLoss:
        """Return the fair loss ``c^2 (|x| / c - log(1 + |x| / c))``."""
        return cls._smooth("fair", labels, fair_c / labels.half_width)

    @classmethod
    def _smooth(cls, objective: str, labels: SquaredLoss, width: float) -> RobustLoss:
        """Return Huber's or the fair loss of a width in half-widths of the label range."""
        width = min(max(width, LEAST_WIDTH), LARGEST_WIDTH)
        width_units = max(round(width * labels.half_units), 1)
        shift = max(0, min(binary_exponent(width_units) - NODES_PER_WIDTH_BITS, 13))
        n_side = -(-WIDTHS * width_units >> shift)
        n_side = min(n_side, (4 * labels.half_units >> shift) + 1)
        residuals = np.arange(-n_side, n_side + 1) * (1 << shift) / width_units
        size = np.abs(residuals)
        # No function of the C library: the tables are the same on every machine.
        slope = 1 / (1 + size) if objective == "fair" else 1 / np.maximum(size, 1.0)
        top = float((slope * size).max())
        slope[n_side] = 1.0
        return cls._of(
            objective,
            labels,
            Surface(
                gradients=(slope * residuals / top)[np.newaxis],
                hessians=slope[np.newaxis],
                origin=-n_side << shift,
                shift=shift,
                residual=True,
                in_proportion=True,
            ),
            units_per_one=max(round(width_units * top), 1),
            step_prior=TYPICAL_STEP / width,
        )

    @classmethod
    def _with_kink(
        cls, objective: str, labels: SquaredLoss, below: float, above: float
    ) -> RobustLoss:
        """Return a loss whose gradient goes from ``-below`` to ``above`` around the label."""
        step_units = max(round(LARGEST_STEP * labels.half_units), 1)
        kink_units = max(round(KINK_PART * step_units), 1)
        shift = max(0, min(binary_exponent(kink_units) - KINK_NODES_BITS, 13))
        # One node beyond the kink at either side: all other residuals are as those there.
        n_side = (kink_units >> shift) + 1
        residuals = np.arange(-n_side, n_side + 1) * (1 << shift) / kink_units
        middle, half = (above - below) / 2, (above + below) / 2
        gradients = middle + half * np.minimum(np.maximum(residuals, -1.0), 1.0)
        return cls._of(
            objective,
            labels,
            Surface(
                gradients=gradients[np.newaxis],
                hessians=np.ones((1, len(residuals))),
                origin=-n_side << shift,
                shift=shift,
                residual=True,
                low=-below,
                high=above,
                in_proportion=True,
            ),
            units_per_one=step_units,
            step_prior=TYPICAL_PART,
        )

    @classmethod
    def _of(
        cls,
        objective: str,
        labels: SquaredLoss,
        surface: Surface,
        units_per_one: int,
        step_prior: float,
    ) -> RobustLoss:
        return cls(
            name=objective,
            objective=objective,
            surface=surface,
            unit=labels.unit,
            units_per_one=units_per_one,
            start_units=labels.start_units,
            rules={"gradient_clip": 1.0, "step_prior": step_prior},
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
