import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpboost.federated import messages as m
from dpboost.federated import wire
from dpboost.privacy.constants import counts
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Sensitive
from tests.federated.asked import ClassCounts, Keep

TURN = m.Turn(session=bytes(16), number=0)


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
                    question=ClassCounts(n_classes=2, branch=("node 1",)),
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
        message_with(message={"array": "|O", "shape": [1], "base64": ""}),
        message_with(message={"array": "<u8", "shape": [9], "base64": "AAAA"}),
        message_with(message={"array": "<u8", "shape": [-1], "base64": ""}),
        message_with(message={"bytes": "not base64!"}),
        message_with(message={}),
        wire.encode(m.Hello()),
    ],
)
def test_everything_else_is_malformed(content):
    with pytest.raises(wire.MalformedMessageError):
        wire.decode(content, m.Done)


def test_a_hidden_value_is_no_part_of_a_message():
    hidden = Sensitive(np.array([5]), counts(Neighbours.ADD_REMOVE))
    for message in (hidden, m.Asked(mechanism=hidden, question=None, label="")):
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
