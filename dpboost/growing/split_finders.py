"""How splits are found where rows lie in several sites: from sums, or by the sites' choices."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.released_splits import best_candidates, split_gain
from dpboost.growing.selectors import SELECTIONS
from dpboost.growing.split_tables import SplitTables
from dpboost.privacy.budget import divide
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.site_queries import SplitScores

#: Parts of the split's budget for the choices of the sites and for the counts of what they
#: chose, as in the paper.
CHOICES, COUNTS = Fraction(1, 2), Fraction(1, 2)


class SplitFinder(Protocol):
    """Finds a split for each of some nodes through the gate."""

    def find(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return candidates, and their released gains for each row."""


@dataclass(frozen=True, kw_only=True)
class HistogramFinder:
    """The best split by noisy histograms of all features: NoisyCounts.

    Parameters
    ----------
    measure : Impurity

    Privacy
    -------
    One release for all nodes, which hold disjoint rows. A row is in one cell of each feature.
    """

    measure: Impurity

    def find(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return candidates, and their released gains for each row."""
        noise = ledger.accountant.noise(budget)
        released = ledger.release(noise, rows.histograms(nodes), label="class counts")
        return best_candidates(
            released / rows.row_units,
            rows.candidates,
            lambda left, right: split_gain(self.measure, left, right),
        )


@dataclass(frozen=True, kw_only=True)
class LocalChoiceFinder:
    """The best of the splits that the sites choose on their own rows: LocalRNM.

    Parameters
    ----------
    measure : Impurity
    selection : {"exponential", "permute_and_flip"}

    Privacy
    -------
    Each site releases its choice for every node; sites hold disjoint rows, and so do nodes.
    Then one release of the class counts that tell the chosen splits apart: a row is in one cell
    of each feature among them.
    """

    measure: Impurity
    selection: str

    def find(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return candidates, and their released gains for each row."""
        for_choices, for_counts = divide(budget, (CHOICES, COUNTS))
        scores = SplitScores(
            nodes=nodes,
            measure=int(self.measure),
            row_limits=limits,
            n_candidates=rows.candidates.n_candidates,
        )
        mechanism = ledger.accountant.calibrate(SELECTIONS[self.selection], for_choices)
        choices = rows.each(mechanism, scores, ledger=ledger, label="split choice")
        chosen = np.ascontiguousarray(choices.T)
        tables = SplitTables.of(nodes, chosen, rows.candidates, rows.n_classes)
        noise = ledger.accountant.noise(for_counts)
        released = ledger.release(noise, rows.ask(tables.query), label="class counts")
        gains = split_gain(self.measure, *tables.branches(released))
        best = gains.argmax(axis=1)
        every = np.arange(len(nodes))
        return chosen[every, best].astype(np.int32), gains[every, best]
