"""Split finding for rows of several parties: from sums, or by choices of the parties."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.released_splits import best_candidates, consistent_tables, split_gain
from dpboost.growing.selectors import SELECTIONS
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_queries import MOST_WORTH, GroupedCells
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.site_queries import SplitScores
from dpboost.trees.split_candidates import THRESHOLD, Candidates

#: Parts of the split's budget for the choices of the sites and for the counts of what they
#: chose, as in the paper.
CHOICES, COUNTS = Fraction(1, 2), Fraction(1, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """Splits that were found for some nodes."""

    #: Of shape (n_nodes,). Candidates.
    chosen: NDArray[np.int32]
    #: Of shape (n_nodes,). Released, for each row.
    gains: NDArray[np.float64]
    #: Standard deviation of the noise of a count behind a gain, in rows; of shape (n_nodes,) where
    #: nodes differ.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitTables:
    """The cells that some splits of each node distinguish.

    Splits of one feature share one histogram, whose cells lie between the borders of the splits:
    its charge is that of the table of a single split.
    """

    query: GroupedCells
    #: Of shape (n_nodes, n_asked, n_groups). 1 where a group goes to the first branch of a split,
    #: -1 to the second, 0 where it belongs to another feature.
    left: NDArray[np.int8]
    #: Of shape (n_nodes, n_groups). Number of the feature's histogram that a group is of; -1 where
    #: a node has fewer groups.
    tables: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        nodes: NDArray[np.int32],
        chosen: NDArray[np.int32],
        candidates: Candidates,
        n_classes: int,
    ) -> SplitTables:
        """Lay out the cells.

        ``chosen``, of shape (n_nodes, n_asked), are candidates of each node: thresholds and single
        categories, some maybe twice.
        """
        n_nodes, n_asked = chosen.shape
        cells = candidates.cell_offsets
        # A split more on a feature makes a cell more, and the first one makes two.
        n_groups = 2 * n_asked
        groups = np.full((n_nodes, candidates.n_cells), -1, dtype=np.int32)
        left = np.zeros((n_nodes, n_asked, n_groups), dtype=np.int8)
        tables = np.full((n_nodes, n_groups), -1, dtype=np.int32)
        histograms = np.empty(n_nodes, dtype=np.int64)
        feature, own_bin = candidates.features_of(chosen), candidates.split_bins(chosen)
        for node in range(n_nodes):
            different, table_of = np.unique(feature[node], return_inverse=True)
            histograms[node] = len(different)
            starts, widths = cells[different], cells[different + 1] - cells[different]
            table = np.repeat(np.arange(len(different)), widths)
            bins = np.arange(len(table)) - np.repeat(np.cumsum(widths) - widths, widths)
            by_threshold = candidates.kinds[different] == THRESHOLD
            own = own_bin[node][:, np.newaxis]
            asked = table == table_of[:, np.newaxis]
            below = np.where(by_threshold[table_of][:, np.newaxis], bins <= own, bins == own)
            first = asked & below
            # Cells of one table that all splits send the same way are a group.
            order = np.lexsort((*first[::-1], table))
            sides = np.vstack((table, first))[:, order]
            begins = np.append(True, (sides[:, 1:] != sides[:, :-1]).any(axis=0))
            group = np.cumsum(begins) - 1
            groups[node, (starts[table] + bins)[order]] = group
            one, n_own = order[begins], group[-1] + 1
            left[node, :, :n_own] = np.where(first[:, one], 1, -1) * asked[:, one]
            tables[node, :n_own] = table[one]
        query = GroupedCells(
            nodes=nodes,
            groups=groups,
            cell_offsets=cells,
            n_groups=n_groups,
            n_classes=n_classes,
            unit_value=MOST_WORTH // histograms
            if (histograms > 1).any()
            else np.ones_like(histograms),
        )
        return cls(query=query, left=left, tables=tables)

    def branches(
        self, released: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the class counts of both branches of every split, not negative.

        Both are of shape (n_nodes, n_asked, n_classes), from released counts of shape
        (n_nodes, n_groups, n_classes).
        """
        noisy = released / self.query.unit_value[:, np.newaxis, np.newaxis]
        counts = consistent_tables(noisy, self.tables)
        left = np.einsum("nag,ngc->nac", (self.left > 0).astype(np.float64), counts)
        right = np.einsum("nag,ngc->nac", (self.left < 0).astype(np.float64), counts)
        return left, right


@dataclass(frozen=True, kw_only=True)
class LocalChoiceFinder:
    """The best of the splits that the parties choose on their rows: LocalRNM.

    Privacy
    -------
    Each site releases its choice for every node; sites hold disjoint rows, and so do nodes.
    Then one release of the class counts that tell the chosen splits apart: a row is in one cell
    of each feature among them.
    """

    measure: Impurity
    #: One of "exponential", "permute_and_flip".
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
