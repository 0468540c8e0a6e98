"""Bound on the rows of each user that take part, by secret random assignment.

Privacy
-------
Each row draws a random number, independently of its cells; the rows with the smallest numbers of
each user take part: a uniform sample. Adding or removing all rows of one user adds or removes at
most ``rows_per_user`` rows of the sample and changes no other, so a mechanism that is private
for that many rows is private for the user. Proof: docs/proofs/users.md.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import Batches
from dpboost.data.containers import as_array, unpack
from dpboost.data.labels import check_same_length


def read_users(user_ids: Any, n_rows: int) -> NDArray[np.int64]:
    """Return a number for the user of each row.

    Parameters
    ----------
    user_ids : array-like of shape (n_rows,)
        Numbers, text or other hashable values; all that are missing are one user.

    Returns
    -------
    ndarray of shape (n_rows,), int64

    Raises
    ------
    InvalidParameterError
        For another shape or length, or values that cannot be hashed.
    """
    ids = np.asarray(user_ids)
    if ids.ndim != 1:
        raise InvalidParameterError("The 'user_ids' argument must be 1-D, one id for each row.")
    check_same_length(n_rows, ids)
    if ids.dtype.kind in "biufUSMm":
        _, codes = np.unique(ids, return_inverse=True)
        return codes.astype(np.int64, casting="safe").ravel()
    numbers: dict[Any, int] = {}
    try:
        listed = [numbers.setdefault(_known(value), len(numbers)) for value in ids.tolist()]
    except TypeError:
        raise InvalidParameterError(
            "The 'user_ids' argument must hold numbers or text, one id for each row."
        ) from None
    return np.array(listed, dtype=np.int64)


def _known(value: Any) -> Any:
    """Return an id, None for all kinds of missing ones."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return None if missing or (isinstance(value, float) and value != value) else value


def sample_rows(
    users: NDArray[np.int64], rows_per_user: int, coins: NDArray[np.uint64]
) -> NDArray[np.intp]:
    """Choose the rows that take part.

    Parameters
    ----------
    users : ndarray of shape (n_rows,), int64
    rows_per_user : int
        Maximum rows of a user.
    coins : ndarray of shape (n_rows,), uint64
        Secret words of ``RowCoins``.

    Returns
    -------
    ndarray of intp
        Positions in ascending order; of each user at most ``rows_per_user``, uniformly chosen.
    """
    order = np.lexsort((coins, users))
    grouped = users[order]
    first = np.flatnonzero(np.diff(grouped, prepend=-1))
    sizes = np.diff(np.append(first, len(grouped)))
    rank = np.arange(len(grouped)) - np.repeat(first, sizes)
    return np.sort(order[rank < rows_per_user])


def n_taken(users: NDArray[np.int64], rows_per_user: int) -> int:
    """Return how many rows `sample_rows` chooses, whatever the coins are."""
    _, sizes = np.unique(users, return_counts=True)
    return int(np.minimum(sizes, rows_per_user).sum())


def user_hashes(user_ids: Any, users: NDArray[np.int64], key: bytes) -> frozenset[bytes]:
    """Return a hash for each user, by which parts of a table are seen to share one.

    Parameters
    ----------
    user_ids : array-like of shape (n_rows,)
        As `read_users` takes them.
    users : ndarray of shape (n_rows,), int64
        What it returns.
    key : bytes
        At most 64; a hash means nothing to anyone who has not the key.
    """
    values = np.asarray(user_ids)[first_rows(users)].tolist()
    return frozenset(
        hashlib.blake2b(f"{_known(value)!r}".encode(), digest_size=16, key=key).digest()
        for value in values
    )


def earliest_rows(users: NDArray[np.int64], rows_per_user: int) -> NDArray[np.intp]:
    """Choose the rows that take part without a random choice: of each user those that come first.

    The choice among the rows of a user looks at their order alone, and at no row of anyone else.
    It is the same in every process.

    Parameters
    ----------
    users : ndarray of shape (n_rows,), int64
    rows_per_user : int
        Maximum rows of a user.

    Returns
    -------
    ndarray of intp
        Positions in ascending order.
    """
    return sample_rows(users, rows_per_user, np.arange(len(users), dtype=np.uint64))


def first_rows(users: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return one row of each user, for histograms that count users."""
    _, first = np.unique(users, return_index=True)
    return np.sort(first)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table of any supported kind."""
    if isinstance(X, Batches):
        return X.take(rows)
    X = unpack(X)
    if issparse(X):
        return checked_sparse(X).tocsr()[rows]
    return _safe_indexing(X if hasattr(X, "shape") else as_array(X), rows)
