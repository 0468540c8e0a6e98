"""The engine's source where rows lie with parties: every question and order in its safe form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from dpboost.federated.protocol import boosting_messages as b
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.partition_message import Nodes
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.losses import SquaredLoss
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.private_bounds import Magnitudes, RangeCounts
from dpboost.privacy.remote import RemoteSensitive
from dpboost.rows.boosting_commands import (
    AddValues,
    AppendTrees,
    AssignRows,
    EnterNodes,
    SelectRound,
)
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.encoded_rows import BinRows, EncodeLabels
from dpboost.rows.gradient_queries import SplitNodes
from dpboost.rows.start_queries import ClassSizes, MeanAndRows
from dpboost.training.private_bins import FineCounts


class PartyRowStore:
    """A `dpboost.privacy.queries.Source` of parties.

    Parameters
    ----------
    coordinator : Coordinator

    Privacy
    -------
    It has no exact sums to give: a step of the engine that needs one fails before anything is
    asked.
    """

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def sensitive(self, query: Any, neighbours: Neighbours) -> RemoteSensitive:
        """Return what the gate takes."""
        return self._coordinator.sensitive(query, neighbours, sent=_sent(query))

    def apply(self, order: Any) -> None:
        """Tell all parties, with the next question."""
        self._coordinator.apply(_told(order))

    def exact(self, query: Any) -> NoReturn:
        """Raise: parties show no sums without noise."""
        raise TypeError("Parties answer through the gate alone: there are no exact sums of theirs.")

    def tally(self, query: Any) -> NoReturn:
        """Raise: parties show no counts without noise."""
        raise TypeError("Parties answer through the gate alone: declare classes and categories.")


def _sent(query: Any) -> Any:
    """Return what a party is sent for a question of the engine."""
    if isinstance(query, Magnitudes):
        return b.AskMagnitudes(columns=query.columns, units=query.units)
    if isinstance(query, RangeCounts):
        return b.AskRange(low=query.low, high=query.high, units=query.units, n_cells=query.n_cells)
    if isinstance(query, (ClassSizes, MeanAndRows)) and query.weighting is None:
        return b.AskStart()
    if isinstance(query, FineCounts) and not query.zero_as_missing:
        bounds = {position: (bins.lower, bins.upper) for position, bins in query.fine.items()}
        return b.AskFineCounts(bounds=bounds, units=query.units)
    if isinstance(query, LeafSums):
        scale = query.scale
        return b.AskLeafSums(
            nodes=Nodes.of(query.partition),
            gradient_limit=scale.gradient_limit,
            hessian_share=scale.hessian_share,
        )
    if isinstance(query, LevelSums):
        return b.AskLevelSums()
    if isinstance(query, LeafTotals):
        return b.AskLeafTotals()
    raise TypeError(f"Parties are not asked for {type(query).__name__}.")


def _told(order: Any) -> Any:
    """Return what a party is sent for an order of the engine."""
    if isinstance(order, EncodeLabels):
        loss = order.loss
        if isinstance(loss, SquaredLoss):
            return b.Begin(label_bounds=(loss.lower, loss.upper))
        return b.Begin()
    if isinstance(order, BinRows) and order.weighting is None:
        starts = np.atleast_1d(np.asarray(order.loss.start_units, dtype=np.int64))
        return b.Bin(binner=order.binner.to_dict(), start_units=tuple(starts.tolist()))
    if isinstance(order, AssignRows):
        return b.AssignRows(shares=order.shares)
    if isinstance(order, SelectRound):
        return b.Take(index=order.index)
    if isinstance(order, EnterNodes) and order.features is None:
        return b.Enter(gradient_bound=order.gradient_bound)
    if isinstance(order, SplitNodes):
        return b.Split(feature=order.feature, split_bin=order.split_bin)
    if isinstance(order, AddValues):
        return b.Add(values=order.values)
    if isinstance(order, AppendTrees):
        # Scores need no more than structure and values.
        return b.Append(trees=tuple(replace(tree, noise=None) for tree in order.trees))
    raise TypeError(f"Parties are not told {type(order).__name__}.")
