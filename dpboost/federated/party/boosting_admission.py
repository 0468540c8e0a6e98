"""What a party checks of the engine's queries and commands in a boosting run.

Loss, bounds of a row, layouts and classes follow from the agreement and from released numbers: the
party makes each query and command once more from them, and from the few numbers that are free,
and takes one that comes only where it is the same. What it then uses is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import MAX_CELLS, N_CELLS, AffineBins
from dpboost.federated.party.admission import admit, check, check_same, is_admitted
from dpboost.federated.party.boosting_state import AgreedRows, BoostingRows
from dpboost.federated.party.loss_numbers import LossNumbers, is_range, own_loss, started
from dpboost.federated.party.partition_table import with_table, without_table
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.party.start_scores import start_scores
from dpboost.federated.protocol.wire import known
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.losses import MeanLoss
from dpboost.privacy.contribution import ContributionBound
from dpboost.privacy.private_bounds import CELL_NUMBERS, Magnitudes, RangeCounts
from dpboost.rows.boosting_commands import (
    AddValues,
    AppendTrees,
    AssignRows,
    EnterNodes,
    SelectRound,
)
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.encoded_rows import BinRows, EncodedRows, EncodeLabels
from dpboost.rows.gradient_queries import SplitNodes
from dpboost.rows.newton_sums import SumScale
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import Weighting
from dpboost.rows.start_queries import ClassSizes, MeanAndRows, RowCount
from dpboost.training.loss_choice import weighting_of
from dpboost.training.private_bins import FineCounts
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree

# Largest worth of a row in counts, in units.
_LARGEST_UNITS = 1 << 20
_CELLS = (1, *CELL_NUMBERS)


def sent(message: Any) -> Any:
    """Return a query or command without what a party makes itself: coins, tables, maps.

    Raises
    ------
    TypeError
        Unless parties know its kind.
    """
    if not is_admitted(message):
        raise TypeError(f"Parties are neither asked nor told {type(message).__name__}.")
    if isinstance(message, EncodeLabels | MeanAndRows | BinRows):
        numbers: Any = LossNumbers.of(message.loss)
        message = replace(message, loss=numbers)
    if isinstance(message, LeafSums):
        return replace(message, partition=without_table(message.partition))
    if isinstance(message, AssignRows):
        return replace(message, coins=None)
    if isinstance(message, AppendTrees):
        # Scores need no more than structure and values.
        unused: dict[str, Any] = {"leaf_count": None, "split_gain": None, "noise": None}
        return replace(message, trees=tuple(replace(tree, **unused) for tree in message.trees))
    if isinstance(message, BinRows):
        # A short text may mean a large map, which is made where the number of columns is known.
        written: Any = message.binner.to_dict()
        return replace(message, binner=written)
    return message


# -- before there are bins -------------------------------------------------------------------------


def _magnitudes(query: Magnitudes, rows: HeldRows) -> Magnitudes:
    """Take different columns of the party."""
    columns = query.columns
    listed = columns if isinstance(columns, tuple) else (columns,)
    check(len(set(listed)) == len(listed) > 0)
    for column in listed:
        own = columns is None or (type(column) is int)
        check(own and 0 <= (column or 0) < rows.table.n_features)
    _check_units(query.units)
    return query


def _range_counts(query: RangeCounts, rows: HeldRows) -> RangeCounts:
    """Take a range inside that of the agreement."""
    check(rows.agreement.task == "regression")
    check(is_range((query.low, query.high), rows.agreement))
    _check_units(query.units)
    check(query.n_cells is None or (type(query.n_cells) is int and query.n_cells in _CELLS))
    return query


def _class_sizes(query: ClassSizes, rows: AgreedRows) -> ClassSizes:
    """Take the classes of the agreement, and the agreed weights where sizes do not make them."""
    check(len(rows.classes) > 1)
    learns = rows.held.agreement.learns
    weighting = None if learns.class_weight == "balanced" else weighting_of(learns, rows.classes)
    own = ClassSizes(n_classes=len(rows.classes), weighting=weighting)
    check_same(query, own)
    return own


def _mean_and_rows(query: MeanAndRows, rows: AgreedRows) -> MeanAndRows:
    """Scale labels by the party's own loss, and weigh them as agreed."""
    loss: Any = started(rows.loss, query.loss)
    check(isinstance(loss, MeanLoss))
    agreement = rows.held.agreement
    weighting = weighting_of(agreement.learns, rows.classes)
    others = agreement.task != "regression"
    check_same((query.weighting, query.others), (weighting, others))
    return MeanAndRows(loss=loss, weighting=weighting, others=others)


def _row_count(query: RowCount, rows: AgreedRows) -> RowCount:
    """Count rows by the agreed weights, for a fit that continues a model: no start is released."""
    agreement = rows.held.agreement
    check(agreement.init_model is not None)
    weighting = weighting_of(agreement.learns, rows.classes)
    own = RowCount(weighting=weighting, others=agreement.task != "regression")
    check_same(query, own)
    return own


def _fine_counts(query: FineCounts, rows: AgreedRows) -> FineCounts:
    """Take columns of the party in order, and equal cells between finite bounds."""
    check(isinstance(query.fine, dict))
    positions = list(query.fine)
    check(bool(positions) and all(type(position) is int for position in positions))
    check(positions == sorted(set(positions)))
    check(positions[0] >= 0 and positions[-1] < rows.held.table.n_features)
    _check_units(query.units)
    check(all(isinstance(bins, AffineBins) for bins in query.fine.values()))
    fine = {
        position: AffineBins(
            lower=bins.lower, upper=bins.upper, n_cells=N_CELLS, table=bytes(N_CELLS)
        )
        for position, bins in query.fine.items()
    }
    check(all(bins.n_cells == N_CELLS for bins in fine.values()))
    own = FineCounts(fine=fine, zero_as_missing=False, units=query.units)
    check_same(query, own)
    return own


def _check_units(units: Any) -> None:
    """Raise unless a row is worth so many units that no sum wraps."""
    check(type(units) is int and 1 <= units <= _LARGEST_UNITS)


# -- labels and bins -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _EncodeAgreed(EncodeLabels):
    """Labels go to the grid of the party's own loss, scores to where the agreed model ends."""

    def execute(self, rows: RawRows) -> AgreedRows:
        assert isinstance(rows, HeldRows)
        encoded = super().execute(rows)
        parts = {part.name: getattr(encoded, part.name) for part in fields(EncodedRows)}
        scores = start_scores(rows.table, rows.agreement, self.loss.n_outputs)
        if scores is not None:
            parts["extras"] = replace(encoded.extras, init_scores=scores)
        return AgreedRows(**parts, held=rows, loss=self.loss, classes=self.classes)


@dataclass(frozen=True, kw_only=True, eq=False)
class _BinAgreed(BinRows):
    """Tables go to released bins."""

    def execute(self, rows: EncodedRows) -> Any:
        assert isinstance(rows, AgreedRows)
        # A warning about an odd cell would tell that there is one.
        with np.errstate(all="ignore"):
            binned = super().execute(rows)
        assert isinstance(binned, BoostingState)
        return BoostingRows(binned, rows.held, self.binner.n_bins)


def _encode_labels(command: EncodeLabels, rows: HeldRows) -> _EncodeAgreed:
    """Take the loss of the agreement, within a released range of labels."""
    loss, classes = own_loss(command.loss, rows.agreement)
    check_same(command.classes, classes)
    return _EncodeAgreed(loss=loss, classes=classes)


def _bin_rows(command: BinRows, rows: AgreedRows) -> _BinAgreed:
    """Take bins of the party's columns; scores of its own loss begin at a released start."""
    sent: Any = command.binner
    check(len(sent["features"]) == rows.held.table.n_features)
    for bins in sent["features"]:
        # Their number is memory, before anything else looks at it.
        cells = bins.get("n_cells", 1)
        check(type(cells) is int and 1 <= cells <= MAX_CELLS)
    binner = Binner.from_dict(sent)
    check(binner.feature_names == tuple(rows.held.table.feature_names))
    loss = started(rows.loss, command.loss)
    # Scores that an earlier model gives are where the loss starts.
    check(rows.extras.init_scores is None or not np.any(loss.start_units))
    return _BinAgreed(
        binner=binner,
        loss=loss,
        weighting=_weighting(command.weighting, rows),
    )


def _weighting(given: Any, rows: AgreedRows) -> Weighting | None:
    """Return the agreed weighting; where classes are balanced, with factors of released sizes.

    A row's weight is clipped to the agreed bound whatever the factors are.
    """
    learns = rows.held.agreement.learns
    own = weighting_of(learns, rows.classes)
    if learns.class_weight == "balanced":
        check(isinstance(given, Weighting) and isinstance(given.factors, tuple))
        factors = given.factors
        check(len(factors) == len(rows.classes))
        check(all(type(factor) is float and 0 < factor <= 1 for factor in factors))
        most = 1.0 if own is None else own.max_weight
        own = Weighting(max_weight=most, factors=factors)
    check_same(given, own)
    return own


# -- rounds ----------------------------------------------------------------------------------------


def _leaf_sums(query: LeafSums, rows: BoostingRows) -> LeafSums:
    """Take bounds of a row from the party's own loss, and make the table of the partition."""
    check(isinstance(query.scale, SumScale) and isinstance(query.partition, Partition))
    limit, share = query.scale.gradient_limit, query.scale.hessian_share
    check(type(limit) is float and type(share) is float)
    check(0 < limit <= 1 and 0 < share < 1)
    norm = "l2" if rows.held.agreement.delta > 0 else "l1"
    scale = SumScale.of(rows.loss, gradient_limit=limit, hessian_share=share, norm=norm)
    check_same((query.scale, query.n_outputs), (scale, rows.loss.n_outputs))
    check(rows.stage is not None)
    partition = with_table(query.partition, rows.n_bins)
    return LeafSums(partition=partition, scale=scale, n_outputs=rows.loss.n_outputs)


def _level_sums(query: LevelSums, rows: BoostingRows) -> LevelSums:
    """Take all cells of the nodes that rows are in, by the bound that they were filtered by."""
    check(rows.n_nodes > 0)
    own = LevelSums(
        n_nodes=rows.n_nodes, layout=rows.layout, gradient_bound=rows.loss.gradient_bound
    )
    check_same(query, own)
    return own


def _leaf_totals(query: LeafTotals, rows: BoostingRows) -> LeafTotals:
    """Take all nodes that rows are in, by the bound that they were filtered by."""
    check(rows.n_nodes > 0)
    own = LeafTotals(n_nodes=rows.n_nodes, gradient_bound=rows.loss.gradient_bound)
    check_same(query, own)
    return own


# What queries and commands are made of.
known("affine bins", AffineBins)
known("contribution bound", ContributionBound)
known("layout", Layout)
known("partition", Partition)
known("sum scale", SumScale)
known("tree", Tree)
known("weighting", Weighting)

admit("magnitudes", Magnitudes, HeldRows, _magnitudes)
admit("range counts", RangeCounts, HeldRows, _range_counts)
admit("encode labels", EncodeLabels, HeldRows, _encode_labels)
admit("class sizes", ClassSizes, AgreedRows, _class_sizes)
admit("mean and rows", MeanAndRows, AgreedRows, _mean_and_rows)
admit("row count", RowCount, AgreedRows, _row_count)
admit("fine counts", FineCounts, AgreedRows, _fine_counts)
admit("bin rows", BinRows, AgreedRows, _bin_rows)
admit("leaf sums", LeafSums, BoostingRows, _leaf_sums)
admit("level sums", LevelSums, BoostingRows, _level_sums)
admit("leaf totals", LeafTotals, BoostingRows, _leaf_totals)
# `BoostingRows` checks what these call.
admit("assign rows", AssignRows, BoostingRows)
admit("select round", SelectRound, BoostingRows)
admit("enter nodes", EnterNodes, BoostingRows)
admit("split nodes", SplitNodes, BoostingRows)
admit("add values", AddValues, BoostingRows)
admit("append trees", AppendTrees, BoostingRows)
