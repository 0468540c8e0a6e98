"""The coordinator: a source whose rows lie with parties."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import check_integer
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.absences import Absences
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.exchanges import Exchanges
from dpboost.federated.protocol.journal import JournalChannel
from dpboost.federated.protocol.mask_phases import MaskPhases
from dpboost.federated.protocol.transport import Channel, RefusedError
from dpboost.federated.secagg.dropout_recovery import (
    OpenedMasks,
)
from dpboost.privacy.ledger import Ledger, LedgerEntry, Release
from dpboost.privacy.mechanisms import Mechanism
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.noise_shares import check_shared
from dpboost.privacy.remote import RemoteSensitive
from dpboost.rows.class_queries import branch_of


class Coordinator:
    """Asks parties for sums that arrive noisy, and tells them what was released.

    It records every release in a ledger of its own, for the report; the parties do not rely on it.

    Parameters
    ----------
    agreement : Agreement
        The terms.
    channel : Channel
        Reaches the parties. A `JournalChannel` goes on with the session of an earlier process.
    resends : int, default=2
        How often a message is sent again, with the same bytes, before a party counts as lost.
    max_message_bytes : int, default=64 MiB
        Longer messages are not sent, and longer replies are refused before they are read.

    Raises
    ------
    RefusedError, PartyLostError
        If the session cannot be opened.

    Notes
    -----
    ``ledger.release(mechanism, coordinator.sensitive(question), label="...")`` records and then
    obtains the noisy sum. ``coordinator.release([(mechanism, question), ...], label="...")`` does
    it for several questions in one exchange, as for the nodes of a level.
    ``ledger.release(mechanism, coordinator.each(question), label="...")`` obtains one outcome
    of every party, released by its own gate, as an array with a first axis of parties.

    Examples
    --------
    >>> from dpboost.federated import Agreement, LocalChannel, Party
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_histograms")
    >>> tables = [([[30], [60]], [0, 1]), ([[20], [80], [50]], [0, 1, 1])]
    >>> parties = [Party(i, *rows, agreement=terms) for i, rows in enumerate(tables)]
    >>> coordinator = Coordinator(terms, LocalChannel(parties))
    >>> coordinator.agreement.n_parties
    2
    """

    def __init__(
        self,
        agreement: Agreement,
        channel: Channel,
        *,
        resends: int = 2,
        max_message_bytes: int = wire.MOST_BYTES,
    ) -> None:
        most_bytes = check_integer(
            "max_message_bytes", "Coordinator", max_message_bytes, low=wire.LEAST_BYTES
        )
        if channel.n_parties != agreement.n_parties:
            raise RefusedError("The channel does not reach as many parties as have agreed.")
        self._agreement = agreement
        self._exchanges = Exchanges(agreement, channel, resends=resends, most_bytes=most_bytes)
        self._ledger = agreement.ledger()
        self._session = secrets.token_bytes(16)
        if isinstance(channel, JournalChannel):
            self._session = channel.session
        self._number = 0
        self._attempt = 0
        self._orders: list[Any] = []
        self._fewest = agreement.n_parties
        # Parties whose shares of the noise are in the last release.
        self._n_shares = agreement.n_parties
        self._chain = b""
        self._absent = Absences(agreement.n_parties)
        self._masks = MaskPhases(agreement, self._exchanges, self._absent)
        self._sums, self._own = _Sums(self), _Each(self)
        self._open()

    @property
    def agreement(self) -> Agreement:
        """The terms."""
        return self._agreement

    @property
    def ledger(self) -> Ledger:
        """The coordinator's ledger."""
        return self._ledger

    @property
    def n_parties(self) -> int:
        """How many parties there are."""
        return self._agreement.n_parties

    @property
    def present(self) -> tuple[int, ...]:
        """Parties that have replied to the last message; all of them without ``dropouts``."""
        return self._exchanges.present

    @property
    def losses(self) -> dict[str, Any]:
        """What was lost, as a fact for the report; nothing where nobody may be lost."""
        if not self._agreement.dropouts:
            return {}
        return {"fewest parties in a release": f"{self._fewest} of {self.n_parties}"}

    # -- a source -------------------------------------------------------------------------------

    @property
    def noise_variance_ratio(self) -> float:
        """Variance of the noise of the last sum, in parts of what is charged for.

        Who was lost has added no noise. Before the first sum it is that of all parties.
        """
        if self._agreement.noise_seed is not None:
            return 1.0
        return self._n_shares / self._agreement.honest

    def sensitive(self, query: Any, neighbours: Neighbours | None = None) -> RemoteSensitive:
        """Return the sum of the parties' answers, which only the gate can obtain, with noise.

        Parameters
        ----------
        query : Query
        neighbours : Neighbours, optional
            That of the agreement by default.
        """
        return RemoteSensitive(
            tuple(query.shape),
            query.bounds(neighbours or self._agreement.relation),
            holder=self._sums,
            query=query,
            unit=query.unit,
            noise_variance_ratio=self.noise_variance_ratio,
        )

    def each(self, query: Any, neighbours: Neighbours | None = None) -> RemoteSensitive:
        """Return the answer of every party, each of which releases its own outcome.

        ``shape`` of the question is that of one party's answer; the outcome has a first axis of
        parties. Parties hold disjoint rows: all outcomes together cost what one costs.
        """
        return RemoteSensitive(
            tuple(query.shape),
            query.bounds(neighbours or self._agreement.relation),
            holder=self._own,
            query=query,
            unit=query.unit,
        )

    def release(
        self, queries: Sequence[tuple[Mechanism, Any]], *, label: str, each: bool = False
    ) -> list[NDArray[Any]]:
        """Book releases, each in the part of the rows it is about, and obtain all at once.

        Parameters
        ----------
        queries : sequence of (Mechanism, Query)
            A level of a tree, for instance: one question for each node, in branches of their own
            and with budgets of their own.
        label : str
            Kind of release, for the report.
        each : bool, default=False
            Whether every party releases its own outcomes, as with `each`.

        Returns
        -------
        list of ndarray
            The outcome of each question.
        """
        ask = self.each if each else self.sensitive
        return self._ledger.release_together(
            [
                Release(
                    mechanism=mechanism,
                    value=ask(query),
                    label=label,
                    branch=branch_of(query),
                )
                for mechanism, query in queries
            ]
        )

    def apply(self, order: Any) -> None:
        """Tell all parties something public or released; it goes with the next question."""
        self._orders.append(order)

    def finish(self) -> None:
        """Send what was told since the last question."""
        if self._orders:
            self._ask([])

    # -- exchanges ------------------------------------------------------------------------------

    def _open(self) -> None:
        """Have all parties join, and tell each of them the keys of all."""
        terms = self._agreement.digest
        invite = m.Invite(session=self._session, terms=terms)
        joined = self._exchanges.gather(wire.encode(invite), m.Joined)
        keys = tuple(joined[index].key for index in self._exchanges.present)
        introduction = m.Introduce(
            session=self._session,
            keys=keys,
            signatures=tuple(joined[index].signature for index in self._exchanges.present),
        )
        self._chain = hashlib.sha256(terms + self._session + b"".join(keys)).digest()
        self._absent.introduction = wire.encode(introduction)
        met = self._exchanges.gather(self._absent.introduction, m.Done, least=self._exchanges.least)
        self._absent.introduced |= set(met)

    def _ask(self, asked: Sequence[m.Asked]) -> Answered:
        """Return the answers of all parties that are there, and what is left of their masks."""
        turn = m.Step(session=self._session, number=self._number, attempt=self._attempt)
        # An attempt that fails is charged at every party that has seen it; the next is another.
        self._attempt += 1
        tolerant = self._agreement.dropouts > 0
        deposits = self._masks.prepare(turn) if tolerant and asked else {}
        orders = tuple(self._orders)
        content = m.Ask(turn=turn, orders=orders, asked=tuple(asked), roster=tuple(deposits))
        message = wire.encode(content)
        answers = self._exchanges.gather(message, m.Answers, least=self._exchanges.least)
        for index, answer in answers.items():
            if answer.turn != turn or len(answer.parts) != len(asked):
                raise RefusedError(f"The answer of party {index} is not to this question.")
        # This position is taken, also where the masks are not taken off in the end.
        self._chain = hashlib.sha256(self._chain + wire.encode(orders)).digest()
        if tolerant:
            self._absent.told(self._number, self._attempt, orders, answers)
        self._number, self._attempt = self._number + 1, 0
        self._orders.clear()
        opened = None
        if deposits and not all(one.each for one in asked):
            nonce = self._chain + hashlib.sha256(message).digest()
            opened = self._masks.open(turn, deposits, tuple(answers), nonce)
        if not all(one.each for one in asked):
            self._n_shares = len(answers)
        if asked:
            self._fewest = min(self._fewest, len(answers))
        parts = list(zip(*(answer.parts for answer in answers.values()), strict=True))
        return Answered(parts=parts, opened=opened)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What came back for a message.

    Parameters
    ----------
    parts : list of tuple
        For each question the part of every party that is there.
    opened : OpenedMasks or None
        Keys of the masks that the sums still have; None where they cancel.
    """

    parts: list[tuple[Any, ...]]
    opened: OpenedMasks | None


class _Sums:
    """Has sums over all parties drawn."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def check(self, mechanism: Mechanism, distant: RemoteSensitive) -> None:
        """Raise where noise of this kind cannot be added in shares."""
        check_shared(mechanism)

    def fetch(self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]]) -> list[NDArray[Any]]:
        """Add the masked words of all parties: the masks go away and noisy sums are left."""
        answered = self._coordinator._ask(
            [_asked(entry, distant, each=False) for entry, distant in drawn]
        )
        outcomes = []
        for position, (_, distant) in enumerate(drawn):
            total = np.zeros(distant.shape, dtype=np.uint64)
            for part in answered.parts[position]:
                if not isinstance(part, m.Masked) or part.words.shape != distant.shape:
                    raise RefusedError("An answer has another shape than its question.")
                total += part.words
            if answered.opened is not None:
                total -= answered.opened.left(position, distant.shape)
            distant.released_with(self._coordinator.noise_variance_ratio)
            outcomes.append(total.view(np.int64))
        return outcomes


class _Each:
    """Has an outcome drawn by every party."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def check(self, mechanism: Mechanism, distant: RemoteSensitive) -> None:
        """Accept every mechanism."""

    def fetch(self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]]) -> list[NDArray[Any]]:
        """Stack the outcomes of the parties."""
        asked = [_asked(entry, distant, each=True) for entry, distant in drawn]
        outcomes = []
        for (entry, distant), parts in zip(drawn, self._coordinator._ask(asked).parts, strict=True):
            if not all(_is_outcome(part, entry.mechanism, distant.shape) for part in parts):
                raise RefusedError("An answer is not the outcome that was asked for.")
            outcomes.append(np.stack([part.outcome for part in parts]))
        return outcomes


def _is_outcome(part: Any, mechanism: Mechanism, shape: tuple[int, ...]) -> bool:
    """Return whether a mechanism may have drawn this from a value of a shape."""
    if not isinstance(part, m.Released):
        return False
    outcome = part.outcome
    if mechanism.needs != "range":
        return outcome.shape == shape and outcome.dtype == np.int64
    chosen = outcome.shape == shape[:1] and outcome.dtype == np.int32
    return chosen and bool(((outcome >= 0) & (outcome < shape[1])).all())


def _asked(entry: LedgerEntry, distant: RemoteSensitive, *, each: bool) -> m.Asked:
    return m.Asked(mechanism=entry.mechanism, query=distant.query, label=entry.label, each=each)
