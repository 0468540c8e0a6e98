"""The start value and a row count, released together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.losses import Loss, SoftmaxLoss, SplitLoss
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.constants import counts, newton_sums
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.reach import Reach
from dpboost.privacy.relation import Neighbours
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
    """Release where the scores start and a noisy number of rows.

    Parameters
    ----------
    loss : Loss
        Turns a mean of scaled labels, or the shares of several classes, into a start value.
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
    One output: releases the vector (sum of scaled labels, number of rows), to which a row adds
    at most (1, 1) (``constants.newton_sums``). Several: releases the number of rows of each class
    (``constants.counts``).
    """
    if isinstance(loss, SoftmaxLoss):
        sizes = _class_sizes(loss.n_outputs, labels[present], ledger.neighbours)
        released = _release(sizes, budget, ledger)
        n_rows = max(float(released.sum()), 1.0)
        return loss.starting_at(released / max(n_rows, LEAST_ROWS)), n_rows
    total, n_rows = _release(_mean_and_rows(loss, labels[present], ledger), budget, ledger).tolist()
    n_rows = max(n_rows, 1.0)
    return loss.starting_at(total / max(n_rows, LEAST_ROWS)), n_rows


def _release(sensitive: Sensitive, budget: Budget, ledger: Ledger) -> NDArray[np.float64]:
    """Release a vector in rows instead of units."""
    noise = ledger.accountant.noise(budget)
    return ledger.release(noise, sensitive, label="start value") / ROW_UNITS


def _mean_and_rows(loss: SplitLoss, labels: NDArray[np.int64], ledger: Ledger) -> Sensitive:
    """Sum of scaled labels and number of rows."""
    scaled = np.rint(loss.scaled_labels(labels) * ROW_UNITS).astype(np.int64)
    vector = np.array([int(scaled.sum()), ROW_UNITS * len(labels)], dtype=np.int64)
    reach = Reach.single(ROW_UNITS)
    return Sensitive(vector, newton_sums(reach, reach, ledger.neighbours), unit=1 / ROW_UNITS)


def _class_sizes(n_classes: int, labels: NDArray[np.int64], neighbours: Neighbours) -> Sensitive:
    """Count the rows of each class."""
    sizes = np.bincount(labels, minlength=n_classes).astype(np.int64) * ROW_UNITS
    return Sensitive(sizes, counts(neighbours, ROW_UNITS), unit=1 / ROW_UNITS)
