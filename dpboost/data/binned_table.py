"""Rows of which nothing but the bins was kept, and the one pass that makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batched_table import BatchedTable
from dpboost.data.batches import Batches
from dpboost.data.binner import Binner
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import Table


class BinnedTable(Table):
    """Rows of which nothing but the bins was kept.

    Parameters
    ----------
    binner : Binner
        Public.
    bins : ndarray of shape (n_features, n_rows), uint8
    like : Table
        The table that was read.
    """

    __slots__ = ("_binner", "_bins")

    def __init__(self, binner: Binner, bins: NDArray[np.uint8], like: Table) -> None:
        super().__init__(
            n_rows=bins.shape[1],
            feature_names=like.feature_names,
            categorical=like.categorical,
            ordered=like.ordered,
            integer=like.integer,
            boolean=like.boolean,
            zero_as_missing=like.zero_as_missing,
        )
        self._binner = binner
        self._bins = bins

    def kept_bins(self, binner: object) -> NDArray[np.uint8]:
        """Return the bins, which must be those that are asked for.

        Raises
        ------
        InvalidParameterError
            For other bins: the rows are gone.
        """
        if binner != self._binner:
            raise InvalidParameterError(
                "The rows of X were read once, into the bins that the schema gives, and this fit "
                "asks for others: pass X as a table."
            )
        return self._bins


def bin_while_reading(
    table: BatchedTable, batches: Batches, binner: Binner, n_threads: int
) -> tuple[BinnedTable, Any, Any]:
    """Read the rows once, keeping their bins, labels and weights.

    Parameters
    ----------
    table : BatchedTable
        Of the same batches; not read before.
    batches : Batches
    binner : Binner
        Public bins, known before any row is read.
    n_threads : int

    Returns
    -------
    table : BinnedTable
    labels, weights : ndarray of shape (n_rows,) or None
    """
    columns = [bytearray() for _ in range(binner.n_features)]
    beside = []
    for batch in batches:
        bins = dense_matrix(binner.transform(table.part(batch), n_threads))
        for column, more in zip(columns, bins, strict=True):
            column += more.data
        beside.append((batch.label, batch.weight))
    joined = np.empty((len(columns), len(columns[0])), dtype=np.uint8)
    for position, line in enumerate(joined):
        line[:] = np.frombuffer(columns[position], dtype=np.uint8)
        columns[position] = bytearray()  # its memory is free before the next one is copied
    return BinnedTable(binner, joined, table), *batches.joined(beside)
