"""What is sent again, what is refused, and what ends a release."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost.federated import Coordinator, RefusedError
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.privacy.mechanisms import DiscreteLaplace
from tests.unit.federated.asked import ClassCounts, Keep
from tests.unit.federated.channels import Lossy, Recorder, agreement, parties_of, tables

ONE = DiscreteLaplace(epsilon=Fraction(1))
COUNTS = ClassCounts(n_classes=3)


def total(given):
    return sum(np.bincount(y, minlength=3) for _, y in given)


def release(coordinator, query=COUNTS, mechanism=ONE):
    value = coordinator.sensitive(query)
    return coordinator.ledger.release(mechanism, value, label="counts")


def opened(lost, sizes=(4, 5, 6), resends=2, **terms):
    agreed, given = agreement(len(sizes), **terms), tables(sizes)
    parties = parties_of(agreed, given)
    # Exchanges 0 and 1 open the session.
    channel = Lossy(parties, {number + 2: what for number, what in lost.items()})
    return Coordinator(agreed, channel, resends=resends), parties, given


@pytest.mark.parametrize("what", ["reply", "message"])
def test_a_lost_message_is_sent_again_and_costs_nothing_more(what):
    coordinator, parties, given = opened({0: what, 1: what}, epsilon=10**6)
    found = release(coordinator, mechanism=DiscreteLaplace(epsilon=Fraction(100)))
    assert np.array_equal(found, total(given))
    assert [len(party.ledger.entries) for party in parties] == [1, 1, 1]


def test_a_resent_attempt_gets_the_same_bytes_and_a_new_one_others():
    terms, given = agreement(), tables([4, 5, 6])
    channel = Recorder(parties_of(terms, given))
    coordinator = Coordinator(terms, channel)
    release(coordinator)
    message, first = channel.sent[-1], channel.seen[-1]
    assert channel.exchange(message, [0, 1, 2]) == first
    release(coordinator)
    assert all(channel.seen[-1][index] != first[index] for index in range(3))


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense",
        wire.encode(m.Done(party=1)),
        wire.encode(m.Refused(party=1, code=m.BUDGET)),
        wire.encode(m.Answers(party=1, turn=m.Step(session=bytes(16), number=0), parts=())),
        wire.encode(m.Answers(party=2, turn=m.Step(session=bytes(16), number=0), parts=())),
    ],
)
def test_a_wrong_answer_ends_the_release(answer):
    coordinator, parties, _ = opened({0: answer})
    with pytest.raises(RefusedError, match="party 1|Party 1"):
        release(coordinator)
    assert coordinator.ledger.spent == 1
    assert [party.ledger.spent for party in parties] == [1, 1, 1]


def test_a_message_that_is_too_long_is_not_sent():
    terms = agreement()
    channel = Recorder(parties_of(terms, tables([4, 5, 6])))
    coordinator = Coordinator(terms, channel, max_message_bytes=2**16)
    n_sent = len(channel.sent)
    coordinator.apply(Keep(word="a" * 2**16))
    with pytest.raises(RefusedError, match="'max_message_bytes' parameter of Coordinator allows"):
        release(coordinator)
    assert len(channel.sent) == n_sent
    assert [party.ledger.spent for party in channel._parties] == [0, 0, 0]


def test_a_reply_that_is_too_long_ends_a_release_that_needs_all():
    agreed, given = agreement(3, epsilon=10**6), tables((4, 5, 6))
    long = {2: b" " * (2**16 + 1)}
    channel = Lossy(parties_of(agreed, given), long)
    coordinator = Coordinator(agreed, channel, resends=0, max_message_bytes=2**16)
    with pytest.raises(RefusedError, match="party 1 has more bytes than the 'max_message_bytes'"):
        coordinator.release([(ONE, COUNTS)], label="counts")
