"""Folds by secret coins: which one each row is in, or each user."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.randomness import RowCoins


def deal_folds(
    coins: RowCoins, n_folds: int, units: NDArray[np.int64], first_unit: int = 0
) -> NDArray[np.int32]:
    """Return the fold of each row, by a secret coin for each unit.

    Parameters
    ----------
    units : ndarray of shape (n_rows,), int64
        The row itself, by its number, or whose it is: rows of one unit are in one fold.
    first_unit : int, default=0
        Number of the first one among those of all parties; matters only to coins from a seed.

    Returns
    -------
    ndarray of shape (n_rows,), int32

    Privacy
    -------
    A coin looks at no row: one row more is in a fold of its own coin, and moves no other.
    """
    equal = [Fraction(1, n_folds)] * n_folds
    n_units = int(units.max()) + 1 if len(units) else 0
    return coins.blocks(equal, n_units, first_unit)[units]
