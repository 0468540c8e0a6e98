"""Rows of this process: read, checked, and handed over to a store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads
from dpboost.data.column_types import ColumnFacts
from dpboost.data.users import first_rows, sample_rows, take_rows
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import LocalRows, RowHandle
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.inputs import (
    GivenRows,
    Reading,
    read,
    read_extras,
    read_labels,
    users_of,
)
from dpboost.training.request import FitRequest, Inputs

#: Chance of a row, or of a user, to be set aside.
HELD_OUT = 0.3


class AsideRows(NamedTuple):
    """Rows that train nothing.

    Parameters
    ----------
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckedRows:
    """Rows of this process that have been read once and found usable; private.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        As it was given.
    labels : ndarray of shape (n_rows,)
    users : ndarray of shape (n_rows,), int64, or None
        Where users are protected.
    """

    X: Any
    labels: NDArray[Any]
    extras: RowExtras
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
    Where users are protected, secret coins choose the rows of each that take part.
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
    inputs = Inputs.of(ColumnFacts.of(table), rows.labels, table.categorical, extras, request)
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
    return RowHandle(LocalRows(store)), inputs, ledger, aside
