"""Which features the next random partition cuts: every one first, then the useful ones more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What an earlier tree has shown counts this much less with every later one.
MEMORY = 0.99


@dataclass(frozen=True, kw_only=True)
class Preference:
    """How much more often useful features are cut than others.

    Parameters
    ----------
    doubt : float
        Standard deviations by which a feature's gain has to exceed the noise.
    power : float
        A feature's chance grows with this power of its gain.
    floor : float
        Chance of a feature that has shown nothing, as a part of the best one's.
    """

    doubt: float
    power: float
    floor: float


class FeatureQueue:
    """A shuffled list of features, refilled by what released leaves have shown.

    The first list visits every feature once. Each later one holds as many places as there are
    features, given out by systematic sampling in proportion to
    ``(gain / largest gain)**power + floor``. A feature's gain is what its splits have shown in a
    partition, on a mean that forgets, less ``doubt`` deviations of what noise alone would show.

    Parameters
    ----------
    n_features : int
    preference : Preference
    public : numpy.random.Generator
        Public randomness.

    Privacy
    -------
    Reads released gains only: post-processing.
    """

    def __init__(
        self, n_features: int, preference: Preference, public: np.random.Generator
    ) -> None:
        self.preference = preference
        self._public = public
        self._waiting: list[int] = []
        self._gains = np.zeros(n_features)
        self._variances = np.zeros(n_features)
        self._visits = np.zeros(n_features)

    def take(self, k: int) -> NDArray[np.int32]:
        """Take the next ``k`` different features."""
        taken: list[int] = []
        while len(taken) < k:
            if not self._waiting:
                self._waiting = self._refill()
            feature = self._waiting.pop()
            if feature not in taken:
                taken.append(feature)
        return np.array(taken, dtype=np.int32)

    def learn(
        self,
        features: NDArray[np.int32],
        split_features: NDArray[np.int32],
        gains: NDArray[np.float64],
        variances: NDArray[np.float64],
    ) -> None:
        """Remember the released gains of a partition's splits.

        Parameters
        ----------
        features : ndarray of shape (k,), int32
            Features of the partition.
        split_features : ndarray of shape (n_nodes,), int32
            Feature of each split.
        gains, variances : ndarray of shape (n_nodes,)
            From `dpboost.growing.split_gains.split_gains`.
        """
        self._gains *= MEMORY
        self._variances *= MEMORY**2
        self._visits *= MEMORY
        np.add.at(self._gains, split_features, gains)
        np.add.at(self._variances, split_features, variances)
        np.add.at(self._visits, features, 1.0)

    def _refill(self) -> list[int]:
        n_features = len(self._gains)
        if self._visits.min() <= 0:
            return self._public.permutation(n_features).tolist()
        preference = self.preference
        sure = self._gains - preference.doubt * np.sqrt(self._variances)
        shown = np.maximum(sure, 0.0) / self._visits
        best = max(float(shown.max()), 1e-12)
        weights = (shown / best) ** preference.power + preference.floor
        places = (np.arange(n_features) + self._public.random()) / n_features
        drawn = (weights / weights.sum()).cumsum().searchsorted(places)
        drawn = np.minimum(drawn, n_features - 1)
        return self._public.permutation(drawn).tolist()
