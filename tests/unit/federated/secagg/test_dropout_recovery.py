"""Sums from which parties are missing."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.federated import Coordinator, Identity, Party, PartyLostError, RefusedError, simulate
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.secagg.dropout_recovery import Endorsed, Present, Seeds, Unmask
from dpboost.federated.secagg.keys import pair_words
from dpboost.federated.training.boosting import boost
from dpboost.privacy.mechanisms import DiscreteLaplace, PermuteAndFlip
from tests.unit.federated.asked import ClassCounts, Keep, OwnScores
from tests.unit.federated.channels import Lossy, Processes, Recorder, agreement, parties_of, tables

CERTAIN = DiscreteLaplace(epsilon=Fraction(100))
COUNTS = ClassCounts(n_classes=3)
SIZES = (4, 5, 6, 7)


def total(given, without=()):
    own = [np.bincount(y, minlength=3) for index, (_, y) in enumerate(given)]
    return sum(counts for index, counts in enumerate(own) if index not in without)


def opened(lost, *, signed=False, dropouts=1, party=1, **terms):
    identities = [Identity() for _ in SIZES] if signed else [None] * len(SIZES)
    keys = [identity.public for identity in identities] if signed else ()
    agreed = agreement(4, dropouts=dropouts, epsilon=10**6, identities=keys, **terms)
    given = tables(SIZES)
    parties = [
        Party(index, X, y, agreement=agreed, identity=identities[index])
        for index, (X, y) in enumerate(given)
    ]
    channel = Lossy(parties, {number + 2: what for number, what in lost.items()}, party)
    return Coordinator(agreed, channel, resends=0), parties, given


def release(coordinator, query=COUNTS, mechanism=CERTAIN):
    return coordinator.release([(mechanism, query)] * 2, label="counts")


GONE = dict.fromkeys(range(100), "message")


@pytest.mark.parametrize("signed", [False, True])
def test_nobody_is_missing(signed):
    coordinator, parties, given = opened({}, signed=signed)
    for found in (*release(coordinator), *release(coordinator)):
        assert np.array_equal(found, total(given))
    assert coordinator.present == (0, 1, 2, 3)
    assert {party.ledger.spent for party in parties} == {400}


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("what", ["message", "reply"])
@pytest.mark.parametrize("party", [0, 3])
def test_a_party_that_is_lost_is_missing_from_the_sums(signed, what, party):
    coordinator, parties, given = opened(
        dict.fromkeys(range(100), what), signed=signed, party=party
    )
    coordinator.apply(Keep(word="red"))
    for found in (*release(coordinator), *release(coordinator)):
        assert np.array_equal(found, total(given, without=(party,)))
    assert party not in coordinator.present
    assert coordinator.ledger.spent == 400
    # A message that reached it was charged there, whether or not its answer came back.
    assert parties[party].ledger.spent == (0 if what == "message" else 200)


def test_more_than_agreed_abort_the_release():
    agreed = agreement(4, dropouts=1, epsilon=10**6)
    parties = parties_of(agreed, tables(SIZES))

    class TwoLost(Lossy):
        def exchange(self, message, to):
            replies = super().exchange(message, to)
            return {index: reply for index, reply in replies.items() if self.count < 3 or index > 1}

    coordinator = Coordinator(agreed, TwoLost(parties, {}), resends=0)
    with pytest.raises(PartyLostError):
        release(coordinator)
    assert coordinator.ledger.spent == 200


@pytest.mark.parametrize("signed", [False, True])
def test_who_is_lost_while_masks_are_taken_off_aborts_the_release(signed):
    coordinator, parties, given = opened({1: "message"}, signed=signed)
    with pytest.raises(PartyLostError):
        release(coordinator)
    assert {party.ledger.spent for party in parties} == {200}
    # The next attempt is another charge, and everybody is in it.
    assert np.array_equal(release(coordinator)[0], total(given))


def test_the_noise_of_those_that_are_left_is_all_of_it():
    agreed = agreement(4, dropouts=1, schema={"classes": list(range(400))})
    given = [(np.zeros((1, 2)), np.zeros(1, dtype=int))] * 4
    coordinator = Coordinator(agreed, Lossy(parties_of(agreed, given), GONE_LATER), resends=0)
    mechanism = DiscreteLaplace(epsilon=Fraction(1, 10))
    drawn = [
        coordinator.release([(mechanism, ClassCounts(n_classes=400))], label="counts")[0][1:]
        for _ in range(20)
    ]
    rate = math.exp(-1 / 10)
    # Three are left, and two shares carry all of the noise.
    expected = 2 * rate / (1 - rate) ** 2 * 3 / 2
    assert np.var(drawn) == pytest.approx(expected, rel=0.12)


GONE_LATER = dict.fromkeys(range(2, 100), "message")


def test_own_outcomes_are_those_of_the_parties_that_are_there():
    coordinator, _, _ = opened(GONE)
    choice = PermuteAndFlip(epsilon=Fraction(1))
    (found,) = coordinator.release(
        [(choice, OwnScores(n_candidates=3))], label="own choice", each=True
    )
    assert found.shape == (3, 1)


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
def test_boosting_goes_on_without_a_party():
    given = tables((60, 50, 40, 30), n_classes=2)
    agreed = agreement(
        4,
        dropouts=1,
        schema={"classes": [0, 1]},
        epsilon=8.0,
        hyper={"n_estimators": 3, "max_depth": 2},
    )
    channel = Lossy(parties_of(agreed, given), dict.fromkeys(range(8, 100), "message"))
    coordinator = Coordinator(agreed, channel, resends=0)
    fitted = boost(coordinator)
    assert len(fitted.ensemble.trees) == 3
    assert coordinator.present == (0, 2, 3)
    facts = fitted.report.facts
    assert facts["noise"] == "in shares, 2 of which carry all of it"
    assert "up to 1" in facts["lost parties"]
    assert facts["against 1 other party"].startswith("epsilon = 8,")


def test_a_party_on_disk_reveals_as_well(tmp_path):
    given = tables(SIZES)
    agreed = agreement(4, dropouts=1, epsilon=10**6)
    coordinator = Coordinator(agreed, Processes(agreed, given, tmp_path))
    assert np.array_equal(release(coordinator)[0], total(given))


# -- what a party does not reveal ------------------------------------------------------------------


def asked(signed=False, number=0):
    """Return parties that have answered a message, its turn, and their identities."""
    identities = [Identity() for _ in SIZES] if signed else [None] * len(SIZES)
    keys = [identity.public for identity in identities] if signed else ()
    agreed = agreement(4, dropouts=1, identities=keys)
    parties = [
        Party(index, X, y, agreement=agreed, identity=identities[index])
        for index, (X, y) in enumerate(tables(SIZES))
    ]
    coordinator = Coordinator(agreed, Recorder(parties))
    turn = m.Step(session=coordinator._session, number=number)
    query = m.Asked(mechanism=DiscreteLaplace(epsilon=Fraction(1)), query=COUNTS, label="x")
    message = wire.encode(m.Ask(turn=turn, orders=(), asked=(query,)))
    answers = [wire.decode(party.receive(message), m.Answers) for party in parties]
    return parties, turn, answers


def unmask(party, turn, there, signatures=()):
    content = Unmask(present=Present(turn=turn, parties=there), signatures=signatures)
    return wire.decode(party.receive(wire.encode(content)), object)


def test_keys_are_revealed_for_one_set_of_parties():
    parties, turn, _ = asked()
    assert isinstance(unmask(parties[0], turn, (0, 1, 2, 3)), Seeds)
    again = unmask(parties[0], turn, (0, 2, 3))
    assert isinstance(again, m.Refused)
    assert again.code == m.CHANGED


@pytest.mark.parametrize("there", [(1, 2, 3), (0, 1), (), (0, 1, 2, 9)])
def test_no_keys_for_sets_without_the_party_or_with_too_few(there):
    parties, turn, _ = asked()
    assert isinstance(unmask(parties[0], turn, there), m.Refused)


def test_no_keys_for_another_message():
    parties, turn, _ = asked()
    other = m.Step(session=turn.session, number=turn.number + 1)
    assert isinstance(unmask(parties[0], other, (0, 1, 2, 3)), m.Refused)
    agreed = agreement(4)
    plain = parties_of(agreed, tables(SIZES))
    coordinator = Coordinator(agreed, Recorder(plain))
    release(coordinator, mechanism=DiscreteLaplace(epsilon=Fraction(1)))
    turn = m.Step(session=coordinator._session, number=0)
    assert isinstance(unmask(plain[0], turn, (0, 1, 2, 3)), m.Refused)


def test_with_identities_no_keys_before_all_have_signed_the_same():
    parties, turn, _ = asked(signed=True)
    there = (0, 1, 2, 3)
    present = wire.encode(Present(turn=turn, parties=there))
    signatures = [wire.decode(party.receive(present), Endorsed).signature for party in parties]
    forged = (*signatures[:3], signatures[0])
    for wrong in ((), tuple(signatures[:3]), forged):
        assert unmask(parties[0], turn, there, wrong).code == m.KEYS
    assert isinstance(unmask(parties[0], turn, there, tuple(signatures)), Seeds)
    fewer = wire.encode(Present(turn=turn, parties=(0, 1, 2)))
    assert wire.decode(parties[1].receive(fewer), m.Refused).code == m.CHANGED


def test_a_late_answer_stays_masked():
    parties, turn, answers = asked()
    seeds = [unmask(parties[index], turn, (0, 1, 2)) for index in range(3)]
    # Everything the coordinator has: the late answer of party 3, and the keys that the others
    # share with it. The mask of its own is still there.
    words = answers[3].parts[0].words
    for index, own in enumerate(seeds):
        words = words - pair_words(3, index, own.shared[0][0], 3)
    assert (np.abs(words.view(np.int64).astype(float)) > 2**40).all()


def test_keys_that_are_missing_end_the_release():
    short = Seeds(party=1, own=bytes(32), shared=((bytes(32),),))
    coordinator, _, _ = opened({1: wire.encode(short)})
    with pytest.raises(RefusedError, match="keys"):
        release(coordinator)


def test_malformed_sets_and_keys_are_no_messages():
    turn = m.Step(session=bytes(16), number=0)
    for wrong in ((1, 0), (0, 0), (-1,), ("a",)):
        with pytest.raises((ValueError, TypeError)):
            Present(turn=turn, parties=wrong)
    with pytest.raises(ValueError, match="keys"):
        Seeds(party=0, own=b"short", shared=())


def test_simulations_tolerate_what_was_agreed():
    coordinator, _ = simulate(agreement(4, dropouts=2, colluding=1), tables(SIZES))
    assert coordinator.present == (0, 1, 2, 3)
