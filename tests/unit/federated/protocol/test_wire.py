import contextlib
import json
import math
import time
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from dpboost.federated import Agreement
from dpboost.federated.protocol import messages as m
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import counts
from tests.unit.federated.channels import agreement

HELLO = m.Hello(
    party=0, terms=bytes(32), version="1", build="b", certificate="", key=b"k", signature=b""
)


@pytest.mark.parametrize(
    "message",
    [
        HELLO,
        m.Roster(hellos=(HELLO, HELLO)),
        m.Deposit(party=2, own=bytes(64), pairs=bytes(32), sealed=b"x"),
        m.Unlock(signers=(0, 3), signatures=(b"a", b"")),
        m.Ended(code=m.LOST, step=3),
        agreement(epsilon=Fraction(1, 3)),
        agreement(epsilon=math.inf, hyper={"max_depth": 3, "names": ("a", 1.5, None)}),
    ],
)
def test_what_is_written_is_read(message):
    assert m.decode(m.encode(message), type(message)) == message


def test_the_same_object_gives_the_same_bytes():
    assert m.encode(m.Present(parties=(1, 2))) == m.encode(m.Present(parties=(1, 2)))


@pytest.mark.parametrize("dtype", [np.uint64, np.int32, np.int64, ">i8"])
def test_arrays_keep_values_shape_and_kind(dtype):
    words = np.arange(6).reshape(2, 3).astype(dtype)
    found = m._value(json.loads(json.dumps(m._plain(words))), {})
    assert found.dtype == words.dtype.newbyteorder("=")
    assert np.array_equal(found, words)


@pytest.mark.parametrize("dtype", [np.bool_, np.float64, np.int8, object])
def test_other_arrays_are_no_part_of_a_message(dtype):
    with pytest.raises(TypeError, match="cannot be part of a message"):
        m._plain(np.zeros(2, dtype=dtype))
    read = {"array": np.dtype(dtype).str, "shape": [1], "base64": "AAAAAAAAAAA="}
    with pytest.raises(m.MalformedMessageError):
        m._value(read, {})


NONE = {"bytes": ""}
PAD = {"bytes": "A" * 43 + "="}


def message_with(**parts):
    content = json.loads(m.encode(m.Absent(party=1)))
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
        message_with(version=1),
        message_with(more=1),
        message_with(message={"kind": "os.system", "fields": {}}),
        message_with(message={"kind": "absent", "fields": {}}),
        message_with(message={"kind": "absent", "fields": {"party": 1, "count": 30}}),
        message_with(message={"fraction": [1, 0]}),
        message_with(message={}),
        m.encode(HELLO),
    ],
)
def test_everything_else_is_malformed(content):
    with pytest.raises(m.MalformedMessageError):
        m.decode(content, m.Absent)


@pytest.mark.parametrize(
    "content",
    [
        *(
            message_with(message=message)
            for message in (
                {"fraction": ["1e99999999"]},
                {"fraction": [1, "1e5000"]},
                {"fraction": [1]},
                {"fraction": [1.0, 2]},
                {"fraction": [True, 2]},
                {"fraction": [1, -2]},
                {"fraction": [2, 4]},
                {"dict": [[7 * (2**61 - 1), 0]]},
                {"dict": [[1.5, 0]]},
                {"dict": [["a", 0], ["a", 1]]},
                {"dict": {"ab": 0}},
                {"array": "|b1", "shape": [1], "base64": "Ag=="},
                {"array": "<u8", "shape": [0, 2**40], "base64": ""},
                {"array": "<u8", "shape": [0] * 5, "base64": ""},
                {"array": "<u8", "shape": "0", "base64": ""},
                {"array": "|O", "shape": [1], "base64": ""},
                {"array": "<u8", "shape": [9], "base64": "AAAA"},
                {"array": "<u8", "shape": [-1], "base64": ""},
                {"bytes": "not base64!"},
                {"kind": "agreement", "fields": {}},
                {"kind": "absent", "fields": {"party": -1}},
                {"kind": "absent", "fields": {"party": m._plain(np.arange(2))}},
                {"kind": "endorsed", "fields": {"party": 0, "signature": 7}},
                {"kind": "unlocked", "fields": {"party": 0, "pads": {"bytes": "AAAA"}}},
                {"kind": "unlocked", "fields": {"party": "0", "pads": PAD}},
                {
                    "kind": "deposit",
                    "fields": {"party": 0, "own": NONE, "pairs": 3, "sealed": NONE},
                },
                {"kind": "words", "fields": {"party": 0, "digest": NONE, "words": []}},
                {"kind": "sum", "fields": {"sums": 1, "parties": [0]}},
                {"kind": "sum", "fields": {"sums": [], "parties": [1, 0]}},
                {"kind": "sum", "fields": {"sums": [], "parties": [0, 0]}},
                {"kind": "unlock", "fields": {"signers": [0], "signatures": []}},
                {"kind": "unlock", "fields": {"signers": [0], "signatures": [7]}},
                {"kind": "roster", "fields": {"hellos": [1]}},
                {"kind": "ended", "fields": {"code": "row 7 is missing", "step": 1}},
                {"kind": "ended", "fields": {"code": m.LOST, "step": -1}},
            )
        ),
        b'{"version":2,"message":1' + b"0" * 10**6 + b"}",
        b'{"version":2,"message":0.' + b"1" * 10**6 + b"}",
        b'{"version":2,"message":1e400}',
        b'{"version":2,"message":NaN}',
        b'{"version":2,"message":' + b"[" * 40 + b"]" * 40 + b"}",
    ],
)
def test_values_that_are_never_written_are_malformed(content):
    for kind in (object, m.KINDS):
        with pytest.raises(m.MalformedMessageError):
            m.decode(content, kind)


def test_a_message_is_as_long_as_its_reader_allows():
    content = m.encode(m.Absent(party=1))
    assert m.decode(content, m.Absent, len(content) + 100) == m.Absent(party=1)
    with pytest.raises(m.MalformedMessageError):
        m.decode(content, m.Absent, len(content) - 1)
    many = message_with(message=[0] * 5000)
    assert len(m.decode(many, object, 2**17)) == 5000
    with pytest.raises(m.MalformedMessageError):
        m.decode(many, object, 2**16)


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
        with contextlib.suppress(m.MalformedMessageError):
            m.decode(content, object)
        assert time.process_time() - started < 2


def test_a_hidden_value_is_no_part_of_a_message():
    hidden = Sensitive(np.array([5]), counts(Neighbors.ADD_REMOVE))
    with pytest.raises(TypeError, match="Sensitive"):
        m.encode(hidden)


def test_an_exact_sum_is_no_part_of_what_a_party_sends():
    exact = np.array([5, 7], dtype=np.int64)
    for words in ((exact,), exact, (exact.astype(np.float64),)):
        with pytest.raises(ValueError, match="words"):
            m.Words(party=0, digest=bytes(32), words=words)
    with pytest.raises(ValueError, match="outcomes"):
        m.Outcomes(party=0, digest=bytes(32), outcomes=(exact.astype(np.float64),))


def test_no_other_kind_is_made_on_the_way():
    """A model text in an agreement, say, is not read where a message is expected."""
    inside = json.loads(m.encode(agreement()))["message"]
    made = []
    for plain in (inside, {"kind": "roster", "fields": {"hellos": [inside]}}):
        with (
            mock.patch.object(Agreement, "__post_init__", lambda self: made.append(self)),
            pytest.raises(m.MalformedMessageError),
        ):
            m.decode(message_with(message=plain), m.KINDS)
    assert made == []


def test_names_of_kinds_are_taken_once():
    @dataclass(frozen=True)
    class Other:
        pass

    with pytest.raises(ValueError, match="new name"):
        m.known("done", Other)
    with pytest.raises(ValueError, match="dataclass"):
        m.known("some text", str)
