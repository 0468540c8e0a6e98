import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Coordinator, Identity, Party, RefusedError, simulate
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.training.single_tree import PlantTree
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PermuteAndFlip
from dpboost.rows.class_queries import GroupedCells
from tests.unit.federated.asked import ClassCounts, Keep, OwnScores
from tests.unit.federated.channels import Recorder, agreement, parties_of, tables

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


def ask(session, number=0, attempt=0, mechanism=ONE, orders=(), query=None, each=False):
    query = query or ClassCounts(n_classes=3)
    asked = m.Asked(mechanism=mechanism, query=query, label="counts", each=each)
    turn = m.Step(session=session, number=number, attempt=attempt)
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


def changed(message, path, value):
    """Return a message of which one part was written by somebody else."""
    plain = json.loads(message)
    holder = plain["message"]
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


ARRAY = wire._plain(np.arange(16, dtype=np.uint8))
NO_KEYS = {"dict": [["a", 0], ["b", 0], ["c", 0]]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("fields", "keys"), NO_KEYS),
        (("fields", "keys"), [5, 5, 5]),
        (("fields", "keys"), "keys"),
        (("fields", "keys"), ARRAY),
        (("fields", "session"), ARRAY),
        (("fields", "session"), None),
        (("fields", "signatures"), [1, 2, 3]),
        (("fields", "signatures"), 7),
        (("fields", "signatures"), NO_KEYS),
        (("fields", "keys", 0), {"fraction": ["1e99999999"]}),
    ],
)
def test_keys_of_another_form_are_refused_and_those_of_the_parties_still_taken(path, value):
    terms = agreement()
    _, _, channel = session_of(terms)
    party = parties_of(terms, tables([4, 5, 6]))[0]
    invite, introduction = channel.sent[:2]
    own = wire.decode(party.receive(invite), m.Joined).key
    keys = (own, *wire.decode(introduction, m.Introduce).keys[1:])
    session = wire.decode(invite, m.Invite).session
    good = wire.encode(m.Introduce(session=session, keys=keys, signatures=(b"",) * 3))
    assert code_of(party.receive(changed(good, path, value))) == m.MALFORMED
    wire.decode(party.receive(good), m.Done)
    answered(party.receive(ask(session)))


TURN = ("fields", "turn", "fields")
ASKED = ("fields", "asked", 0, "fields")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*TURN, "session"), ARRAY),
        ((*TURN, "number"), 2**63),
        ((*TURN, "number"), 1e300),
        (("fields", "turn"), None),
        (("fields", "orders"), ["1e5000"]),
        (("fields", "orders"), [{"fraction": ["1e5000"]}]),
        (("fields", "orders"), [{"fraction": ["1e5000", 1]}]),
        (("fields", "orders"), NO_KEYS),
        (
            ("fields", "orders"),
            [{"kind": "boosting AssignRows", "fields": {"shares": [{"fraction": ["1e5000"]}]}}],
        ),
        (("fields", "asked"), {"dict": []}),
        ((*ASKED, "each"), 1),
        ((*ASKED, "label"), 7),
        ((*ASKED, "label"), "x" * 1001),
        ((*ASKED, "mechanism", "fields", "epsilon"), {"fraction": ["1e99999999"]}),
        ((*ASKED, "mechanism", "fields", "epsilon"), {"fraction": [2, 2]}),
        ((*ASKED, "mechanism", "fields", "epsilon"), {"fraction": [-1, 1]}),
        ((*ASKED, "mechanism", "fields", "epsilon"), 0),
        ((*ASKED, "query"), {"array": "|b1", "shape": [1], "base64": "Ag=="}),
    ],
)
def test_what_cannot_be_read_takes_no_turn_and_costs_nothing(number, path, value):
    parties, session, _ = session_of(agreement())
    party = parties[0]
    for before in range(number):
        answered(party.receive(ask(session, before)))
    spent, chain = party.ledger.spent, party._chain
    wrong = changed(ask(session, number, orders=(Keep(word="a"),)), path, value)
    assert code_of(party.receive(wrong)) == m.MALFORMED
    assert (party.ledger.spent, party._chain) == (spent, chain)
    # The turn is still to be had.
    answered(party.receive(ask(session, number)))


def test_a_long_message_is_refused_before_it_is_read():
    (X, y), *_ = tables([4])
    party = Party(0, X, y, agreement=agreement(), max_message_bytes=2**16)
    hello = wire.encode(m.Hello())
    wire.decode(party.receive(hello + b" " * (2**16 - len(hello))), m.Done)
    assert code_of(party.receive(hello + b" " * (2**16 + 1 - len(hello)))) == m.MALFORMED
    with pytest.raises(InvalidParameterError, match="max_message_bytes"):
        Party(0, X, y, agreement=agreement(), max_message_bytes=10)


def test_a_question_whose_answer_is_too_long_costs_nothing():
    parties, session, _ = session_of(agreement())
    party = parties[0]
    for number, n_classes in enumerate((2**40, 2**23, -1)):
        large = ask(session, number, query=ClassCounts(n_classes=n_classes))
        assert code_of(party.receive(large)) == m.QUESTION
    assert party.ledger.spent == 0


@pytest.mark.parametrize(
    "second",
    [
        {"query": ClassCounts(n_classes=3, units=0)},
        {"query": ClassCounts(n_classes=3, units=2**62)},
        {"query": Keep(word="no question")},
        {"query": OwnScores(n_candidates=3)},
        {"mechanism": Keep(word="no mechanism")},
        {"mechanism": DiscreteLaplace(epsilon=Fraction(1, 10**30))},
        {"mechanism": DiscreteGaussian(rho=Fraction(1, 10**30))},
        {"mechanism": PermuteAndFlip(epsilon=Fraction(1))},
        {"label": ""},
    ],
)
def test_nothing_of_a_message_is_charged_when_a_part_of_it_is_none(second):
    parties, session, _ = session_of(agreement())
    good = {"mechanism": ONE, "query": ClassCounts(n_classes=3), "label": "counts"}
    asked = (m.Asked(**good), m.Asked(**(good | second)))
    turn = m.Step(session=session, number=0)
    message = wire.encode(m.Ask(turn=turn, orders=(), asked=asked))
    assert code_of(parties[0].receive(message)) == m.QUESTION
    assert parties[0].ledger.spent == 0
    assert not parties[0].ledger.entries


def test_a_coordinator_that_lets_the_bound_wrap_is_refused():
    terms = agreement(
        2,
        recipe="noisy_counts",
        hyper={"max_bin": 4},
        features=("age", "dose", "risk"),
        schema={"bounds": dict.fromkeys(("age", "dose", "risk"), (0, 1)), "classes": [0, 1]},
    )
    given = [(np.zeros((n, 3)), np.zeros(n)) for n in (50, 0)]
    parties, session, _ = session_of(terms, given)
    query = GroupedCells(
        nodes=np.zeros(1, dtype=np.int32),
        groups=np.repeat(np.arange(3, dtype=np.int32), 5)[np.newaxis],
        cell_offsets=np.array([0, 5, 10, 15], dtype=np.int32),
        n_groups=3,
        n_classes=2,
        # Three times this is 2 in 64 bits.
        unit_value=np.array([6148914691236517206]),
    )
    for number, unit_value in enumerate(([6148914691236517206], [512])):
        one = replace(query, unit_value=np.array(unit_value))
        orders = () if number else (PlantTree(),)
        reply = parties[0].receive(ask(session, number, orders=orders, query=one))
        if number == 0:
            assert code_of(reply) == m.QUESTION
            assert parties[0].ledger.spent == 0
        else:
            answered(reply)
            assert parties[0].ledger.entries[0].bound.constant == 3 * 512


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
        {"query": Keep(word="no question")},
        {"query": ClassCounts(n_classes=3, units=0)},
        {"query": OwnScores(n_candidates=3)},
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
                    query=OwnScores(n_candidates=3),
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
