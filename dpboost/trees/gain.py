"""Scores of split candidates, and their sensitivity.

Proof: docs/proofs/gain-choice.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import gain
from dpboost.privacy.sensitivity import constants
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.trees.bin_layout import Layout, Workspace

# Scores are counted in units of (g*^2 / c) / UNITS_PER_GAIN. A power of two divides both ends
# of the interval [-3, 1] g*^2 / c in which one added row moves a score.
UNITS_PER_GAIN = 2**16
# Above this score the rounding of doubles could reach a quarter unit; it stands for more than
# 2^33 rows in one node.
SCORE_LIMIT = 2**49


@dataclass(frozen=True, kw_only=True)
class GradientGain:
    """Gain of a split with a constant hessian: the sum over children of S^2 / (c n + lambda).

    Equation (3) of Li, Wu, Wen and He, "Privacy-Preserving Gradient Boosting Decision Trees"
    (AAAI 2020), for the constant ``c`` of the loss (1 there).

    Privacy
    -------
    Releases nothing. One added or deleted row changes each score by an amount in
    [-3, 1] g*^2 / c, whatever the other rows are (``constants.gain_score``).
    """

    #: The public constant ``c`` that each row adds to the denominator.
    hessian: float
    #: L2 regularization, greater than zero.
    reg_lambda: float
    #: Largest absolute gradient of a row, in units of the gradient grid.
    gradient_limit: int
    #: Threads of the kernel; the scores do not depend on it.
    n_threads: int = 1
    #: What a row of the largest weight counts, a power of two. A row of a smaller weight has
    #: that part of its gradient and counts that part.
    row_units: int = 1

    @property
    def scale(self) -> float:
        """Score units in the square of one unit of the gradient grid."""
        return UNITS_PER_GAIN * self.hessian / float(self.gradient_limit) ** 2

    def scores(
        self,
        sums: NDArray[np.int64],
        counts: NDArray[np.int64],
        layout: Layout,
        workspace: Workspace | None = None,
    ) -> NDArray[np.int64]:
        """Return scores of shape (n_nodes, n_candidates) from integer histograms.

        Gradient sums, on the gradient grid, and row counts are of shape (n_nodes, n_cells). The
        layout says where the cells and candidates of each feature lie; scores are written into the
        workspace.
        """
        scores = (workspace or Workspace()).empty((len(sums), layout.n_candidates))
        gain.gradient_gain(
            sums,
            counts,
            layout.cell_offsets,
            layout.candidate_offsets,
            layout.is_categorical,
            self.hessian / self.row_units,
            self.reg_lambda,
            self.scale,
            SCORE_LIMIT,
            scores,
            self.n_threads,
        )
        return scores

    def bound(self, neighbors: Neighbors) -> Sensitivity:
        """Return what one row changes in the scores of a node."""
        return constants.gain_score(UNITS_PER_GAIN, neighbors)
