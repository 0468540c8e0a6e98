"""How much each column tells of the gradients of the rows, before the first tree.

Proof: docs/proofs/column-choice.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.losses import Loss
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.queries import RowHandle, store_of
from dpboost.privacy.sensitive import Sensitive
from dpboost.privacy.sensitivity.constants import column_scores
from dpboost.rows.boosting_state import BoostingState

# Bins of a column that lie beside each other share a cell, so that there are at most so many.
MOST_CELLS = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSums:
    """Gradient sums of the rows in each cell of each column, for every output.

    Parameters
    ----------
    cells : ndarray of shape (n_features, 256), uint16
        Public cell of each bin.
    gradient_limit : float
        Public clip of a row's gradient, as the loss takes it.
    n_outputs : int
    """

    cells: NDArray[np.uint16]
    gradient_limit: float
    n_outputs: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (self.n_outputs, len(self.cells), MOST_CELLS + 1)

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the sums for the rows of one place."""
        return rows.cell_sums(self.cells, MOST_CELLS + 1, self.gradient_limit)


def cells_of(binner: Binner) -> NDArray[np.uint16]:
    """Return the cell of each bin of each column; missing values have one of their own."""
    bins = np.arange(256)
    n_values = binner.n_bins[:, np.newaxis].astype(np.int64) - 1
    found = np.where(n_values > MOST_CELLS, bins * MOST_CELLS // np.maximum(n_values, 1), bins)
    return np.where(bins < n_values, found, MOST_CELLS).astype(np.uint16)


def scores_of_columns(
    source: RowHandle, cells: NDArray[np.uint16], loss: Loss, limit: float, neighbours: Neighbours
) -> Sensitive:
    """Return the sum of absolute gradient sums over the cells of each column.

    A column that has to do with the labels parts rows of positive gradients from those of
    negative ones. Of others every cell holds about the mean, which is near zero at the start.

    Parameters
    ----------
    source : RowHandle
        Of rows in the state of a ``BoostingState``.
    cells : ndarray of shape (n_features, 256), uint16
        From `cells_of`.
    loss : Loss
    limit : float
        Public clip of a row's gradient, as the loss takes it.
    neighbours : Neighbours

    Returns
    -------
    Sensitive of shape (1, n_features)

    Privacy
    -------
    Its range does not grow with the number of columns (``constants.column_scores``).
    """
    query = CellSums(cells=cells, gradient_limit=limit, n_outputs=loss.n_outputs)
    scores = np.abs(store_of(source).exact(query)).sum(axis=(0, 2))[np.newaxis]
    return Sensitive(scores, (column_scores(loss.gradient_reach(limit), neighbours),))


def among(scores: Sensitive, columns: list[int]) -> Sensitive:
    """Return the scores of some columns; without the others their range is no larger."""

    def taken(all_scores: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.ascontiguousarray(all_scores[:, columns])

    return scores.map(taken, bounds=scores.bounds)
