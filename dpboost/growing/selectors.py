"""Choice of the splits of a level by the gain of gradients or labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.exact_arithmetic import Epsilon, PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import ExponentialMechanism, PermuteAndFlip
from dpboost.rows.gradient_statistics import NodeStatistics
from dpboost.rows.label_statistics import LabelStatistics
from dpboost.trees.gain import GradientGain

SELECTIONS: dict[str, type[ExponentialMechanism] | type[PermuteAndFlip]] = {
    "exponential": ExponentialMechanism,
    "permute_and_flip": PermuteAndFlip,
}


@dataclass(frozen=True, kw_only=True)
class PrivateArgmax:
    """One private argmax over all candidates in every node of a level.

    Privacy
    -------
    One release a level: its nodes hold disjoint rows, so their choices cost the level's
    epsilon once. Nodes without rows take part like any other.
    """

    criterion: GradientGain
    #: One of "exponential", "permute_and_flip". The paper's mechanism, or the one that is never
    #: worse and up to twice as good under pure epsilon.
    selection: str = "exponential"

    def choose(
        self, statistics: NodeStatistics, *, epsilon: Epsilon, ledger: Ledger
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Release one split for each node of the level: its features and bins."""
        mechanism = SELECTIONS[self.selection](epsilon=epsilon)
        scores = statistics.split_scores(self.criterion)
        candidates = ledger.release(mechanism, scores, label="split choice")
        return statistics.layout.splits(candidates)


@dataclass(frozen=True, kw_only=True)
class GainChoice:
    """One private choice among all splits of all features, by variance reduction.

    Privacy
    -------
    One release for all nodes, which hold disjoint rows.
    """

    #: Of labels as gradients.
    criterion: GradientGain
    #: One of "exponential", "permute_and_flip".
    selection: str

    def choose(
        self,
        rows: LabelStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        offered: NDArray[np.bool_],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        """Release a candidate for each node; a gain of numbers needs no limit of rows."""
        mechanism = ledger.accountant.calibrate(SELECTIONS[self.selection], budget)
        scores = rows.scores(nodes, self.criterion)
        return ledger.release(mechanism, scores, label="split choice")
