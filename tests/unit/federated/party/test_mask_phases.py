"""What a party unlocks, and what it never does, whatever a coordinator asks."""

import os
import secrets
from fractions import Fraction

import numpy as np
import pytest

from dpboost.federated import Coordinator, Identity, Party
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.secagg.dropout_messages import (
    Deposit,
    Endorsed,
    Prepare,
    Present,
    Unlocked,
    Unmask,
)
from dpboost.federated.secagg.dropout_recovery import open_masks
from dpboost.federated.secagg.keys import pair_words
from dpboost.federated.secagg.release_masks import (
    array_seed,
)
from dpboost.privacy.mechanisms import DiscreteLaplace
from tests.unit.federated.asked import ClassCounts
from tests.unit.federated.channels import Recorder, agreement, parties_of, tables

TURN = m.Step(session=bytes(16), number=0)
SIZES = (4, 5, 6, 7, 3)
ALL = (0, 1, 2, 3, 4)
NOTHING = Deposit(party=0, turn=TURN, own=b"", pairs=b"", sealed=b"")
ONE = DiscreteLaplace(epsilon=Fraction(1))


def session(signed=False, identities=None, **terms):
    """Return parties of an open session, and the turn of its first message."""
    if identities is None:
        identities = [Identity() if signed else None for _ in SIZES]
    signed = None not in identities
    keys = [identity.public for identity in identities] if signed else ()
    agreed = agreement(5, identities=keys, **({"dropouts": 1} | terms))
    parties = [
        Party(index, X, y, agreement=agreed, identity=identities[index])
        for index, (X, y) in enumerate(tables(SIZES))
    ]
    coordinator = Coordinator(agreed, Recorder(parties))
    return parties, m.Step(session=coordinator._session, number=0)


def told(party, message):
    return wire.decode(party.receive(wire.encode(message)), object)


def question(turn, roster=ALL):
    asked = m.Asked(mechanism=ONE, query=ClassCounts(n_classes=3), label="x")
    return m.Ask(turn=turn, orders=(), asked=(asked,), roster=roster)


def asked(signed=False, **options):
    """Return parties that have answered a message, its turn, and their answers."""
    parties, turn = session(signed, **options)
    for party in parties:
        assert isinstance(told(party, Prepare(turn=turn)), Deposit)
    return parties, turn, [told(party, question(turn)) for party in parties]


def unmask(party, turn, there, signers=(), signatures=()):
    present = Present(turn=turn, parties=there)
    return told(party, Unmask(present=present, signers=signers, signatures=signatures))


def code(reply):
    assert isinstance(reply, m.Refused), reply
    return reply.code


def test_keys_are_unlocked_for_one_set_of_parties():
    parties, turn, _ = asked()
    assert isinstance(unmask(parties[0], turn, ALL), Unlocked)
    assert code(unmask(parties[0], turn, (0, 2, 3, 4))) == m.CHANGED
    # In the other order as well.
    assert isinstance(unmask(parties[1], turn, (0, 1, 2, 3)), Unlocked)
    assert code(unmask(parties[1], turn, ALL)) == m.CHANGED


@pytest.mark.parametrize("there", [(1, 2, 3, 4), (0, 1, 2), (), (0, 1, 2, 9), (0, 1, 2, 3, 4, 5)])
def test_no_keys_for_sets_without_the_party_or_with_too_few_or_strangers(there):
    parties, turn, _ = asked()
    assert code(unmask(parties[0], turn, there)) == m.CHANGED


def test_no_keys_for_parties_that_were_not_asked():
    # Masks in common with them were never added: their sum would be of others.
    parties, turn = session()
    for party in parties[:4]:
        told(party, Prepare(turn=turn))
        assert isinstance(told(party, question(turn, (0, 1, 2, 3))), m.Answers)
    assert code(unmask(parties[0], turn, ALL)) == m.CHANGED
    assert isinstance(unmask(parties[0], turn, (0, 1, 2, 3)), Unlocked)


def test_what_is_unlocked_brings_the_deposit_for_the_next_message():
    parties, turn, _ = asked()
    found = unmask(parties[0], turn, ALL)
    later = m.Step(session=turn.session, number=1)
    assert found.following.turn == later
    assert told(parties[0], Prepare(turn=later)) == found.following
    assert code(unmask(parties[0], turn, ALL)) == m.CHANGED
    assert isinstance(told(parties[0], question(later)), m.Answers)


def test_no_keys_for_another_message_or_before_the_answer():
    parties, turn, _ = asked()
    other = m.Step(session=turn.session, number=1)
    assert code(unmask(parties[0], other, ALL)) == m.CHANGED
    told(parties[0], Prepare(turn=other))
    assert code(unmask(parties[0], other, ALL)) == m.CHANGED
    # What was not opened while it was time stays closed.
    assert code(unmask(parties[0], turn, ALL)) == m.CHANGED


def test_without_dropouts_nothing_is_deposited_or_unlocked():
    agreed = agreement(5)
    parties = parties_of(agreed, tables(SIZES))
    coordinator = Coordinator(agreed, Recorder(parties))
    turn = m.Step(session=coordinator._session, number=0)
    assert code(told(parties[0], Prepare(turn=turn))) == m.OTHER_SESSION
    assert code(told(parties[0], question(turn))) == m.QUESTION
    assert isinstance(told(parties[0], question(turn, ())), m.Answers)
    assert code(unmask(parties[0], turn, ALL)) == m.OTHER_SESSION


def test_one_deposit_for_a_message():
    parties, turn, _ = asked()
    first = told(parties[0], Prepare(turn=turn))
    assert first == parties[0]._masks.masks.deposit
    later = m.Step(session=turn.session, number=1)
    second = told(parties[0], Prepare(turn=later))
    assert second.own != first.own
    assert told(parties[0], Prepare(turn=later)) == second
    # Nothing is drawn anew for a message that was prepared or answered.
    assert code(told(parties[0], Prepare(turn=turn))) == m.LATE
    earlier = m.Step(session=turn.session, number=0, attempt=7)
    assert code(told(parties[0], Prepare(turn=earlier))) == m.LATE
    other = m.Step(session=bytes(16), number=2)
    assert code(told(parties[0], Prepare(turn=other))) == m.OTHER_SESSION


@pytest.mark.parametrize(
    ("roster", "expected"),
    [
        ((), m.QUESTION),
        ((1, 2, 3, 4), m.QUESTION),
        ((0, 1, 2), m.QUESTION),
        ((0, 1, 2, 7), m.QUESTION),
        ((1, 0, 2, 3), m.QUESTION),
        ((0, 0, 1, 2, 3), m.QUESTION),
        ((-1, 0, 1, 2), m.QUESTION),
    ],
)
def test_a_question_is_for_enough_parties_and_this_one(roster, expected):
    parties, turn = session()
    told(parties[0], Prepare(turn=turn))
    assert code(told(parties[0], question(turn, roster))) == expected
    assert parties[0].ledger.spent == 0
    assert isinstance(told(parties[0], question(turn)), m.Answers)


def test_a_question_without_a_deposit_is_refused_and_costs_nothing():
    parties, turn = session()
    assert code(told(parties[0], question(turn))) == m.EARLY
    told(parties[0], Prepare(turn=m.Step(session=turn.session, number=0, attempt=1)))
    assert code(told(parties[0], question(turn))) == m.EARLY
    assert parties[0].ledger.spent == 0


def test_orders_alone_leave_a_deposit_as_it_is():
    parties, turn = session()
    later = m.Step(session=turn.session, number=1)
    deposit = told(parties[0], Prepare(turn=later))
    assert isinstance(told(parties[0], m.Ask(turn=turn, orders=(), asked=())), m.Answers)
    assert isinstance(told(parties[0], question(later)), m.Answers)
    assert parties[0]._masks.masks.deposit == deposit


def test_with_identities_no_keys_before_the_threshold_has_signed():
    parties, turn, _ = asked(signed=True)
    present = Present(turn=turn, parties=ALL)
    signatures = [told(party, present).signature for party in parties]
    four = (0, 1, 2, 3)
    forged = (*signatures[:3], signatures[0])
    for signers, given in [
        ((), ()),
        ((0, 1, 2), tuple(signatures[:3])),
        (four, forged),
        ((0, 1, 2, 7), tuple(signatures[:4])),
    ]:
        assert code(unmask(parties[0], turn, ALL, signers, given)) == m.KEYS
    # Four of five are enough, the party itself or not.
    assert isinstance(unmask(parties[0], turn, ALL, four, tuple(signatures[:4])), Unlocked)
    assert isinstance(unmask(parties[4], turn, ALL, four, tuple(signatures[:4])), Unlocked)
    assert code(told(parties[1], Present(turn=turn, parties=four))) == m.CHANGED


def test_two_lists_cannot_both_be_signed():
    # Two parties are told one list, two another, and the fifth signs everything: four signatures
    # are more than half of five parties and one that signs twice.
    parties, turn, _ = asked(signed=True)
    lists = (ALL, (0, 1, 2, 4))
    signed = {there: {} for there in lists}
    for index, there in enumerate((ALL, ALL, lists[1], lists[1])):
        reply = told(parties[index], Present(turn=turn, parties=there))
        if isinstance(reply, Endorsed):
            signed[there][index] = reply.signature
    cheat = parties[4]
    for there in lists:
        present = Present(turn=turn, parties=there)
        signed[there][4] = cheat._identity.sign(cheat._masks.masks.statement(present))
        assert len(signed[there]) < 4
        signers = tuple(sorted(signed[there]))
        signatures = tuple(signed[there][index] for index in signers)
        for party in parties[:4]:
            assert isinstance(unmask(party, turn, there, signers, signatures), m.Refused)


def test_endorsements_are_for_one_session(monkeypatch):
    # A coordinator names two sessions alike, with parties whose records are new.
    monkeypatch.setattr(secrets, "token_bytes", lambda n: bytes(16) if n == 16 else os.urandom(n))
    identities = [Identity() for _ in SIZES]
    present = Present(turn=TURN, parties=ALL)
    signatures = []
    for _ in range(2):
        parties, turn, _ = asked(identities=identities)
        assert turn == TURN
        signatures.append([told(party, present).signature for party in parties[:4]])
    mixed = (signatures[0][0], *signatures[1][1:])
    four = (0, 1, 2, 3)
    assert code(unmask(parties[1], TURN, ALL, four, mixed)) == m.KEYS
    assert isinstance(unmask(parties[1], TURN, ALL, four, tuple(signatures[1])), Unlocked)


def test_a_late_answer_stays_masked():
    parties, turn, answers = asked()
    there = (0, 1, 2, 3)
    unlocked = {index: unmask(parties[index], turn, there) for index in there}
    deposits = {index: party._masks.masks.deposit for index, party in enumerate(parties)}
    nonce = parties[0]._masks.masks._nonce
    opened = open_masks(deposits, unlocked, there, threshold=4, nonce=nonce)
    # Everything the coordinator has: the late answer of party 4, and the keys that the others
    # have in common with it. The mask of its own is still there.
    words = answers[4].parts[0].words
    for (index, other), key in opened.pairs.items():
        assert other == 4
        words = words - pair_words(4, index, array_seed(key, nonce, 0), 3)
    assert (np.abs(words.view(np.int64).astype(float)) > 2**40).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Present(turn=TURN, parties=(1, 0)),
        lambda: Present(turn=TURN, parties=(0, 0)),
        lambda: Present(turn=TURN, parties=(-1,)),
        lambda: Present(turn=TURN, parties=("a",)),
        lambda: Present(turn=None, parties=(1,)),
        lambda: Prepare(turn=None),
        lambda: Unlocked(party=0, pads=b"short", following=NOTHING),
        lambda: Unlocked(party=None, pads=b"", following=NOTHING),
        lambda: Unlocked(party=0, pads=b"", following=None),
        lambda: Deposit(party=0, turn=TURN, own=b"short", pairs=b"", sealed=b""),
        lambda: Deposit(party=0, turn=TURN, own=b"", pairs=b"short", sealed=b""),
        lambda: Deposit(party=0, turn=TURN, own=b"", pairs=b"", sealed=None),
        lambda: Deposit(party=0, turn=None, own=b"", pairs=b"", sealed=b""),
        lambda: Unmask(present=None, signers=(), signatures=()),
        lambda: Unmask(present=Present(turn=TURN, parties=()), signers=(1,), signatures=()),
        lambda: Unmask(present=Present(turn=TURN, parties=()), signers=(), signatures=None),
        lambda: m.Ask(turn=TURN, orders=(), asked=(), roster=("a",)),
        lambda: m.Ask(turn=TURN, orders=(), asked=(), roster=None),
    ],
)
def test_malformed_messages_about_masks_are_none(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        wrong()
