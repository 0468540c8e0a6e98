"""Scores of all candidates from sparse columns, as runs of neighbours with one score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import sparsegain
from dpboost.data.sparse import SparseBins
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.trees.bin_layout import Layout
from dpboost.trees.gain import SCORE_LIMIT, GradientGain


def sparse_scores(
    bins: SparseBins,
    node_of_row: NDArray[np.int32],
    packed: NDArray[np.int64],
    totals: NDArray[np.int64],
    criterion: GradientGain,
    layout: Layout,
    n_threads: int,
) -> ScoreRuns:
    """Score every candidate of the nodes of a level; only stored cells are touched.

    Parameters
    ----------
    bins : SparseBins of shape (n_features, n_rows)
    node_of_row : ndarray of shape (n_rows,), int32
    packed : ndarray of shape (n_rows,), int64
        Packed gradient and count of each row.
    totals : ndarray of shape (2, n_nodes), int64
        Gradient sums and counts of the nodes.
    criterion : GradientGain
    layout : Layout
    n_threads : int

    Returns
    -------
    ScoreRuns of shape (n_nodes, n_candidates)
        The same scores as from dense histograms.
    """
    scores, starts, node_start = sparsegain.runs(
        bins.column_start,
        bins.rows,
        bins.bins,
        bins.fill,
        node_of_row,
        packed,
        totals[0],
        totals[1],
        layout.cell_offsets,
        layout.candidate_offsets,
        layout.is_categorical,
        criterion.hessian,
        criterion.reg_lambda,
        criterion.scale,
        SCORE_LIMIT,
        n_threads,
    )
    return ScoreRuns(
        scores=scores, starts=starts, node_start=node_start, n_candidates=layout.n_candidates
    )
