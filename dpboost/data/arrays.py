"""Arrays and sparse matrices of numbers, checked before anything reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.columns import COMPLEX, NOT_NUMBERS, WHOLE_KINDS, to_float


def as_array(X: Any, *, may_be_empty: bool = False) -> NDArray[Any]:
    """Return a list or array as a 2-D numpy array of numbers, without a copy where it is one.

    Only an array has a type of its own: whole numbers in a list become floats.
    """
    ragged = False
    try:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        array = np.asarray(X)
        if not hasattr(X, "dtype") and array.dtype.kind in WHOLE_KINDS:
            array = array.astype(np.float64)  # what numpy makes of a list depends on its cells
    except ValueError:
        ragged = True
    if ragged:
        raise InvalidParameterError(
            "The 'X' argument must be a table of numbers with rows of equal length."
        )
    if array.dtype.kind == "c":
        raise InvalidParameterError(COMPLEX)
    if array.ndim < 2:
        raise InvalidParameterError(
            f"Expected 2D array, got {'1D' if array.ndim else 'scalar'} array instead. "
            "Reshape your data either using array.reshape(-1, 1) if your data has a single "
            "feature or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise InvalidParameterError(
            f"Found array with dim {array.ndim}, while dim <= 2 is required: pass one row per "
            "sample and one column per feature."
        )
    check_shape(array.shape, may_be_empty=may_be_empty)
    if array.dtype.kind not in "biuf":
        array = to_float(array)
    return array


def canonical(X: Any, layout: str) -> Any:
    """Return a sparse matrix in this layout, of floats, without duplicates; X where it is one."""
    if X.dtype.kind == "c":
        raise InvalidParameterError(COMPLEX)
    if X.dtype.kind not in "biuf":
        raise InvalidParameterError(NOT_NUMBERS)
    X = checked_sparse(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    result = X.asformat(layout)
    if not result.has_canonical_format:
        result = result.copy() if result is X else result
        result.sum_duplicates()
    return result


def check_shape(shape: tuple[int, ...], *, may_be_empty: bool = False) -> None:
    """Refuse tables without columns, and without rows unless these were assigned at random."""
    if shape[0] == 0 and not may_be_empty:
        raise InvalidParameterError(
            f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise InvalidParameterError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is "
            "required."
        )
