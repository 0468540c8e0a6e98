"""Rows that are read once, into bins that are known before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import Batches
from dpboost.data.binner import Binner
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import BatchedTable, Table


def bin_while_reading(
    table: BatchedTable, batches: Batches, binner: Binner, n_threads: int
) -> tuple[Table, Any, Any]:
    """Read the rows once, keeping their bins, labels and weights.

    Parameters
    ----------
    table : BatchedTable
        Of the same batches; not read before.
    binner : Binner
        Public bins, known before any row is read.

    Returns
    -------
    table : Table
        Of which the bins are kept alone.
    labels, weights : ndarray of shape (n_rows,) or None
    """
    columns = [bytearray() for _ in range(binner.n_features)]
    beside = []
    for batch in batches:
        bins = dense_matrix(table.part(batch).bins(binner, n_threads))
        for column, more in zip(columns, bins, strict=True):
            column += more.data
        beside.append((batch.label, batch.weight))
    joined = np.empty((len(columns), len(columns[0])), dtype=np.uint8)
    for position, line in enumerate(joined):
        line[:] = np.frombuffer(columns[position], dtype=np.uint8)
        columns[position] = bytearray()  # its memory is free before the next one is copied
    return binned_table(table, binner, joined), *batches.joined(beside)


def binned_table(like: Table, binner: Binner, bins: NDArray[np.uint8]) -> Table:
    """Return a table of rows of which only the bins are kept.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
    """

    def kept_bins(asked: object) -> NDArray[np.uint8]:
        if asked != binner:
            raise InvalidParameterError(
                "The rows of X were read once, into the bins that the schema gives, and this fit "
                "asks for others: pass X as a table."
            )
        return bins

    return Table(
        like.columns, n_rows=bins.shape[1], categorical=like.categorical, kept_bins=kept_bins
    )
