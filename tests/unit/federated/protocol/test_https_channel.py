"""Messages over HTTPS: what arrives, who is let in, and what the log says."""

from __future__ import annotations

import http.client
import logging
import ssl
import threading
import time

import pytest

from benchmarks.certificates import write_certificates
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated.protocol import https_channel, wire
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.https_channel import HttpsChannel, PartyServer, tls_context
from dpboost.federated.protocol.transport import PartyLostError, RefusedError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    write_certificates(folder, ["party", "coordinator"])
    strangers = folder / "strangers"
    strangers.mkdir()
    write_certificates(strangers, ["coordinator"])
    return folder


def context(folder, name, server):
    return tls_context(
        folder / f"{name}.pem", folder / f"{name}.key", folder / "authority.pem", server=server
    )


@pytest.fixture
def serve(folder):
    servers = []

    def start(receive, port=0, **options):
        own = context(folder, "party", server=True)
        server = PartyServer(receive, ("127.0.0.1", port), own, **options)
        threading.Thread(target=server.serve, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def channel(folder, *servers, **options):
    own = context(folder, "coordinator", server=False)
    ports = [server if isinstance(server, int) else server.port for server in servers]
    return HttpsChannel([f"127.0.0.1:{port}" for port in ports], own, **options)


def test_every_party_gets_the_message_and_its_reply_comes_back(folder, serve):
    asked = channel(folder, *(serve(lambda message, i=i: message + bytes([i])) for i in range(3)))
    assert asked.n_parties == 3
    for message in (b"", b"ask", bytes(range(256)) * 1000):
        assert asked.exchange(message, [2, 0]) == {0: message + b"\0", 2: message + b"\2"}
    assert asked.exchange(b"ask", []) == {}
    asked.wait()
    asked.close()


def test_a_party_that_starts_again_is_waited_for(folder, serve):
    server = serve(lambda message: message)
    asked = channel(folder, server, timeout=20)
    assert asked.exchange(b"1", [0]) == {0: b"1"}
    server._server.server_close()
    port = server.port
    threading.Timer(0.5, lambda: serve(lambda message: message * 2, port)).start()
    asked.close()
    assert asked.exchange(b"2", [0]) == {0: b"22"}
    asked.close()


def test_a_party_that_is_not_there_is_not_in_the_replies(folder, serve):
    there = serve(lambda message: message)
    asked = channel(folder, there, 1, timeout=0.5)
    assert asked.exchange(b"ask", [0, 1]) == {0: b"ask"}
    with pytest.raises(PartyLostError, match="party 1"):
        asked.wait()
    asked.close()


def ask(connection):
    connection.request("POST", "/message", b"ask")
    return connection.getresponse().read()


def test_strangers_get_nothing(folder, serve):
    seen = []
    server = serve(lambda message: seen.append(message) or b"secret")
    for other in (
        context(folder / "strangers", "coordinator", False),
        ssl.create_default_context(),
    ):
        other.check_hostname = False
        other.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=other, timeout=5)
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(connection)
    assert seen == []
    # A server of another authority gets no message either.
    strange = PartyServer(
        lambda message: seen.append(message) or b"",
        ("127.0.0.1", 0),
        tls_context(
            folder / "strangers" / "coordinator.pem",
            folder / "strangers" / "coordinator.key",
            folder / "authority.pem",
            server=True,
        ),
    )
    threading.Thread(target=strange.serve, daemon=True).start()
    assert channel(folder, strange, timeout=0.5).exchange(b"ask", [0]) == {}
    strange.close()
    assert seen == []


def test_long_messages_and_replies_are_refused_before_they_are_read(folder, serve):
    seen = []
    server = serve(lambda message: seen.append(message) or b"x" * 2000, max_message_bytes=1000)
    asked = channel(folder, server, timeout=60.0, max_message_bytes=1999)
    with pytest.raises(RefusedError, match="Party 0 takes no message of 1001 bytes"):
        asked.exchange(b"y" * 1001, [0])
    assert seen == []
    # It is for the coordinator to say whether the party may be lost.
    replies = asked.exchange(b"y" * 1000, [0])
    assert wire.decode(replies[0], m.Refused) == m.Refused(party=0, code=m.TOO_LONG)
    assert seen == [b"y" * 1000]
    asked.close()


@pytest.mark.parametrize("n_bytes", [0, 3])
def test_a_reply_that_is_cut_is_asked_for_again(folder, serve, monkeypatch, n_bytes):
    whole, cut = https_channel._Handler._reply, []

    def reply(handler, status, content=b"", kind="text/plain"):
        if cut:
            whole(handler, status, content, kind)
            return
        cut.append(content)
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:n_bytes])
        handler.close_connection = True

    monkeypatch.setattr(https_channel._Handler, "_reply", reply)
    asked = channel(folder, serve(lambda message: b"a reply"), timeout=60)
    assert asked.exchange(b"ask", [0]) == {0: b"a reply"}
    assert cut == [b"a reply"]
    asked.close()


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/message", {}, 404),
        ("POST", "/health", {"Content-Length": "0"}, 404),
        ("POST", "/message", {"Content-Length": "-1"}, 411),
        ("POST", "/message", {"Content-Length": "1e3"}, 411),
        ("POST", "/message", {"Content-Length": "9" * 30}, 413),
        ("DELETE", "/message", {}, 501),
    ],
)
def test_other_requests_are_refused(folder, serve, method, path, headers, status):
    server = serve(lambda message: pytest.fail("was asked"))
    own = context(folder, "coordinator", server=False)
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=own, timeout=5)
    connection.putrequest(method, path)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()


def test_health_and_log_have_numbers_of_messages_only(folder, serve, caplog):
    server = serve(lambda message: b"a reply")
    asked = channel(folder, server)
    with caplog.at_level(logging.INFO, logger="dpboost.federated"):
        asked.exchange(b"private", [0])
        asked.exchange(b"private", [0])
    assert caplog.messages == ["message 1 answered", "message 2 answered"]
    assert server.health == b'{"status": "ready", "messages": 2}'
    asked.close()


def test_messages_are_answered_one_after_the_other_in_one_thread(folder, serve):
    inside, where = [], set()

    def receive(message):
        inside.append(message)
        where.add(threading.get_ident())
        count = len(inside)
        time.sleep(0.05)
        assert len(inside) == count
        return b""

    server = serve(receive)
    threads = [threading.Thread(target=server.answer, args=(b"",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 4
    assert len(where) == 1


@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:0", "host:70000", "host:x"])
def test_addresses_are_host_and_port(folder, address):
    with pytest.raises(InvalidParameterError, match="'addresses'"):
        HttpsChannel([address], context(folder, "coordinator", server=False))


def test_files_that_are_no_certificates_are_refused(folder, tmp_path):
    (tmp_path / "bad.pem").write_text("nothing")
    with pytest.raises(InvalidParameterError, match=r"bad\.pem"):
        tls_context(
            tmp_path / "bad.pem", folder / "party.key", folder / "authority.pem", server=True
        )


def test_a_party_that_let_the_time_pass_is_only_tried_until_it_is_back(folder, serve, monkeypatch):
    monkeypatch.setattr(https_channel, "_SHORT", 1.0)
    server = serve(lambda message: message)
    port = server.port
    server.close()
    asked = channel(folder, port, timeout=2.0)

    def seconds():
        started = time.monotonic()
        assert asked.exchange(b"ask", [0]) == {}
        return time.monotonic() - started

    assert seconds() >= 2.0
    # Nobody listens, which is known at once.
    assert seconds() < 1.0
    serve(lambda message: message * 2, port)
    found = next(filter(None, (asked.exchange(b"ask", [0]) for _ in range(20))))
    assert found == {0: b"askask"}
    asked.close()
