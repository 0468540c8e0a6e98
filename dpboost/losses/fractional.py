"""Cross-entropy of fractional labels between 0 and 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost.losses.link_table import TABLE_BITS, TABLE_RANGE, TABLE_SHIFT, logistic_table
from dpboost.losses.newton_loss import HESSIAN_UNIT, SCORE_BITS
from dpboost.losses.tabulated import Surface, TabulatedLoss, units_of
from dpboost.privacy.sensitivity.bound import ContributionBound

LABEL_BITS = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class FractionalLabelLoss(TabulatedLoss):
    r"""Cross-entropy :math:`-y \log p - (1 - y) \log(1 - p)` of labels :math:`y` in [0, 1].

    Gradient :math:`p - y`, within [-1, 1] because both are fractions, and hessian
    :math:`p (1 - p)`, at most 1/4.

    Privacy
    -------
    As :class:`TabulatedLoss`. The label bounds 0 and 1 belong to the loss.
    """

    hessian_reach = ContributionBound.single(round(0.25 / HESSIAN_UNIT))

    @classmethod
    def of(cls, objective: str = "cross_entropy") -> FractionalLabelLoss:
        """Return the loss under LightGBM's name for it."""
        positive = (logistic_table() >> 32) * 2.0**-TABLE_BITS
        share = np.concatenate([1 - positive[:0:-1], positive])
        hessian = share * (1 - share)
        return cls(
            name="cross_entropy",
            objective=objective,
            surface=Surface(
                gradients=np.stack([share, share - 1]),
                hessians=np.stack([hessian, hessian]),
                origin=-TABLE_RANGE,
                shift=TABLE_SHIFT,
                label_shift=LABEL_BITS,
            ),
            unit=2.0**-SCORE_BITS,
            units_per_one=1 << SCORE_BITS,
            start_units=0,
        )

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to [0, 1] and round them to 2^-16."""
        labels = np.clip(np.asarray(y, dtype=np.float64), 0.0, 1.0)
        return to_integer_units(labels * 2**LABEL_BITS, 0, 2**LABEL_BITS)

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels as shares."""
        return labels / 2**LABEL_BITS

    def starting_at(self, mean: float) -> FractionalLabelLoss:
        """Return this loss with the log-odds of a released mean, within [0.01, 0.99]."""
        share = min(max(mean, 0.01), 0.99)
        return replace(self, start_units=units_of(math.log(share / (1 - share)), self.unit))
