"""The start value and a row count, released together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.losses import Loss
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.constants import newton_sums
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitive import Sensitive

# One row, and a scaled label of one, in units of the released vector.
ROW_UNITS = 2**18
# A mean of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0


def release_start(
    loss: Loss,
    labels: NDArray[np.int64],
    present: NDArray[np.bool_],
    *,
    budget: Budget,
    ledger: Ledger,
) -> tuple[Loss, float]:
    """Release a noisy mean of the labels and a noisy number of rows.

    Parameters
    ----------
    loss : Loss
        Scales the labels to [-1, 1] or [0, 1] and turns their mean into a start value.
    labels : ndarray of shape (n_rows,), int64
        Private labels on the loss's grid.
    present : ndarray of shape (n_rows,), bool
        Rows that take part.
    budget : Fraction or inf
        In the currency of the ledger's accountant.
    ledger : Ledger
        The gate.

    Returns
    -------
    loss : Loss
        The loss with its start value.
    n_rows : float
        The released number of rows, at least 1.

    Privacy
    -------
    Releases the vector (sum of scaled labels, number of rows). A row adds at most (1, 1) to it
    (``constants.newton_sums``).
    """
    scaled = np.rint(loss.scaled_labels(labels) * ROW_UNITS).astype(np.int64)
    vector = np.array(
        [int(scaled[present].sum()), ROW_UNITS * int(np.count_nonzero(present))], dtype=np.int64
    )
    sensitive = Sensitive(
        vector, newton_sums(ROW_UNITS, ROW_UNITS, ledger.neighbours), unit=1 / ROW_UNITS
    )
    released = ledger.release(ledger.accountant.noise(budget), sensitive, label="start value")
    total, n_rows = (released / ROW_UNITS).tolist()
    n_rows = max(n_rows, 1.0)
    return loss.starting_at(total / max(n_rows, LEAST_ROWS)), n_rows
