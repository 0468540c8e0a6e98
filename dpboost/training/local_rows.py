"""Rows of this process: read, checked, and handed over to a store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads
from dpboost.data.column_types import ColumnFacts
from dpboost.data.users import first_rows, sample_rows, take_rows
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import LocalRows, RowHandle
from dpboost.rows.raw_rows import RawRows
from dpboost.training.inputs import Reading, read, read_labels, users_of
from dpboost.training.request import FitRequest, Inputs

#: Chance of a row, or of a user, to be set aside.
HELD_OUT = 0.3


class AsideRows(NamedTuple):
    """Rows that train nothing.

    Parameters
    ----------
    X : table
    labels : ndarray of shape (n_rows,)
    reading : Reading
        How the table is to be read.
    """

    X: Any
    labels: NDArray[Any]
    reading: Reading


def set_aside(coins: NDArray[np.uint64], users: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which rows are set aside: each by its own coin, all rows of a user by one.

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


def read_local(
    X: Any, y: Any, request: FitRequest
) -> tuple[RowHandle, Inputs, Ledger, AsideRows | None]:
    """Read and check the inputs, open the ledger, and make a store of the rows.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
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
    Where users are protected, secret coins choose the rows of each that take part.
    """
    privacy, reading = request.privacy, request.reading
    table = read(X, privacy.schema, reading)
    extras = request.objective.read_rows(table.n_rows)
    labels = read_labels(y, table, request.task)
    users = users_of(reading, privacy, table, request.owner)
    inputs = Inputs.of(ColumnFacts.of(table), labels, table.categorical, extras, request)
    ledger = request.open_ledger(inputs)
    if privacy.claim is not None and privacy.claim.holdout is not None:
        # Before anything looks at the rows: those that are set aside enter no release.
        trained = privacy.claim.set_aside(X, labels, users, ledger.row_coins())
        X, labels, extras = take_rows(X, trained), labels[trained], extras.take(trained)
        users = None if users is None else users[trained]
        table = read(X, privacy.schema, reading)
    aside = None if request.stopping is None else rows_that_stop(request, ledger)
    counted: slice | NDArray[np.intp] = slice(None)
    if users is not None and privacy.rows_per_user is not None:
        coins = ledger.row_coins().words(0, table.n_rows)
        chosen = sample_rows(users, privacy.rows_per_user, coins)
        X, labels, users = take_rows(X, chosen), labels[chosen], users[chosen]
        extras = extras.take(chosen)
        table = read(X, privacy.schema, reading)
        counted = first_rows(users)
    if request.conformal is not None:
        out = set_aside(ledger.row_coins().words(0, len(labels)), users)
        # Coins have dealt the rows: an error about an empty part would tell.
        reading = replace(reading, may_be_empty=True)
        aside = AsideRows(take_rows(X, np.flatnonzero(out)), labels[out], reading)
        kept = np.flatnonzero(~out)
        X, labels, extras = take_rows(X, kept), labels[kept], extras.take(kept)
        table = read(X, privacy.schema, reading)
        counted = slice(None) if users is None else first_rows(users[kept])
    rows = RawRows(
        table=table,
        labels=labels,
        extras=extras,
        counted=counted,
        read_again=lambda schema: read(X, schema, reading),
        threads=Threads.of(request.n_jobs),
    )
    return RowHandle(LocalRows(rows)), inputs, ledger, aside
