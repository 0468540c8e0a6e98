"""Messages come in once, replies go to all, and nobody waits longer than is said."""

import time
from threading import Thread

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Hub, LocalLink, PartyLostError, PartyRefusedError, SessionEndedError
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.hub import read
from dpboost.federated.protocol.messages import Ended, Key
from tests.permissions import owner_alone

ONE = Key(1, "words")


def posted(hub, party, body, key=ONE):
    found = []
    thread = Thread(target=lambda: found.append(LocalLink(hub, party).post(key, body)))
    thread.start()
    return thread, found


def test_all_get_the_same_reply():
    hub = Hub()
    waiting = [posted(hub, party, bytes([party])) for party in range(3)]
    assert hub.gather(ONE, range(3), 3, 5.0) == {0: b"\0", 1: b"\1", 2: b"\2"}
    hub.answer(ONE, b"sum")
    for thread, found in waiting:
        thread.join(5)
        assert found == [b"sum"]
    # Who comes late, or once more, gets it as well: it changes nothing any more.
    assert hub.receive(1, ONE, b"something else", 0.0) == b"sum"


def test_a_message_is_taken_once():
    hub = Hub()
    assert hub.receive(0, ONE, b"a", 0.0) is None
    assert hub.receive(0, ONE, b"a", 0.0) is None
    with pytest.raises(PartyRefusedError, match="Party 0 has sent two messages"):
        hub.receive(0, ONE, b"b", 0.0)
    assert hub.gather(ONE, [0], 1, 0.0) == {0: b"a"}


def test_missing_parties_are_named_when_the_time_is_over():
    hub = Hub()
    hub.receive(1, ONE, b"a", 0.0)
    started = time.monotonic()
    with pytest.raises(
        PartyLostError, match="Parties 0, 2 do not answer .'words' of step 1.: 1 are"
    ):
        hub.gather(ONE, range(3), 2, 0.2)
    assert 0.2 <= time.monotonic() - started < 2
    assert hub.gather(ONE, range(3), 1, 0.0) == {1: b"a"}


def test_who_has_failed_is_not_waited_for():
    hub = Hub()
    hub.receive(1, ONE, b"a", 0.0)
    LocalLink(hub, 0).fail()
    with pytest.raises(PartyLostError, match="Parties 0 have ended with an error"):
        hub.gather(ONE, range(2), 2, 60.0)
    # It is back.
    hub.receive(0, ONE, b"b", 0.0)
    assert len(hub.gather(ONE, range(2), 2, 60.0)) == 2


def test_the_end_reaches_all():
    hub = Hub()
    thread, found = posted(hub, 0, b"a")
    hub.end(Ended(code=m.LOST, step=1))
    hub.end(Ended(code=m.FAILED, step=9))
    thread.join(5)
    with pytest.raises(SessionEndedError, match="step 1: lost"):
        read(found[0], m.Sum, "The reply")
    assert hub.receive(2, Key(0, "hello"), b"x", 0.0) == found[0]


def test_another_process_goes_on_with_the_replies(tmp_path):
    path = tmp_path / "session.log"
    hub = Hub(path)
    hub.receive(0, ONE, b"a", 0.0)
    hub.answer(ONE, b"present", {0: b"a"})
    again = Hub(path)
    assert again.reply(ONE) == b"present"
    assert again.bodies(ONE) == {0: b"a"}
    assert again.n_replies == 1
    assert again.receive(5, ONE, b"z", 0.0) == b"present"
    assert owner_alone(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidParameterError, match="damaged"):
        Hub(path)


@pytest.mark.parametrize(
    "content", [b"", b"{", m.encode({"a": 1}), m.encode(m.Present(parties=(1,)))]
)
def test_other_messages_are_refused(content):
    with pytest.raises(PartyRefusedError, match="The reply is not a message"):
        read(content, m.Sum, "The reply")
