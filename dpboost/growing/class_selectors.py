"""Choice of the splits of single trees from class counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.selectors import SELECTIONS
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity.impurities import LEAST_ROWS, MOST_ROWS, Impurity
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.split_candidates import MULTIWAY, Candidates

# Standard deviations of the noise that are added to a released size before it serves as a clip.
_MARGIN = 2.0


def release_sizes(
    rows: ClassStatistics, nodes: NDArray[np.int32], *, budget: PrivacyCost, ledger: Ledger
) -> tuple[NDArray[np.float64], float]:
    """Release the numbers of rows of some nodes, not cut at zero.

    Returns them with the standard deviation of their noise.
    """
    noise = ledger.accountant.noise(budget)
    sizes = rows.sizes(nodes)
    released = ledger.release(noise, sizes, label="node sizes")
    noise_stddev = sizes.noise_stddev(noise) / rows.row_units
    return released / rows.row_units, noise_stddev


def row_limits(
    sizes: NDArray[np.float64], noise_stddev: float, max_rows: int | None
) -> NDArray[np.int64]:
    """Return the number of rows by which each node's impurity is clipped.

    A released size plus two deviations of its noise: almost always enough that nothing is
    clipped, and where it is not, the score is a little off and just as private.
    """
    most = MOST_ROWS if max_rows is None else min(max(max_rows, LEAST_ROWS), MOST_ROWS)
    limits = np.ceil(np.maximum(sizes, 0.0) + _MARGIN * noise_stddev)
    return np.clip(limits, LEAST_ROWS, most).astype(np.int64)


class SplitSelector(Protocol):
    """Choose a split for each of some nodes, with a charge of ``releases`` equal parts.

    ``rows`` are the statistics that it queries: of classes, or of labels.
    """

    def choose(
        self,
        rows: Any,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        offered: NDArray[np.bool_],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        """Release a candidate for each node; ``budget`` is that of one part."""


@dataclass(frozen=True, kw_only=True)
class JointChoice:
    """One private choice among all splits of all features.

    Privacy
    -------
    One release for all nodes, which hold disjoint rows.
    """

    measure: Impurity
    #: One of "exponential", "permute_and_flip".
    selection: str

    def choose(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        offered: NDArray[np.bool_],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        """Release a candidate for each node."""
        scores = rows.scores(nodes, self.measure, limits, offered)
        mechanism = ledger.accountant.calibrate(SELECTIONS[self.selection], budget)
        return ledger.release(mechanism, scores, label="split choice")


@dataclass(frozen=True, kw_only=True)
class ChoicePerFeature:
    """A private threshold for each numeric feature, then a private choice among features.

    Section 4.3 of Friedman and Schuster (KDD 2010): with n numeric features it costs n + 1 parts
    of the budget, where :class:`JointChoice` costs one.

    Privacy
    -------
    The releases read the same rows one after the other: their budgets add up.
    """

    measure: Impurity
    #: One of "exponential", "permute_and_flip".
    selection: str

    def choose(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        offered: NDArray[np.bool_],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        """Release a candidate for each node."""
        candidates = rows.candidates
        positions = candidates.candidate_offsets
        scores = rows.scores(nodes, self.measure, limits, offered)
        mechanism = ledger.accountant.calibrate(SELECTIONS[self.selection], budget)
        chosen = np.repeat(positions[np.newaxis, :-1], len(nodes), axis=0)
        for numeric in numeric_features(candidates):
            own = _columns(scores, np.arange(positions[numeric], positions[numeric + 1]))
            chosen[:, numeric] += ledger.release(mechanism, own, label="threshold choice")
        best = scores.map(
            lambda values: np.take_along_axis(values, chosen, axis=1), bounds=scores.bounds
        )
        feature = ledger.release(mechanism, best, label="split choice")
        return chosen[np.arange(len(nodes)), feature].astype(np.int32)


def numeric_features(candidates: Candidates) -> list[int]:
    """Return the features that are split by thresholds."""
    inside = (candidates.is_categorical == 0) & (candidates.kinds != MULTIWAY)
    return np.flatnonzero(inside).tolist()


def _columns(scores: Sensitive, columns: NDArray[np.integer]) -> Sensitive:
    return scores.map(lambda values: np.ascontiguousarray(values[:, columns]), bounds=scores.bounds)


@dataclass(frozen=True, kw_only=True)
class NoisyCountChoice:
    """The best feature by noisy histograms of all features (SuLQ-ID3).

    Blum, Dwork, McSherry and Nissim (PODS 2005), in the form of Friedman and Schuster (KDD 2010):
    half of the budget for the counts of the cells, half for those of their classes, each in
    equal parts for all features.

    Privacy
    -------
    Two releases: a row is in one cell of each offered feature.
    """

    #: Entropy, Gini or errors, computed from the released counts.
    measure: Impurity

    def choose(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        offered: NDArray[np.bool_],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        """Release histograms and return the best feature of each node."""
        noise = ledger.accountant.noise(divide(budget, (1, 1))[0])
        sizes = ledger.release(noise, rows.cell_sizes(nodes, offered), label="cell sizes")
        counts = ledger.release(noise, rows.histograms(nodes, offered), label="class counts")
        cells = released_impurity(self.measure, sizes / rows.row_units, counts / rows.row_units)
        starts = rows.candidates.cell_offsets[:-1]
        impurity = np.add.reduceat(cells, starts, axis=1)
        impurity[~offered] = math.inf
        return impurity.argmin(axis=1).astype(np.int32)


def released_impurity(
    measure: Impurity, sizes: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the impurity of each cell by released counts, which need not agree with each other.

    Sizes are of shape (n_nodes, n_cells), counts of shape (n_nodes, n_cells, n_classes). The
    measure is entropy, Gini or errors.
    """
    if measure is Impurity.ERRORS:
        # Minus the score of the paper; the total that it lacks is the same for all features.
        return -counts.max(axis=2)
    inside = np.maximum(counts, 0.0)
    total = np.maximum(sizes, 1.0)
    part = np.clip(inside / total[:, :, np.newaxis], 0.0, 1.0)
    if measure is Impurity.GINI:
        return total * (1 - (part**2).sum(axis=2))
    logarithm = np.log2(np.where(part > 0, part, 1.0))
    return -(inside * logarithm).sum(axis=2)
