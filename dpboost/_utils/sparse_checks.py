"""Checks of the indices of sparse matrices before compiled code uses them."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError


def checked_sparse(X: Any) -> Any:
    """Return a sparse matrix with the same cells that can be converted and read.

    ``X`` is a matrix or array of any format. The result is a new one around the same arrays where
    that can be: what ``X`` remembers of its indices, that they are sorted for instance, may be
    older than they are. LIL and DOK become COO. InvalidParameterError for other numbers of
    dimensions, and for indices that are no integers, lie outside the shape or are more or fewer
    than the values.

    Privacy
    -------
    The message tells that a matrix is damaged, not where.
    """
    if X.ndim != 2:
        raise InvalidParameterError(f"Expected 2D array, got {X.ndim}D sparse array instead.")
    sound = None
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        sound = _checked(X)
    if sound is None:
        raise InvalidParameterError("The sparse matrix X is invalid: its indices are inconsistent.")
    return sound


def _checked(X: Any) -> Any:
    """Return a sound matrix; None or an error of SciPy where the matrix is damaged."""
    if X.format == "lil":
        X = _joined_lists(X)
    elif X.format == "dok":
        X = X.tocoo()
    elif X.format not in ("csr", "csc", "bsr", "coo", "dia"):
        X = X.tocsr()
    if X is None:
        return None
    kind = "array" if isinstance(X, scipy.sparse.sparray) else "matrix"
    again = getattr(scipy.sparse, f"{X.format}_{kind}")
    n_rows, n_columns = X.shape
    if X.format == "coo":
        if not (_within(X.row, n_rows, X.data) and _within(X.col, n_columns, X.data)):
            return None
        return again((X.data, (X.row, X.col)), shape=X.shape)
    if X.format == "dia":
        if X.offsets.dtype.kind not in "iu" or len(X.offsets) != len(X.data):
            return None
        inside = (X.offsets > -n_rows) & (X.offsets < n_columns)
        return again((X.data[inside], X.offsets[inside]), shape=X.shape)
    if X.format == "bsr":
        height, width = X.data.shape[1:]
        if n_rows % height or n_columns % width:
            return None
        n_rows, n_columns = n_rows // height, n_columns // width
    n_lines, length = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
    starts = X.indptr
    if starts.shape != (n_lines + 1,) or starts.dtype.kind not in "iu" or starts[0] != 0:
        return None
    if (starts[1:] < starts[:-1]).any() or starts[-1] > len(X.indices):
        return None
    if not _within(X.indices, length, X.data):
        return None
    return again((X.data, X.indices, starts), shape=X.shape)


def _within(indices: NDArray[Any], length: int, values: NDArray[Any]) -> bool:
    """Return whether there is an index for each value, and all of them lie below a length."""
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or len(indices) != len(values):
        return False
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < length)


def _joined_lists(X: Any) -> Any:
    """Return a LIL matrix as COO, or None if its lists do not fit together."""
    sizes = [len(line) for line in X.rows]
    if sizes != [len(line) for line in X.data] or len(sizes) != X.shape[0]:
        return None
    columns = np.array([*chain.from_iterable(X.rows)]) if any(sizes) else np.empty(0, dtype=int)
    values = np.array([*chain.from_iterable(X.data)], dtype=X.dtype)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    if not _within(columns, X.shape[1], values):
        return None
    return scipy.sparse.coo_matrix((values, (rows, columns)), shape=X.shape)
