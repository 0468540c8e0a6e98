"""Rows of cells on which a small model is fitted: drawn, or declared public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.compacting.released_function import NOTHING, ZEROS, ReleasedFunction

# LightGBM counts what is no larger as zero.
_ZERO = float(np.float32(1e-35))
# The part of the cells of a row that is drawn evenly: the shares never reach some.
_EVEN = 0.1


def draw_rows(
    function: ReleasedFunction,
    n_rows: int,
    rng: np.random.Generator,
    public: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Draw rows of cells.

    A row is a public one where there are any, else each feature is drawn by its released shares.
    Each cell is then, with a small probability, drawn again: all cells of its feature alike,
    missing among them. So the small model follows the full one also where rows are rare. ``public``
    are cells of rows that are declared public, of shape (n_features, n_public); the result has
    shape (n_features, n_rows).

    Privacy
    -------
    Reads released shares and declared public rows; the seed is public.
    """
    drawn = np.zeros((len(function.n_bins), n_rows), dtype=np.uint8)
    if public is not None:
        drawn[:] = public[:, rng.integers(0, public.shape[1], n_rows)]
    for f in function.used.tolist():
        if public is None:
            assert function.shares is not None
            share = function.shares[f]
            drawn[f] = rng.choice(len(share), n_rows, p=share)
        again = np.flatnonzero(rng.random(n_rows) < _EVEN)
        drawn[f, again] = rng.integers(0, function.n_cells[f], len(again))
    return drawn


def cells_of(
    function: ReleasedFunction, rows: Any, lists: Sequence[Sequence[Any]], owner: str
) -> NDArray[np.uint8]:
    """Return the cells of rows that are declared public.

    ``rows`` is a DataFrame or array of shape (n_rows, n_features): numbers; of categories their
    codes, or categorical columns of a DataFrame, whose ``lists`` are as the model text has them.
    """
    n_features = len(function.n_bins)
    columns = _columns(rows, lists, owner)
    if len(columns) != n_features or not len(columns[0]):
        raise refuse("public_rows", owner, f"a table of {n_features} columns with rows", rows)
    found = np.zeros((n_features, len(columns[0])), dtype=np.uint8)
    for f in function.used.tolist():
        column, values = columns[f], function.values[f]
        if function.is_categorical[f]:
            place = np.searchsorted(values, column)
            known = (place < len(values)) & (values[np.minimum(place, len(values) - 1)] == column)
            found[f] = np.where(known, place, len(values))
            continue
        missing = np.isnan(column)
        if function.missing[f] == NOTHING:
            column, missing = np.where(missing, 0.0, column), np.zeros(len(column), dtype=bool)
        elif function.missing[f] == ZEROS:
            missing = missing | (np.abs(column) <= _ZERO)
        found[f] = np.where(missing, function.n_bins[f], np.searchsorted(values, column))
    return found


def _columns(rows: Any, lists: Sequence[Sequence[Any]], owner: str) -> list[NDArray[np.float64]]:
    """Return the columns of a table as numbers, categories as the codes of the model."""
    if not hasattr(rows, "columns"):
        try:
            array = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise refuse("public_rows", owner, "a table of numbers or categories", rows) from error
        return list(np.atleast_2d(array).T) if array.ndim == 2 else []
    named = iter(lists)
    columns = []
    for position in range(rows.shape[1]):
        column = rows.iloc[:, position]
        if hasattr(column, "cat"):
            listed = next(named, None)
            if listed is None:
                raise InvalidParameterError(
                    f"The 'public_rows' parameter of {owner} has more categorical columns than the "
                    "model. Give its columns, in its order."
                )
            codes = column.cat.set_categories(list(listed)).cat.codes.to_numpy()
            columns.append(np.where(codes < 0, np.nan, codes))
            continue
        try:
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError) as error:
            must = "numbers and categorical columns (astype('category'))"
            raise refuse("public_rows", owner, must, column.dtype) from error
    return columns
