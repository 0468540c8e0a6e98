"""The engine's row store where rows lie with parties: sums over all of them are released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from numpy.typing import NDArray

from dpboost.federated.protocol.session import Holder, Session
from dpboost.privacy.ledger import Ledger, Release
from dpboost.privacy.mechanisms import Mechanism
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.queries import Command, Query
from dpboost.privacy.remote import RemoteSensitive
from dpboost.rows.class_queries import branch_of


class PartyRowStore:
    """A `dpboost.privacy.queries.RowStore` of one side of a session.

    Parameters
    ----------
    session : Session
    rows : object or None
        The private state of this party's rows; None at the coordinator.
    ledger : Ledger
        Of the fit or evaluation.

    Privacy
    -------
    It evaluates queries on this party's rows and hands them to the gate alone. It has no exact sums
    of all rows to give: a step of the engine that needs one fails before anything is drawn.
    """

    def __init__(self, session: Session, rows: Any, ledger: Ledger) -> None:
        self._session = session
        self._rows = rows
        self._ledger = ledger

    @property
    def noise_variance_ratio(self) -> float:
        """Variance of the noise of the last sum, in parts of what is charged for."""
        return self._session.noise_variance_ratio

    def sensitive(self, query: Query, neighbours: Neighbours) -> RemoteSensitive:
        """Return what the gate takes."""
        return self._remote(query, neighbours, self._session.sums)

    def each(self, query: Query, neighbours: Neighbours) -> RemoteSensitive:
        """Return what the gate takes where every party releases an outcome from its own rows.

        Outcomes have a first axis of parties. Parties hold disjoint rows: all outcomes together
        cost what one costs.
        """
        return self._remote(query, neighbours, self._session.outcomes)

    def release(
        self, queries: Sequence[tuple[Mechanism, Query]], *, label: str
    ) -> list[NDArray[Any]]:
        """Release sums in one exchange, each in the scope of the part of the rows it is about.

        Parameters
        ----------
        queries : sequence of (Mechanism, Query)
            A level of a tree, for instance: one query for each node, with budgets of their own.
        label : str
            Kind of release, for the report.

        Returns
        -------
        list of ndarray
        """
        return self._ledger.release_together(
            [
                Release(
                    mechanism=mechanism,
                    value=self.sensitive(query, self._ledger.neighbours),
                    label=label,
                    branch=branch_of(query),
                )
                for mechanism, query in queries
            ]
        )

    def apply(self, order: Command) -> None:
        """Execute a command on the rows of this party; it is a part of the next step."""
        self._session.note(order)
        if self._rows is not None:
            self._rows = order.execute(self._rows)

    def exact(self, query: Any) -> NoReturn:
        """Raise: parties show no sums without noise."""
        raise TypeError("Parties release through the gate alone: there are no exact sums of all.")

    def tally(self, query: Any) -> NoReturn:
        """Raise: parties show no counts without noise."""
        raise TypeError("Parties release through the gate alone: declare classes and categories.")

    def _remote(self, query: Query, neighbours: Neighbours, holder: Holder) -> RemoteSensitive:
        return RemoteSensitive(
            tuple(query.shape),
            query.bounds(neighbours),
            holder=holder,
            query=query,
            unit=query.unit,
            noise_variance_ratio=self._session.agreement.noise_variance_ratio,
            own=None if self._rows is None else query.evaluate(self._rows),
        )
