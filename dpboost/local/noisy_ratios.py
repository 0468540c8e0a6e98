"""Leaf values of the LPDT paper: noisy sum over noisy count, cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.local.shrunken_cells import Estimates

#: A noisy count below this has no meaning as a divisor.
LEAST_COUNT = 1.0


def noisy_ratios(estimates: Estimates) -> NDArray[np.float64]:
    """Return the mean label of every cell by equation 5 of the paper.

    The noisy sum of a cell is divided by its noisy count. A ratio of two noisy numbers has no
    finite variance, so a cell of few records may have any value; it is clipped to the label range
    where scores are made of it. A count below one is taken for one.

    Parameters
    ----------
    estimates : Estimates

    Returns
    -------
    ndarray of shape (n_cells, n_outputs)

    Privacy
    -------
    Post-processing of reports.
    """
    return estimates.sums / np.maximum(estimates.counts, LEAST_COUNT)[:, np.newaxis]
