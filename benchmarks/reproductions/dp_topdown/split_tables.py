"""NoisyCounts as Wang, Dick and Balcan print it: a noisy table of counts for each split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpboost.growing.released_splits import branch_counts, split_gain
from dpboost.growing.split_finders import Found
from dpboost.privacy.sensitivity import constants
from dpboost.recipes.single_tree.noisy_counts import (
    NOISY_COUNTS,
    HistogramFinder,
    build_noisy_counts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpboost.growing.single_tree_growth import SingleTree
    from dpboost.privacy.exact_arithmetic import PrivacyCost
    from dpboost.privacy.ledger import Ledger
    from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
    from dpboost.recipes.recipe import Setting
    from dpboost.rows.class_node_rows import ClassRows
    from dpboost.rows.class_statistics import ClassStatistics

N_PARTIES = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitCounts:
    """Class counts of both branches of every split of some nodes: the tables of the paper."""

    nodes: NDArray[np.int32]
    n_candidates: int
    n_classes: int

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node, split, branch and class."""
        return (len(self.nodes), self.n_candidates, 2, self.n_classes)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        counts, layout = rows.histograms(self.nodes), rows.candidates
        parts = []
        for feature, kind in enumerate(layout.kinds):
            cells = slice(layout.cell_offsets[feature], layout.cell_offsets[feature + 1])
            parts.append(np.stack(branch_counts(counts[:, cells], kind), axis=2))
        return np.concatenate(parts, axis=1).astype(np.int64)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one cell of each table."""
        return constants.counts(neighbors, histograms=self.n_candidates)


@dataclass(frozen=True, kw_only=True)
class TableFinder(HistogramFinder):
    """The best split by a noisy table for each split, alpha / |H| each.

    Attributes
    ----------
    n_holders : int
        Data holders that each add all of the noise to their own table, as the paper prints it:
        the sum has so many noises. That of one is released; the others come from NumPy in
        floating point, which takes nothing from the guarantee of the first.
    """

    n_holders: int = 1

    def find(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> Found:
        """Return splits, and what is released of their gains; noise stops none, as printed."""
        question = SplitCounts(
            nodes=nodes, n_candidates=rows.candidates.n_candidates, n_classes=rows.n_classes
        )
        released = ledger.release(
            ledger.accountant.noise(budget), rows.ask(question), label="class counts"
        )
        others = (self.n_holders - 1, *released.shape)
        epsilon = float(budget)
        scale = rows.candidates.n_candidates / epsilon
        noise = np.random.default_rng().laplace(scale=scale, size=others).sum(axis=0)
        inside = np.maximum(released + (noise if np.isfinite(epsilon) else 0.0), 0.0)
        gains = split_gain(self.measure, inside[:, :, 0], inside[:, :, 1])
        chosen = gains.argmax(axis=1).astype(np.int32)
        return Found(chosen=chosen, gains=gains[np.arange(len(nodes)), chosen], noise_stddev=0.0)


def _build_by_split(n_holders: int, setting: Setting) -> SingleTree:
    tree = build_noisy_counts(setting)
    finder = TableFinder(measure=tree.learner.finder.measure, n_holders=n_holders)
    return replace(tree, learner=replace(tree.learner, finder=finder))


AS_PRINTED = replace(NOISY_COUNTS, name="a table for each split", build=partial(_build_by_split, 1))
LITERAL = replace(
    NOISY_COUNTS,
    name="a table for each split and holder",
    build=partial(_build_by_split, N_PARTIES),
)
