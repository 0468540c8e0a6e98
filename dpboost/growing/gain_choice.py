"""How the splits of a single tree of numbers are chosen: by their gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.selectors import SELECTIONS
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.rows.label_statistics import LabelStatistics
from dpboost.trees.gain import GradientGain


@dataclass(frozen=True, kw_only=True)
class GainChoice:
    """One private choice among all splits of all features, by what they leave of the variance.

    Parameters
    ----------
    criterion : GradientGain
        Of labels as gradients.
    selection : {"exponential", "permute_and_flip"}

    Privacy
    -------
    One release for all nodes, which hold disjoint rows.
    """

    criterion: GradientGain
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
