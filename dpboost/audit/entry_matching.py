"""Which entry of one stability histogram is which entry of its neighbour's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """Places of the categories that two histograms share, in order.

    Parameters
    ----------
    there, here : ndarray of shape (n_shared,), intp
        Places in the first and in the second one.
    """

    there: NDArray[np.intp]
    here: NDArray[np.intp]


def align(there: NDArray[np.int64], here: NDArray[np.int64]) -> Alignment:
    """Match two lists of counts whose categories are sorted but not known.

    A category that only one table has is that of the row that differs, so it has the count of
    one row there. Among all matchings that keep the order, the one with the fewest unmatched
    entries and the smallest changes of counts is taken: the truth has changes of at most one row.

    Parameters
    ----------
    there, here : ndarray of shape (n,) and (m,), int64

    Returns
    -------
    Alignment
    """
    if len(there) == len(here) and np.count_nonzero(there != here) <= 2:
        every = np.arange(len(here))
        return Alignment(there=every, here=every)
    # Longest common subsequence, in which unmatched entries cost their count and shared ones
    # their difference.
    n_there, n_here = len(there), len(here)
    cost = np.zeros((n_there + 1, n_here + 1))
    cost[1:, 0] = np.cumsum(there)
    cost[0, 1:] = np.cumsum(here)
    for i in range(1, n_there + 1):
        for j in range(1, n_here + 1):
            cost[i, j] = min(
                cost[i - 1, j - 1] + abs(int(there[i - 1]) - int(here[j - 1])),
                cost[i - 1, j] + there[i - 1],
                cost[i, j - 1] + here[j - 1],
            )
    return _walk_back(cost, there, here)


def _walk_back(
    cost: NDArray[np.float64], there: NDArray[np.int64], here: NDArray[np.int64]
) -> Alignment:
    """Read the matched places off the table of costs."""
    pairs = []
    i, j = len(there), len(here)
    while i > 0 and j > 0:
        matched = cost[i - 1, j - 1] + abs(int(there[i - 1]) - int(here[j - 1]))
        if cost[i, j] == matched:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif cost[i, j] == cost[i - 1, j] + there[i - 1]:
            i -= 1
        else:
            j -= 1
    pairs.reverse()
    places = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Alignment(there=places[:, 0], here=places[:, 1])
