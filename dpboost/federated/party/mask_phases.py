"""What a party does about masks of a release that may go on without some parties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.party.refusal import RefusalError
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.secagg.dropout_messages import (
    Deposit,
    Endorsed,
    Present,
    Unlocked,
    Unmask,
    are_parties,
)
from dpboost.federated.secagg.keys import (
    Identity,
    PairwiseMasks,
    UntrustedKeyError,
    check_signature,
    part_nonce,
)
from dpboost.federated.secagg.release_masks import ReleaseMasks


class MaskPhases:
    """The masks of a party: those of its pairs, or with ``dropouts`` those of a release.

    Parameters
    ----------
    agreement : Agreement
        The terms.
    index : int
        Number of the party.
    identity : Identity or None
        Its signing key.

    Attributes
    ----------
    pairs : PairwiseMasks or None
        Made of the keys of the session; None before it is open.
    masks : ReleaseMasks or None
        Of the last release that was prepared: none is ever prepared twice.
    """

    def __init__(self, agreement: Agreement, index: int, identity: Identity | None) -> None:
        self._agreement = agreement
        self._index = index
        self._identity = identity
        self.pairs: PairwiseMasks | None = None
        self.masks: ReleaseMasks | None = None

    def words(self, nonce: bytes, position: int, size: int) -> NDArray[np.uint64]:
        """Return all masks of one array of a message."""
        if self._agreement.dropouts:
            assert self.masks is not None
            return self.masks.words(position, size)
        assert self.pairs is not None
        return self.pairs.mask(part_nonce(nonce, position), size)

    def bind(self, ask: m.Ask, nonce: bytes) -> None:
        """Fix who is asked for a release, and what is masked."""
        if ask.roster:
            assert self.masks is not None
            self.masks.bind(ask.roster, nonce)

    def check_roster(self, ask: m.Ask) -> None:
        """Refuse a question to be masked among others than agreed, or without a deposit."""
        n_parties, dropouts = self._agreement.n_parties, self._agreement.dropouts
        roster = ask.roster
        if not dropouts or not ask.asked:
            if roster:
                raise RefusalError(m.QUESTION)
            return
        if self.masks is None or self.masks.turn != ask.turn or self.masks.bound:
            raise RefusalError(m.EARLY)
        if not are_parties(roster) or self._index not in roster or roster[-1] >= n_parties:
            raise RefusalError(m.QUESTION)
        if len(roster) < n_parties - dropouts:
            raise RefusalError(m.QUESTION)

    def deposit(self, turn: m.Step, last: m.Step | None) -> Deposit:
        """Draw the keys of the masks of a message to come, and hand out shares of them.

        The same again where it is asked again: two deposits for one message would tell something
        of the keys.
        """
        if self.pairs is None or not self._agreement.dropouts:
            raise RefusalError(m.OTHER_SESSION)
        if self.masks is not None and turn == self.masks.turn:
            return self.masks.deposit
        known = [last, None if self.masks is None else self.masks.turn]
        if any(one and (turn.number, turn.attempt) <= (one.number, one.attempt) for one in known):
            raise RefusalError(m.LATE)
        assert self._agreement.threshold is not None
        self.masks = ReleaseMasks(
            turn,
            self._index,
            self.pairs,
            n_parties=self._agreement.n_parties,
            threshold=self._agreement.threshold,
        )
        return self.masks.deposit

    def endorse(self, present: Present) -> Endorsed:
        """Sign who has answered the last message; one set of parties for a message."""
        if self._identity is None:
            raise RefusalError(m.KEYS)
        statement = self._settle(present).statement(present)
        return Endorsed(party=self._index, signature=self._identity.sign(statement))

    def unmask(self, unmask: Unmask, last: m.Step | None) -> Unlocked:
        """Unlock what takes the masks off the sum over the parties that are there."""
        present = unmask.present
        masks = self._settle(present)
        if self._agreement.identities:
            self._check_signers(unmask, masks.statement(present))
        pads = masks.unlock()
        # From here on nothing more of this release can be unlocked.
        following = m.Step(session=present.turn.session, number=present.turn.number + 1)
        return Unlocked(party=self._index, pads=pads, following=self.deposit(following, last))

    def _check_signers(self, unmask: Unmask, statement: bytes) -> None:
        """Refuse unless as many parties as the threshold have signed who is there."""
        signers = unmask.signers
        assert self._agreement.threshold is not None
        if len(signers) < self._agreement.threshold:
            raise RefusalError(m.KEYS)
        if not set(signers) <= set(unmask.present.parties):
            raise RefusalError(m.KEYS)
        try:
            for index, signature in zip(signers, unmask.signatures, strict=True):
                check_signature(self._agreement.identities[index], statement, signature)
        except UntrustedKeyError:
            raise RefusalError(m.KEYS) from None

    def _settle(self, present: Present) -> ReleaseMasks:
        if self.masks is None:
            raise RefusalError(m.OTHER_SESSION)
        try:
            self.masks.settle(present, self._agreement.n_parties - self._agreement.dropouts)
        except ValueError:
            raise RefusalError(m.CHANGED) from None
        return self.masks
