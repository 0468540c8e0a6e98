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


def node_groups(layout: Layout, n_nodes: int, *, sparse: bool) -> list[slice]:
    """Return which nodes of a level are scored together: of dense bins all, else public groups.

    Parameters
    ----------
    layout : Layout
    n_nodes : int
    sparse : bool
        Whether bins are sparse.

    Returns
    -------
    list of slice
        Neighbouring nodes, all of them once. A function of public numbers only.
    """
    size = n_nodes
    if sparse:
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

    Where no row of the nodes stores anything of a feature, all of them have the same bin: each
    candidate leaves a node as it is, and all of them have one score.

    Parameters
    ----------
    bins : SparseBins of shape (n_features, n_rows)
        Of the rows of these nodes.
    node_of_row : ndarray of shape (n_rows,), int32
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
    scores[:] = _undivided(totals, criterion)
    stored = np.flatnonzero(np.diff(bins.column_start))
    held = bins.only(stored)
    sizes = np.diff(layout.cell_offsets)[stored]
    for features in _runs(sizes, max(1, _CELLS_AT_ONCE // len(totals[0]))):
        part = layout.part(stored[features])
        sums, counts = held.histograms(
            features, node_of_row, words, totals, part.cell_offsets, n_threads
        )
        places = np.repeat(
            layout.candidate_offsets[stored[features]] - part.candidate_offsets[:-1],
            np.diff(part.candidate_offsets),
        )
        places += np.arange(part.n_candidates, dtype=places.dtype)
        scores[:, places] = criterion.scores(sums, counts, part)
    return scores


def _undivided(
    totals: tuple[NDArray[np.int64], NDArray[np.int64]], criterion: GradientGain
) -> NDArray[np.int64]:
    """Return the score of a split that leaves all rows of a node on one side, by node."""
    sums, counts = (np.stack([total, np.zeros_like(total)], axis=1) for total in totals)
    one = Layout(
        cell_offsets=np.array([0, 2], dtype=np.int32),
        candidate_offsets=np.array([0, 1], dtype=np.int32),
        is_categorical=np.zeros(1, dtype=np.uint8),
    )
    return criterion.scores(sums, counts, one)


def _runs(sizes: NDArray[np.integer], n_cells: int) -> Iterator[slice]:
    """Cut features with so many cells each in runs of about ``n_cells`` together."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        limit = n_cells + (ends[first - 1] if first else 0)
        last = max(int(np.searchsorted(ends, limit, side="right")), first + 1)
        yield slice(first, last)
        first = last
