"""Queries and commands of single trees.

Queries contain public numbers only, can be pickled, and have results that add up over row stores.
Proof of their bounds: docs/proofs/counts.md. Machine-checked: docs/proofs/machine-checked.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost.privacy.sensitivity import constants
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.rows.class_node_rows import ClassRows

#: What a row counts in a node with one histogram, in units; more in none.
MOST_WORTH = 2**9

#: The kernels number classes in a byte.
MOST_CLASSES = 255


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeSizes:
    """Number of rows of some disjoint nodes."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Units of a row with the maximum weight.
    row_units: int = 1

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """One number a node."""
        return (len(self.nodes),)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        rows.check_units(self.row_units)
        return rows.sizes(self.nodes)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one node."""
        check_nodes(self.nodes)
        return constants.counts(neighbors, self.row_units)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassCounts:
    """Number of rows of each class of some disjoint nodes."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    n_classes: int
    #: Numbers of the nodes on a path from a child of the root, below whose end the nodes are.
    branch: tuple[str, ...] = ()
    #: Units of a row with the maximum weight.
    row_units: int = 1

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node and class."""
        return (len(self.nodes), self.n_classes)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        rows.check_branches([(self.branch, self.nodes)])
        rows.check_units(self.row_units)
        return rows.totals(self.nodes)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one node and of one class."""
        check_nodes(self.nodes)
        check_integer("n_classes", "a question", self.n_classes, low=1)
        return constants.counts(neighbors, self.row_units)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassHistograms:
    """Rows of each class in every cell of the offered features of some nodes."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Of shape (n_features + 1,).
    cell_offsets: NDArray[np.int32]
    n_classes: int
    #: Of shape (n_nodes, n_features). Cells of other features hold zero, whatever the rows are.
    #: Every node must offer as many features. All of them by default.
    offered: NDArray[np.bool_] | None = None
    #: Units of a row with the maximum weight.
    row_units: int = 1

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node, cell and class."""
        return (len(self.nodes), int(self.cell_offsets[-1]), self.n_classes)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        rows.check_layout(self.cell_offsets, self.n_classes)
        rows.check_units(self.row_units)
        counts = rows.histograms(self.nodes)
        if self.offered is not None:
            counts[~np.repeat(self.offered, np.diff(self.cell_offsets), axis=1)] = 0
        return counts

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one cell of each offered feature."""
        check_nodes(self.nodes)
        check_cells(self.cell_offsets, self.n_classes)
        if self.offered is None:
            return constants.counts(neighbors, self.row_units, len(self.cell_offsets) - 1)
        check_array(self.offered, np.bool_, (len(self.nodes), len(self.cell_offsets) - 1))
        numbers = set(self.offered.sum(axis=1).tolist())
        if len(numbers) != 1:
            raise InvalidParameterError("Every node of a question must offer as many features.")
        return constants.counts(neighbors, self.row_units, numbers.pop())


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSizes(ClassHistograms):
    """Rows in every cell of the offered features of some nodes; parameters as above."""

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node and cell."""
        return (len(self.nodes), int(self.cell_offsets[-1]))

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        return np.asarray(super().evaluate(rows).sum(axis=2))


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureCells:
    """Rows of each class in the cells of a fixed number of features, which differ by node."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Of shape (n_nodes, n_asked).
    features: NDArray[np.int32]
    #: Of shape (n_features + 1,).
    cell_offsets: NDArray[np.int32]
    n_classes: int
    #: Numbers of the nodes on a path from a child of the root, below whose end the nodes are.
    branch: tuple[str, ...] = ()

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node, feature, cell and class; features of few cells hold zeros."""
        return (*self.features.shape, int(np.diff(self.cell_offsets).max()), self.n_classes)

    @property
    def held(self) -> NDArray[np.bool_]:
        """Whether each cell exists; shape (n_nodes, n_asked, n_cells)."""
        widths = np.diff(self.cell_offsets)[self.features]
        return np.arange(self.shape[2]) < widths[:, :, np.newaxis]

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        rows.check_layout(self.cell_offsets, self.n_classes)
        rows.check_branches([(self.branch, self.nodes)])
        rows.check_units(1)
        counts = rows.histograms(self.nodes)
        held = self.held
        first = self.cell_offsets[self.features][:, :, np.newaxis]
        cells = np.where(held, first + np.arange(held.shape[2]), 0)
        picked = counts[np.arange(len(self.nodes))[:, np.newaxis, np.newaxis], cells]
        return picked * held[..., np.newaxis]

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one node, and in one cell of each feature."""
        check_nodes(self.nodes)
        check_cells(self.cell_offsets, self.n_classes)
        if np.ndim(self.features) != 2:
            raise InvalidParameterError("Every node of a question must name as many features.")
        check_array(self.features, np.int32, (len(self.nodes), np.shape(self.features)[1]))
        known = (self.features >= 0) & (self.features < len(self.cell_offsets) - 1)
        if not known.all():
            raise InvalidParameterError("A question is about features that the rows do not have.")
        return constants.counts(neighbors, histograms=self.features.shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedCells:
    """Rows of each class in groups of cells, which differ by node."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Of shape (n_nodes, n_cells). Group of every cell; -1 for cells that are not asked for.
    groups: NDArray[np.int32]
    #: Of shape (n_features + 1,).
    cell_offsets: NDArray[np.int32]
    n_groups: int
    n_classes: int
    #: Of shape (n_nodes,). What a row counts in each node.
    unit_value: NDArray[np.int64]

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node, group and class; a node may have fewer groups."""
        return (len(self.nodes), self.n_groups, self.n_classes)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        rows.check_layout(self.cell_offsets, self.n_classes)
        rows.check_units(1)
        counts = rows.histograms(self.nodes) * self.unit_value[:, np.newaxis, np.newaxis]
        found = np.zeros(self.shape, dtype=np.int64)
        node, cell = np.nonzero(self.groups >= 0)
        np.add.at(found, (node, self.groups[node, cell]), counts[node, cell])
        return found

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one node, and in one cell of each feature."""
        check_nodes(self.nodes)
        check_cells(self.cell_offsets, self.n_classes)
        check_array(self.groups, np.int32, (len(self.nodes), int(self.cell_offsets[-1])))
        check_array(self.unit_value, np.int64, (len(self.nodes),))
        n_groups = check_integer("n_groups", "a question", self.n_groups, low=1)
        if not ((self.groups >= -1) & (self.groups < n_groups)).all():
            raise InvalidParameterError("A cell of a question is in a group that is not there.")
        asked = np.logical_or.reduceat(self.groups >= 0, self.cell_offsets[:-1], axis=1)
        return weighted_histograms(asked.sum(axis=1), self.unit_value, neighbors)


@dataclass(frozen=True, kw_only=True, eq=False)
class Together:
    """Queries of one kind about different nodes, each in a branch of its own, read at once."""

    #: With answers of one shape for each node.
    queries: Sequence[Any]

    @property
    def joint(self) -> Any:
        """The query about the nodes of all of them."""
        first = self.queries[0]
        columns = {
            name: np.concatenate([getattr(query, name) for query in self.queries])
            for name in ("nodes", "features")
            if hasattr(first, name)
        }
        return replace(first, branch=(), **columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The answers, one after the other."""
        shape: tuple[int, ...] = self.joint.shape
        return shape

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        rows.check_branches([(query.branch, query.nodes) for query in self.queries])
        answer: NDArray[np.int64] = self.joint.evaluate(rows)
        return answer


def branch_of(query: Any) -> tuple[str, ...]:
    """Return the part of the rows that a query or a state is about; () for all of them."""
    return tuple(getattr(query, "branch", ()))


def check_nodes(nodes: NDArray[np.int32]) -> None:
    """Raise unless these are numbers of different nodes: of one listed twice rows count twice."""
    check_array(nodes, np.int32, (np.size(nodes),))
    if len(set(nodes.tolist())) < len(nodes) or (nodes < 0).any():
        raise InvalidParameterError("The nodes of a question must be different numbers.")


def check_cells(cell_offsets: NDArray[np.int32], n_classes: int) -> None:
    """Raise unless every feature has cells of its own, of some classes."""
    check_array(cell_offsets, np.int32, (np.size(cell_offsets),))
    first_is_zero = len(cell_offsets) > 1 and cell_offsets[0] == 0
    if not first_is_zero or not (cell_offsets[1:] > cell_offsets[:-1]).all():
        raise InvalidParameterError("Every feature of a question must have cells.")
    check_integer("n_classes", "a question", n_classes, low=1)


def check_array(values: Any, dtype: type, shape: tuple[int, ...]) -> None:
    """Raise unless this is an array of exactly this dtype and shape.

    What is computed with numbers of another width may wrap, or be rounded, where no one looks.
    """
    if not isinstance(values, np.ndarray) or values.dtype != dtype or values.shape != shape:
        raise InvalidParameterError(
            f"An array of a question must be of {np.dtype(dtype)} and of shape {shape}."
        )


def weighted_histograms(
    histograms: NDArray[np.integer], unit_value: NDArray[np.integer], neighbors: Neighbors
) -> tuple[Sensitivity, Sensitivity]:
    """L1 and L2 sensitivity of histograms of which each node has its own number and unit.

    Parameters
    ----------
    histograms : ndarray of shape (n_nodes,)
        Histograms of each node.
    unit_value : ndarray of shape (n_nodes,)
        What a row adds to its cell, at most `MOST_WORTH`.

    Returns
    -------
    l1, l2 : Sensitivity
        The largest ``histograms * worth`` in both norms: histograms of one node may share a
        group, to which a row then adds more than once. A replaced row may leave one node for
        another: the sum of two such changes is at most twice the largest.
    """
    numbers, units = histograms.tolist(), unit_value.tolist()
    if not numbers or min(numbers) < 1 or min(units) < 1:
        raise InvalidParameterError("Each node of a question needs a histogram, and a unit.")
    if max(units) > MOST_WORTH:
        raise InvalidParameterError(f"A row is worth at most {MOST_WORTH} units in a question.")
    rows = neighbors.rows
    # Python's integers do not wrap.
    added = max(number * unit for number, unit in zip(numbers, units, strict=True))
    reason = "a row is in one node, and in one cell of each of its histograms"
    coordinates = rows * max(numbers)
    if rows == 1:
        return (
            Sensitivity("l1", added, reason, coordinates),
            Sensitivity("l2", added, reason, coordinates),
        )
    return (
        Sensitivity("l1", 2 * added, reason, coordinates, added),
        Sensitivity("l2", 2 * added, reason, coordinates, added**2),
    )
