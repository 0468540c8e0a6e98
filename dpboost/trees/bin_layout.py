"""Where each feature's cells and candidates lie in flat arrays: public numbers only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Flat positions of histogram cells and split candidates.

    The set of candidates is public and complete: constant features, empty bins and the split
    "missing against the rest" are candidates like any other. At a threshold, missing values go
    right, so that no candidate is spent on their side; where it matters, the private choice
    takes "missing against the rest", a numeric feature's last candidate. (Random partitions
    send them to a random side, and the released leaves below make up for it.)

    Parameters
    ----------
    cell_offsets : ndarray of shape (n_features + 1,), int32
        Cells of feature ``f`` are ``cell_offsets[f]:cell_offsets[f + 1]``, its missing bin last.
    candidate_offsets : ndarray of shape (n_features + 1,), int32
        Candidates of feature ``f``: one for each bin but the missing one.
    is_categorical : ndarray of shape (n_features,), uint8
        Whether a candidate is one category against the rest instead of a threshold.
    """

    cell_offsets: NDArray[np.int32]
    candidate_offsets: NDArray[np.int32]
    is_categorical: NDArray[np.uint8]

    @classmethod
    def of(cls, binner: Binner) -> Layout:
        """Lay out the bins of ``binner``."""
        return cls(
            cell_offsets=binner.cell_offsets,
            candidate_offsets=binner.candidate_offsets,
            is_categorical=binner.is_categorical,
        )

    def of_features(self, features: NDArray[np.int32]) -> Layout:
        """Lay out some of the features, in this order."""
        sizes = np.diff(self.cell_offsets)[features]
        return Layout(
            cell_offsets=np.append(0, np.cumsum(sizes)).astype(np.int32),
            candidate_offsets=np.append(0, np.cumsum(sizes - 1)).astype(np.int32),
            is_categorical=self.is_categorical[features],
        )

    @property
    def n_cells(self) -> int:
        """Cells of one node."""
        return int(self.cell_offsets[-1])

    @property
    def n_candidates(self) -> int:
        """Candidates of one node."""
        return int(self.candidate_offsets[-1])

    def splits(
        self, candidates: NDArray[np.integer]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Turn flat candidate numbers into features and bins."""
        feature = self.candidate_offsets[1:].searchsorted(candidates, side="right")
        split_bin = candidates - self.candidate_offsets.take(feature)
        return feature.astype(np.int32), split_bin.astype(np.uint8)
