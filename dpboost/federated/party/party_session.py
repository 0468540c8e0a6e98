"""A party's side of a session: it adds its share of the noise and a mask to its own sums.

Every message is on disk before it is sent, and is resent unchanged. A folder has two files for each
agreement: ``session.log`` contains the secrets of the session and all messages and replies;
``charges.txt`` contains one text line for each charge, readable without rows or this library. Noise
is drawn once: only the words on disk are ever sent for their step, and others are drawn again from
the system's secret source. A folder that is restored from a backup thus gives independent noise.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated.party.record_log import RecordLog, append_lines, locked_file
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import Link, PartyRefusedError, SessionEndedError, read
from dpboost.federated.protocol.messages import Key
from dpboost.federated.protocol.session import Drawn, Session, signed_hello
from dpboost.federated.secagg.keys import (
    Identity,
    PairwiseMasks,
    SessionKey,
    part_nonce,
)
from dpboost.federated.secagg.release_masks import ReleaseMasks, statement
from dpboost.privacy.noise_shares import MaskedShare, OneTimePad
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.remote import Draw

_REPLY = "The coordinator's reply"
_NO_DIGEST = bytes(32)
_LOG, _CHARGES, _LOCK = "session.log", "charges.txt", "lock"
_SECRETS = ("session", "coins")


class PartySession(Session):
    """A party's side of a session.

    Proof: docs/proofs/secret-shares.md.

    Privacy
    -------
    What leaves is a key, words that a mask hides, outcomes of the gate, and signatures. A message
    is on disk before it is sent. What others see of an error is that there is one.
    """

    _pairs: PairwiseMasks

    def __init__(
        self,
        agreement: Agreement,
        index: int,
        link: Link,
        *,
        record: SessionRecord,
        facts: dict[str, str],
        identity: Identity | None = None,
        certificate: str = "",
    ) -> None:
        super().__init__(agreement)
        self._index = index
        self._link = link
        self._record = record
        self._facts = facts
        self._identity = identity
        self._certificate = certificate
        self._secrets = record.begin({"terms": agreement.digest.hex(), **facts})

    def join(self) -> None:
        """Send this party's key, and take those of all."""
        terms = self.agreement.digest
        key = SessionKey(self._index, terms, self._secrets["session"])
        hello = m.Hello(
            party=self._index,
            terms=terms,
            version=self._facts["version"],
            build=self._facts["build"],
            certificate=self._certificate,
            key=key.public,
            signature=b"",
        )
        if self._identity is not None:
            signature = self._identity.sign(signed_hello(hello))
            hello = m.Hello(**{**vars(hello), "signature": signature})
        roster = self._exchange(Key(0, "hello"), _NO_DIGEST, lambda: hello, m.Roster)
        self._begin(roster)
        if roster.hellos[self._index].key != key.public:
            raise PartyRefusedError(
                f"The session has begun with another key of party {self._index}: a party whose "
                "folder is lost does not take part again.",
                m.KEYS,
            )
        self._pairs = key.pair([each.key for each in roster.hellos])

    def finish(self, result: bytes) -> None:
        """Make sure that all sides have the same result."""
        done = m.Done(party=self._index, result=result)
        agreed = self._exchange(Key(self._step + 1, "done"), result, lambda: done, m.Agreed)
        if agreed.result != result:
            raise PartyRefusedError("The coordinator has come to another result than this party.")

    def end(self, error: BaseException) -> None:
        """Say that this party does not go on; others hear nothing else of an error."""
        if not isinstance(error, SessionEndedError):
            self._link.fail()

    def _entropy(self, agreement: Agreement) -> Entropy:
        if agreement.noise_seed is not None:
            return agreement.entropy()
        name = b"" if agreement.folds is None else f"part {agreement.folds.part}".encode()
        return Entropy.secure(hashlib.sha256(self._secrets["coins"] + name).digest())

    def _sums(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.Sum:
        if self.agreement.dropouts:
            return self._sums_of_those_present(digest, drawn, draw)

        def masked(position: int, size: int) -> NDArray[np.uint64]:
            return self._pairs.mask(part_nonce(digest, position), size)

        return self._send_words(digest, drawn, draw, masked, m.Sum)

    def _send_words(
        self,
        digest: bytes,
        drawn: Drawn,
        draw: Draw,
        mask: Callable[[int, int], NDArray[np.uint64]],
        expected: type,
    ) -> Any:
        """Send this party's part of the sums, drawn once."""

        def words() -> m.Words:
            parts = [
                draw(position, self._share(entry.mechanism, partial(mask, position)))
                for position, (entry, _) in enumerate(drawn)
            ]
            return m.Words(party=self._index, digest=digest, words=tuple(parts))

        charges = self._lines(digest, drawn)
        return self._exchange(Key(self._step, "words"), digest, words, expected, charges)

    def _share(self, noise: Any, words: Callable[[int], NDArray[np.uint64]]) -> Any:
        """Return what draws a share of some noise under a mask."""
        whole = None if self.agreement.noise_seed is None else self._index == 0
        pad = OneTimePad(words)
        return MaskedShare(base=noise, honest=self.agreement.honest, pad=pad, whole=whole)

    def _sums_of_those_present(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.Sum:
        """Go through the phases of a step in any of which parties may be lost."""
        agreement, step = self.agreement, self._step
        assert agreement.threshold is not None
        masks = ReleaseMasks(
            self._name_of_step(),
            self._index,
            self._pairs,
            n_parties=agreement.n_parties,
            threshold=agreement.threshold,
            seed=self._record.seed(step),
        )
        deposits = self._exchange(Key(step, "deposit"), digest, lambda: masks.deposit, m.Present)
        roster, least = deposits.parties, agreement.n_parties - agreement.dropouts
        if len(roster) < least or roster[-1] >= agreement.n_parties:
            raise PartyRefusedError("The coordinator names too few parties, or others than agreed.")
        if self._index not in roster:
            return self._wait_for_sum(digest)
        masks.bind(roster, digest)
        present = self._send_words(digest, drawn, draw, masks.words, m.Present).parties
        if self._index not in present:
            return self._wait_for_sum(digest)
        try:
            masks.settle(present, least)
        except ValueError:
            raise PartyRefusedError(
                "The coordinator names other participants than have uploaded key shares."
            ) from None
        unlock = self._exchange(
            Key(step, "endorsed"), digest, lambda: self._endorsed(digest, present), m.Unlock
        )
        self._check_signers(unlock, digest, present)
        unlocked = m.Unlocked(party=self._index, pads=masks.unlock())
        summed: m.Sum = self._exchange(Key(step, "unlocked"), digest, lambda: unlocked, m.Sum)
        if summed.parties != present:
            raise PartyRefusedError("The sum is over other parties than were named.")
        return summed

    def _wait_for_sum(self, digest: bytes) -> m.Sum:
        """Go on with the sum of a step that this party has no part in."""
        absent = m.Absent(party=self._index)
        found: m.Sum = self._exchange(Key(self._step, "unlocked"), digest, lambda: absent, m.Sum)
        return found

    def _endorsed(self, digest: bytes, present: tuple[int, ...]) -> m.Endorsed:
        content = statement(digest, present)
        signature = b"" if self._identity is None else self._identity.sign(content)
        return m.Endorsed(party=self._index, signature=signature)

    def _check_signers(self, unlock: m.Unlock, digest: bytes, present: tuple[int, ...]) -> None:
        """Raise unless as many parties as the threshold have signed who is present."""
        assert self.agreement.threshold is not None
        fine = len(unlock.signers) >= self.agreement.threshold
        fine = fine and set(unlock.signers) <= set(present)
        signed = zip(unlock.signers, unlock.signatures, strict=True)
        if not (fine and all(self._has_signed(*one, digest, present) for one in signed)):
            raise PartyRefusedError("Too few parties have signed who is present.", m.KEYS)

    def _all_outcomes(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.AllOutcomes:
        def outcomes() -> m.Outcomes:
            found = (draw(position, entry.mechanism) for position, (entry, _) in enumerate(drawn))
            return m.Outcomes(party=self._index, digest=digest, outcomes=tuple(found))

        charges = self._lines(digest, drawn)
        key = Key(self._step, "outcomes")
        found: m.AllOutcomes = self._exchange(key, digest, outcomes, m.AllOutcomes, charges)
        return found

    def _exchange(
        self,
        key: Key,
        digest: bytes,
        make: Callable[[], Any],
        expected: type,
        charges: tuple[str, ...] = (),
    ) -> Any:
        """Send a message, which is on disk before, and return the reply."""
        # What a seed gives is drawn again, so that later draws are those of the first process.
        is_new = key not in self._record.sent
        if is_new or self.agreement.noise_seed is not None:
            message = make()
        if is_new:
            self._record.send(key, digest, m.encode(message), charges)
        known, body = self._record.sent[key]
        if known != digest:
            raise PartyRefusedError(
                f"Step {key.step} is not the one for which messages were sent before this party "
                "was restarted. The session ends."
            )
        if key in self._record.replies:
            return read(self._record.replies[key], expected, _REPLY)
        reply = self._link.post(key, body)
        found = read(reply, expected, _REPLY)
        self._record.replied(key, reply)
        return found

    def _lines(self, digest: bytes, drawn: Drawn) -> tuple[str, ...]:
        """Return a plain line for each charge of a step."""
        accountant = self.ledger.accountant
        return tuple(
            f"step {self._step}, {entry.label}: {float(entry.charge.cost):.9g} of "
            f"{accountant.privacy_measure}, delta {float(entry.charge.delta):.9g}, "
            f"in {'/'.join(entry.scope) or 'the fit'}, {digest.hex()[:16]}"
            for entry, _ in drawn
        )


# -- what is kept ----------------------------------------------------------------------------------


class SessionRecord:
    """The record of a session of one party; only in memory without a folder.

    Proof: docs/proofs/noise-shares.md.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._log: RecordLog | None = None
        self._first: dict[str, Any] = {}
        #: Digest and body of each message: nothing else is ever sent for its key.
        self.sent: dict[Key, tuple[bytes, bytes]] = {}
        self.replies: dict[Key, bytes] = {}
        self._seeds: dict[int, bytes] = {}
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._log = RecordLog(folder / _LOG)
            for content in self._log.read():
                self._restore(m.decode(content, dict))

    def held(self) -> AbstractContextManager[None]:
        """Let one process at a time be the party."""
        return nullcontext() if self._folder is None else locked_file(self._folder / _LOCK)

    def begin(self, facts: dict[str, str]) -> dict[str, bytes]:
        """Return the secrets of the session, drawn when it begins.

        Terms, rows and build must be the same when the party is started again.
        """
        if not self._first:
            drawn = {name: secrets.token_bytes(32) for name in _SECRETS}
            self._write({"facts": facts, "secrets": drawn})
        known = self._first["facts"]
        for name, value in facts.items():
            if known[name] != value:
                raise InvalidParameterError(
                    f"The {name} of this party are not those with which the session in "
                    f"{str(self._folder)!r} began, and it does not go on: {len(self.sent)} "
                    f"messages were sent, and {_CHARGES} says what was charged for them. Start it "
                    "with the same ones, or agree on another session."
                )
        found: dict[str, bytes] = self._first["secrets"]
        return found

    def seed(self, step: int) -> bytes:
        """Return the secret of the masks of a step, drawn once."""
        if step not in self._seeds:
            self._write({"step": step, "seed": secrets.token_bytes(32)})
        return self._seeds[step]

    def send(self, key: Key, digest: bytes, body: bytes, charges: Sequence[str] = ()) -> None:
        """Put a message on disk, and the charges for it, before it is sent."""
        if self._folder is not None:
            # They are there where a process was killed before its words were on disk.
            append_lines(self._folder / _CHARGES, charges)
        content = {"step": key.step, "kind": key.kind, "digest": digest, "body": body}
        self._write(content)

    def replied(self, key: Key, reply: bytes) -> None:
        """Keep a reply."""
        self._write({"step": key.step, "kind": key.kind, "reply": reply})

    def _write(self, content: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.append(m.encode(content))
        self._restore(content)

    def _restore(self, content: dict[str, Any]) -> None:
        if "facts" in content:
            self._first = content
        elif "seed" in content:
            self._seeds[content["step"]] = content["seed"]
        elif "reply" in content:
            self.replies[Key(content["step"], content["kind"])] = content["reply"]
        else:
            key = Key(content["step"], content["kind"])
            self.sent[key] = content["digest"], content["body"]


def folder_of(folder: str | os.PathLike[str], digest: bytes) -> Path:
    """Return the folder of the session of an agreement inside that of all sessions."""
    return Path(folder) / digest.hex()[:32]
