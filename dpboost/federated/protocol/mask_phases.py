"""The phases of a release that may go on without some parties: deposits before, keys after it."""

from __future__ import annotations

from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.absences import Absences
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.exchanges import ANYTHING, Exchanges
from dpboost.federated.protocol.transport import RefusedError
from dpboost.federated.secagg.dropout_messages import (
    Deposit,
    Endorsed,
    Prepare,
    Present,
    Unlocked,
    Unmask,
)
from dpboost.federated.secagg.dropout_recovery import (
    OpenedMasks,
    check_deposit,
    check_unlocked,
    open_masks,
)
from dpboost.federated.secagg.release_masks import SealError


class MaskPhases:
    """Has parties deposit the keys of their masks, and unlock those that a sum still has.

    Parameters
    ----------
    agreement : Agreement
        The terms, with ``dropouts``.
    exchanges : Exchanges
    absent : Absences
        What parties that are lost have missed.
    """

    def __init__(self, agreement: Agreement, exchanges: Exchanges, absent: Absences) -> None:
        self._agreement = agreement
        self._exchanges = exchanges
        self._absent = absent
        self._deposits: dict[int, Deposit] = {}

    def prepare(self, turn: m.Step) -> dict[int, Deposit]:
        """Return the deposits of the parties that are there, those that are back among them."""
        message = wire.encode(Prepare(turn=turn))
        back = self._return(message, turn.session)
        # Most have made their deposit when they unlocked the last release.
        made = {i: self._deposits[i] for i in self._exchanges.present if i in self._deposits}
        made = {index: deposit for index, deposit in made.items() if deposit.turn == turn}
        others = [index for index in self._exchanges.present if index not in made]
        # Nothing is asked yet: who refuses, because its records are gone, is lost as well.
        found = self._exchanges.replies(
            message, Deposit, others, self._exchanges.resends, excused=ANYTHING
        )
        deposits = dict(sorted((made | found | back).items()))
        for index, deposit in deposits.items():
            if deposit.turn != turn or not check_deposit(deposit, self._agreement.n_parties):
                raise RefusedError(f"Party {index} has not deposited the keys of its masks.")
        self._exchanges.present = tuple(deposits)
        if len(deposits) < self._exchanges.least:
            self._exchanges.abort(len(deposits), self._exchanges.least)
        return deposits

    def _return(self, message: bytes, session: bytes) -> dict[int, Deposit]:
        """Try the parties that were lost, tell them what they have missed, and go on without."""
        absent = self._absent
        strangers = [index for index in self._exchanges.late if index not in absent.introduced]
        absent.introduced |= set(
            self._exchanges.replies(absent.introduction, m.Done, strangers, excused=ANYTHING)
        )
        to = [index for index in self._exchanges.late if index in absent.introduced]
        back = self._exchanges.replies(message, Deposit, to, excused=ANYTHING)
        return {
            index: deposit for index, deposit in back.items() if self._catches_up(index, session)
        }

    def _catches_up(self, index: int, session: bytes) -> bool:
        """Return whether a party has taken in all that was told since it was lost."""
        for number, attempt, orders in self._absent.missed(index):
            turn = m.Step(session=session, number=number, attempt=attempt)
            ask = wire.encode(m.Ask(turn=turn, orders=orders, asked=()))
            if not self._exchanges.replies(ask, m.Answers, [index], excused=ANYTHING):
                return False
            self._absent.next[index] = number + 1
        return True

    def open(
        self, turn: m.Step, deposits: dict[int, Deposit], there: tuple[int, ...], nonce: bytes
    ) -> OpenedMasks:
        """Have the parties that are there unlock the keys of the masks that their sum still has."""
        threshold = self._agreement.threshold
        assert threshold is not None
        present = Present(turn=turn, parties=there)
        signed: dict[int, Endorsed] = {}
        if self._agreement.identities:
            signed = self._exchanges.gather(wire.encode(present), Endorsed, there, threshold)
        signers = tuple(signed)[:threshold]
        signatures = tuple(signed[index].signature for index in signers)
        unmask = Unmask(present=present, signers=signers, signatures=signatures)
        asked = tuple(signed) or there
        unlocked = self._exchanges.gather(wire.encode(unmask), Unlocked, asked, threshold)
        for index, one in unlocked.items():
            if not check_unlocked(one, len(deposits)):
                raise RefusedError(f"Party {index} has not unlocked the keys of masks.")
        self._deposits = {index: one.following for index, one in unlocked.items()}
        try:
            return open_masks(deposits, unlocked, there, threshold=threshold, nonce=nonce)
        except SealError as error:
            raise RefusedError("The keys of the masks of a missing party do not open.") from error
