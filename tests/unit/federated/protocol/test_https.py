"""Parties connect to the coordinator that they have agreed upon; nobody else is heard."""

import hashlib
import http.client
import socket
import ssl
import threading
import time
from dataclasses import replace

import pytest

from benchmarks.certificates import write_certificates
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Hub, Identity, PartyLostError, PartyRefusedError
from dpboost.federated.protocol import https
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.https import (
    HttpsLink,
    HubServer,
    fingerprint,
    proxy_of,
    read_address,
    tls_context,
)
from dpboost.federated.protocol.messages import Key
from dpboost.federated.protocol.session import signed_hello
from dpboost.federated.training.session_run import text_of
from tests.unit.federated.channels import agreement, parties_of, run, tables

pytestmark = pytest.mark.filterwarnings("ignore")
HELLO = Key(0, "hello")
NAMES = ("party0", "party1", "party2", "coordinator", "stranger", "old", "gone")
SMALL = {"n_estimators": 3, "max_depth": 2, "max_bin": 8}
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
GIVEN = tables((60, 40, 30), n_classes=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates")
    write_certificates(path, NAMES, expired=["old"], revoked=["gone"])
    other = tmp_path_factory.mktemp("other")
    write_certificates(other, ["party0", "coordinator"])
    (path / "elsewhere.pem").write_bytes((other / "coordinator.pem").read_bytes())
    (path / "elsewhere.key").write_bytes((other / "coordinator.key").read_bytes())
    return path


@pytest.fixture(scope="module")
def identities():
    return [Identity() for _ in range(3)]


@pytest.fixture
def terms(identities):
    return agreement(
        schema=SCHEMA,
        hyper=SMALL,
        coordinator="coordinator",
        identities=[one.public for one in identities],
    )


def context(folder, name, *, server, revoked=False):
    return tls_context(
        folder / f"{name}.pem",
        folder / f"{name}.key",
        folder / "authority.pem",
        server=server,
        revoked=folder / "revoked.pem" if revoked else None,
    )


@pytest.fixture
def server(folder, terms):
    own = HubServer(
        Hub(), terms, ("127.0.0.1", 0), context(folder, "coordinator", server=True, revoked=True)
    )
    yield own
    own.close()


def link(folder, server, party, terms, name=None, **more):
    name = name or f"party{party}"
    own = context(folder, name, server=False, revoked=True)
    return HttpsLink(f"127.0.0.1:{server.port}", party, terms, own, **({"timeout": 5.0} | more))


def hello_of(folder, terms, identities, party, name=None):
    own = m.Hello(
        party=party,
        terms=terms.digest,
        version="1",
        build="b",
        certificate=fingerprint(folder / f"{name or f'party{party}'}.pem"),
        key=bytes([party + 1]) * 32,
        signature=b"",
    )
    return m.encode(replace(own, signature=identities[party].sign(signed_hello(own))))


# -- a session ------------------------------------------------------------------------------------


def test_a_session_over_https_gives_the_model_of_one_process(folder, identities, terms, server):
    terms = replace(terms, noise_seed=4)
    server._agreement = terms
    expected = run(terms, parties_of(terms, GIVEN, identities)).coordinator
    links = {i: lambda hub, index: link(folder, server, index, terms) for i in range(3)}

    class Certified:
        """A party that says by which certificate it connects."""

        def __init__(self, party):
            self.party, self.index = party, party.index

        def run(self, own):
            return self.party.run(own, certificate=fingerprint(folder / f"party{self.index}.pem"))

    parties = [Certified(party) for party in parties_of(terms, GIVEN, identities)]
    found = run(terms, parties, links, hub=server.hub)
    texts = {text_of(one.fitted, terms) for one in (found.coordinator, *found.parties)}
    assert texts == {text_of(expected.fitted, terms)}


def test_a_party_opens_no_port(folder, terms, identities, server):
    listening = []
    listen = socket.socket.listen

    def note(self, *arguments):
        listening.append(self.getsockname())
        return listen(self, *arguments)

    own = link(folder, server, 0, terms)
    socket_listen, socket.socket.listen = socket.socket.listen, note
    try:
        thread = threading.Thread(
            target=own.post, args=(Key(0, "hello"), hello_of(folder, terms, identities, 0))
        )
        thread.start()
        server.hub.gather(Key(0, "hello"), [0], 1, 10)
        server.hub.answer(Key(0, "hello"), b"roster")
        thread.join(10)
    finally:
        socket.socket.listen = socket_listen
    assert not thread.is_alive()
    assert listening == []


def test_a_message_that_waits_is_held_and_sent_again(
    folder, terms, identities, server, monkeypatch
):
    monkeypatch.setattr(https, "HELD", 0.1)
    own = link(folder, server, 0, terms)
    body = hello_of(folder, terms, identities, 0)
    found = []
    thread = threading.Thread(target=lambda: found.append(own.post(Key(0, "hello"), body)))
    thread.start()
    time.sleep(0.5)
    server.hub.answer(Key(0, "hello"), b"roster")
    thread.join(10)
    assert found == [b"roster"]


# -- who is heard ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stranger", "party1", "elsewhere", "old", "gone"])
def test_a_party_sends_nothing_to_another_coordinator(folder, terms, identities, name):
    heard = []

    class Listening(HubServer):
        def admits(self, *arguments):
            heard.append(arguments)
            return True

    other = Listening(Hub(), terms, ("127.0.0.1", 0), context(folder, name, server=True))
    try:
        own = link(folder, other, 0, terms)
        with pytest.raises(PartyRefusedError, match="not the coordinator of the agreement"):
            own.post(Key(0, "hello"), hello_of(folder, terms, identities, 0))
        assert heard == []
    finally:
        other.close()


def test_a_coordinator_may_be_pinned_by_its_certificate(folder, terms, identities, server):
    right = https.FINGERPRINT + fingerprint(folder / "coordinator.pem")
    wrong = https.FINGERPRINT + fingerprint(folder / "stranger.pem")
    body = hello_of(folder, terms, identities, 0)
    with pytest.raises(
        PartyRefusedError, match=r"its certificate has the SHA-256 .*Nothing was sent"
    ):
        link(folder, server, 0, replace(terms, coordinator=wrong)).post(Key(0, "hello"), body)
    server.hub.answer(Key(0, "hello"), b"roster")
    own = link(folder, server, 0, replace(terms, coordinator=right))
    assert own.post(Key(0, "hello"), body) == b"roster"


def attempt(folder, server, terms, party, name, body, key=HELLO):
    try:
        return link(folder, server, party, terms, name, timeout=0.5).post(key, body)
    except (PartyRefusedError, PartyLostError) as error:
        return error


@pytest.mark.parametrize("name", ["stranger", "party1", "old", "gone", "elsewhere"])
def test_nobody_takes_the_place_of_a_party(folder, terms, identities, server, name):
    body = hello_of(folder, terms, identities, 0)
    stolen = hello_of(folder, terms, [Identity() for _ in range(3)], 0, name)
    for said in (body, stolen, b"", b"{}"):
        error = attempt(folder, server, terms, 0, name, said)
        assert isinstance(error, (PartyRefusedError, PartyLostError))
    assert server.hub.bodies(Key(0, "hello")) == {}
    # The party itself is heard, and afterwards nobody else is in its name.
    server.hub.answer(Key(0, "hello"), b"roster")
    assert attempt(folder, server, terms, 0, "party0", body) == b"roster"
    words = attempt(folder, server, terms, 0, name, b"words", Key(1, "words"))
    assert isinstance(words, (PartyRefusedError, PartyLostError))
    assert server.hub.bodies(Key(1, "words")) == {}


def test_names_are_in_the_log(folder, terms, identities, server, caplog):
    caplog.set_level("INFO", "dpboost.federated")
    server.hub.answer(Key(0, "hello"), b"roster")
    attempt(folder, server, terms, 0, "stranger", b"x", Key(1, "words"))
    attempt(folder, server, terms, 0, "party0", hello_of(folder, terms, identities, 0))
    assert "connected to 'coordinator', certificate SHA-256" in caplog.text
    assert "party 0 is 'party0', certificate SHA-256" in caplog.text
    assert "'stranger' is not party 0, and was refused" in caplog.text


def test_parties_are_known_again_after_the_coordinator_was_started_again(
    folder, terms, identities, tmp_path
):
    hellos = tuple(
        m.decode(hello_of(folder, terms, identities, party), m.Hello) for party in range(3)
    )
    hub = Hub(tmp_path / "log")
    hub.answer(Key(0, "hello"), m.encode(m.Roster(hellos=hellos)))
    again = Hub(tmp_path / "log")
    server = HubServer(again, terms, ("127.0.0.1", 0), context(folder, "coordinator", server=True))
    try:
        again.answer(Key(1, "words"), b"sum")
        own = attempt(folder, server, terms, 1, "party1", b"words", Key(1, "words"))
        assert own == b"sum"
        other = attempt(folder, server, terms, 1, "party2", b"words", Key(1, "words"))
        assert isinstance(other, PartyRefusedError)
    finally:
        server.close()


@pytest.mark.parametrize("name", ["identities", "coordinator"])
def test_an_agreement_for_a_network_names_everybody(folder, terms, name):
    less = replace(terms, **{name: () if name == "identities" else ""})
    with pytest.raises(InvalidParameterError, match=f"must list '{name}'"):
        HttpsLink("127.0.0.1:1", 0, less, context(folder, "party0", server=False))
    with pytest.raises(InvalidParameterError, match=f"must list '{name}'"):
        HubServer(Hub(), less, ("127.0.0.1", 0), context(folder, "coordinator", server=True))


# -- requests that are none, and slow ones --------------------------------------------------------


def raw(folder, server, method, path, body=b"", name="party0", headers=None):
    own = context(folder, name, server=False)
    own.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=own, timeout=10)
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return response.status, response.read()


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/v1/0/0/hello", "/v2/0/0", "/v2/0/0/hello/more", "/v2/x/0/hello", "/v2/0/-1/hello"),
        *("/v2/0/0/rows", "/v2/0/99999999999/words", "/v2//0/hello", "//0/0/hello"),
    ],
)
def test_other_paths_are_not_there(folder, server, path):
    assert raw(folder, server, "POST", path)[0] == 404


def test_other_parties_and_sizes_are_refused(folder, server):
    assert raw(folder, server, "POST", "/v2/9/0/hello")[0] == 403
    assert raw(folder, server, "POST", "/v2/0/1/words")[0] == 403
    assert raw(folder, server, "POST", "/v2/0/0/fail")[0] == 403
    length = {"Content-Length": "99999999"}
    assert raw(folder, server, "POST", "/v2/0/0/hello", headers=length)[0] == 413
    assert raw(folder, server, "POST", "/v2/0/0/hello", headers={"Content-Length": "x"})[0] == 411
    assert raw(folder, server, "GET", "/")[0] == 404
    status, health = raw(folder, server, "GET", "/health")
    assert (status, health) == (200, b'{"status": "ready", "replies": 0}')


def test_without_a_certificate_nobody_gets_a_byte(folder, server):
    own = ssl.create_default_context(cafile=folder / "authority.pem")
    own.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=own, timeout=10)

    def ask():
        connection.request("GET", "/health")
        connection.getresponse()

    with pytest.raises((ssl.SSLError, OSError)):
        ask()


def trickle(folder, server, n_bytes, pause):
    """Send a request byte by byte, and return how long the server has let it."""
    own = context(folder, "party0", server=False)
    own.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", server.port)) as plain,
        own.wrap_socket(plain, server_hostname="127.0.0.1") as line,
    ):
        started = time.monotonic()
        try:
            for _ in range(n_bytes):
                line.sendall(b"P")
                time.sleep(pause)
            line.recv(1)
        except OSError:
            pass
        return time.monotonic() - started


def test_a_slow_request_has_one_deadline(folder, server, monkeypatch):
    monkeypatch.setattr(https, "HELD", 0.2)
    monkeypatch.setattr(https, "_REQUEST", 0.5)
    assert trickle(folder, server, 100, 0.1) < 3


def test_a_slow_coordinator_is_not_waited_for(folder, terms, identities, monkeypatch):
    """One byte every now and then does not hold a party beyond the deadline of a request."""
    monkeypatch.setattr(https, "HELD", 0.2)
    monkeypatch.setattr(https, "_REQUEST", 0.5)
    own = context(folder, "coordinator", server=True)
    listener = socket.create_server(("127.0.0.1", 0))

    def drip():
        while True:
            try:
                plain, _ = listener.accept()
                with own.wrap_socket(plain, server_side=True) as line:
                    line.recv(65536)
                    for _ in range(100):
                        line.sendall(b"H")
                        time.sleep(0.1)
            except OSError:
                if listener.fileno() < 0:
                    return

    threading.Thread(target=drip, daemon=True).start()

    class Port:
        port = listener.getsockname()[1]

    started = time.monotonic()
    with pytest.raises(PartyLostError, match="does not answer"):
        link(folder, Port, 0, terms, timeout=1.0).post(
            Key(0, "hello"), hello_of(folder, terms, identities, 0)
        )
    assert time.monotonic() - started < 6
    listener.close()


def test_a_coordinator_that_is_not_there_is_tried_for_a_while(folder, terms):
    class Port:
        port = 1

    started = time.monotonic()
    with pytest.raises(PartyLostError, match="Start this party again to resume"):
        link(folder, Port, 0, terms, timeout=0.6).post(Key(0, "hello"), b"x")
    assert 0.5 < time.monotonic() - started < 5


# -- proxies --------------------------------------------------------------------------------------


class Proxy(threading.Thread):
    """A proxy that opens tunnels, and breaks a part of them."""

    def __init__(self, *, breaks=0):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.asked, self.breaks = [], breaks
        self.start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def run(self):
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.tunnel, args=(line,), daemon=True).start()

    def tunnel(self, line):
        head = b""
        while b"\r\n\r\n" not in head:
            head += line.recv(4096)
        self.asked.append(head.decode())
        if len(self.asked) <= self.breaks:
            line.close()
            return
        host, port = head.split()[1].decode().split(":")
        other = socket.create_connection((host, int(port)))
        line.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for ends in ((line, other), (other, line)):
            threading.Thread(target=self.pump, args=ends, daemon=True).start()

    @staticmethod
    def pump(source, target):
        try:
            while content := source.recv(65536):
                target.sendall(content)
        except OSError:
            pass
        finally:
            for one in (source, target):
                with __import__("contextlib").suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


def test_a_party_goes_through_a_proxy(folder, terms, identities, server, monkeypatch):
    proxy = Proxy(breaks=2)
    monkeypatch.setenv("https_proxy", f"http://user:word@127.0.0.1:{proxy.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    server.hub.answer(Key(0, "hello"), b"roster")
    body = hello_of(folder, terms, identities, 0)
    assert link(folder, server, 0, terms).post(Key(0, "hello"), body) == b"roster"
    assert len(proxy.asked) == 3
    assert proxy.asked[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.")
    assert "Proxy-Authorization: Basic dXNlcjp3b3Jk" in proxy.asked[0]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert proxy_of("127.0.0.1") is None
    assert link(folder, server, 0, terms).post(Key(0, "hello"), body) == b"roster"
    assert len(proxy.asked) == 3


# -- files ----------------------------------------------------------------------------------------


def test_what_is_no_certificate_is_refused(folder, tmp_path):
    (tmp_path / "none.pem").write_text("none")
    with pytest.raises(InvalidParameterError, match="certificate"):
        tls_context(
            tmp_path / "none.pem", folder / "party0.key", folder / "authority.pem", server=False
        )
    with pytest.raises(InvalidParameterError, match="certificate"):
        fingerprint(tmp_path / "none.pem")
    der = ssl.PEM_cert_to_DER_cert((folder / "party0.pem").read_text())
    assert fingerprint(folder / "party0.pem") == hashlib.sha256(der).hexdigest()


@pytest.mark.parametrize("text", ["", "host", "host:", ":80", "host:x", "host:99999", 7])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InvalidParameterError, match="host:port"):
        read_address(text)
    assert read_address("[::1]:80") == ("::1", 80)


def test_connections_are_of_tls_1_3(folder):
    for server in (False, True):
        own = context(folder, "party0", server=server)
        assert own.minimum_version == ssl.TLSVersion.TLSv1_3
        assert own.verify_mode == ssl.CERT_REQUIRED
