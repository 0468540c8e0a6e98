"""Sensitivity of the balance of rows below and above a threshold.

Machine-checked: docs/proofs/machine-checked.md.
"""

from __future__ import annotations

from dpboost._utils.validation import check_integer
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity


def quantile_balance(
    below: int, above: int, neighbors: Neighbors
) -> tuple[Sensitivity, Sensitivity]:
    r"""L1 and L2 sensitivity of :math:`b N_{\le c} - a N_{> c}`, a sum of one coordinate.

    Proof: docs/proofs/conformal.md.

    Parameters
    ----------
    below, above : int
        :math:`b` and :math:`a`: what a row adds that is at most the threshold, and what one takes
        away that is above it.

    Returns
    -------
    l1, l2 : Sensitivity
        For add/remove :math:`\max(a, b)`, for replace :math:`a + b`.

    Notes
    -----
    A row adds :math:`b`, :math:`-a`, or nothing where it takes no part. Adding it moves the sum by
    at most the larger; replacing one moves it most from one side to the other. There is one
    coordinate, so both norms are the same.
    """
    low = check_integer("below", "quantile_balance", below, low=1)
    high = check_integer("above", "quantile_balance", above, low=1)
    moved = max(low, high) if neighbors is Neighbors.ADD_REMOVE else low + high
    reason = "a row is on one side of the threshold"
    return Sensitivity("l1", moved, reason, 1), Sensitivity("l2", moved, reason, 1)
