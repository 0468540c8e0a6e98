"""Which features the next random partition cuts: every one first, then the useful ones more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A feature's remembered gain moves this part of the way to its newest released gain.
MEMORY = 0.2
# Chance of a feature that never gained, as a part of the best one's, before normalisation.
FLOOR = 0.2


class FeatureQueue:
    """A shuffled list of features, refilled by what released leaves have shown.

    The first list visits every feature once. Each later one holds as many places as there are
    features, given out in proportion to remembered gains by systematic sampling.

    Parameters
    ----------
    n_features : int
    public : numpy.random.Generator
        Public randomness.

    Privacy
    -------
    Reads released gains only: post-processing.
    """

    def __init__(self, n_features: int, public: np.random.Generator) -> None:
        self._gains = np.full(n_features, -1.0)
        self._public = public
        self._waiting: list[int] = []

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

    def learn(self, features: NDArray[np.int32], gain: float) -> None:
        """Remember the released gain of a partition of these features."""
        for feature in features:
            old = self._gains[feature]
            self._gains[feature] = gain if old < 0 else old + MEMORY * (gain - old)

    def _refill(self) -> list[int]:
        n_features = len(self._gains)
        if self._gains.min() < 0:
            return self._public.permutation(n_features).tolist()
        best = max(float(self._gains.max()), 1e-12)
        weights = self._gains / best + FLOOR
        places = (np.arange(n_features) + self._public.random()) / n_features
        drawn = np.searchsorted(np.cumsum(weights / weights.sum()), places)
        drawn = np.minimum(drawn, n_features - 1)
        return self._public.permutation(drawn).tolist()
