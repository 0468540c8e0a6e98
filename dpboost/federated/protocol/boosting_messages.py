"""What parties are asked and told in a boosting run: the engine's objects in a safe form.

No object of the engine is sent. A message names what is meant by as few public numbers as
possible, checks them, and the party makes the engine's question or order of them and of its own
loss, bins and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import MAX_CELLS, N_CELLS, AffineBins
from dpboost.federated.party.boosting_state import (
    BoostingRows,
    Meant,
    MeantLeaves,
    check,
    is_range,
)
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.protocol.partition_message import Nodes
from dpboost.federated.protocol.wire import known
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.privacy.private_bounds import CELL_NUMBERS, Magnitudes, RangeCounts
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.newton_sums import SumScale
from dpboost.rows.start_queries import ClassSizes, MeanAndRows
from dpboost.training.private_bins import FineCounts
from dpboost.trees.tree import Tree

_LARGEST_UNITS = 1 << 20
_CELLS = (1, *CELL_NUMBERS)


# -- questions -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AskMagnitudes:
    """``privacy.bounds.Magnitudes``."""

    columns: int | tuple[int, ...] | None
    units: int

    def at(self, rows: HeldRows) -> Magnitudes:
        """Return the question that is meant."""
        listed = self.columns if isinstance(self.columns, tuple) else (self.columns,)
        check(len(set(listed)) == len(listed) > 0)
        for column in listed:
            own = self.columns is None or (type(column) is int)
            check(own and 0 <= (column or 0) < rows.table.n_features)
        check(type(self.units) is int and 1 <= self.units <= _LARGEST_UNITS)
        return Magnitudes(columns=self.columns, units=self.units)


@dataclass(frozen=True, kw_only=True)
class AskRange:
    """``privacy.private_bounds.RangeCounts``."""

    low: float
    high: float
    units: int
    n_cells: int | None

    def at(self, rows: HeldRows) -> RangeCounts:
        """Return the question that is meant."""
        check(isinstance(rows, HeldRows) and rows.agreement.task == "regression")
        check(is_range((self.low, self.high), rows.agreement))
        check(type(self.units) is int and 1 <= self.units <= _LARGEST_UNITS)
        check(self.n_cells is None or (type(self.n_cells) is int and self.n_cells in _CELLS))
        return RangeCounts(low=self.low, high=self.high, units=self.units, n_cells=self.n_cells)


@dataclass(frozen=True, kw_only=True)
class AskStart:
    """``boosting.start_questions.ClassSizes`` or ``MeanAndRows``, as the party's loss has it."""

    def at(self, rows: BoostingRows) -> Meant:
        """Return the question that is meant."""
        check(rows.taught is not None)
        loss: Any = rows.loss
        if loss.n_outputs > 1:
            return Meant(query=ClassSizes(n_classes=loss.n_outputs))
        return Meant(query=MeanAndRows(loss=loss, others=rows.agreement.task != "regression"))


@dataclass(frozen=True, kw_only=True)
class AskFineCounts:
    """``data.noisy_bins.FineCounts``."""

    bounds: Mapping[int, tuple[float, float]]
    units: int

    def at(self, rows: BoostingRows) -> Meant:
        """Return the question that is meant."""
        check(isinstance(self.bounds, dict))
        positions = list(self.bounds)
        check(bool(positions) and all(type(position) is int for position in positions))
        check(positions == sorted(set(positions)))
        check(positions[0] >= 0 and positions[-1] < rows.held.table.n_features)
        check(type(self.units) is int and 1 <= self.units <= _LARGEST_UNITS)
        check(rows.taught is not None)
        fine = {
            position: AffineBins(lower=low, upper=high, n_cells=N_CELLS, table=bytes(N_CELLS))
            for position, (low, high) in self.bounds.items()
        }
        check(all(bins.n_cells == N_CELLS for bins in fine.values()))
        return Meant(query=FineCounts(fine=fine, zero_as_missing=False, units=self.units))


@dataclass(frozen=True, kw_only=True)
class AskLeafSums:
    """``boosting.questions.LeafSums``."""

    nodes: Nodes
    gradient_limit: float
    hessian_share: float

    def at(self, rows: BoostingRows) -> MeantLeaves:
        """Return the question that is meant, with the scale of the party's own loss."""
        check(type(self.gradient_limit) is float and type(self.hessian_share) is float)
        check(0 < self.gradient_limit <= 1 and 0 < self.hessian_share < 1)
        loss = rows.loss
        scale = SumScale(
            gradient_limit=self.gradient_limit,
            gradient_reach=loss.gradient_reach(self.gradient_limit),
            hessian_reach=loss.hessian_reach,
            hessian_unit=loss.hessian_unit,
            hessian_share=self.hessian_share,
            norm="l2" if rows.agreement.delta > 0 else "l1",
        )
        check(rows.boosting is not None and rows.stage is not None)
        check(isinstance(self.nodes, Nodes))
        partition = self.nodes.partition(rows.n_bins)
        query = LeafSums(partition=partition, scale=scale, n_outputs=loss.n_outputs)
        return MeantLeaves(query=query)


@dataclass(frozen=True, kw_only=True)
class AskLevelSums:
    """``federated.level_questions.LevelSums`` of the level that the rows are in."""

    def at(self, rows: BoostingRows) -> Meant:
        """Return the question that is meant."""
        check(rows.n_nodes > 0 and rows.layout is not None)
        assert rows.layout is not None
        return Meant(
            query=LevelSums(
                n_nodes=rows.n_nodes, layout=rows.layout, gradient_bound=_bound_of(rows)
            )
        )


@dataclass(frozen=True, kw_only=True)
class AskLeafTotals:
    """``federated.level_questions.LeafTotals`` of the level that the rows are in."""

    def at(self, rows: BoostingRows) -> Meant:
        """Return the question that is meant."""
        check(rows.n_nodes > 0)
        return Meant(query=LeafTotals(n_nodes=rows.n_nodes, gradient_bound=_bound_of(rows)))


def _bound_of(rows: BoostingRows) -> float:
    bound: float = rows.loss.gradient_bound
    return bound


# -- orders ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Begin:
    """``boosting.taught_rows.Teach``, with the loss that the agreement makes.

    Parameters
    ----------
    label_bounds : (float, float) or None
        A released range inside the agreement's bounds, for regression.
    """

    label_bounds: tuple[float, float] | None = None

    def execute(self, rows: HeldRows) -> BoostingRows:
        """Begin at one party."""
        check(isinstance(rows, HeldRows))
        if self.label_bounds is not None:
            check(rows.agreement.task == "regression")
            check(is_range(self.label_bounds, rows.agreement))
        return BoostingRows(rows, self.label_bounds)


@dataclass(frozen=True, kw_only=True)
class Bin:
    """``boosting.taught_rows.BinRows``."""

    binner: dict[str, Any]
    start_units: tuple[int, ...]

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Bin the rows of one party."""
        for bins in self.binner["features"]:
            # Their number is memory, before anything else looks at it.
            cells = bins.get("n_cells", 1)
            check(type(cells) is int and 1 <= cells <= MAX_CELLS)
        rows.bin(Binner.from_dict(self.binner), tuple(self.start_units))
        return rows


@dataclass(frozen=True, kw_only=True)
class AssignRows:
    """``boosting.orders.Deal``, by the party's own coins."""

    shares: tuple[Fraction, ...] | None

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Deal the rows of one party."""
        rows.deal(self.shares)
        return rows


@dataclass(frozen=True, kw_only=True)
class Take:
    """``boosting.orders.SelectRound``."""

    index: int

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Go over to the round at one party."""
        rows.take(self.index)
        return rows


@dataclass(frozen=True, kw_only=True)
class Enter:
    """``boosting.orders.EnterNodes``."""

    gradient_bound: float

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Put the rows of one party into the root."""
        rows.enter_nodes(self.gradient_bound)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """``tree.node_questions.SplitNodes``."""

    feature: NDArray[np.int32]
    split_bin: NDArray[np.uint8]

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Send the rows of one party on."""
        rows.split(self.feature, self.split_bin)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Add:
    """``boosting.orders.AddValues``."""

    values: NDArray[np.int64]

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Add them at one party."""
        rows.add(self.values)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Append:
    """``boosting.orders.AppendTrees``."""

    trees: tuple[Tree, ...]

    def execute(self, rows: BoostingRows) -> BoostingRows:
        """Take note of them at one party."""
        rows.append(self.trees)
        return rows


known("nodes", Nodes)
known("tree", Tree)
_QUESTIONS: tuple[type, ...] = (AskMagnitudes, AskRange, AskStart, AskFineCounts, AskLeafSums)
_QUESTIONS += (AskLevelSums, AskLeafTotals)
_ORDERS: tuple[type, ...] = (Begin, Bin, AssignRows, Take, Enter, Split, Add, Append)
for _kind in _QUESTIONS + _ORDERS:
    known(f"boosting {_kind.__name__}", _kind)
