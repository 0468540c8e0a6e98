"""How the splits of a level are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.exact_arithmetic import Epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import ExponentialMechanism, PermuteAndFlip
from dpboost.rows.gradient_statistics import NodeStatistics
from dpboost.trees.gain import GradientGain

SELECTIONS: dict[str, type[ExponentialMechanism] | type[PermuteAndFlip]] = {
    "exponential": ExponentialMechanism,
    "permute_and_flip": PermuteAndFlip,
}


@dataclass(frozen=True, kw_only=True)
class PrivateArgmax:
    """One private argmax over all candidates in every node of a level.

    Parameters
    ----------
    criterion : GradientGain
        Scores of the candidates.
    selection : {"exponential", "permute_and_flip"}
        The paper's mechanism, or the one that is never worse and up to twice as good under pure
        epsilon.

    Privacy
    -------
    One release a level: its nodes hold disjoint rows, so their choices cost the level's
    epsilon once. Nodes without rows take part like any other.
    """

    criterion: GradientGain
    selection: str = "exponential"

    def choose(
        self, statistics: NodeStatistics, *, epsilon: Epsilon, ledger: Ledger
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Release one split for each node of the level: its features and bins."""
        mechanism = SELECTIONS[self.selection](epsilon=epsilon)
        scores = statistics.split_scores(self.criterion)
        candidates = ledger.release(mechanism, scores, label="split choice")
        return statistics.layout.splits(candidates)
