"""Which rows of a party take part in a session: the first of each person, and those of folds."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.labels import check_same_length
from dpboost.data.table import Table
from dpboost.data.users import earliest_rows, read_users, take_rows
from dpboost.federated.party.fold_book import FoldBook
from dpboost.federated.party.party_rows import read_labels, read_rows
from dpboost.federated.protocol.agreement import Agreement
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.objective import read_weights


class TakingPart(NamedTuple):
    """The rows of a party that take part.

    Parameters
    ----------
    table : Table
    labels : ndarray of shape (n_rows,)
    extras : RowExtras
    folds : ndarray of shape (n_rows,), int32, or None
        Whose model judges each row, in the evaluation of a cross-validation.
    """

    table: Table
    labels: NDArray[Any]
    extras: RowExtras
    folds: NDArray[np.int32] | None = None


def taking_part(
    X: Any,
    y: Any,
    agreement: Agreement,
    *,
    sample_weight: Any = None,
    user_ids: Any = None,
    folds: FoldBook | None = None,
) -> TakingPart:
    """Read the rows of a party, and leave out those that take no part.

    Parameters
    ----------
    X, y, sample_weight, user_ids, folds
        As of `Party`.
    agreement : Agreement

    Returns
    -------
    TakingPart

    Raises
    ------
    InvalidParameterError
        For rows, and what comes with them, that do not fit the agreement.
    """
    for name, given, agreed in (
        ("sample_weight", sample_weight, agreement.weighted),
        ("user_ids", user_ids, agreement.rows_per_user is not None),
        ("folds", folds, agreement.folds is not None),
    ):
        _check_given(name, given, agreed=agreed)
    table, labels = read_rows(X, agreement), read_labels(y, agreement)
    check_same_length(table.n_rows, labels)
    extras = RowExtras(sample_weight=read_weights(sample_weight, table.n_rows))
    units = np.arange(table.n_rows)
    chosen = units
    if agreement.rows_per_user is not None:
        units = read_users(user_ids, table.n_rows)
        chosen = earliest_rows(units, agreement.rows_per_user)
    if folds is None or agreement.folds is None:
        if agreement.rows_per_user is None:
            return TakingPart(table, labels, extras)
        return TakingPart(_table(X, chosen, agreement), labels[chosen], extras.take(chosen))
    dealt = folds.folds(agreement, units, _digest(table, labels))[chosen]
    fold = agreement.folds.fold
    if fold is not None:
        chosen = chosen[dealt != fold]
    return TakingPart(
        _table(X, chosen, agreement),
        labels[chosen],
        extras.take(chosen),
        dealt if fold is None else None,
    )


def _table(X: Any, chosen: NDArray[np.intp], agreement: Agreement) -> Table:
    """Read some rows, of which there may be none."""
    return read_rows(take_rows(X if hasattr(X, "shape") else np.asarray(X), chosen), agreement)


def _digest(table: Table, labels: NDArray[Any]) -> bytes:
    """Return a digest of all rows, by which the same ones are known again."""
    found = hashlib.sha256(repr(table.n_rows).encode())
    for feature in range(table.n_features):
        found.update(np.ascontiguousarray(table.column(feature), dtype=np.float64).tobytes())
    found.update(labels.tobytes())
    return found.digest()


def _check_given(name: str, value: Any, *, agreed: bool) -> None:
    """Raise unless something is there where the agreement says so, and nowhere else."""
    if agreed != (value is not None):
        must = "a FoldBook" if name == "folds" else "an array with one entry for each row"
        raise InvalidParameterError(
            f"The {name!r} parameter of Party must be {must if agreed else 'None'}: the agreement "
            "says so."
        )
