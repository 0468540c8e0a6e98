"""The engine's row store where rows lie with parties: its queries and commands are what is sent."""

from __future__ import annotations

from typing import Any, NoReturn

from dpboost.federated.party.boosting_admission import sent
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.queries import Command, Query
from dpboost.privacy.remote import RemoteSensitive


class PartyRowStore:
    """A `dpboost.privacy.queries.RowStore` of parties.

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

    def sensitive(self, query: Query, neighbours: Neighbours) -> RemoteSensitive:
        """Return what the gate takes."""
        return self._coordinator.sensitive(sent(query), neighbours)

    def apply(self, order: Command) -> None:
        """Tell all parties, with the next question."""
        self._coordinator.apply(sent(order))

    def exact(self, query: Any) -> NoReturn:
        """Raise: parties show no sums without noise."""
        raise TypeError("Parties answer through the gate alone: there are no exact sums of theirs.")

    def tally(self, query: Any) -> NoReturn:
        """Raise: parties show no counts without noise."""
        raise TypeError("Parties answer through the gate alone: declare classes and categories.")
