"""Leaf values from integer sums, and their sensitivity.

Proof: docs/proofs/leaf-values.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import leaf as leaf_kernel
from dpboost.losses import GRADIENT_UNIT
from dpboost.privacy.exact_arithmetic import Epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.sensitivity import constants
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.rows.gradient_statistics import NodeStatistics

# Leaf values are integers in this unit of the scaled label, before the learning rate.
LEAF_UNIT = 2.0**-20


@dataclass(frozen=True, kw_only=True)
class ClippedLeaf:
    """The leaf value -S / (c n + lambda), clipped to a public bound.

    Equation (4) and geometric leaf clipping of Li, Wu, Wen and He (AAAI 2020).

    Privacy
    -------
    One release a tree, with discrete Laplace noise: its leaves hold disjoint rows. One added or
    deleted row changes one leaf by at most ``min(g* / (c + lambda), 2 clip)`` and the rounding
    by one unit more (``constants.clipped_leaf``). Leaves without rows get the same noise.
    """

    #: The public constant ``c`` that each row adds to the denominator.
    hessian: float
    #: L2 regularization, greater than zero.
    reg_lambda: float
    #: Largest absolute gradient of a row.
    gradient_bound: float
    #: Values are clipped to [-clip, clip]. The sensitivity is computed from the same number.
    clip: float
    #: Grid of the values; a value is rounded to it after clipping.
    unit: float = LEAF_UNIT

    def values(self, sums: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leaf values in units of the grid, one a node."""
        values = np.empty(len(sums), dtype=np.int64)
        leaf_kernel.clipped_leaf(
            sums,
            counts,
            self.hessian,
            self.reg_lambda,
            GRADIENT_UNIT,
            self.clip,
            1.0 / self.unit,
            values,
        )
        return values

    def bound(self, neighbors: Neighbors) -> Sensitivity:
        """Return what one row changes in the leaf values of a tree, in units of the grid."""
        return constants.clipped_leaf(
            gradient_bound=self.gradient_bound,
            hessian=self.hessian,
            reg_lambda=self.reg_lambda,
            clip=self.clip,
            unit=self.unit,
            neighbors=neighbors,
        )

    def release(
        self, statistics: NodeStatistics, *, epsilon: Epsilon, ledger: Ledger
    ) -> tuple[NDArray[np.int64], float]:
        """Release the values of all leaves of a tree, in units of the grid.

        Returns them with the standard deviation of their noise.
        """
        mechanism = DiscreteLaplace(epsilon=epsilon)
        values = statistics.leaf_values(self)
        released = ledger.release(mechanism, values, label="leaf values")
        return released, values.noise_stddev(mechanism)
