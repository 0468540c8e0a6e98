"""The start value and a row count, released together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.boosting.start_questions import ROW_UNITS, ClassSizes, MeanAndRows, RowCount
from dpboost.data.row_extras import Weighting
from dpboost.losses import ClassLoss, Loss
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.source import Question, Source

# A mean of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0


def release_start(
    loss: Loss,
    source: Source,
    *,
    budget: Budget,
    ledger: Ledger,
    weighting: Weighting | None = None,
    fixed: bool = False,
) -> tuple[Loss, float]:
    """Release where the scores start and a noisy number of rows.

    Parameters
    ----------
    loss : Loss
        Turns a mean of scaled labels, or the shares of several classes, into a start value.
    source : Source
        Of ``TaughtRows``.
    budget : Fraction or inf
        In the currency of the ledger's accountant.
    ledger : Ledger
        The gate.
    weighting : Weighting, optional
        A row then counts as its weight, in units of the largest one.
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
    if fixed:
        released = _release(RowCount(weighting=weighting), source, budget, ledger)
        return loss, max(float(released[0]), 1.0)
    if isinstance(loss, ClassLoss):
        sizes = ClassSizes(n_classes=loss.n_outputs, weighting=weighting)
        released = _release(sizes, source, budget, ledger)
        n_rows = max(float(released.sum()), 1.0)
        return loss.starting_at(released / max(n_rows, LEAST_ROWS)), n_rows
    question = MeanAndRows(loss=loss, weighting=weighting)
    total, n_rows = _release(question, source, budget, ledger).tolist()
    n_rows = max(n_rows, 1.0)
    return loss.starting_at(total / max(n_rows, LEAST_ROWS)), n_rows


def release_class_sizes(
    n_classes: int, source: Source, *, budget: Budget, ledger: Ledger
) -> NDArray[np.float64]:
    """Release the number of rows of each class, for weights that balance them.

    Parameters
    ----------
    n_classes : int
    source : Source
        Of ``TaughtRows``.
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
    released = _release(ClassSizes(n_classes=n_classes), source, budget, ledger)
    return np.maximum(released, 1.0)


def _release(
    question: Question, source: Source, budget: Budget, ledger: Ledger
) -> NDArray[np.float64]:
    """Release a vector in rows instead of units."""
    sensitive = source.sensitive(question, ledger.neighbours)
    return ledger.release(ledger.accountant.noise(budget), sensitive, label="start value") / (
        ROW_UNITS
    )
