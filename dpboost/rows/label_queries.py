"""What a single tree of numbers asks of rows: sums of labels and of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost.losses.grid import GRADIENT_UNIT
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.rows.class_queries import check_nodes
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.newton_sums import SumScale


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelHistograms:
    """Sums of labels and of weights in the cells of some nodes; for scores alone.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), int32
    cell_offsets : ndarray of shape (n_features + 1,), int32
    """

    nodes: NDArray[np.int32]
    cell_offsets: NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, ...]:
        """Two numbers for each node and cell."""
        return (2, len(self.nodes), int(self.cell_offsets[-1]))

    def evaluate(self, rows: LabelRows) -> NDArray[np.int64]:
        """Add up the rows of one place."""
        rows.check_cells(self.cell_offsets)
        return rows.histograms(self.nodes)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTotals:
    """Sums of labels and of weights of some nodes, which are disjoint, as one vector.

    Proof: docs/proofs/leaf-sums.md.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), int32
    scale : SumScale
        Factors that divide the release between the two.
    """

    nodes: NDArray[np.int32]
    scale: SumScale

    unit: ClassVar[float] = GRADIENT_UNIT

    @property
    def shape(self) -> tuple[int, ...]:
        """Two numbers a node."""
        return (2, len(self.nodes))

    def evaluate(self, rows: LabelRows) -> NDArray[np.int64]:
        """Add up the rows of one place."""
        return self.scale.scaled(rows.totals(self.nodes))

    def bounds(self, neighbours: Neighbours) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row adds one label and one weight to one node."""
        check_nodes(self.nodes)
        return self.scale.bounds(neighbours)
