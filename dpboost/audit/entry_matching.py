"""Which entry of one stability histogram is which entry of its neighbour's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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


def align(there: Sequence[Hashable], here: Sequence[Hashable]) -> Alignment:
    """Match the entries of two histograms by their keys.

    A key that only one table has is that of the row that differs: no outcome of the other table
    can be compared with its own.

    Parameters
    ----------
    there, here : sequence of hashable
        Column and category of every entry, each once.
    """
    positions = {key: position for position, key in enumerate(there)}
    pairs = [(positions[key], position) for position, key in enumerate(here) if key in positions]
    matched = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Alignment(there=matched[:, 0], here=matched[:, 1])
