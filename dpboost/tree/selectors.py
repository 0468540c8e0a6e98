"""How the splits of a level are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import ExponentialMechanism, PermuteAndFlip
from dpboost.tree.criteria import GradientGain
from dpboost.tree.statistics import NodeStatistics

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
    epsilon once. Nodes without rows take part like any other. Where the scores of a level would
    not fit in memory, public groups of its nodes are released one after the other, side by side
    in a parallel scope.
    """

    criterion: GradientGain
    selection: str = "exponential"

    def choose(
        self, statistics: NodeStatistics, *, epsilon: Fraction | float, ledger: Ledger
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Release one split for each node of the level: its features and bins."""
        mechanism = SELECTIONS[self.selection](epsilon=epsilon)
        groups = statistics.groups()
        if len(groups) == 1:
            scores = statistics.split_scores(self.criterion)
            candidates = ledger.release(mechanism, scores, label="split choice")
            return statistics.layout.splits(candidates)
        chosen = []
        with ledger.parallel(f"level of {statistics.n_nodes} nodes"):
            for nodes in groups:
                with ledger.sequential(f"nodes {nodes.start} to {nodes.stop - 1}"):
                    scores = statistics.split_scores(self.criterion, nodes)
                    chosen.append(ledger.release(mechanism, scores, label="split choice"))
        return statistics.layout.splits(np.concatenate(chosen))
