"""Messages of a coordinator: sent until every party has replied, or is lost."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NoReturn, TypeVar

from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.journal import JournalChannel
from dpboost.federated.protocol.transport import Channel, PartyLostError, RefusedError

T = TypeVar("T")

# Of replies that are none: sent again, the message may get another.
NO_REPLY = ("", m.TOO_LONG)
# Codes of refusals, and of replies that are none: who is only tried may answer as it likes.
ANYTHING = ("", *m.CODES)


class Exchanges:
    """Sends messages, and knows who is there.

    Parameters
    ----------
    agreement : Agreement
        The terms.
    channel : Channel
        Reaches the parties.
    resends : int
        How often a message is sent again, with the same bytes, before a party counts as lost.
    most_bytes : int
        Longer messages are not sent, and longer replies are not read.

    Attributes
    ----------
    channel : Channel
    resends : int
    present : tuple of int
        Parties that have replied to the last message.
    """

    def __init__(
        self, agreement: Agreement, channel: Channel, *, resends: int, most_bytes: int
    ) -> None:
        self._agreement = agreement
        self.channel = channel
        self.resends = resends
        self._most_bytes = most_bytes
        self.present = tuple(range(agreement.n_parties))

    @property
    def least(self) -> int:
        """Parties whose shares of the noise are enough."""
        return self._agreement.n_parties - self._agreement.dropouts

    @property
    def late(self) -> list[int]:
        """Parties that are lost for now."""
        return [index for index in range(self._agreement.n_parties) if index not in self.present]

    def gather(
        self,
        message: bytes,
        expected: type[T],
        to: Sequence[int] | None = None,
        least: int | None = None,
    ) -> dict[int, T]:
        """Send a message until every party has replied, and return the replies in their order.

        Parameters
        ----------
        message : bytes
        expected : type
            Of the replies.
        to : sequence of int, optional
            All parties that are there by default.
        least : int, optional
            So many replies will do: who does not reply then is lost until the next release. All
            of them without it.
        """
        to = self.present if to is None else to
        # A party whose records are gone knows nothing of the session, and is lost; what is no
        # reply is as good as none.
        tolerant = least is not None and self._agreement.dropouts > 0
        excused = (m.OTHER_SESSION, *NO_REPLY) if tolerant else ()
        replies = self.replies(message, expected, to, self.resends, excused=excused)
        lost = [index for index in to if index not in replies]
        self.present = tuple(index for index in self.present if index not in lost)
        if len(replies) < (self._agreement.n_parties if least is None else least):
            self.abort(len(replies), least)
        return replies

    def replies(
        self,
        message: bytes,
        expected: type[T],
        to: Sequence[int],
        resends: int = 0,
        *,
        excused: Container[str] = (),
    ) -> dict[int, T]:
        """Send a message until every party has replied; who refuses by these codes is silent."""
        if len(message) > self._most_bytes:
            raise RefusedError(
                f"A message of {len(message)} bytes was not sent: the 'max_message_bytes' "
                f"parameter of Coordinator allows {self._most_bytes}. Give coordinator and parties "
                "a larger one."
            )
        replies: dict[int, T] = {}
        waiting = list(to)
        for _ in range(1 + resends):
            if not waiting:
                break
            for index, reply in self.channel.exchange(message, waiting).items():
                waiting.remove(index)
                try:
                    replies[index] = _read(reply, index, expected, self._most_bytes)
                except RefusedError as error:
                    if error.code not in excused:
                        if error.code in NO_REPLY:
                            self._forget()
                        raise
        return dict(sorted(replies.items()))

    def _forget(self) -> None:
        """Take replies that are none out of the journal: another process asks for them again."""
        if isinstance(self.channel, JournalChannel):
            self.channel.forget_last()

    def abort(self, n_left: int, least: int | None) -> NoReturn:
        """Raise: too few are left. All are tried again at the next attempt."""
        lost = self.late
        if least is None or not self._agreement.dropouts:
            self.present = tuple(range(self._agreement.n_parties))
            raise PartyLostError(
                f"No answer from party {lost[0]}: the release is aborted. It stays charged."
            )
        names, n_parties = ", ".join(map(str, lost)), self._agreement.n_parties
        raise PartyLostError(
            f"No answer from parties {names}: {n_left} of {n_parties} are left, and the "
            f"agreement needs {least} here (dropouts={self._agreement.dropouts}, "
            f"threshold={self._agreement.threshold}). The release is aborted. It stays charged. "
            "Go on when parties are back, or agree upon more 'dropouts'."
        )


def _read(reply: bytes, index: int, expected: type[T], most_bytes: int) -> T:
    """Return the reply of a party, or raise when it is not the expected one."""
    if len(reply) > most_bytes:
        raise _too_long(index, f"Coordinator allows, {most_bytes}")
    try:
        content: Any = wire.decode(reply, object, most_bytes)
    except wire.MalformedMessageError as error:
        raise RefusedError(f"The reply of party {index} is malformed.") from error
    if isinstance(content, m.Refused) and content.code == m.TOO_LONG:
        raise _too_long(index, "the channel allows")
    if isinstance(content, m.Refused):
        refused = RefusedError(f"Party {index} refused a message: {content.code}.")
        refused.code = content.code
        raise refused
    if not isinstance(content, expected) or content.party != index:  # type: ignore[attr-defined]
        raise RefusedError(f"The reply of party {index} is not one to this message.")
    return content


def _too_long(index: int, limit: str) -> RefusedError:
    """Return the error about a reply that was not read."""
    refused = RefusedError(
        f"The reply of party {index} has more bytes than the 'max_message_bytes' parameter of "
        f"{limit}."
    )
    refused.code = m.TOO_LONG
    return refused
