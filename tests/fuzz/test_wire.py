"""Messages that somebody has made up or tampered with: a code or an answer, soon, and no charge."""

import copy
import json
import time
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpboost.federated import Coordinator, LocalChannel, Party, RefusedError
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.secagg.dropout_messages import Deposit, Endorsed, Unlocked
from dpboost.federated.training.boosting import boost
from dpboost.federated.training.single_tree import fit_federated_tree
from tests.unit.federated.channels import Recorder, agreement, tables

SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
BOOSTED = {"n_estimators": 2, "max_depth": 2, "max_bin": 8, "trees_per_ensemble": 2}
FITS = {
    "best": {"hyper": BOOSTED, "accountant": "GDP", "delta": 1e-6},
    "dpboost": {"hyper": BOOSTED},
    "noisy_counts": {"hyper": {"max_depth": 2, "max_bin": 8}},
    "local_rnm": {"hyper": {"max_depth": 2, "max_bin": 8}},
    "histograms_saving": {"hyper": {"max_depth": 2, "max_bin": 8}},
}
SECONDS = 5.0
KINDS = (m.Joined, m.Done, m.Answers, m.Refused, Deposit, Endorsed, Unlocked)

INTEGERS = st.one_of(
    st.integers(-3, 300), st.sampled_from([2**31, 2**63, -(2**63), 2**64, 6148914691236517206])
)
WORDS = st.one_of(
    st.sampled_from([*sorted(wire._KINDS), *wire.DTYPES, "kind", "fields", "dict", "1e99999999"]),
    st.text(max_size=5),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), INTEGERS, st.floats(allow_nan=False, allow_infinity=False), WORDS
)


def _made_of(parts):
    """Every form that a value may have on the wire, of any parts."""
    some = st.lists(parts, max_size=4)
    return st.one_of(
        some,
        st.dictionaries(WORDS, parts, max_size=3),
        st.fixed_dictionaries({"fraction": some}),
        st.fixed_dictionaries({"float": parts}),
        st.fixed_dictionaries({"bytes": parts}),
        st.fixed_dictionaries({"neighbours": parts}),
        st.fixed_dictionaries({"dict": st.lists(st.tuples(parts, parts), max_size=3)}),
        st.fixed_dictionaries(
            {
                "array": st.sampled_from(wire.DTYPES),
                "shape": st.lists(INTEGERS, max_size=3),
                "base64": st.one_of(parts, st.sampled_from(["", "AAAA", "AgMEBQYHCAk="])),
            }
        ),
        st.builds(
            lambda kind, fields: {"kind": kind, "fields": fields},
            st.sampled_from(sorted(wire._KINDS)),
            st.dictionaries(WORDS, parts, max_size=3),
        ),
    )


PLAIN = st.recursive(LEAVES, _made_of, max_leaves=12)


@st.composite
def any_kind(draw):
    """An object of a known kind, with its own fields and anything in them."""
    name = draw(st.sampled_from(sorted(wire._KINDS)))
    own = wire._KINDS[name].__dataclass_fields__
    return {"kind": name, "fields": {field: draw(PLAIN) for field in own}}


def written(plain):
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


def paths_of(plain, path=()):
    yield path
    listed = range(len(plain)) if isinstance(plain, list) else ()
    for step in plain if isinstance(plain, dict) else listed:
        yield from paths_of(plain[step], (*path, step))


def changed(draw, content):
    """Return a message with one of its parts, or one of its bytes, changed."""
    if draw(st.integers(0, 4)) == 0:
        position = draw(st.integers(0, len(content)))
        some = draw(st.sampled_from([b"", b"[", b'"', b"9" * 5000, b"\xff", b"[" * 2000, b"1e9"]))
        return content[:position] + some + content[position + draw(st.integers(0, 9)) :]
    plain = copy.deepcopy(json.loads(content))
    *above, last = draw(st.sampled_from([path for path in paths_of(plain) if path]))
    holder = plain
    for step in above:
        holder = holder[step]
    kind = draw(st.integers(0, 3))
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, list):
        holder.append(holder[last])
    elif kind == 2 and type(holder[last]) is int:
        holder[last] += draw(INTEGERS)
    else:
        holder[last] = draw(PLAIN)
    return written(plain)


@lru_cache(maxsize=len(FITS))
def fitted(recipe):
    """Return the terms of a fit, its rows, and all that was sent."""
    # From a seed, so that all but the keys is the same again when an example is.
    shared = {"schema": SCHEMA, "epsilon": 8.0, "noise_seed": 0}
    terms = agreement(2, recipe=recipe, **shared, **FITS[recipe])
    given_rows = tables((40, 30), n_classes=2)
    channel = Recorder(parties_of(terms, given_rows))
    coordinator = Coordinator(terms, channel)
    if terms.hyper is BOOSTED:
        boost(coordinator)
    else:
        fit_federated_tree(coordinator, owner="a test")
    return terms, given_rows, tuple(channel.sent)


def parties_of(terms, given_rows):
    return [Party(index, X, y, agreement=terms) for index, (X, y) in enumerate(given_rows)]


def follow(recipe, until):
    """Return a party that has seen a fit up to a message, under keys of its own."""
    terms, given_rows, sent = fitted(recipe)
    parties = parties_of(terms, given_rows)
    if until == 0:
        return parties[0]
    joined = [wire.decode(party.receive(sent[0]), m.Joined) for party in parties]
    if until == 1:
        return parties[0]
    introduction = m.Introduce(
        session=wire.decode(sent[0], m.Invite).session,
        keys=tuple(one.key for one in joined),
        signatures=(b"", b""),
    )
    for message in [wire.encode(introduction), *sent[2:until]]:
        wire.decode(parties[0].receive(message), (m.Done, m.Answers))
    return parties[0]


def check_reply(party, message):
    """Let a party take in a message: what it says is a valid message, and a refusal is free."""
    before, n_entries = party.ledger.spent, len(party.ledger.entries)
    started = time.process_time()
    reply = wire.decode(party.receive(message), KINDS)
    assert time.process_time() - started < SECONDS
    assert before <= party.ledger.spent <= party.ledger.capacity
    if isinstance(reply, m.Refused):
        # Parts that fit are booked one by one until the budget is spent.
        assert reply.code == m.BUDGET or party.ledger.spent == before
        assert reply.code == m.BUDGET or len(party.ledger.entries) == n_entries
    assert all(entry.bound.constant < 2**62 for entry in party.ledger.entries)
    return reply


@given(plain=st.one_of(PLAIN, any_kind()), version=st.sampled_from([1, 1, 1, 2, None]))
def test_what_is_read_can_be_written_and_all_else_is_malformed(plain, version):
    content = written({"version": version, "message": plain})
    try:
        message = wire.decode(content, object)
    except wire.MalformedMessageError:
        return
    again = wire.encode(message)
    assert wire.encode(wire.decode(again, object)) == again


@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_bytes_that_are_no_message_are_malformed(content):
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(content, m.Hello)
    assert check_reply(follow("best", 2), content).code == m.MALFORMED


@given(
    plain=any_kind(),
    recipe=st.sampled_from(sorted(FITS)),
    until=st.integers(0, 4),
)
def test_objects_that_were_made_up_get_a_code_and_cost_nothing(plain, recipe, until):
    check_reply(follow(recipe, until), written({"version": 1, "message": plain}))


@given(data=st.data(), recipe=st.sampled_from(sorted(FITS)))
def test_messages_that_were_tampered_with_get_an_answer_or_a_code(data, recipe):
    sent = fitted(recipe)[2]
    until = data.draw(st.integers(0, len(sent) - 1))
    party = follow(recipe, until)
    reply = check_reply(party, changed(data.draw, sent[until]))
    if isinstance(reply, m.Refused) and reply.code == m.MALFORMED and until > 1:
        # No place of the session was taken.
        assert wire.decode(party.receive(sent[until]), (m.Done, m.Answers)).party == 0
    # Whatever happened, the party is still there.
    check_reply(party, sent[-1])


class Tampering(LocalChannel):
    """Changes the reply of a party in one of the exchanges."""

    def __init__(self, parties, at, change):
        super().__init__(parties)
        self.at, self.change, self.count = at, change, 0

    def exchange(self, message, to):
        replies = super().exchange(message, to)
        if self.count == self.at:
            replies[1] = self.change(replies[1])
        self.count += 1
        return replies


@given(data=st.data())
def test_replies_that_were_tampered_with_are_refused_by_the_coordinator(data):
    terms, given_rows, sent = fitted("local_rnm")

    def change(reply):
        if data.draw(st.booleans()):
            return written({"version": 1, "message": data.draw(any_kind())})
        return changed(data.draw, reply)

    at = data.draw(st.integers(0, len(sent) - 1))
    try:
        coordinator = Coordinator(terms, Tampering(parties_of(terms, given_rows), at, change))
        fit_federated_tree(coordinator, owner="a test")
    except RefusedError:
        return
