"""Sums from which parties are missing, whatever they were lost in."""

import base64
import hashlib
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost.data.table import read_table
from dpboost.federated import (
    Coordinator,
    Identity,
    LocalChannel,
    Party,
    PartyLostError,
    RefusedError,
    simulate,
)
from dpboost.federated.party.party_store import PartyStore
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.journal import JournalChannel
from dpboost.federated.secagg.dropout_messages import (
    Deposit,
    Prepare,
    Present,
    Unlocked,
    Unmask,
)
from dpboost.federated.training.agreed_terms import agreed_privacy
from dpboost.federated.training.boosting import boost, train_agreed
from dpboost.federated.training.single_tree import fit_federated_tree
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.privacy.mechanisms import DiscreteLaplace, PermuteAndFlip
from dpboost.privacy.queries import LocalRows
from dpboost.rows.raw_rows import RawRows
from tests.unit.federated.asked import ClassCounts, Keep, OwnScores
from tests.unit.federated.channels import Processes, agreement, parties_of, tables

CERTAIN = DiscreteLaplace(epsilon=Fraction(100))
COUNTS = ClassCounts(n_classes=3)
SIZES = (4, 5, 6, 7, 3)
PHASES = (Prepare, m.Ask, Present, Unmask)
# Nothing is signed without identities.
CASES = [(phase, True) for phase in PHASES] + [
    (phase, False) for phase in PHASES if phase != Present
]


def total(given, without=()):
    own = [np.bincount(y, minlength=3) for index, (_, y) in enumerate(given)]
    return sum(counts for index, counts in enumerate(own) if index not in without)


class Losing(LocalChannel):
    """Loses parties: ``lost`` has (kind of message, how many of its kind went before, party).

    ``what`` of theirs is lost: "message", "reply", or bytes that they reply instead.
    """

    def __init__(self, parties, lost=(), what="reply", for_good=False):
        super().__init__(parties)
        self.lost, self.what, self.for_good = set(lost), what, for_good
        self.gone, self.counts, self.sent = set(), {}, []

    def exchange(self, message, to):
        content = wire.decode(message, object)
        kind = type(content)
        number = self.counts.get(kind, 0)
        self.counts[kind] = number + 1
        self.sent.append(content)
        now = {party for one, at, party in self.lost if (one, at) == (kind, number)}
        reached = [index for index in to if index not in self.gone]
        if self.what == "message":
            reached = [index for index in reached if index not in now]
        replies = super().exchange(message, reached)
        if self.for_good:
            self.gone |= now
        if isinstance(self.what, bytes):
            return replies | dict.fromkeys(now & set(reached), self.what)
        return {index: reply for index, reply in replies.items() if index not in now}


def opened(lost=(), *, signed=False, sizes=SIZES, dropouts=1, channel=Losing, **options):
    identities = [Identity() if signed else None for _ in sizes]
    keys = [identity.public for identity in identities] if signed else ()
    terms = {"dropouts": dropouts, "epsilon": 10**6, "identities": keys}
    terms |= {name: options.pop(name) for name in ("threshold", "colluding") if name in options}
    agreed = agreement(len(sizes), **terms)
    given = tables(sizes)
    parties = [
        Party(index, X, y, agreement=agreed, identity=identities[index])
        for index, (X, y) in enumerate(given)
    ]
    made = channel(parties, lost, **options)
    return Coordinator(agreed, made, resends=0), parties, given


def release(coordinator, query=COUNTS, mechanism=CERTAIN):
    return coordinator.release([(mechanism, query)] * 2, label="counts")


@pytest.mark.parametrize("signed", [False, True])
def test_nobody_is_missing(signed):
    coordinator, parties, given = opened(signed=signed)
    for found in (*release(coordinator), *release(coordinator)):
        assert np.array_equal(found, total(given))
    assert coordinator.present == tuple(range(5))
    assert coordinator.losses == {"fewest parties in a release": "5 of 5"}
    assert {party.ledger.spent for party in parties} == {400}


@pytest.mark.parametrize("what", ["message", "reply"])
@pytest.mark.parametrize("party", [0, 4])
@pytest.mark.parametrize(("phase", "signed"), CASES)
def test_a_party_may_be_lost_in_every_phase(phase, signed, what, party):
    # Deposits are asked for once: later ones come with what is unlocked.
    number = 0 if phase is Prepare else 1
    coordinator, parties, given = opened(
        {(phase, number, party)}, signed=signed, what=what, for_good=True
    )
    coordinator.apply(Keep(word="red"))
    first = total(given, (party,) if phase is Prepare else ())
    assert np.array_equal(release(coordinator)[1], first)
    coordinator.apply(Keep(word="blue"))
    # Who has answered is in the sum, also when it is lost before masks are taken off.
    without = (party,) if phase in (Prepare, m.Ask) else ()
    for found in release(coordinator):
        assert np.array_equal(found, total(given, without))
    for found in release(coordinator):
        assert np.array_equal(found, total(given, (party,)))
    assert party not in coordinator.present
    assert coordinator.losses == {"fewest parties in a release": "4 of 5"}
    assert coordinator.ledger.spent == 600
    others = {one.ledger.spent for one in parties if one.index != party}
    assert others == {600}
    # A message that reached it was charged there, whether or not its answer came back.
    reached = phase in (Present, Unmask) or (phase is m.Ask and what == "reply")
    assert parties[party].ledger.spent == (0 if phase is Prepare else 400 if reached else 200)


@pytest.mark.parametrize("reply", [b"nonsense", b" " * (wire.MOST_BYTES + 1)])
@pytest.mark.parametrize("phase", [Prepare, m.Ask, Unmask])
def test_what_is_no_reply_is_as_good_as_none(phase, reply):
    number = 0 if phase is Prepare else 1
    coordinator, parties, given = opened({(phase, number, 4)}, what=reply)
    for release_number in range(3):
        without = (4,) if release_number == number and phase in (Prepare, m.Ask) else ()
        assert np.array_equal(release(coordinator)[1], total(given, without))
    assert coordinator.present == tuple(range(5))
    assert {one.ledger.spent for one in parties[:4]} == {600}


@pytest.mark.parametrize(("phase", "signed"), CASES)
def test_a_party_that_is_back_takes_part_in_the_next_release(phase, signed):
    lost = 0 if phase is Prepare else 1
    coordinator, parties, given = opened({(phase, lost, 2)}, signed=signed)
    for number in range(4):
        coordinator.apply(Keep(word=f"order {number}"))
        without = (2,) if number == lost and phase in (Prepare, m.Ask) else ()
        for found in release(coordinator):
            assert np.array_equal(found, total(given, without))
    assert coordinator.present == tuple(range(5))
    assert {one.ledger.spent for one in parties if one.index != 2} == {800}
    assert parties[2].ledger.spent == (600 if phase is Prepare else 800)


def test_a_party_that_was_away_for_long_is_told_all_that_it_has_missed():
    # Others have made their deposits: only who is lost is asked for one.
    missing = {(m.Ask, 1, 2), (Prepare, 1, 2), (Prepare, 2, 2)}
    coordinator, parties, given = opened(missing, what="message")
    for number in range(7):
        coordinator.apply(Keep(word=f"order {number}"))
        expected = total(given, (2,) if 1 <= number <= 3 else ())
        assert np.array_equal(release(coordinator)[0], expected)
    told = [wire.encode(order) for ask in _asks(coordinator) for order in ask.orders]
    assert len(told) == 7 + 3
    assert parties[2]._chain == parties[0]._chain
    assert parties[2].ledger.spent == 4 * 200
    assert parties[0].ledger.spent == 7 * 200


def _asks(coordinator):
    return [
        content for content in coordinator._exchanges.channel.sent if isinstance(content, m.Ask)
    ]


def test_a_party_that_is_lost_again_while_it_catches_up_comes_back_later():
    # It is lost when it is asked, and once more when it is told what it has missed.
    coordinator, parties, given = opened({(m.Ask, 1, 2), (m.Ask, 2, 2)})
    found = []
    for number in range(4):
        coordinator.apply(Keep(word=f"order {number}"))
        found.append(release(coordinator)[0])
    for got, without in zip(found, [(), (2,), (2,), ()], strict=True):
        assert np.array_equal(got, total(given, without))
    assert parties[2]._chain == parties[0]._chain
    assert coordinator.present == tuple(range(5))


def test_a_party_that_missed_the_introduction_comes_later():
    coordinator, _, given = opened({(m.Introduce, 0, 3)}, what="message")
    assert np.array_equal(release(coordinator)[0], total(given))
    assert coordinator.present == tuple(range(5))


def test_several_are_lost_in_different_phases():
    sizes = (4, 5, 6, 7, 3, 2, 8, 1, 9, 4)
    lost = {(Prepare, 0, 0), (m.Ask, 0, 9), (Present, 0, 3), (Unmask, 0, 5)}
    coordinator, _, given = opened(lost, signed=True, sizes=sizes, dropouts=2)
    assert coordinator.agreement.threshold == 6
    for found in release(coordinator):
        assert np.array_equal(found, total(given, (0, 9)))
    assert np.array_equal(release(coordinator)[0], total(given))


@pytest.mark.parametrize("phase", PHASES)
def test_more_than_agreed_end_the_attempt_and_the_next_is_charged_again(phase):
    # Two of five may not be lost before the sum is there, nor may three after it.
    who = (0, 1) if phase in (Prepare, m.Ask) else (0, 1, 2)
    coordinator, parties, given = opened({(phase, 0, index) for index in who}, signed=True)
    with pytest.raises(PartyLostError, match="dropouts=1, threshold=4"):
        release(coordinator)
    assert coordinator.ledger.spent == 200
    spent = {party.ledger.spent for party in parties}
    assert spent == ({0} if phase is Prepare else {200})
    assert np.array_equal(release(coordinator)[0], total(given))
    assert {party.ledger.spent for party in parties} == {one + 200 for one in spent}


@pytest.mark.parametrize("before", [0, 2])
def test_a_party_whose_records_are_gone_is_lost(before):
    coordinator, parties, given = opened()
    for _ in range(before):
        release(coordinator)
    new = parties_of(coordinator.agreement, given)
    coordinator._exchanges.channel._parties = (*parties[:4], new[4])
    for _ in range(2):
        assert np.array_equal(release(coordinator)[0], total(given, (4,)))
        assert coordinator.present == (0, 1, 2, 3)
    assert new[4].ledger.spent == 0


def test_the_noise_of_those_that_are_left_is_all_of_it():
    agreed = agreement(4, dropouts=1, schema={"classes": list(range(400))})
    given = [(np.zeros((1, 2)), np.zeros(1, dtype=int))] * 4
    channel = Losing(parties_of(agreed, given), {(m.Ask, 0, 1)}, for_good=True)
    coordinator = Coordinator(agreed, channel, resends=0)
    mechanism = DiscreteLaplace(epsilon=Fraction(1, 10))
    drawn = [
        coordinator.release([(mechanism, ClassCounts(n_classes=400))], label="counts")[0][1:]
        for _ in range(20)
    ]
    rate = math.exp(-1 / 10)
    # Three are left, and two shares carry all of the noise.
    expected = 2 * rate / (1 - rate) ** 2 * 3 / 2
    assert np.var(drawn) == pytest.approx(expected, rel=0.12)
    told = coordinator.sensitive(ClassCounts(n_classes=400)).noise_stddev(mechanism)
    assert told == pytest.approx(math.sqrt(expected))


def test_what_is_told_of_the_noise_is_that_of_the_shares_that_came():
    # Party 1 is lost in the second release, and back in the third.
    coordinator, _, _ = opened({(m.Ask, 1, 1)})
    told = []
    for _ in range(3):
        value = coordinator.sensitive(COUNTS)
        coordinator.ledger.release(CERTAIN, value, label="counts")
        # It is known once the answers are there.
        told.append(value.noise_variance_ratio)
    assert told == [5 / 3, 4 / 3, 5 / 3]


def test_own_outcomes_are_those_of_the_parties_that_are_there():
    coordinator, _, _ = opened({(m.Ask, 0, 1)})
    choice = PermuteAndFlip(epsilon=Fraction(1))
    for expected in (4, 5):
        (found,) = coordinator.release(
            [(choice, OwnScores(n_candidates=3))], label="own choice", each=True
        )
        assert found.shape == (expected, 1)


def boosted(lost, n_trees=3, for_good=False, **options):
    given = tables((60, 50, 40, 30, 20), n_classes=2)
    agreed = agreement(
        5,
        dropouts=1,
        schema={"classes": [0, 1]},
        epsilon=8.0,
        hyper={"n_estimators": n_trees, "max_depth": 2},
        **options,
    )
    firsts = np.cumsum([0, *(len(y) for _, y in given)]).tolist()
    parties = [
        Party(index, X, y, agreement=agreed, first_row=firsts[index])
        for index, (X, y) in enumerate(given)
    ]
    return agreed, Losing(parties, lost, for_good=for_good)


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
def test_boosting_goes_on_without_a_party_and_with_it_again():
    agreed, channel = boosted({(Prepare, 0, 1), (m.Ask, 4, 3), (Unmask, 6, 0)})
    coordinator = Coordinator(agreed, channel, resends=0)
    fitted = boost(coordinator)
    assert len(fitted.ensemble.trees) == 3
    assert coordinator.present == tuple(range(5))
    facts = fitted.report.facts
    assert facts["noise"] == "in shares, 3 of which carry all of it"
    assert "up to 1" in facts["lost parties"]
    assert facts["surplus noise"].startswith("variance 1.667 times")
    assert facts["fewest parties in a release"] == "4 of 5"
    assert facts["against 1 other party"].startswith("epsilon = 8,")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("phase", [Prepare, m.Ask])
def test_the_model_is_that_of_the_rows_that_remain(phase):
    # From a seed the noise is drawn by the first party as one process draws it.
    agreed, channel = boosted({(phase, 0, 4)}, for_good=True, noise_seed=5)
    fitted = boost(Coordinator(agreed, channel, resends=0))
    left = [party.held for party in channel._parties[:4]]
    X = np.concatenate([np.stack([rows.column(0), rows.column(1)], axis=1) for rows in left])
    y = np.concatenate([rows.labels for rows in left])
    table = read_table(X, schema=agreed.declared, feature_names=agreed.features)
    ledger = agreed_privacy(agreed).ledger(agreed.ledger().accountant)
    alone = train_agreed(LocalRows(RawRows(table=table, labels=y)), agreed, ledger)
    assert _trees(fitted) == _trees(alone)
    assert fitted.report.facts["fewest parties in a release"] == "4 of 5"


def _trees(fitted):
    lines = model_text(fitted.ensemble).splitlines()
    return [line for line in lines if not line.startswith("dpboost:")]


def test_a_single_tree_goes_on_without_a_party():
    given = tables((60, 50, 40, 30, 20), n_classes=2)
    agreed = agreement(
        5,
        dropouts=1,
        recipe="local_rnm",
        schema={"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]},
        hyper={"max_depth": 2, "max_bin": 8},
    )
    channel = Losing(parties_of(agreed, given), {(m.Ask, 1, 3), (Unmask, 1, 0)})
    coordinator = Coordinator(agreed, channel, resends=0)
    fitted = fit_federated_tree(coordinator, owner="a test")
    assert fitted.report.facts["fewest parties in a release"] == "4 of 5"
    assert {party.ledger.spent for party in channel._parties} == {coordinator.ledger.spent}


class Replies:
    """Gives the replies that a journal holds, one line after the other."""

    n_parties = 5

    def __init__(self, lines):
        self.lines = iter(lines)

    def exchange(self, message, to):
        line = json.loads(next(self.lines))
        assert line["message"] == hashlib.sha256(message).hexdigest()
        assert line["to"] == list(to)
        return {int(index): base64.b64decode(one) for index, one in line["replies"].items()}


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
def test_a_coordinator_goes_on_by_its_journal_where_parties_are_lost(tmp_path, part):
    agreed, channel = boosted({(Prepare, 0, 1), (m.Ask, 4, 3)})
    path = tmp_path / "journal"
    whole = boost(Coordinator(agreed, JournalChannel(channel, agreed, path), resends=0))
    lines = path.read_bytes().splitlines(keepends=True)
    kept = 1 + int(part * len(lines))
    path.write_bytes(b"".join(lines[:kept]))
    journal = JournalChannel(Replies(lines[kept:]), agreed, path)
    again = boost(Coordinator(agreed, journal, resends=0))
    assert model_text(again.ensemble) == model_text(whole.ensemble)


def test_a_party_on_disk_unlocks_as_well(tmp_path):
    given = tables(SIZES)
    agreed = agreement(5, dropouts=1, epsilon=10**6)
    coordinator = Coordinator(agreed, Processes(agreed, given, tmp_path))
    assert np.array_equal(release(coordinator)[0], total(given))


def test_a_party_that_starts_again_keeps_to_what_it_has_unlocked(tmp_path):
    given = tables(SIZES)
    agreed = agreement(5, dropouts=1, epsilon=10**6)
    processes = Processes(agreed, given, tmp_path)
    coordinator = Coordinator(agreed, processes)
    release(coordinator)
    turn = m.Step(session=coordinator._session, number=0)

    def unmask(there):
        # Each message finds a new process that has read its records.
        present = Present(turn=turn, parties=there)
        return processes.exchange(
            wire.encode(Unmask(present=present, signers=(), signatures=())), [0]
        )[0]

    first = unmask((0, 1, 2, 3, 4))
    found = wire.decode(first, Unlocked)
    assert isinstance(wire.decode(unmask((0, 1, 2, 3)), object), m.Refused)
    assert unmask((0, 1, 2, 3, 4)) == first
    prepare = wire.encode(Prepare(turn=m.Step(session=turn.session, number=1)))
    for _ in range(2):
        assert wire.decode(processes.exchange(prepare, [0])[0], Deposit) == found.following
    assert isinstance(wire.decode(unmask((0, 1, 2, 3, 4)), object), m.Refused)


class OnDisk:
    """A party that starts again for every message, from its holder's disk."""

    def __init__(self, index, rows, terms, identity, folder):
        self.index, self.rows, self.terms, self.identity = index, rows, terms, identity
        self.folder = folder / str(index)

    def party(self):
        return Party(self.index, *self.rows, agreement=self.terms, identity=self.identity)

    def receive(self, message):
        return PartyStore(self.folder).answer(self.party(), message)

    @property
    def spent(self):
        party = self.party()
        with PartyStore(self.folder).attached(party):
            return party.ledger.spent


@pytest.mark.parametrize("phase", PHASES)
def test_parties_that_start_again_for_every_message_may_be_lost_and_come_back(tmp_path, phase):
    identities = [Identity() for _ in SIZES]
    terms = agreement(
        5, dropouts=1, epsilon=10**6, identities=[identity.public for identity in identities]
    )
    given = tables(SIZES)
    parties = [
        OnDisk(index, rows, terms, identities[index], tmp_path) for index, rows in enumerate(given)
    ]
    lost = 0 if phase is Prepare else 1
    coordinator = Coordinator(terms, Losing(parties, {(phase, lost, 2)}), resends=0)
    for number in range(3):
        coordinator.apply(Keep(word=f"order {number}"))
        without = (2,) if number == lost and phase in (Prepare, m.Ask) else ()
        assert np.array_equal(release(coordinator)[0], total(given, without))
    assert {party.spent for party in parties if party.index != 2} == {600}
    # An answer that did not arrive was charged; one that was never asked for was not.
    assert parties[2].spent == (400 if phase is Prepare else 600)


def test_keys_that_do_not_open_end_the_release():
    class Damaged(Losing):
        def exchange(self, message, to):
            replies = super().exchange(message, to)
            for index, reply in replies.items():
                content = wire.decode(reply, object)
                if isinstance(content, Deposit):
                    replies[index] = wire.encode(replace(content, sealed=bytes(144)))
            return replies

    coordinator, _, _ = opened({(m.Ask, 0, 1)}, channel=Damaged)
    with pytest.raises(RefusedError, match="do not open"):
        release(coordinator)


@pytest.mark.parametrize("kind", [Deposit, Unlocked])
def test_shares_that_are_missing_end_the_release(kind):
    class Short(Losing):
        def exchange(self, message, to):
            replies = super().exchange(message, to)
            for index, reply in replies.items():
                content = wire.decode(reply, object)
                if isinstance(content, kind):
                    cut = {"own": bytes(32)} if kind is Deposit else {"pads": bytes(32)}
                    replies[index] = wire.encode(replace(content, **cut))
            return replies

    coordinator, _, _ = opened(channel=Short)
    with pytest.raises(RefusedError, match="has not"):
        release(coordinator)


def test_simulations_tolerate_what_was_agreed():
    coordinator, _ = simulate(agreement(4, dropouts=2, colluding=1), tables(SIZES[:4]))
    assert coordinator.agreement.threshold == 2
    assert coordinator.present == (0, 1, 2, 3)
