"""Fits from which parties are lost, seen by a coordinator that keeps all and asks for more.

What it is sent must open the sum over those that have answered, and nothing else: not the answer
of a party that was late, no answer by the keys of another release, no second set of parties, and
no key by the shares of those who collude with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.transcript import Violation
from dpboost.federated.party.party import Party
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.transport import LocalChannel
from dpboost.federated.secagg.dropout_messages import (
    Deposit,
    Endorsed,
    Present,
    Unlocked,
    Unmask,
)
from dpboost.federated.secagg.dropout_recovery import OpenedMasks, open_masks
from dpboost.federated.secagg.keys import Identity, pair_words
from dpboost.federated.secagg.release_masks import PAIRS, SealError, array_seed, unseal
from dpboost.federated.secagg.secret_shares import PRIME, combine, elements, to_bytes
from dpboost.federated.training.boosting import boost
from dpboost.privacy.exact_arithmetic import epsilon_of

#: Name of the check.
CHECK = "masks of lost parties"

N_PARTIES, COLLUDING, LATE = 5, (0,), 4
# The release whose message or reply is late, and the next one.
MISSED, BACK = 1, 2
SCHEMA = {"bounds": {"age": (0.0, 1.0), "dose": (0.0, 1.0)}, "classes": [0, 1]}

Words = NDArray[np.uint64]


@dataclass
class _Seen:
    """All that a coordinator sees of one release, and what those tell it who collude with it.

    Parameters
    ----------
    deposits : dict of int to Deposit
    answers : dict of int to tuple of ndarray
        Masked words of each party, late ones among them.
    present : tuple of int
    unlocked : dict of int to Unlocked
    masks : dict of int to ReleaseMasks
        Of each party; what those who collude may tell of theirs.
    again : list of int
        Parties that have signed a second set, or unlocked shares for it.
    shares : dict of int to dict of int to int
        Of each party the shares that those have who collude, of the key that is not opened.
    nonce : bytes
        What masks are bound to; made of what the coordinator has sent.
    """

    deposits: dict[int, Deposit] = field(default_factory=dict)
    answers: dict[int, tuple[Words, ...]] = field(default_factory=dict)
    present: tuple[int, ...] = ()
    unlocked: dict[int, Unlocked] = field(default_factory=dict)
    masks: dict[int, Any] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)
    shares: dict[int, dict[int, int]] = field(default_factory=dict)
    nonce: bytes = b""


class _Curious(LocalChannel):
    """Takes one answer for lost, keeps everything, and asks for a second set of parties."""

    def __init__(self, parties: Sequence[Party]) -> None:
        super().__init__(parties)
        self._held = parties
        self.seen: dict[m.Step, _Seen] = {}

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Hand a message over, and look at the replies."""
        content: Any = wire.decode(message, object)
        replies = super().exchange(message, to)
        read: dict[int, Any] = {
            index: wire.decode(reply, object) for index, reply in replies.items()
        }
        if isinstance(content, m.Ask) and content.asked:
            seen = self.seen[content.turn]
            for index, answer in read.items():
                parts = (part.words for part in answer.parts if isinstance(part, m.Masked))
                seen.answers[index] = tuple(parts)
                seen.masks[index] = self._held[index]._masks.masks
            if content.turn.number == MISSED:
                replies.pop(LATE)
        for index, one in read.items():
            if isinstance(one, Deposit):
                self.seen.setdefault(one.turn, _Seen()).deposits[index] = one
            if isinstance(one, Unlocked):
                turn = one.following.turn
                self.seen.setdefault(turn, _Seen()).deposits[index] = one.following
        if isinstance(content, Present):
            self._speak_again(content)
        if isinstance(content, Unmask):
            self._speak_again(content.present, content)
            self._look(content, read)
        return replies

    def _speak_again(self, present: Present, unmask: Unmask | None = None) -> None:
        """Ask for the signature, and the keys, of another set of parties."""
        everybody = tuple(range(N_PARTIES))
        named = everybody if present.parties != everybody else everybody[:-1]
        other = Present(turn=present.turn, parties=named)
        asked: list[Any] = [other]
        if unmask is not None:
            signers, signatures = unmask.signers, unmask.signatures
            asked.append(Unmask(present=other, signers=signers, signatures=signatures))
        for index in present.parties:
            for message in map(wire.encode, asked):
                reply = wire.decode(self._held[index].receive(message), object)
                if isinstance(reply, (Endorsed, Unlocked)):
                    self.seen[present.turn].again.append(index)

    def _look(self, unmask: Unmask, read: dict[int, Any]) -> None:
        turn, present = unmask.present.turn, unmask.present.parties
        seen = self.seen[turn]
        seen.present, seen.unlocked = present, read
        seen.nonce = seen.masks[COLLUDING[0]]._nonce
        for index in present:
            locked = elements(seen.deposits[index].pairs)
            seen.shares[index] = {}
            for holder in COLLUDING:
                pad = seen.masks[holder]._pad(index, holder, PAIRS)
                seen.shares[index][holder] = (locked[holder] - pad) % PRIME


def masks_of_lost_parties() -> list[Violation]:
    """Train while a party is late and back again, and try what its messages open.

    Returns
    -------
    list of Violation
    """
    found: list[Violation] = []
    for signed in (False, True):
        where = f"{N_PARTIES} parties, " + ("signed" if signed else "unsigned")
        found += [
            Violation(check=CHECK, where=where, message=message)
            for message in dict.fromkeys(_attempts(_trained(signed)))
        ]
    return found


def _trained(signed: bool) -> tuple[Agreement, list[_Seen]]:
    """Return the terms of a fit, and what is seen of its releases."""
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
    parties = []
    for index, identity in enumerate(identities):
        X = random.integers(0, 2, (6, 2)).astype(float)
        y = random.integers(0, 2, 6)
        parties.append(Party(index, X, y, agreement=terms, identity=identity))
    channel = _Curious(parties)
    boost(Coordinator(terms, channel, resends=0))
    asked = [turn for turn in channel.seen if channel.seen[turn].present]
    return terms, [channel.seen[turn] for turn in asked]


def _attempts(fit: tuple[Agreement, list[_Seen]]) -> Iterator[str]:
    """Yield what a coordinator finds that it must not."""
    terms, releases = fit
    assert terms.threshold is not None
    opened = [
        open_masks(
            seen.deposits, seen.unlocked, seen.present, threshold=terms.threshold, nonce=seen.nonce
        )
        for seen in releases
    ]
    missed, back = releases[MISSED], releases[BACK]
    shared = {other: key for (other, index), key in opened[MISSED].pairs.items() if index == LATE}
    late = [
        words - _in_common(shared, missed.nonce, position, words.size)
        for position, words in enumerate(map(np.ravel, missed.answers[LATE]))
    ]
    if _are_small(late):
        yield "the answer of a party that was late is open"
    own = OpenedMasks(own={LATE: opened[BACK].own[LATE]}, pairs={}, nonce=b"")
    again = []
    for position, words in enumerate(map(np.ravel, back.answers[LATE])):
        masks = own.left(position, words.shape)
        again.append(words - masks - _in_common(shared, back.nonce, position, words.size))
    if _are_small(again):
        yield "keys that were opened in one release open an answer of another one"
    if any(seen.again for seen in releases):
        yield "a party speaks for two sets of parties in one release"
    pooled = [(one, seen.deposits[i]) for seen in releases for i, one in seen.shares.items()]
    if any(_opens(shares, deposit) for shares, deposit in pooled):
        yield "those who collude open a key by themselves"


def _in_common(keys: dict[int, bytes], nonce: bytes, position: int, size: int) -> Words:
    """Return the masks that the late party has in common with others, by keys of them."""
    total = np.zeros(size, dtype=np.uint64)
    for other, key in keys.items():
        total += pair_words(LATE, other, array_seed(key, nonce, position), size)
    return total


def _opens(shares: dict[int, int], deposit: Deposit) -> bool:
    try:
        unseal(to_bytes(combine(shares)), deposit.sealed)
    except SealError:
        return False
    return True


def _are_small(arrays: Sequence[Words]) -> bool:
    """Return whether most words are near zero, where masks make them uniform."""
    near = np.abs(np.concatenate(arrays).view(np.int64)) < 2**48
    return bool(near.mean() > 0.5)
