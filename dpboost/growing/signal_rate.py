"""Reduction of the learning rate if the first rounds show little signal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

# After so many rounds the gains that they have shown decide.
FIRST_ROUNDS = 100
# Where they are less than this part of what there is to know of the labels, even with some
# deviations of their noise, steps are smaller in proportion, but for the least factor.
LITTLE, LEAST_FACTOR = 0.2, 0.25


@dataclass(kw_only=True)
class SignalRate:
    """A learning rate factor from the gains of the first rounds.

    The noise variance of a model grows with the square of its steps. If there is little left to
    learn, further rounds with large steps add only noise.

    Proof: docs/proofs/constraints.md.

    Parameters
    ----------
    n_rows : float
        Released or declared.
    entropy : float
        Of a label at the released shares of the classes, in nats.
    doubt : float
        Deviations of their noise that gains get in addition.

    Privacy
    -------
    Reads released gains and public numbers only: post-processing.
    """

    n_rows: float
    entropy: float
    doubt: float
    _n_rounds: int = field(default=0, init=False)
    _learned: float = field(default=0.0, init=False)
    _variance: float = field(default=0.0, init=False)

    @classmethod
    def of_classes(cls, n_rows: float, share: float, doubt: float) -> SignalRate:
        """Return the rule for two classes, one of which has this share."""
        parts = (share, 1 - share)
        entropy = -sum(part * math.log(part) for part in parts if part > 0)
        return cls(n_rows=n_rows, entropy=entropy, doubt=doubt)

    @property
    def factor(self) -> float:
        """What the learning rate of the next round is multiplied by."""
        if self._n_rounds < FIRST_ROUNDS:
            return 1.0
        known = self.n_rows * self.entropy
        most = self._learned + self.doubt * math.sqrt(self._variance)
        part = most / known if known > 0 else 1.0
        return min(1.0, max(part / LITTLE, LEAST_FACTOR))

    def learn(self, gain: float, variance: float, rate: float) -> None:
        """Take note of the released gain of a round that was learned at this rate.

        Parameters
        ----------
        gain, variance : float
            From `dpboost.growing.shrunken_leaves.split_gains`, summed over the splits.
        """
        if self._n_rounds < FIRST_ROUNDS:
            self._learned += rate * gain
            self._variance += rate**2 * variance
        self._n_rounds += 1
