"""Split conformal prediction: a private quantile of the scores of held-out rows.

An independent secret draw determines whether a row, or a user, is held out. Held-out rows take part
in these releases only, and the other rows in none of them: the two sets are disjoint, so each may
use the whole budget, as in the parallel composition of the trees of an ensemble. Proof:
``docs/proofs/conformal.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.data.table import Table
from dpboost.losses.softmax import MOST_CLASSES
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle, handle_of
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.held_out_rows import HeldOutRows, QuantileBalance
from dpboost.training.fitted_model import FittedModel
from dpboost.training.request import Continuation
from dpboost.trees.calibration import Calibration
from dpboost.trees.ensemble import Ensemble

#: Chance of a row, or of a user, to be set aside.
HELD_OUT = 0.3
# Steps of the search; thresholds are a power of two many.
_STEPS = 12
# Widths of intervals go down to this part of the label range.
_FINEST = 2.0**-16


def calibrated(
    fitted: FittedModel,
    table: Table,
    labels: NDArray[np.generic],
    *,
    level: float,
    ledger: Ledger,
    continuation: Continuation,
    rows_per_user: int | None,
    n_threads: int,
) -> FittedModel:
    """Release the quantile of the scores of the rows held out.

    Parameters
    ----------
    fitted : Fitted
        A model of the other rows.
    table : Table
        The rows held out, read by the completed schema.
    labels : ndarray of shape (n_rows,)
    ledger : Ledger
        Inside the scope of these rows.
    continuation : Continuation
        What the report says of a model that is continued.

    Returns
    -------
    FittedModel
        With the calibration, and with the releases in the report.
    """
    schema = fitted.completed.schema
    bounds = schema.label_bounds if schema.classes is None else None
    rows = held_out_scores(fitted.ensemble, table, labels, bounds, schema.classes, n_threads)
    threshold = release_quantile(
        handle_of(rows),
        level=level,
        grid=thresholds(bounds),
        budget=ledger.capacity,
        ledger=ledger,
    )
    calibration = Calibration(level=level, threshold=threshold, label_bounds=bounds)
    facts = {
        **fitted.report.facts,
        # With the report these are a part of the model text, which then predicts intervals.
        **calibration.facts,
        "rows held out": f"each with chance {HELD_OUT} by secret random assignment, "
        "for the intervals alone",
    }
    report = PrivacyReport.from_ledger(
        ledger,
        assumed_public=(*fitted.completed.assumed, *continuation.assumed),
        facts=facts,
        rows_per_user=rows_per_user,
        continues=continuation.adds_up,
        earlier=continuation.report,
        budget=(fitted.report.accounting or {}).get("budget"),
    )
    ensemble = replace(fitted.ensemble, report=report.to_dict())
    return replace(fitted, ensemble=ensemble, report=report, calibration=calibration)


def held_out_scores(
    ensemble: Ensemble,
    table: Table,
    labels: NDArray[np.generic],
    bounds: tuple[float, float] | None,
    classes: Sequence[Any] | None,
    n_threads: int,
) -> HeldOutRows:
    """Return how badly a model fits each row.

    Of a regression that is how far the label, clipped to its bounds, is from the prediction; of
    classes one less the probability of the row's own.
    """
    found = np.asarray(ensemble.predict(table, n_threads), dtype=np.float64)
    if bounds is not None:
        numbers = np.clip(labels.astype(np.float64), *bounds)
        return HeldOutRows(scores=np.abs(numbers - found), present=np.ones(len(found), dtype=bool))
    assert classes is not None
    known = sorted(classes)[:MOST_CLASSES]
    if found.ndim == 1:
        found = np.column_stack([1 - found, found])[:, : max(len(known), 2)]
    scores = np.ones(len(labels))
    present = np.zeros(len(labels), dtype=bool)
    for position, own in enumerate(known):
        here = labels == own
        scores[here], present[here] = 1 - found[here, position], True
    return HeldOutRows(scores=scores, present=present)


def thresholds(bounds: tuple[float, float] | None) -> NDArray[np.float64]:
    """Return the public candidates in rising order; the last one covers everything."""
    n = 2**_STEPS
    if bounds is None:
        return np.linspace(1 / n, 1.0, n)
    finest = (bounds[1] - bounds[0]) * _FINEST
    return np.geomspace(finest, bounds[1] - bounds[0], n)


def release_quantile(
    source: RowHandle,
    *,
    level: float,
    grid: NDArray[np.float64],
    budget: PrivacyCost,
    ledger: Ledger,
) -> float:
    """Release the least threshold that noisy balances take to cover a level of the scores.

    Parameters
    ----------
    source : RowHandle
        Of `HeldOutRows`.
    level : float
        In (0, 1).
    grid : ndarray of shape (2**k,), float64
        Public, in rising order.

    Returns
    -------
    float
        One of ``grid``, the last where nothing less covers.

    Privacy
    -------
    ``k`` releases of one sum each, in sequence: a binary search, whose every step is chosen by what
    the one before has released (``quantile_balance``). Their number is public. Later steps, which
    are closer calls, get more of the budget.
    """
    steps = len(grid).bit_length() - 1
    assert len(grid) == 2**steps
    least, most = -1, len(grid) - 1
    for share in divide(budget, range(1, steps + 1)):
        middle = (least + most) // 2
        noise = ledger.accountant.noise(share)
        query = QuantileBalance(threshold=float(grid[middle]), level=level)
        balance = source.ask(query, ledger.neighbors)
        if ledger.release(noise, balance, label="conformal balance")[0] >= 0:
            most = middle
        else:
            least = middle
    return float(grid[most])
