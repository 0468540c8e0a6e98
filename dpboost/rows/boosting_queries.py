"""What boosting asks of rows. Proof: docs/proofs/leaf-sums.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.newton_sums import SumScale
from dpboost.trees.random_partition import Partition


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafSums:
    """Gradient and hessian sums of the leaves of a public partition, for every output.

    Parameters
    ----------
    partition : Partition
        Public tree.
    scale : SumScale
        Clips and factors.
    n_outputs : int
    """

    partition: Partition
    scale: SumScale
    n_outputs: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (2, self.n_outputs, self.partition.n_leaves)

    @property
    def unit(self) -> float:
        """Worth of one unit of a gradient sum."""
        return self.scale.gradient_unit_value

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the scaled sums for the rows of one place."""
        sums = rows.leaf_sums(self.partition, self.scale.gradient_limit)
        return self.scale.scaled(sums)

    def bounds(self, neighbours: Neighbours) -> tuple[Sensitivity, ...]:
        """Return the L1 and L2 sensitivity of the vector."""
        return self.scale.bounds(neighbours)
