r"""Queries of an evaluation, which compare labels with the predictions of a released model.

A row's scores are a function of that row and of the model, so that all of these are sums of
functions of single rows.

*Counts.* A row is in one cell of each histogram: :math:`q` histograms of the same rows, one for
each output of the model and one of hits, have the norms of ``constants.counts``.

*Sums of errors.* A row adds to its group a vector of :math:`q` parts of at most one in absolute
value, of which the label alone has a sign. The L1 norm of what a row adds is at most :math:`q`, and
its L2 norm :math:`\sqrt q`. A replaced row that changes its group moves the vector by two such
vectors side by side, :math:`2 q` and :math:`\sqrt{2 q}`; in the same group the parts without sign
move by at most 1 and the label by at most 2: no more than :math:`q + 1` and :math:`\sqrt{q + 3}`.
Charged is the larger one, as :math:`q \ge 3`. Parts are rounded to units after they were clipped,
and the bound is a whole number of units, so that rounding adds nothing.

Machine-checked: docs/proofs/machine-checked.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost.privacy.exact_arithmetic import root_up
from dpboost.privacy.queries import QueryInUnits
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import counts

#: Absolute errors are counted in cells that end at 2^0, 2^-1/2, 2^-1, ... of the label range.
ERROR_CELLS = 48


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredRows:
    """Private rows with the scores of a released classifier."""

    #: Of shape (n_outputs, n_rows). Log-odds: of the second class, or of each of several. No NaN.
    scores: NDArray[np.float64]
    #: Of shape (n_rows,). Position of the label among the classes of the model.
    labels: NDArray[np.int64]
    #: Of shape (n_rows,). Position of the row's group.
    groups: NDArray[np.int64]
    #: Of shape (n_rows,). Whether the model predicts the label.
    hits: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> ScoredRows:
        """Return some of the rows."""
        return ScoredRows(
            scores=np.ascontiguousarray(self.scores[:, rows]),
            labels=self.labels[rows],
            groups=self.groups[rows],
            hits=self.hits[rows],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictedRows:
    """Private rows with the predictions of a released regressor."""

    #: Of shape (n_rows,). Both clipped to public bounds.
    labels: NDArray[np.float64]
    predictions: NDArray[np.float64]
    #: Of shape (n_rows,). Position of the row's group.
    groups: NDArray[np.int64]

    def take(self, rows: NDArray[np.intp]) -> PredictedRows:
        """Return some of the rows."""
        return PredictedRows(
            labels=self.labels[rows],
            predictions=self.predictions[rows],
            groups=self.groups[rows],
        )


@dataclass(frozen=True, kw_only=True)
class ScoreCells(QueryInUnits):
    """Rows by their score in equal cells of a range, of each output; independent of labels.

    Proof: docs/proofs/evaluation.md.
    """

    #: Of each output. What is outside is in the outermost cells.
    ranges: tuple[tuple[float, float], ...]
    n_cells: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (len(self.ranges), self.n_cells)

    def evaluate(self, rows: ScoredRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        found = np.zeros(self.shape, dtype=np.int64)
        for output, (low, high) in enumerate(self.ranges):
            positions = (
                (np.clip(rows.scores[output], low, high) - low) / (high - low) * self.n_cells
            )
            cells = to_integer_units(positions, 0, self.n_cells - 1, toward_zero=True)
            found[output] = np.bincount(cells, minlength=self.n_cells)
        return found * self.units

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell of each output."""
        return counts(neighbors, self.units, histograms=len(self.ranges))


@dataclass(frozen=True, kw_only=True)
class ScoreLabelCounts(QueryInUnits):
    """Rows by group, score bin and label, of each output; and by group, label and hit.

    Proof: docs/proofs/evaluation.md.

    Notes
    -----
    The answer is flat: ``(n_groups, n_bins, 2)`` numbers of each output, others first, then
    ``(n_groups, n_classes, 2)`` numbers of rows that are missed and hit.
    """

    #: Of each output: ascending borders between bins. A score equal to a border is below it.
    edges: tuple[tuple[float, ...], ...]
    n_groups: int
    #: Of the model: hits are counted for more than two alone.
    n_classes: int

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Shapes of the parts of the answer."""
        found = [(self.n_groups, len(edges) + 1, 2) for edges in self.edges]
        return [*found, (self.n_groups, self.n_classes, 2)] if self.n_classes > 2 else found

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (sum(math.prod(shape) for shape in self.shapes),)

    def evaluate(self, rows: ScoredRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        parts = []
        for output, edges in enumerate(self.edges):
            bins = np.searchsorted(edges, rows.scores[output], side="left")
            # The one output of two classes is the second one's.
            own = rows.labels == (output if self.n_classes > 2 else 1)
            parts.append((rows.groups, bins, own))
        if self.n_classes > 2:
            parts.append((rows.groups, rows.labels, rows.hits))
        found = [
            np.bincount(
                np.ravel_multi_index(
                    (groups, middle, last.astype(np.int64, casting="safe")), shape
                ),
                minlength=math.prod(shape),
            )
            for (groups, middle, last), shape in zip(parts, self.shapes, strict=True)
        ]
        return np.concatenate(found).astype(np.int64, casting="safe") * self.units

    def split(self, answer: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the parts of an answer."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(answer, ends)
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell of each part."""
        return counts(neighbors, self.units, histograms=len(self.shapes))


@dataclass(frozen=True, kw_only=True)
class ErrorCells(QueryInUnits):
    """Rows by the magnitude of their error, in cells whose width halves at every second one.

    Proof: docs/proofs/evaluation.md.
    """

    #: Of the label bounds: no error is larger.
    width: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (ERROR_CELLS,)

    def evaluate(self, rows: PredictedRows) -> NDArray[np.int64]:
        """Count the rows of one site; the last cell holds all smaller errors."""
        errors = np.abs(rows.labels - rows.predictions) / self.width
        cells = np.searchsorted(-self.ends[1:], -errors, side="right")
        return (
            np.bincount(cells, minlength=ERROR_CELLS).astype(np.int64, casting="safe") * self.units
        )

    @property
    def ends(self) -> NDArray[np.float64]:
        """Upper ends of the cells, as parts of the width."""
        return 2.0 ** (-np.arange(ERROR_CELLS) / 2)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell."""
        return counts(neighbors, self.units)


@dataclass(frozen=True, kw_only=True)
class ErrorSums(QueryInUnits):
    """Sums over the rows of each group: rows, errors, losses, labels.

    Proof: docs/proofs/evaluation.md.

    Notes
    -----
    The parts of a row, each in [0, 1] and the label in [-1, 1]: one, the absolute error, its
    square, the quantile loss, the label and its square, scaled by what they are bounded by.
    """

    #: Errors are clipped to it in absolute value; positive.
    largest: float
    label_bounds: tuple[float, float]
    #: Level of the quantile loss; None for no such sum.
    quantile: float | None
    #: Whether labels and their squares are added up.
    labels: bool
    n_groups: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        quantile = () if self.quantile is None else ("quantile",)
        return ("rows", "absolute", "square", *quantile, *(("label", "label_square") * self.labels))

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (self.n_groups, len(self.names))

    # What a query of parties divides by may be tiny: errors beyond it must not show themselves.
    @np.errstate(over="ignore")
    def evaluate(self, rows: PredictedRows) -> NDArray[np.int64]:
        """Sum over the rows of one place."""
        errors = np.clip((rows.labels - rows.predictions) / self.largest, -1.0, 1.0)
        low, high = self.label_bounds
        scaled = np.clip((rows.labels - low) / (high - low), 0.0, 1.0) * 2 - 1
        parts = {
            "rows": np.ones(len(errors)),
            "absolute": np.abs(errors),
            "square": errors**2,
            "label": scaled,
            "label_square": scaled**2,
        }
        if self.quantile is not None:
            level = self.quantile
            loss = np.where(errors >= 0, level * errors, (level - 1) * errors)
            parts["quantile"] = loss / max(level, 1 - level)
        sums = np.zeros(self.shape, dtype=np.int64)
        for position, name in enumerate(self.names):
            units = to_integer_units(parts[name] * self.units, -self.units, self.units)
            np.add.at(sums[:, position], rows.groups, units)
        return sums

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivities, with the proof at the head of this module."""
        parts = len(self.names) * neighbors.rows
        reason = "a row adds parts of at most one to the sums of its group"
        return (
            Sensitivity("l1", parts * self.units, reason, parts),
            Sensitivity("l2", root_up(Fraction(parts * self.units**2)), reason, parts),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BinCounts(QueryInUnits):
    """Rows by bin of each feature, all features as one vector.

    Proof: docs/proofs/evaluation.md.
    """

    #: Bins of each feature, that of missing values included.
    sizes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (sum(self.sizes),)

    def evaluate(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Count the rows of one site, given as bins of shape (n_features, n_rows)."""
        found = [
            np.bincount(bins, minlength=size)[:size]
            for bins, size in zip(rows, self.sizes, strict=True)
        ]
        return np.concatenate(found).astype(np.int64, casting="safe") * self.units

    def split(self, answer: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the counts of each feature."""
        return np.split(answer, np.cumsum(self.sizes)[:-1])

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one bin of each feature."""
        return counts(neighbors, self.units, histograms=len(self.sizes))
