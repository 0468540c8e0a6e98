"""Private scores of splits from exact class counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import impurity
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.trees.split_candidates import Candidates

#: Score of a candidate that is not offered: far below any score of rows, in units.
NOT_OFFERED = -(1 << 50)

#: Counts that are held at once while scores are computed: 128 MiB.
MOST_COUNTS = 1 << 24


def clips(
    measure: Impurity, row_limits: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the clip of each node's impurity, and the units of its scores."""
    distinct, positions = np.unique(row_limits, return_inverse=True)
    caps = [impurities.cap(measure, int(rows)) for rows in distinct]
    scales = [impurities.scale(measure, int(rows), n_classes) for rows in distinct]
    return np.array(caps)[positions], np.array(scales)[positions]


def candidate_scores(
    histograms: Callable[[NDArray[np.int32]], NDArray[np.int64]],
    nodes: NDArray[np.int32],
    candidates: Candidates,
    measure: Impurity,
    caps: NDArray[np.float64],
    scales: NDArray[np.float64],
    *,
    n_classes: int,
    n_threads: int,
) -> NDArray[np.int64]:
    """Return scores of shape (n_nodes, n_candidates).

    ``histograms(nodes)`` gives class counts of shape (n_nodes, n_cells, n_classes). Caps and scales
    are those of each node.
    """
    scores = np.empty((len(nodes), candidates.n_candidates), dtype=np.int64)
    cells, positions = candidates.cell_offsets, candidates.candidate_offsets
    step = max(1, MOST_COUNTS // max(1, candidates.n_cells * n_classes))
    for first in range(0, len(nodes), step):
        part = slice(first, first + step)
        counts = histograms(nodes[part])
        impurity.scores(
            counts.reshape(len(counts), -1),
            cells,
            positions,
            candidates.kinds,
            n_classes,
            int(measure),
            caps[part],
            scales[part],
            scores[part],
            n_threads,
        )
    return scores


def node_scores(
    totals: NDArray[np.int64],
    measure: Impurity,
    caps: NDArray[np.float64],
    scales: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Score nodes as they are, from class counts of shape (n_nodes, n_classes)."""
    own = np.empty(len(totals), dtype=np.int64)
    impurity.node_scores(np.ascontiguousarray(totals), int(measure), caps, scales, own)
    return own
