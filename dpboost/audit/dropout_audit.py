"""Federated fits with dropouts, against a coordinator that tries to unmask messages.

The messages must reveal the sum over the present parties only: not the words of a late party, no
words by the keys of another step, and no key by the shares of colluding parties.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.network_audit import are_small
from dpboost.audit.run_trace import Violation
from dpboost.federated.party.party import OwnRows
from dpboost.federated.party.party_session import PartySession, SessionRecord
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.hub import Hub, LocalLink
from dpboost.federated.protocol.messages import Key
from dpboost.federated.secagg.keys import Identity, pair_words
from dpboost.federated.secagg.release_masks import (
    PAIRS,
    OpenedMasks,
    ReleaseMasks,
    SealError,
    among,
    array_seed,
    open_masks,
    unseal,
)
from dpboost.federated.secagg.secret_shares import PRIME, combine, elements, to_bytes
from dpboost.federated.training.session_run import run_session
from dpboost.privacy.exact_arithmetic import epsilon_of

#: Name of the check.
CHECK = "masks of lost parties"

N_PARTIES, COLLUDING, LATE = 5, (0,), 4
# The step for which words are late, and a later one with the party back.
MISSED, BACK = 2, 4
SCHEMA = {"bounds": {"age": (0.0, 1.0), "dose": (0.0, 1.0)}, "classes": [0, 1]}
_SECONDS = 0.5

Words = NDArray[np.uint64]


class _Curious(LocalLink):
    """Records the messages of a party, and delays one of them."""

    def __init__(self, hub: Hub, party: int, sent: dict[tuple[Key, int], Any]) -> None:
        super().__init__(hub, party)
        self._own, self._sent = party, sent

    def post(self, key: Key, body: bytes) -> bytes:
        """Hand a message over, and keep it."""
        self._sent[key, self._own] = m.decode(body, m.KINDS)
        if self._own == LATE and key == Key(MISSED, "words"):
            while self._hub.reply(key) is None:
                time.sleep(0.005)
        return super().post(key, body)


class _Seen:
    """The view of a coordinator with colluding parties."""

    def __init__(
        self,
        terms: Agreement,
        sent: dict[tuple[Key, int], Any],
        sums: dict[int, m.Sum],
        sessions: Sequence[PartySession],
    ) -> None:
        self.terms, self._sent, self._sums, self._sessions = terms, sent, sums, sessions

    @property
    def steps(self) -> list[int]:
        """Steps with a sum."""
        return sorted(self._sums)

    def of(self, step: int, kind: str) -> dict[int, Any]:
        """Return what parties have sent of a kind."""
        return {
            party: message
            for (key, party), message in sorted(self._sent.items())
            if key == Key(step, kind) and not isinstance(message, m.Absent)
        }

    def opened(self, step: int) -> OpenedMasks:
        """Return the keys that a step has opened."""
        assert self.terms.threshold is not None
        return open_masks(
            self.of(step, "deposit"),
            self.of(step, "unlocked"),
            self._sums[step].parties,
            threshold=self.terms.threshold,
            digest=self.digest(step),
        )

    def digest(self, step: int) -> bytes:
        """Return what the masks of a step are keyed by."""
        return among(self.of(step, "words")[COLLUDING[0]].digest, tuple(self.of(step, "deposit")))

    def shares(self, step: int, index: int) -> dict[int, int]:
        """Return the shares of a party's key that was not opened, of those who collude."""
        found = {}
        for holder in COLLUDING:
            session = self._sessions[holder]
            session._step = step
            assert session._pairs is not None
            assert self.terms.threshold is not None
            masks = ReleaseMasks(
                session._name_of_step(),
                holder,
                session._pairs,
                n_parties=N_PARTIES,
                threshold=self.terms.threshold,
                seed=session._record.seed(step),
            )
            locked = elements(self.of(step, "deposit")[index].pairs)
            found[holder] = (locked[holder] - masks._pad(index, holder, PAIRS)) % PRIME
        return found


def masks_of_lost_parties() -> list[Violation]:
    """Train while a party is late and back again, and try what its messages open."""
    found: list[Violation] = []
    for signed in (False, True):
        where = f"{N_PARTIES} parties, " + ("signed" if signed else "unsigned")
        found += [
            Violation(CHECK, where, message)
            for message in dict.fromkeys(_attempts(_trained(signed)))
        ]
    return found


def _trained(signed: bool) -> _Seen:
    """Return what is seen of a fit."""
    identities = [Identity() if signed else None for _ in range(N_PARTIES)]
    terms = Agreement(
        n_parties=N_PARTIES,
        features=("age", "dose"),
        schema=SCHEMA,
        recipe="para",
        epsilon=epsilon_of(Fraction(30)),
        colluding=len(COLLUDING),
        dropouts=1,
        hyper={"n_estimators": 3, "max_depth": 2, "max_bin": 4},
        identities=tuple(one.public for one in identities if one is not None),
    )
    random = np.random.default_rng(0)
    hub, sent = Hub(), dict[tuple[Key, int], Any]()
    sessions, threads = [], []
    for index, identity in enumerate(identities):
        X = random.integers(0, 2, (6, 2)).astype(float)
        y = random.integers(0, 2, 6)
        session = PartySession(
            terms,
            index,
            _Curious(hub, index, sent),
            record=SessionRecord(),
            facts={"version": "", "build": ""},
            identity=identity,
        )
        sessions.append(session)
        threads.append(
            Thread(target=run_session, args=(session, OwnRows(X, y, terms)), daemon=True)
        )
    for thread in threads:
        thread.start()
    run_session(CoordinatorSession(terms, hub, timeout=_SECONDS))
    for thread in threads:
        thread.join()
    sums = {}
    step = 1
    while (reply := hub.reply(Key(step, "unlocked"))) is not None:
        sums[step] = m.decode(reply, m.Sum)
        step += 1
    return _Seen(terms, sent, sums, sessions)


def _attempts(seen: _Seen) -> Iterator[str]:
    """Yield what a coordinator finds that it must not."""
    missed, back = seen.opened(MISSED), seen.opened(BACK)
    shared = {other: key for (other, index), key in missed.pairs.items() if index == LATE}
    late = [
        words - _in_common(shared, seen.digest(MISSED), position, words.size)
        for position, words in enumerate(map(np.ravel, seen.of(MISSED, "words")[LATE].words))
    ]
    if are_small(late):
        yield "the answer of a party that was late is open"
    own = OpenedMasks(own={LATE: back.own[LATE]}, pairs={}, digest=seen.digest(BACK))
    again = []
    for position, words in enumerate(map(np.ravel, seen.of(BACK, "words")[LATE].words)):
        masks = own.left(position, words.shape)
        in_common = _in_common(shared, seen.digest(BACK), position, words.size)
        again.append(words - masks - in_common)
    if are_small(again):
        yield "keys that were opened in one release open an answer of another one"
    for step in seen.steps:
        if any(len(one.pads) > 32 * N_PARTIES for one in seen.of(step, "unlocked").values()):
            yield "a party unlocks two keys of another one"
        for index, deposit in seen.of(step, "deposit").items():
            if _opens(seen.shares(step, index), deposit):
                yield "those who collude open a key by themselves"


def _in_common(keys: dict[int, bytes], digest: bytes, position: int, size: int) -> Words:
    """Return the masks that the late party has in common with others, by keys of them."""
    total = np.zeros(size, dtype=np.uint64)
    for other, key in keys.items():
        total += pair_words(LATE, other, array_seed(key, digest, position), size)
    return total


def _opens(shares: dict[int, int], deposit: m.Deposit) -> bool:
    try:
        unseal(to_bytes(combine(shares)), deposit.sealed)
    except SealError:
        return False
    return True
