import contextlib
import json
import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.secagg.dropout_messages import Endorsed, Unlocked, Unmask
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.privacy.sensitivity.constants import counts
from tests.unit.federated.asked import ClassCounts, Keep

TURN = m.Step(session=bytes(16), number=0)


@pytest.mark.parametrize(
    "message",
    [
        m.Hello(),
        m.Invite(session=bytes(range(16)), terms=b"\x00\xff"),
        DiscreteLaplace(epsilon=Fraction(1, 3)),
        DiscreteGaussian(rho=math.inf),
        m.Refused(party=3, code=m.LATE),
        m.Ask(
            turn=TURN,
            orders=(Keep(word="blue"),),
            asked=(
                m.Asked(
                    mechanism=DiscreteLaplace(epsilon=Fraction(2)),
                    query=ClassCounts(n_classes=2, branch=("node 1",)),
                    label="counts",
                ),
            ),
        ),
    ],
)
def test_what_is_written_is_read(message):
    assert wire.decode(wire.encode(message), type(message)) == message


def test_the_same_object_gives_the_same_bytes():
    message = m.Invite(session=bytes(16), terms=b"terms")
    assert wire.encode(message) == wire.encode(m.Invite(session=bytes(16), terms=b"terms"))


@pytest.mark.parametrize("dtype", [np.uint64, np.int32, np.bool_, np.float64, ">i8"])
def test_arrays_keep_values_shape_and_kind(dtype):
    words = np.arange(6).reshape(2, 3).astype(dtype)
    found = wire._value(json.loads(json.dumps(wire._plain(words))))
    assert found.dtype == words.dtype.newbyteorder("=")
    assert np.array_equal(found, words)


def message_with(**parts):
    content = json.loads(wire.encode(m.Done(party=1)))
    content.update(parts)
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"[" * 100_000,
        message_with(version=2),
        message_with(more=1),
        message_with(message={"kind": "os.system", "fields": {}}),
        message_with(message={"kind": "done", "fields": {}}),
        message_with(message={"kind": "done", "fields": {"party": 1, "count": 30}}),
        message_with(message={"fraction": [1, 0]}),
        message_with(message={}),
        wire.encode(m.Hello()),
    ],
)
def test_everything_else_is_malformed(content):
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(content, m.Done)


@pytest.mark.parametrize(
    "content",
    [
        message_with(message={"fraction": ["1e99999999"]}),
        message_with(message={"fraction": [1, "1e5000"]}),
        message_with(message={"fraction": [1]}),
        message_with(message={"fraction": [1.0, 2]}),
        message_with(message={"fraction": [True, 2]}),
        message_with(message={"fraction": [1, -2]}),
        message_with(message={"fraction": [2, 4]}),
        b'{"version":1,"message":1' + b"0" * 10**6 + b"}",
        b'{"version":1,"message":0.' + b"1" * 10**6 + b"}",
        b'{"version":1,"message":1e400}',
        b'{"version":1,"message":NaN}',
        b'{"version":1,"message":' + b"[" * 40 + b"]" * 40 + b"}",
        message_with(message={"dict": [[7 * (2**61 - 1), 0]]}),
        message_with(message={"dict": [[1.5, 0]]}),
        message_with(message={"dict": [["a", 0], ["a", 1]]}),
        message_with(message={"dict": {"ab": 0}}),
        message_with(message={"array": "|b1", "shape": [1], "base64": "Ag=="}),
        message_with(message={"array": "<u8", "shape": [0, 2**40], "base64": ""}),
        message_with(message={"array": "<u8", "shape": [0] * 5, "base64": ""}),
        message_with(message={"array": "<u8", "shape": "0", "base64": ""}),
        message_with(message={"kind": "agreement", "fields": {}}),
        message_with(message={"kind": "done", "fields": {"party": -1}}),
        message_with(message={"kind": "done", "fields": {"party": wire._plain(np.arange(2))}}),
        message_with(message={"array": "|O", "shape": [1], "base64": ""}),
        message_with(message={"array": "<u8", "shape": [9], "base64": "AAAA"}),
        message_with(message={"array": "<u8", "shape": [-1], "base64": ""}),
        message_with(message={"bytes": "not base64!"}),
    ],
)
def test_values_that_are_never_written_are_malformed(content):
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(content, object)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (m.Joined, {"party": 0, "key": {"bytes": ""}, "signature": 7}),
        (m.Joined, {"party": [0], "key": {"bytes": ""}, "signature": {"bytes": ""}}),
        (m.Refused, {"party": wire._plain(np.arange(2)), "code": m.LATE}),
        (m.Refused, {"party": 0, "code": wire._plain(np.arange(2))}),
        (m.Answers, {"party": 0, "turn": None, "parts": []}),
        (Endorsed, {"party": 0, "signature": 7}),
        (Unlocked, {"party": 0, "pads": {"bytes": "AAAA"}, "following": None}),
        (Unlocked, {"party": "0", "pads": {"bytes": "A" * 43 + "="}, "following": None}),
        (Unmask, {"present": None, "signers": [], "signatures": {"dict": []}}),
    ],
)
def test_fields_of_another_kind_are_malformed(kind, fields):
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(message_with(message={"kind": wire._NAMES[kind], "fields": fields}), kind)


def test_a_message_is_as_long_as_its_reader_allows():
    content = wire.encode(m.Done(party=1))
    assert wire.decode(content, m.Done, len(content) + 100) == m.Done(party=1)
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(content, m.Done, len(content) - 1)
    many = message_with(message=[0] * 5000)
    assert len(wire.decode(many, object, 2**17)) == 5000
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(many, object, 2**16)


def test_reading_takes_no_longer_than_the_message_is_long():
    """Text that stands for a huge number, long numbers, keys that collide: all small messages."""
    colliding = [[position * (2**61 - 1), 0] for position in range(50_000)]
    for plain in (
        {"fraction": ["1e99999999"]},
        {"fraction": [1, "9" * 10**6]},
        {"dict": colliding},
        [{"fraction": [10**4000, 10**4000 + 1]}] * 200,
    ):
        content = message_with(message=plain)
        started = time.process_time()
        with contextlib.suppress(wire.MalformedMessageError):
            wire.decode(content, object)
        assert time.process_time() - started < 2


def test_a_hidden_value_is_no_part_of_a_message():
    hidden = Sensitive(np.array([5]), counts(Neighbours.ADD_REMOVE))
    for message in (hidden, m.Asked(mechanism=hidden, query=None, label="")):
        with pytest.raises(TypeError, match="Sensitive"):
            wire.encode(message)


def test_an_exact_answer_is_no_part_of_what_a_party_sends():
    exact = np.array([5, 7], dtype=np.int64)
    with pytest.raises(TypeError, match="masked"):
        m.Masked(words=exact)
    with pytest.raises(TypeError, match="gate"):
        m.Released(outcome=exact.astype(np.float64))
    with pytest.raises(TypeError, match="masked"):
        m.Answers(party=0, turn=TURN, parts=(exact,))


def test_a_refusal_is_a_code():
    with pytest.raises(ValueError, match="code"):
        m.Refused(party=0, code="row 7 is missing")


def test_names_of_kinds_are_taken_once():
    @dataclass(frozen=True)
    class Other:
        pass

    with pytest.raises(ValueError, match="new name"):
        wire.known("done", Other)
    with pytest.raises(ValueError, match="dataclass"):
        wire.known("some text", str)
