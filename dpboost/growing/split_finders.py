"""Split finding for rows of several parties: from sums, or by choices of the parties."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.released_splits import best_candidates, split_gain
from dpboost.growing.selectors import SELECTIONS
from dpboost.growing.split_tables import SplitTables
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.site_queries import SplitScores

#: Parts of the split's budget for the choices of the sites and for the counts of what they
#: chose, as in the paper.
CHOICES, COUNTS = Fraction(1, 2), Fraction(1, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """Splits that were found for some nodes.

    Parameters
    ----------
    chosen : ndarray of shape (n_nodes,), int32
        Candidates.
    gains : ndarray of shape (n_nodes,), float64
        Released, for each row.
    noise_stddev : float or ndarray of shape (n_nodes,)
        Standard deviation of the noise of a count behind a gain, in rows.
    """

    chosen: NDArray[np.int32]
    gains: NDArray[np.float64]
    noise_stddev: float | NDArray[np.float64]


class SplitFinder(Protocol):
    """Find a split for each of some nodes through the privacy gate."""

    def find(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> Found:
        """Return splits, and what is released of their gains."""


@dataclass(frozen=True, kw_only=True)
class HistogramFinder:
    """The best split by noisy histograms of all features: NoisyCounts.

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
    ) -> Found:
        """Return splits, and what is released of their gains."""
        noise = ledger.accountant.noise(budget)
        histograms = rows.histograms(nodes)
        released = ledger.release(noise, histograms, label="class counts")
        chosen, gains = best_candidates(
            released / rows.row_units,
            rows.candidates,
            lambda left, right: split_gain(self.measure, left, right),
        )
        noise_stddev = histograms.noise_stddev(noise) / rows.row_units
        return Found(chosen=chosen, gains=gains, noise_stddev=noise_stddev)


@dataclass(frozen=True, kw_only=True)
class LocalChoiceFinder:
    """The best of the splits that the parties choose on their rows: LocalRNM.

    Parameters
    ----------
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
    ) -> Found:
        """Return splits, and what is released of their gains."""
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
        counts = rows.ask(tables.query)
        released = ledger.release(noise, counts, label="class counts")
        gains = split_gain(self.measure, *tables.branches(released))
        best = gains.argmax(axis=1)
        every = np.arange(len(nodes))
        return Found(
            chosen=chosen[every, best].astype(np.int32),
            gains=gains[every, best],
            noise_stddev=counts.noise_stddev(noise) / tables.query.unit_value,
        )
