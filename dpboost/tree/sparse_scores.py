"""Scores of all candidates from sparse columns, a few features at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpboost.data.sparse import SparseBins
from dpboost.tree.criteria import GradientGain
from dpboost.tree.layout import Layout

# Cells of the histograms that are held at a time: 2 MB, so that they stay in the cache.
_CELLS_AT_ONCE = 1 << 17
# Scores that one release may hold: 128 MB. A node has as many as there are candidates.
_SCORES_AT_ONCE = 1 << 24


def node_groups(bins: object, layout: Layout, n_nodes: int) -> list[slice]:
    """Return which nodes of a level are scored together: of dense bins all, else public groups.

    Parameters
    ----------
    bins : ndarray or SparseBins
    layout : Layout
    n_nodes : int

    Returns
    -------
    list of slice
        Neighbouring nodes, all of them once. A function of public numbers only.
    """
    size = n_nodes
    if isinstance(bins, SparseBins):
        size = max(1, _SCORES_AT_ONCE // layout.n_candidates)
    return [slice(first, min(first + size, n_nodes)) for first in range(0, n_nodes, size)]


def sparse_scores(
    bins: SparseBins,
    node_of_row: NDArray[np.int32],
    words: NDArray[np.int64],
    totals: tuple[NDArray[np.int64], NDArray[np.int64]],
    criterion: GradientGain,
    layout: Layout,
    n_threads: int,
) -> NDArray[np.int64]:
    """Score every candidate of some nodes; histograms touch stored cells only.

    Parameters
    ----------
    bins : SparseBins of shape (n_features, n_rows)
    node_of_row : ndarray of shape (n_rows,), int32
        Negative for rows of other nodes.
    words : ndarray of shape (n_rows,), int64
        Packed gradient and count of each row.
    totals : tuple of two ndarrays of shape (n_nodes,), int64
        Gradient sums and counts of the nodes.
    criterion : GradientGain
    layout : Layout
    n_threads : int

    Returns
    -------
    ndarray of shape (n_nodes, n_candidates), int64
        The same as from dense histograms.
    """
    scores = np.empty((len(totals[0]), layout.n_candidates), dtype=np.int64)
    for features in _runs(layout, max(1, _CELLS_AT_ONCE // len(totals[0]))):
        part = layout.part(features)
        sums, counts = bins.histograms(
            features, node_of_row, words, totals, part.cell_offsets, n_threads
        )
        first, last = layout.candidate_offsets[[features.start, features.stop]]
        scores[:, first:last] = criterion.scores(sums, counts, part)
    return scores


def _runs(layout: Layout, n_cells: int) -> Iterator[slice]:
    """Cut the features in runs of about so many cells."""
    n_features = len(layout.is_categorical)
    first = 0
    while first < n_features:
        limit = layout.cell_offsets[first] + n_cells
        last = int(np.searchsorted(layout.cell_offsets, limit, side="right")) - 1
        last = min(max(last, first + 1), n_features)
        yield slice(first, last)
        first = last
