from fractions import Fraction

import numpy as np
import pytest

from dpboost._validation import InvalidParameterError
from dpboost.federated import Coordinator, Identity, Party, RefusedError, simulate, wire
from dpboost.federated import messages as m
from dpboost.privacy.mechanisms import DiscreteLaplace, PermuteAndFlip
from tests.federated.asked import ClassCounts, Keep, OwnScores
from tests.federated.channels import Recorder, agreement, parties_of, tables

ONE = DiscreteLaplace(epsilon=Fraction(1))


def session_of(terms, given=None, identities=None):
    """Return parties, their session, and what was sent to open it."""
    given = given or tables([4, 5, 6])
    if identities is None:
        parties = parties_of(terms, given)
    else:
        parties = [
            Party(index, X, y, agreement=terms, identity=identities[index])
            for index, (X, y) in enumerate(given)
        ]
    channel = Recorder(parties)
    coordinator = Coordinator(terms, channel)
    return parties, coordinator._session, channel


def ask(session, number=0, attempt=0, mechanism=ONE, orders=(), question=None, each=False):
    question = question or ClassCounts(n_classes=3)
    asked = m.Asked(mechanism=mechanism, question=question, label="counts", each=each)
    turn = m.Turn(session=session, number=number, attempt=attempt)
    return wire.encode(m.Ask(turn=turn, orders=orders, asked=(asked,)))


def code_of(reply):
    return wire.decode(reply, m.Refused).code


def answered(reply):
    return wire.decode(reply, m.Answers)


def test_refuses_other_terms():
    party = parties_of(agreement(), tables([3, 3, 3]))[0]
    invite = m.Invite(session=bytes(16), terms=agreement(colluding=2).digest)
    assert code_of(party.receive(wire.encode(invite))) == m.OTHER_TERMS


def test_refuses_questions_before_keys_were_exchanged():
    party = parties_of(agreement(), tables([3, 3, 3]))[0]
    assert code_of(party.receive(ask(bytes(16)))) == m.OTHER_SESSION
    introduction = m.Introduce(session=bytes(16), keys=(b"",) * 3, signatures=(b"",) * 3)
    assert code_of(party.receive(wire.encode(introduction))) == m.OTHER_SESSION


def test_a_session_that_was_never_used_can_be_opened_anew():
    terms = agreement()
    parties = parties_of(terms, tables([3, 3, 3]))
    Coordinator(terms, Recorder(parties))
    coordinator = Coordinator(terms, Recorder(parties))
    coordinator.release([(ONE, ClassCounts(n_classes=3))], label="counts")
    with pytest.raises(RefusedError, match=m.OTHER_SESSION):
        Coordinator(terms, Recorder(parties))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda keys: keys[:2],
        lambda keys: (keys[1], keys[1], keys[2]),
        lambda keys: (keys[0], keys[0], keys[2]),
        lambda keys: (bytes(32), *keys[1:]),
        lambda keys: (keys[0], b"short", keys[2]),
        lambda keys: (keys[0], bytes(32), keys[2]),
        lambda keys: "keys",
    ],
)
def test_refuses_keys_that_are_not_those_of_the_parties(wrong):
    terms = agreement()
    party = parties_of(terms, tables([3, 3, 3]))[0]
    others = parties_of(terms, tables([3, 3, 3]))
    session = bytes(range(16))
    invite = wire.encode(m.Invite(session=session, terms=terms.digest))
    first = wire.decode(party.receive(invite), m.Joined).key
    rest = [wire.decode(other.receive(invite), m.Joined).key for other in others[1:]]
    keys = wrong((first, *rest))
    introduction = m.Introduce(session=session, keys=keys, signatures=(b"",) * len(keys))
    assert code_of(party.receive(wire.encode(introduction))) == m.KEYS


def test_keys_carry_the_signatures_of_the_agreed_identities():
    identities = [Identity() for _ in range(3)]
    terms = agreement(identities=[identity.public for identity in identities])
    parties, _, channel = session_of(terms, identities=identities)
    introduction = wire.decode(channel.sent[1], m.Introduce)
    # The coordinator puts a key of its own in the place of party 2's.
    fresh = [
        Party(index, X, y, agreement=terms, identity=identities[index])
        for index, (X, y) in enumerate(tables([4, 5, 6]))
    ]
    invite = channel.sent[0]
    keys = [wire.decode(party.receive(invite), m.Joined) for party in fresh]
    forged = m.Introduce(
        session=introduction.session,
        keys=(keys[0].key, keys[1].key, introduction.keys[2]),
        signatures=(keys[0].signature, keys[1].signature, keys[2].signature),
    )
    assert code_of(fresh[0].receive(wire.encode(forged))) == m.KEYS


def test_a_party_has_the_identity_that_was_agreed():
    terms = agreement(identities=[Identity().public for _ in range(3)])
    (X, y), *_ = tables([3])
    for identity in (None, Identity()):
        with pytest.raises(InvalidParameterError, match="identity"):
            Party(0, X, y, agreement=terms, identity=identity)


@pytest.mark.parametrize(
    ("number", "attempt", "expected"),
    [(0, 0, m.LATE), (1, 0, m.CHANGED), (3, 0, m.EARLY), (0, 7, m.LATE)],
)
def test_messages_out_of_order_are_refused_and_change_nothing(number, attempt, expected):
    parties, session, _ = session_of(agreement())
    party = parties[0]
    answered(party.receive(ask(session, 0)))
    answered(party.receive(ask(session, 1)))
    spent = party.ledger.spent
    other = ask(session, number, attempt, mechanism=DiscreteLaplace(epsilon=Fraction(2)))
    assert code_of(party.receive(other)) == expected
    assert party.ledger.spent == spent
    answered(party.receive(ask(session, 2)))


def test_another_session_is_refused():
    parties, _, _ = session_of(agreement())
    assert code_of(parties[0].receive(ask(bytes(16)))) == m.OTHER_SESSION


@pytest.mark.parametrize(
    "content", [b"", b"{", wire.encode(m.Done(party=0)), wire.encode(ONE), b"\x00" * 1000]
)
def test_malformed_messages_are_refused_and_the_run_goes_on(content):
    parties, session, _ = session_of(agreement())
    assert code_of(parties[0].receive(content)) == m.MALFORMED
    answered(parties[0].receive(ask(session)))


def test_a_duplicate_gets_the_same_bytes_and_is_charged_once():
    parties, session, _ = session_of(agreement())
    first = parties[0].receive(ask(session))
    assert parties[0].receive(ask(session)) == first
    assert parties[0].ledger.spent == 1


def test_checks_the_budget_itself():
    parties, session, _ = session_of(agreement(epsilon=3.0))
    answered(parties[0].receive(ask(session, 0, mechanism=DiscreteLaplace(epsilon=Fraction(2)))))
    large = ask(session, 1, mechanism=DiscreteLaplace(epsilon=Fraction(2)))
    assert code_of(parties[0].receive(large)) == m.BUDGET
    assert parties[0].ledger.spent == 2


@pytest.mark.parametrize(
    "message",
    [
        {"mechanism": Keep(word="no mechanism")},
        {"mechanism": PermuteAndFlip(epsilon=Fraction(1))},
        {"question": Keep(word="no question")},
        {"question": ClassCounts(n_classes=3, units=0)},
        {"question": OwnScores(n_candidates=3)},
    ],
)
def test_questions_that_cannot_be_answered_are_refused_without_a_charge(message):
    parties, session, _ = session_of(agreement())
    assert code_of(parties[0].receive(ask(session, **message))) == m.QUESTION
    assert parties[0].ledger.spent == 0
    answered(parties[0].receive(ask(session, 1)))


def test_parties_that_are_asked_different_things_give_no_sum():
    coordinator, parties = simulate(agreement(), tables([40, 50, 60]))
    session = coordinator._session
    replies = [
        answered(party.receive(ask(session, orders=(Keep(word="a" if party.index else "b"),))))
        for party in parties
    ]
    words = sum((reply.parts[0].words for reply in replies[1:]), replies[0].parts[0].words)
    assert (np.abs(words.view(np.int64).astype(float)) > 2**40).all()


SIZES = [(4, 5, 6), (4, 0, 6), (4, 1, 900)]


def test_sizes_of_messages_do_not_depend_on_rows():
    lengths = []
    for sizes in SIZES:
        _, session, channel = session_of(agreement(), tables(sizes))
        replies = channel.exchange(ask(session), [0, 1, 2])
        replies |= {
            index + 10: reply
            for index, reply in channel.exchange(
                ask(
                    session,
                    1,
                    mechanism=PermuteAndFlip(epsilon=Fraction(1)),
                    question=OwnScores(n_candidates=3),
                    each=True,
                ),
                [0, 1, 2],
            ).items()
        }
        lengths.append([len(reply) for seen in (*channel.seen, replies) for reply in seen.values()])
    assert lengths[0] == lengths[1] == lengths[2]


def test_a_party_without_rows_answers_like_any_other():
    given = tables([4, 0, 6])
    parties, session, _ = session_of(agreement(), given)
    reply = answered(parties[1].receive(ask(session)))
    assert reply.parts[0].words.shape == (3,)
    assert parties[1].ledger.spent == 1


def test_bad_rows_are_refused_before_anything_happens():
    terms = agreement(schema={"classes": ["no", "yes"]})
    with pytest.raises(InvalidParameterError, match="one kind"):
        Party(0, np.zeros((3, 2)), np.zeros(3), agreement=terms)
    with pytest.raises(InvalidParameterError, match="rows|length|number"):
        Party(0, np.zeros((3, 2)), np.array(["no", "yes"]), agreement=terms)
    with pytest.raises(InvalidParameterError, match="index"):
        Party(3, np.zeros((3, 2)), np.array(["no"] * 3), agreement=terms)
    pandas = pytest.importorskip("pandas")
    text = pandas.DataFrame({"age": pandas.Categorical(["old", "young"]), "dose": [1.0, 2.0]})
    with pytest.raises(InvalidParameterError, match=r"'age' .* parties learn no .* Schema\(categ"):
        Party(0, text, np.zeros(2), agreement=agreement(schema={"classes": [0, 1]}))
    codes = pandas.DataFrame({"age": pandas.Categorical([1, 2]), "dose": [1.0, 2.0]})
    listed = {"classes": [0, 1], "categories": {"age": [1, 2]}}
    with pytest.raises(InvalidParameterError, match="text or pandas"):
        Party(0, codes, np.zeros(2), agreement=agreement(schema=listed))


def test_a_party_without_rows_has_columns_of_text_too():
    listed = {"categories": {"age": ["old", "young"]}, "classes": [0, 1]}
    party = Party(0, np.empty((0, 2)), [], agreement=agreement(schema=listed))
    assert party.held.table.categorical == {0: ["old", "young"]}
