"""The engine's source where rows lie with parties: every question and order in its safe form."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from dpboost.federated.protocol import boosting_messages as b
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.partition_message import Nodes
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.private_bounds import Magnitudes
from dpboost.privacy.sensitive import Distant
from dpboost.rows.boosting_commands import AddValues, AppendTrees, Deal, EnterNodes, TakeRound
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.encoded_rows import BinRows, Teach
from dpboost.rows.gradient_queries import SplitNodes
from dpboost.rows.start_queries import ClassSizes, MeanAndRows
from dpboost.training.private_bins import FineCounts


class PartySource:
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

    def sensitive(self, question: Any, neighbours: Neighbours) -> Distant:
        """Return what the gate takes."""
        return self._coordinator.sensitive(question, neighbours, sent=_sent(question))

    def tell(self, order: Any) -> None:
        """Tell all parties, with the next question."""
        self._coordinator.tell(_told(order))

    def exact(self, question: Any) -> NoReturn:
        """Raise: parties show no sums without noise."""
        raise TypeError("Parties answer through the gate alone: there are no exact sums of theirs.")

    def tally(self, question: Any) -> NoReturn:
        """Raise: parties show no counts without noise."""
        raise TypeError("Parties answer through the gate alone: declare classes and categories.")


def _sent(question: Any) -> Any:
    """Return what a party is sent for a question of the engine."""
    if isinstance(question, Magnitudes):
        return b.AskMagnitudes(columns=question.columns, units=question.units)
    if isinstance(question, (ClassSizes, MeanAndRows)) and question.weighting is None:
        return b.AskStart()
    if isinstance(question, FineCounts) and not question.zero_as_missing:
        bounds = {place: (bins.lower, bins.upper) for place, bins in question.fine.items()}
        return b.AskFineCounts(bounds=bounds, units=question.units)
    if isinstance(question, LeafSums):
        scale = question.scale
        return b.AskLeafSums(
            nodes=Nodes.of(question.partition),
            gradient_limit=scale.gradient_limit,
            hessian_share=scale.hessian_share,
        )
    if isinstance(question, LevelSums):
        return b.AskLevelSums()
    if isinstance(question, LeafTotals):
        return b.AskLeafTotals()
    raise TypeError(f"Parties are not asked for {type(question).__name__}.")


def _told(order: Any) -> Any:
    """Return what a party is sent for an order of the engine."""
    if isinstance(order, Teach):
        return b.Begin()
    if isinstance(order, BinRows) and order.weighting is None:
        starts = np.atleast_1d(np.asarray(order.loss.start_units, dtype=np.int64))
        return b.Bin(binner=order.binner.to_dict(), start_units=tuple(starts.tolist()))
    if isinstance(order, Deal):
        return b.DealRows(shares=order.shares)
    if isinstance(order, TakeRound):
        return b.Take(index=order.index)
    if isinstance(order, EnterNodes):
        return b.Enter(gradient_bound=order.gradient_bound)
    if isinstance(order, SplitNodes):
        return b.Split(feature=order.feature, split_bin=order.split_bin)
    if isinstance(order, AddValues):
        return b.Add(values=order.values)
    if isinstance(order, AppendTrees):
        return b.Append(trees=order.trees)
    raise TypeError(f"Parties are not told {type(order).__name__}.")
