"""Fits to rows of this process, with optional held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads, effective_n_threads
from dpboost.budgeting.claim import STOPPING_SHARE
from dpboost.budgeting.holdout import HELD, TRAINED
from dpboost.data.table import read
from dpboost.data.users import first_rows, sample_rows, take_rows
from dpboost.privacy.ledger import Disjoint, Ledger
from dpboost.privacy.queries import RowHandle, handle_of
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.conformal import HELD_OUT, calibrated
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel, with_facts
from dpboost.training.inputs import (
    AsideRows,
    GivenRows,
    read_extras,
    read_labels,
    users_of,
)
from dpboost.training.private_stopping import (
    DIVISION,
    StoppingRows,
    check_stopping,
)
from dpboost.training.request import FitRequest, Inputs


# A numpy warning about an odd cell (an overflow, a signaling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit_local(given: GivenRows, request: FitRequest) -> FittedModel:
    """Fit a model to rows of this process.

    Raises
    ------
    InvalidParameterError
        For invalid parameters or input, before anything is drawn or charged.
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
    """Fit a model to rows of this process, and ask rows that were held out when to stop.

    Parameters
    ----------
    rows : RowHandle
        Those to train on.
    request : FitRequest
        Checked, under a budget.

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


def set_aside(coins: NDArray[np.uint64], users: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which rows are held out: each by an independent draw, all rows of a user by one.

    Parameters
    ----------
    coins : ndarray of shape (n_rows,), uint64
        Secret words.
    users : ndarray of shape (n_rows,), int64, optional
    """
    if users is not None:
        _, first, number = np.unique(users, return_index=True, return_inverse=True)
        coins = coins[first][number]
    aside: NDArray[np.bool_] = coins < np.uint64(int(HELD_OUT * 2**64))
    return aside


def rows_that_stop(request: FitRequest, ledger: Ledger) -> AsideRows:
    """Return the rows of a budget's holdout that may stop training, a sample of each user's."""
    privacy = request.privacy
    assert privacy.claim is not None
    assert privacy.claim.holdout is not None
    held = privacy.claim.holdout.rows
    assert held is not None
    chosen = np.arange(len(held.y))
    if held.users is not None and privacy.rows_per_user is not None:
        words = ledger.row_coins().words(0, len(chosen))
        chosen = sample_rows(held.users, privacy.rows_per_user, words)
    reading = replace(request.reading, may_be_empty=True)
    return AsideRows(take_rows(held.X, chosen), held.y[chosen], reading)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckedRows:
    """Checked rows of this process; private."""

    #: Table of shape (n_rows, n_features). As it was given.
    X: Any
    #: Of shape (n_rows,).
    labels: NDArray[Any]
    extras: RowExtras
    #: Ndarray of shape (n_rows,), int64, or None. If users are protected.
    users: NDArray[np.int64] | None = None

    def take(self, rows: NDArray[np.intp]) -> CheckedRows:
        """Return some of them."""
        return CheckedRows(
            X=take_rows(self.X, rows),
            labels=self.labels[rows],
            extras=self.extras.take(rows),
            users=None if self.users is None else self.users[rows],
        )


def read_local(
    given: GivenRows, request: FitRequest
) -> tuple[RowHandle, Inputs, Ledger, AsideRows | None]:
    """Read and check the inputs, open the ledger, and make a store of the rows.

    Parameters
    ----------
    request : FitRequest
        Checked.

    Returns
    -------
    rows : RowHandle
        Of ``RawRows``. It alone holds what is read here, and lets go of it once rows are in bins.
    inputs : Inputs
    ledger : Ledger
    aside : AsideRows or None
        Rows for intervals or sets of predictions, or those that may stop training, where these are
        asked for.

    Raises
    ------
    InvalidParameterError
        For bad input, before anything is drawn or charged.

    Privacy
    -------
    If users are protected, a secret random assignment chooses the rows of each that take part.
    """
    privacy, reading = request.privacy, request.reading
    table = read(given.X, privacy.schema, reading)
    n_rows, continues = table.n_rows, request.continuation.continues
    extras = read_extras(given.sample_weight, given.init_score, n_rows, continues=continues)
    rows = CheckedRows(
        X=given.X,
        labels=read_labels(given.y, n_rows, request.task),
        extras=extras,
        users=users_of(given.user_ids, privacy, n_rows, request.owner),
    )
    inputs = Inputs.of(table.columns, rows.labels, table.categorical, extras, request)
    ledger = request.open_ledger(inputs)
    # Before anything looks at the rows: those that are set aside enter no release.
    aside = None
    if privacy.claim is not None and privacy.claim.holdout is not None:
        coins = ledger.row_coins()
        rows = rows.take(privacy.claim.set_aside(rows.X, rows.labels, rows.users, coins))
    if request.stopping is not None:
        aside = rows_that_stop(request, ledger)
    if rows.users is not None and privacy.rows_per_user is not None:
        words = ledger.row_coins().words(0, len(rows.labels))
        rows = rows.take(sample_rows(rows.users, privacy.rows_per_user, words))
    if request.conformal is not None:
        out = set_aside(ledger.row_coins().words(0, len(rows.labels)), rows.users)
        # Coins have dealt the rows: an error about an empty part would tell.
        reading = replace(reading, may_be_empty=True)
        held = np.flatnonzero(out)
        aside = AsideRows(take_rows(rows.X, held), rows.labels[held], reading)
        rows = rows.take(np.flatnonzero(~out))
    X = rows.X
    store = RawRows(
        table=table if X is given.X else read(X, privacy.schema, reading),
        labels=rows.labels,
        extras=rows.extras,
        counted=slice(None) if rows.users is None else first_rows(rows.users),
        read_again=lambda schema: read(X, schema, reading),
        threads=Threads.of(request.n_jobs),
    )
    return handle_of(store), inputs, ledger, aside
