"""The driver's end of a fit: who is admitted, and what can be heard on the way."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from dataclasses import replace

import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

import cloudpickle  # noqa: E402

from dpboost import InvalidParameterError  # noqa: E402
from dpboost.cluster.partitioned_rows import FitFailedError  # noqa: E402
from dpboost.spark import task_hub as hub_module  # noqa: E402
from dpboost.spark.task_hub import TaskHub, receive, send  # noqa: E402

HERE = "127.0.0.1"
SECRET = b"a secret that is long enough to be looked for"


@pytest.fixture
def hub():
    with TaskHub(HERE, HERE, 0, lambda partition: f"you are {partition}") as found:
        yield found


def task(gate, partition, answers, fails=None):
    """Do what a task does: reply to the greeting, and then to each question."""
    with gate.connect(partition) as link:
        answers.append(cloudpickle.loads(receive(link)))
        send(link, fails or f"facts of {partition}")
        while fails is None and (asked := receive(link)):
            answers.append(asked)
            send(link, (partition, asked))
        answers.append("end")


def until(there):
    """Wait for something, not for ever."""
    end = time.monotonic() + 10
    while not there() and time.monotonic() < end:
        time.sleep(0.01)
    assert there()


@pytest.fixture
def started(hub):
    """Start tasks in threads, which end with the hub."""
    threads = []

    def start(partition, answers, **more):
        own = threading.Thread(target=task, args=(hub.address, partition, answers), kwargs=more)
        own.start()
        threads.append(own)

    yield start
    hub.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_tasks_are_greeted_asked_and_sent_home(hub, started):
    said = {0: [], 3: []}
    for partition, answers in said.items():
        started(partition, answers)
    found = hub.ask([0, 3], lambda partition: b"question %d" % partition)
    assert found == [(0, b"question 0"), (3, b"question 3")]
    assert hub.first == {0: "facts of 0", 3: "facts of 3"}
    hub.close()
    assert said[3][:2] == ["you are 3", b"question 3"]


def test_what_a_task_refuses_is_raised_where_sums_are_awaited(hub, started):
    """Once Spark has given up: until then the task is tried again."""
    started(0, [], fails=InvalidParameterError("no table"))
    until(lambda: hub._refusals)
    hub.check()
    hub.fail(RuntimeError("Spark gave up"))
    with pytest.raises(InvalidParameterError, match="no table"):
        hub.ask([1], lambda partition: b"?")


def test_a_task_that_was_cut_short_does_not_hide_the_reason(hub, started):
    started(0, [], fails=FitFailedError("cut short"))
    until(lambda: 0 in hub._refusals)
    started(1, [], fails=InvalidParameterError("other rows"))
    until(lambda: 1 in hub._refusals)
    hub.fail(RuntimeError("Spark gave up"))
    with pytest.raises(InvalidParameterError, match="other rows"):
        hub.check()


def test_a_refusal_is_forgotten_when_the_task_is_back(hub, started):
    started(0, [], fails=InvalidParameterError("rows that were cut short"))
    until(lambda: hub._refusals)
    started(0, [])
    assert hub.ask([0], lambda partition: b"1") == [(0, b"1")]
    hub.fail(RuntimeError("Spark gave up"))
    with pytest.raises(RuntimeError, match="gave up"):
        hub.check()


def test_nothing_listens_after_the_end():
    before = threading.active_count()
    with TaskHub(HERE, HERE, 0, lambda partition: partition) as own:
        address = HERE, own.address.port
        socket.create_connection(address).close()  # a client, after whom it waits for the next
        time.sleep(0.2)
    until(lambda: threading.active_count() == before)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address)


def test_who_has_another_token_is_not_answered(hub):
    stranger = replace(hub.address, token=b"0" * len(hub.address.token))
    with stranger.connect(0) as link, pytest.raises((ConnectionError, ssl.SSLError)):
        receive(link)
    assert not hub.first


def test_another_version_of_the_package_is_named(hub, monkeypatch):
    monkeypatch.setattr(hub_module, "send", lambda link, what: send(link, (what[0], "0.0")))
    with hub.address.connect(0):
        until(lambda: hub._refusals)
    hub.fail(RuntimeError("Spark gave up"))
    with pytest.raises(InvalidParameterError, match=r"has dpboost 0\.0"):
        hub.check()


def test_who_is_not_the_driver_gets_no_token(hub):
    with TaskHub(HERE, HERE, 0, lambda partition: None) as other:
        lured = replace(hub.address, port=other.address.port)
        with pytest.raises(ssl.SSLCertVerificationError):
            lured.connect(0)


def test_a_task_that_is_tried_again_takes_its_place(hub, started):
    first = hub.address.connect(0)
    receive(first)
    send(first, "old")
    until(lambda: 0 in hub.first)
    again = threading.Timer(0.2, started, args=(0, []))
    again.start()
    # The first one never answers, as if its machine had lost its power.
    assert hub.ask([0], lambda partition: b"1") == []
    assert hub.ask([0], lambda partition: b"1") == [(0, b"1")]
    again.join()
    first.close()


def test_nothing_can_be_read_on_the_way(hub, monkeypatch):
    """All bytes between a task and the hub go through a wire that is listened to."""
    heard = bytearray()
    wire = socket.create_server((HERE, 0))

    def carry(source, sink):
        while content := source.recv(65536):
            heard.extend(content)
            sink.sendall(content)
        sink.close()

    def listen():
        near, _ = wire.accept()
        far = socket.create_connection((HERE, hub.address.port))
        threading.Thread(target=carry, args=(near, far), daemon=True).start()
        carry(far, near)

    threading.Thread(target=listen, daemon=True).start()
    gate = replace(hub.address, port=wire.getsockname()[1])
    said = []
    own = threading.Thread(target=task, args=(gate, 0, said))
    own.start()
    assert hub.ask([0], lambda partition: SECRET) == [(0, SECRET)]
    hub.close()
    own.join(10)
    wire.close()
    assert SECRET in said
    assert len(heard) > 500
    for word in (SECRET, gate.token, b"facts of 0"):
        assert word not in heard


def test_a_gate_shows_no_token(hub):
    assert repr(hub.address.token) not in repr(hub.address)
