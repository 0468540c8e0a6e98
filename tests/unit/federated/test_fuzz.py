"""Messages that somebody has tampered with: a party answers, refuses, and never breaks."""

import copy
import json

import numpy as np
import pytest

from dpboost.federated import Coordinator, FoldBook, Party
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreed_folds import AgreedFolds
from dpboost.federated.training.boosting import boost
from tests.unit.federated.channels import Recorder, agreement, tables

SCHEMA = {"bounds": {"age": (-3, 3)}, "classes": [0, 1]}
HYPER = {"n_estimators": 2, "max_depth": 2, "max_bin": 8}
TRIES = 8
ODD = [None, True, -1, 0, 1, 7, 2**31, 2**63, 2**70, 1e300, -0.5, "", "age", [], {}, [[1]], "AAAA"]


def parties_of(terms, given, books):
    return [
        Party(index, X, y, agreement=terms, folds=book)
        for index, ((X, y), book) in enumerate(zip(given, books, strict=True))
    ]


def session(recipe, shared, folds=None):
    """Return what a coordinator has sent in a fit, and how to make a party that sees it."""
    budget = {"accountant": "GDP", "delta": 1e-6} if recipe == "best" else {}
    options = budget | {"folds": folds}
    terms = agreement(2, recipe=recipe, schema=SCHEMA, hyper=HYPER | shared, epsilon=8.0, **options)
    given = tables((40, 30), n_classes=2)
    books = [None if folds is None else FoldBook() for _ in given]
    channel = Recorder(parties_of(terms, given, books))
    boost(Coordinator(terms, channel))
    return terms, given, books, channel.sent


def positions(plain, path=()):
    """Return the paths of everything in a message."""
    yield path
    if isinstance(plain, dict):
        for key in plain:
            yield from positions(plain[key], (*path, key))
    if isinstance(plain, list):
        for position in range(len(plain)):
            yield from positions(plain[position], (*path, position))


def tampered(message, rng):
    """Return a message with one of its parts replaced, taken out, or doubled."""
    plain = copy.deepcopy(json.loads(message))
    paths = [path for path in positions(plain) if path]
    *above, last = paths[rng.integers(len(paths))]
    holder = plain
    for step in above:
        holder = holder[step]
    kind = rng.integers(4)
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, list):
        holder.append(holder[last])
    elif kind == 2 and isinstance(holder[last], (int, float)):
        holder[last] += int(rng.choice([-3, -1, 1, 5, 1000]))
    else:
        holder[last] = ODD[rng.integers(len(ODD))]
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


def follow(terms, given, books, sent, until):
    """Return a party that has seen the session up to a message, under keys of its own."""
    parties = parties_of(terms, given, books)
    joined = [wire.decode(party.receive(sent[0]), m.Joined) for party in parties]
    introduction = wire.decode(sent[1], m.Introduce)
    own = m.Introduce(
        session=introduction.session,
        keys=tuple(one.key for one in joined),
        signatures=(b"", b""),
    )
    for message in [wire.encode(own), *sent[2:until]]:
        wire.decode(parties[0].receive(message), (m.Done, m.Answers))
    return parties[0]


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
@pytest.mark.parametrize(
    ("recipe", "shared", "folds"),
    [
        ("best", {}, None),
        ("best", {"trees_per_ensemble": 2}, None),
        ("dpboost", {"trees_per_ensemble": 2}, None),
        ("best", {"trees_per_ensemble": 2}, AgreedFolds(name="one", n_folds=3, fold=1)),
    ],
)
def test_tampered_messages_get_an_answer_or_a_code(recipe, shared, folds):
    terms, given, books, sent = session(recipe, shared, folds)
    rng = np.random.default_rng(0)
    refused = 0
    for until in range(2, len(sent)):
        for _ in range(TRIES):
            party = follow(terms, given, books, sent, until)
            before = party.ledger.spent
            for message in (tampered(sent[until], rng), tampered(sent[until], rng)):
                reply = wire.decode(party.receive(message), object)
                assert isinstance(reply, (m.Answers, m.Refused, m.Joined, m.Done))
                refused += isinstance(reply, m.Refused)
            # The next message may not fit any more, but nothing breaks and nothing is overspent.
            wire.decode(party.receive(sent[-1]), (m.Answers, m.Refused))
            assert before <= party.ledger.spent <= party.ledger.capacity
    assert refused > 0
