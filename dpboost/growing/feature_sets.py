"""Features that have shown much together come together again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A partition has taken some of the gain that it shows; what is left counts for the next one. What
# was shown counts less with every later round, since other partitions take of it.
LEFT, MEMORY = 0.85, 0.995
# Standard deviations of noise by which a gain has to exceed 0.
DOUBT = 1.0
# So many sets are remembered.
MOST_SETS = 400


class FeatureSets:
    """The sets of features of earlier partitions, drawn in proportion to what they have shown.

    Proof: docs/proofs/constraints.md.

    Which features belong together, only a partition of all of them tells. A set's gain is what
    the splits of its last partition have shown, less ``DOUBT`` deviations of what noise alone
    would show.

    Parameters
    ----------
    chance : float
        Chance that a draw takes a remembered set, in [0, 1].
    public : numpy.random.Generator
        Public randomness.

    Privacy
    -------
    Reads released gains and public randomness only: post-processing.
    """

    def __init__(self, chance: float, public: np.random.Generator) -> None:
        self._chance = chance
        self._public = public
        self._sets: list[tuple[int, ...]] = []
        self._positions: dict[tuple[int, ...], int] = {}
        self._gains = np.zeros(MOST_SETS)

    def draw(self) -> NDArray[np.int32] | None:
        """Return the features of a set, None where no set is to be taken."""
        if self._chance == 0 or self._public.random() >= self._chance:
            return None
        below = np.maximum(self._gains, 0.0).cumsum()
        if below[-1] == 0:
            return None
        position = int(below.searchsorted(self._public.random() * below[-1], side="right"))
        return np.array(self._sets[min(position, len(self._sets) - 1)], dtype=np.int32)

    def learn(self, features: NDArray[np.int32], gain: float, variance: float) -> None:
        """Remember what a partition has shown.

        Parameters
        ----------
        features : ndarray of shape (k,), int32
            Of the partition; one alone is no set.
        gain, variance : float
            Sums over its splits, from `dpboost.growing.split_gains.split_gains`.
        """
        if self._chance == 0:
            return
        self._gains *= MEMORY
        if len(features) > 1:
            own = self._position(tuple(sorted(features.tolist())))
            self._gains[own] = LEFT * (gain - DOUBT * variance**0.5)

    def _position(self, features: tuple[int, ...]) -> int:
        """Return the place of a set; a new one takes that of the least, where there is no room."""
        position = self._positions.get(features)
        if position is not None:
            return position
        if len(self._sets) < MOST_SETS:
            position = len(self._sets)
            self._sets.append(features)
        else:
            position = int(self._gains.argmin())
            del self._positions[self._sets[position]]
            self._sets[position] = features
        self._positions[features] = position
        return position
