"""Scores of columns before the first tree: their separation of gradients by sign.

Proof: docs/proofs/column-choice.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.losses import Loss
from dpboost.privacy.queries import RowHandle, Sensitive, store_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import column_scores
from dpboost.rows.boosting_state import BoostingState

# Bins of a column that lie beside each other share a cell, so that there are at most so many.
MOST_CELLS = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSums:
    """Gradient sums of the rows in each cell of each column, for every output."""

    #: Of shape (n_features, 256). Public cell of each bin.
    cells: NDArray[np.uint16]
    #: Public clip of a row's gradient, as the loss takes it.
    gradient_limit: float
    n_outputs: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
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
    source: RowHandle,
    cells: NDArray[np.uint16],
    loss: Loss,
    limit: float,
    neighbors: Neighbors,
    *,
    by_chance: int,
) -> Sensitive:
    """Return the sum of absolute gradient sums over the cells of each column.

    A column that has to do with the labels separates rows of positive gradients from those of
    negative ones. The last score is that of no column: what a column of noise has by the mean of
    the gradients and by chance, or the lower quartile of the columns if that is less.

    Parameters
    ----------
    source : RowHandle
        Of rows in the state of a ``BoostingState``.
    cells : ndarray of shape (n_features, 256), uint16
        From `cells_of`.
    limit : float
        Public clip of a row's gradient, as the loss takes it.
    by_chance : int
        Public estimate of an output's score of a column of noise, if gradients have mean zero.

    Returns
    -------
    Sensitive of shape (1, n_features + 1)

    Privacy
    -------
    Its range does not grow with the number of columns (``constants.column_scores``).
    """
    query = CellSums(cells=cells, gradient_limit=limit, n_outputs=loss.n_outputs)
    sums = store_of(source).exact(query)
    # A row is in one cell of each column, so that all columns have one total.
    totals = sums[:, 0].sum(axis=1).tolist()
    of_noise = sum(isqrt(total * total + by_chance * by_chance) for total in totals)
    scores = np.abs(sums).sum(axis=(0, 2))
    of_none = min(np.sort(scores)[len(scores) // 4], of_noise)
    scores = np.append(scores, of_none)[np.newaxis]
    return Sensitive(scores, (column_scores(loss.gradient_reach(limit), neighbors),))


def among(scores: Sensitive, columns: list[int], margin: int | None = None) -> Sensitive:
    """Return the scores of some columns, and with a margin that of no column, raised by it.

    Without the others, and with a public constant added, their range is no larger.
    """

    def taken(all_scores: NDArray[np.int64]) -> NDArray[np.int64]:
        own = np.ascontiguousarray(all_scores[:, columns])
        return own if margin is None else np.append(own, all_scores[:, -1:] + margin, axis=1)

    return scores.map(taken, bounds=scores.bounds)
