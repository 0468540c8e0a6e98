"""Fits to rows of this process, where some rows may be held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpboost._utils.threads import effective_n_threads
from dpboost.budgeting.claim import STOPPING_SHARE
from dpboost.budgeting.holdout import HELD, TRAINED
from dpboost.privacy.ledger import Disjoint, Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.training.conformal import calibrated
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel, with_facts
from dpboost.training.inputs import GivenRows, read
from dpboost.training.local_rows import AsideRows, read_local
from dpboost.training.private_stopping import (
    DIVISION,
    StoppingRows,
    check_stopping,
)
from dpboost.training.request import FitRequest, Inputs


# A numpy warning about an odd cell (an overflow, a signalling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit_local(given: GivenRows, request: FitRequest) -> FittedModel:
    """Fit a model to rows of this process.

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged.
    BudgetExceededError
        If less is left of the budget than the fit is to take; nothing is drawn or charged.

    Privacy
    -------
    As `fit`.
    """
    request = request.checked()
    if request.stopping is not None:
        check_stopping(request)
    rows, inputs, ledger, aside = read_local(given, request)
    if aside is None:
        return fit(rows, inputs, request, ledger)
    if request.stopping is not None:
        return fit_until_stopped(rows, inputs, request, ledger, aside)
    assert request.conformal is not None
    with ledger.parallel(DIVISION, Disjoint.HOLDOUT):
        with ledger.sequential(TRAINED):
            fitted = fit(rows, inputs, request, ledger)
        with ledger.sequential(HELD):
            return calibrated(
                fitted,
                read(aside.X, fitted.completed.schema, aside.reading),
                aside.labels,
                level=request.conformal,
                ledger=ledger,
                continuation=request.continuation,
                rows_per_user=request.privacy.rows_per_user,
                n_threads=effective_n_threads(request.n_jobs),
            )


def fit_until_stopped(
    rows: RowHandle, inputs: Inputs, request: FitRequest, ledger: Ledger, aside: AsideRows
) -> FittedModel:
    """Fit a model to rows of this process, and ask rows that were set aside when to stop.

    Parameters
    ----------
    rows : RowHandle
        Those to train on.
    request : FitRequest
        Checked, under a budget.
    ledger : Ledger
        The gate.

    Privacy
    -------
    As `fit` and `StoppingRows`. What was reserved of the budget and never charged is free again.
    """
    claim = request.privacy.claim
    assert request.stopping is not None
    assert claim is not None
    stopping = StoppingRows(
        rows=aside,
        patience=request.stopping,
        request=request,
        ledger=ledger,
        n_threads=effective_n_threads(request.n_jobs),
    )
    with ledger.parallel(DIVISION, Disjoint.HOLDOUT), ledger.sequential(TRAINED):
        fitted = fit(rows, inputs, replace(request, monitor=stopping), ledger)
    with ledger.beside(DIVISION, HELD, most=STOPPING_SHARE):
        sides = ledger.root.children[DIVISION].children
    claim.close(sides[TRAINED].total, sides[HELD].total, ledger.capacity)
    fitted = with_facts(fitted, budget=claim.record())
    return replace(fitted, best_iteration=stopping.best_iteration)
