"""The start value and a row count, released together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.losses import ClassLoss, Loss, OneOutputLoss
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.constants import counts, newton_sums
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.reach import Reach
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Sensitive

# One row, and a scaled label of one, in units of the released vector.
ROW_UNITS = 2**18
# The largest weight in units of weights.
WEIGHT_ONE = 2**16
# A mean of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0


def release_start(
    loss: Loss,
    labels: NDArray[np.int64],
    present: NDArray[np.bool_],
    *,
    budget: Budget,
    ledger: Ledger,
    weights: NDArray[np.int32] | None = None,
    fixed: bool = False,
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
    weights : ndarray of shape (n_rows,), int32, optional
        Of each row, in units of 2^-16 of the largest one; a row then counts as its weight.
    fixed : bool, default=False
        Whether the start of the loss stays as it is, so that only rows are counted.

    Returns
    -------
    loss : Loss
        The loss with its start value.
    n_rows : float
        The released number of rows (sum of weights, in units of the largest one), at least 1.

    Privacy
    -------
    One output: releases the vector (sum of scaled labels, number of rows), to which a row adds
    at most (1, 1) (``constants.newton_sums``). Several: releases the number of rows of each class
    (``constants.counts``). Fixed: the number of rows alone. A weight is at most 1 here, so none
    of these bounds changes; a row's part is rounded after it was multiplied.
    """
    labels = labels[present]
    rows = np.full(len(labels), ROW_UNITS, dtype=np.int64)
    if weights is not None:
        rows = weights[present].astype(np.int64) * (ROW_UNITS // WEIGHT_ONE)
    if fixed:
        total = np.array([int(rows.sum())], dtype=np.int64)
        bound = counts(ledger.neighbours, ROW_UNITS)
        released = _release(Sensitive(total, bound, unit=1 / ROW_UNITS), budget, ledger)
        return loss, max(float(released[0]), 1.0)
    if isinstance(loss, ClassLoss):
        sizes = _class_sizes(loss.n_outputs, labels, rows, ledger.neighbours)
        released = _release(sizes, budget, ledger)
        n_rows = max(float(released.sum()), 1.0)
        return loss.starting_at(released / max(n_rows, LEAST_ROWS)), n_rows
    total, n_rows = _release(_mean_and_rows(loss, labels, rows, ledger), budget, ledger).tolist()
    n_rows = max(n_rows, 1.0)
    return loss.starting_at(total / max(n_rows, LEAST_ROWS)), n_rows


def release_class_sizes(
    n_classes: int,
    indices: NDArray[np.int64],
    present: NDArray[np.bool_],
    *,
    budget: Budget,
    ledger: Ledger,
) -> NDArray[np.float64]:
    """Release the number of rows of each class, for weights that balance them.

    Parameters
    ----------
    n_classes : int
    indices : ndarray of shape (n_rows,), int64
        Private class of each row.
    present : ndarray of shape (n_rows,), bool
        Rows that take part.
    budget : Fraction or inf
        In the currency of the ledger's accountant.
    ledger : Ledger
        The gate.

    Returns
    -------
    ndarray of shape (n_classes,)
        Each at least 1.

    Privacy
    -------
    One release of the counts (``constants.counts``). It takes the place of the start value: with
    balanced weights all classes have the same share.
    """
    rows = np.full(int(present.sum()), ROW_UNITS, dtype=np.int64)
    sizes = _class_sizes(n_classes, indices[present], rows, ledger.neighbours)
    return np.maximum(_release(sizes, budget, ledger), 1.0)


def _release(sensitive: Sensitive, budget: Budget, ledger: Ledger) -> NDArray[np.float64]:
    """Release a vector in rows instead of units."""
    noise = ledger.accountant.noise(budget)
    return ledger.release(noise, sensitive, label="start value") / ROW_UNITS


def _mean_and_rows(
    loss: OneOutputLoss, labels: NDArray[np.int64], rows: NDArray[np.int64], ledger: Ledger
) -> Sensitive:
    """Sum of scaled labels and number of rows."""
    scaled = np.rint(loss.scaled_labels(labels) * rows).astype(np.int64)
    vector = np.array([int(scaled.sum()), int(rows.sum())], dtype=np.int64)
    reach = Reach.single(ROW_UNITS)
    return Sensitive(vector, newton_sums(reach, reach, ledger.neighbours), unit=1 / ROW_UNITS)


def _class_sizes(
    n_classes: int,
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    neighbours: Neighbours,
) -> Sensitive:
    """Count the rows of each class."""
    sizes = np.zeros(n_classes, dtype=np.int64)
    np.add.at(sizes, labels, rows)
    return Sensitive(sizes, counts(neighbours, ROW_UNITS), unit=1 / ROW_UNITS)
