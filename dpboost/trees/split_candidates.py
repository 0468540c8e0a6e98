"""Splits of single trees: thresholds, one category against the rest, or a branch for each bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner

#: Kinds of candidates, by their number in the kernel.
THRESHOLD, CATEGORY, MULTIWAY = 0, 1, 2

_BINS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Flat positions of histogram cells and split candidates: public numbers only.

    The set is complete: constant features and empty bins are candidates like any other.
    """

    #: Of shape (n_features,). Value bins of each feature; one more holds missing values.
    n_bins: NDArray[np.int32]
    #: Of shape (n_features,).
    is_categorical: NDArray[np.uint8]
    #: Of shape (n_features,). ``THRESHOLD`` (candidate ``b`` sends bins up to ``b`` to the first
    #: branch), ``CATEGORY`` (bin ``b``), or ``MULTIWAY`` (the one candidate has a branch for each
    #: bin, missing last).
    kinds: NDArray[np.uint8]

    @classmethod
    def of(cls, binner: Binner, *, multiway: bool = False, thresholds: bool = True) -> Candidates:
        """Lay out the splits over the bins of ``binner``.

        With ``multiway`` nominal features split into all their categories. Numeric ones split by
        thresholds, or without ``thresholds`` into all their bins.
        """
        nominal = MULTIWAY if multiway else CATEGORY
        numeric = THRESHOLD if thresholds else MULTIWAY
        kinds = np.where(binner.is_categorical == 1, nominal, numeric).astype(np.uint8)
        return cls(n_bins=binner.n_bins, is_categorical=binner.is_categorical, kinds=kinds)

    @property
    def cell_offsets(self) -> NDArray[np.int32]:
        """Cells of feature ``f`` are ``cell_offsets[f]:cell_offsets[f + 1]``."""
        return np.concatenate(([0], np.cumsum(self.n_bins + 1))).astype(np.int32)

    @property
    def candidate_offsets(self) -> NDArray[np.int32]:
        """Candidates of feature ``f``, one where it splits into all its bins."""
        widths = np.where(self.kinds == MULTIWAY, 1, self.n_bins)
        return np.concatenate(([0], np.cumsum(widths))).astype(np.int32)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.n_bins)

    @property
    def n_cells(self) -> int:
        """Cells of one node."""
        return int(self.cell_offsets[-1])

    @property
    def n_candidates(self) -> int:
        """Candidates of one node."""
        return int(self.candidate_offsets[-1])

    def features_of(self, candidates: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the feature of each flat candidate."""
        positions = np.searchsorted(self.candidate_offsets, candidates, side="right") - 1
        return positions.astype(np.int32)

    def split_bins(self, candidates: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the bin of each flat candidate, 0 for those with a branch for each bin."""
        return (candidates - self.candidate_offsets[self.features_of(candidates)]).astype(np.int32)

    def n_branches(self, feature: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return how many children a split by each of these features has."""
        return np.where(self.kinds[feature] == MULTIWAY, self.n_bins[feature] + 1, 2)

    def branches(
        self, feature: NDArray[np.int32], split_bin: NDArray[np.int32]
    ) -> NDArray[np.uint8]:
        """Return the branch of every bin for each of some splits; shape (n_splits, 256)."""
        bins = np.arange(_BINS)
        kind, own = self.kinds[feature][:, np.newaxis], split_bin[:, np.newaxis]
        two = np.where(kind == THRESHOLD, bins > own, bins != own)
        return np.where(kind == MULTIWAY, bins, two).astype(np.uint8)

    def spread(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Turn flags of features, shape (n, n_features), into flags of their candidates."""
        return np.repeat(flags, np.diff(self.candidate_offsets), axis=1)
