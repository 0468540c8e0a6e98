"""The coordinator's side: adds the words of all parties modulo 2^64, without rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import Hub, PartyLostError, PartyRefusedError, read
from dpboost.federated.protocol.messages import Ended, Key
from dpboost.federated.protocol.session import Drawn, Session, is_outcome
from dpboost.federated.secagg.release_masks import SealError, among, open_masks
from dpboost.federated.secagg.secret_shares import ELEMENT_BYTES
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.remote import Draw


class CoordinatorSession(Session):
    """The coordinator's side of a session.

    It runs the same fit as the parties, without rows. Therefore it knows the terms of each step,
    names the step at which a party differs, and has the model in the end.
    """

    def __init__(self, agreement: Agreement, hub: Hub, *, timeout: float = 600.0) -> None:
        super().__init__(agreement)
        self._hub = hub
        self._timeout = timeout
        self._there: Collection[int] = range(agreement.n_parties)

    def join(self) -> None:
        """Wait for all parties, and send each of them the keys of all."""
        key, everybody = Key(0, "hello"), range(self.agreement.n_parties)
        self._begin(
            self._reply(
                key,
                m.Roster,
                lambda: m.Roster(
                    hellos=tuple(self._gather(key, m.Hello, everybody, len(everybody)).values())
                ),
            )
        )

    def finish(self, result: bytes) -> None:
        """Wait until all parties that are there have come to the same result."""
        key = Key(self._step + 1, "done")

        def agreed() -> m.Agreed:
            done = self._gather(key, m.Done, self._there, self._least)
            others = [index for index, one in done.items() if one.result != result]
            if others:
                text = f"Party {others[0]} has come to another result."
                raise PartyRefusedError(text, m.DIFFERENT)
            return m.Agreed(result=result)

        self._reply(key, m.Agreed, agreed)

    def end(self, error: BaseException) -> None:
        """End the session for all parties, with a code and nothing else."""
        code = getattr(error, "code", "")
        if code not in m.CODES:
            code = m.LOST if isinstance(error, PartyLostError) else m.STOPPED
        self._hub.end(Ended(code=code, step=self._step))

    @property
    def _least(self) -> int:
        """Parties whose shares of the noise are enough."""
        return self.agreement.n_parties - self.agreement.dropouts

    def _entropy(self, agreement: Agreement) -> Entropy:
        return agreement.entropy()

    def _sums(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.Sum:
        if self.agreement.dropouts:
            return self._sums_of_those_present(digest, drawn)
        key = Key(self._step, "words")

        def added() -> m.Sum:
            words = self._gather(key, m.Words, self._there, self._least)
            self._check_digests(words, digest, drawn)
            return m.Sum(sums=_added(words, drawn), parties=tuple(words))

        return self._reply(key, m.Sum, added)

    def _sums_of_those_present(self, digest: bytes, drawn: Drawn) -> m.Sum:
        """Go through the phases of a step in any of which parties may be lost."""
        agreement = self.agreement
        n_parties, threshold = agreement.n_parties, agreement.threshold
        assert threshold is not None
        keys = {
            kind: Key(self._step, kind) for kind in ("deposit", "words", "endorsed", "unlocked")
        }
        last = self._hub.reply(keys["unlocked"])
        if last is not None:
            return read(last, m.Sum, "The record of the session")

        def deposited() -> m.Present:
            found = self._gather(keys["deposit"], m.Deposit, self._there, self._least)
            size = n_parties * ELEMENT_BYTES
            if any({len(each.own), len(each.pairs)} != {size} for each in found.values()):
                raise PartyRefusedError(
                    "A key-share upload lacks the share of a party.", m.MALFORMED
                )
            return m.Present(parties=tuple(found))

        roster = self._reply(keys["deposit"], m.Present, deposited, keep=True).parties

        def arrived() -> m.Present:
            found = self._gather(keys["words"], m.Words, roster, self._least)
            self._check_digests(found, digest, drawn)
            return m.Present(parties=tuple(found))

        there = self._reply(keys["words"], m.Present, arrived, keep=True).parties

        def signed() -> m.Unlock:
            found = self._gather(keys["endorsed"], m.Endorsed, there, threshold)
            own = [
                index
                for index in found
                if self._has_signed(index, found[index].signature, digest, there)
            ]
            if len(own) < threshold:
                raise PartyLostError("Too few parties have signed who is present.")
            signers = tuple(own[:threshold])
            return m.Unlock(
                signers=signers, signatures=tuple(found[index].signature for index in signers)
            )

        self._reply(keys["endorsed"], m.Unlock, signed)

        def added() -> m.Sum:
            unlocked = self._gather(keys["unlocked"], m.Unlocked, there, threshold)
            deposits = self._kept(keys["deposit"], m.Deposit, roster)
            words = self._kept(keys["words"], m.Words, there)
            size = len(deposits) * ELEMENT_BYTES
            if any(len(each.pads) != size for each in unlocked.values()):
                raise PartyRefusedError("A party has not unlocked each key.", m.MALFORMED)
            try:
                opened = open_masks(
                    deposits,
                    unlocked,
                    there,
                    threshold=threshold,
                    digest=among(digest, roster),
                )
            except SealError:
                raise PartyRefusedError(
                    "The keys of the masks of a missing party do not open.", m.MALFORMED
                ) from None
            self._there = set(unlocked)
            sums = (
                (total.view(np.uint64) - opened.left(position, total.shape)).view(np.int64)
                for position, total in enumerate(_added(words, drawn))
            )
            return m.Sum(sums=tuple(sums), parties=there)

        return self._reply(keys["unlocked"], m.Sum, added)

    def _all_outcomes(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.AllOutcomes:
        key = Key(self._step, "outcomes")

        def stacked() -> m.AllOutcomes:
            found = self._gather(key, m.Outcomes, self._there, self._least)
            self._check_digests(found, digest, drawn)
            for index, one in found.items():
                fine = len(one.outcomes) == len(drawn) and all(
                    is_outcome(outcome, entry.mechanism, value.shape)
                    for outcome, (entry, value) in zip(one.outcomes, drawn, strict=True)
                )
                if not fine:
                    raise PartyRefusedError(
                        f"Party {index} sent no outcome of the release.", m.MALFORMED
                    )
            parts = zip(*(one.outcomes for one in found.values()), strict=True)
            return m.AllOutcomes(outcomes=tuple(map(np.stack, parts)), parties=tuple(found))

        return self._reply(key, m.AllOutcomes, stacked)

    def _check_digests(self, found: dict[int, Any], digest: bytes, drawn: Drawn) -> None:
        """Raise if a party is at another step; its mask would not come off anyway."""
        others = [index for index, one in found.items() if one.digest != digest]
        if others:
            labels = ", ".join(dict.fromkeys(repr(entry.label) for entry, _ in drawn))
            names = ", ".join(map(str, others))
            raise PartyRefusedError(
                f"The fit of parties {names} differs from that of the coordinator at step "
                f"{self._step}, the release of {labels}: the terms of the release, a command "
                "before it or an earlier sum is another one there. Nothing of it was opened.",
                m.DIFFERENT,
            )

    def _reply(
        self, key: Key, expected: type, make: Callable[[], Any], *, keep: bool = False
    ) -> Any:
        """Return the reply that was given for a key, or give it."""
        given = self._hub.reply(key)
        if given is not None:
            return read(given, expected, "The record of the session")
        reply = make()
        self._hub.answer(key, m.encode(reply), self._hub.bodies(key) if keep else None)
        return reply

    def _gather(
        self, key: Key, expected: type, parties: Collection[int], least: int
    ) -> dict[int, Any]:
        """Return the messages of a key; those of parties that wait for the sum are none."""
        bodies = self._hub.gather(key, parties, least, self._timeout)
        return self._read(bodies, expected, parties, least)

    def _kept(self, key: Key, expected: type, parties: Collection[int]) -> dict[int, Any]:
        bodies = self._hub.bodies(key)
        return self._read({index: bodies[index] for index in parties}, expected, parties, 0)

    def _read(
        self, bodies: dict[int, bytes], expected: type, parties: Collection[int], least: int
    ) -> dict[int, Any]:
        found = {}
        for index, body in bodies.items():
            message = read(body, (expected, m.Absent), f"The message of party {index}")
            if message.party != index:
                raise PartyRefusedError(
                    f"Party {index} has sent the message of another one.", m.MALFORMED
                )
            # One that is back may have deposited; words and signatures are those of the roster.
            if isinstance(message, expected) and (expected is m.Deposit or index in parties):
                found[index] = message
        if len(found) < least:
            raise PartyLostError(f"{len(found)} parties are left, and {least} are needed.")
        return found


def _added(words: dict[int, m.Words], drawn: Drawn) -> tuple[Any, ...]:
    """Return the sums of words modulo 2^64."""
    totals = []
    for position, (_, value) in enumerate(drawn):
        total = np.zeros(value.shape, dtype=np.uint64)
        for index, one in words.items():
            if len(one.words) != len(drawn) or one.words[position].shape != value.shape:
                raise PartyRefusedError(f"Party {index} sent words of another shape.", m.MALFORMED)
            total += one.words[position]
        totals.append(total.view(np.int64))
    return tuple(totals)
