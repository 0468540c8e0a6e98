"""A session over HTTPS: parties connect to the coordinator and open no port.

Both sides present a certificate that a common authority has signed. Parties accept only the
coordinator that the agreement names; the coordinator accepts messages of a party only with the
certificate that the party's hello names.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import logging
import socket
import ssl
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread, Timer
from typing import Any
from urllib.parse import unquote, urlsplit

from dpboost._utils.validation import InvalidParameterError, check_real, refuse
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import FINGERPRINT, Agreement
from dpboost.federated.protocol.hub import Hub, PartyLostError, PartyRefusedError
from dpboost.federated.protocol.messages import Key
from dpboost.federated.protocol.session import signed_hello
from dpboost.federated.secagg.keys import UntrustedKeyError, check_signature

_log = logging.getLogger("dpboost.federated")

# Seconds: how long the coordinator holds a message that has no reply yet, how long a request may
# take beyond that, and the pause before a party tries again.
HELD = 25.0
_REQUEST, _PAUSE = 30.0, 0.2
_LONGEST_HELLO = 1 << 16
_VERSION = "v2"
_NO_CONTENT, _FORBIDDEN, _OK = 204, 403, 200


def tls_context(
    certificate: str | Path,
    key: str | Path,
    authority: str | Path,
    *,
    server: bool,
    revoked: str | Path | None = None,
) -> ssl.SSLContext:
    """Return a context in which both sides show a certificate of one authority.

    All files are in PEM; ``revoked`` is the authority's list of revoked certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(authority)
        context.load_cert_chain(certificate, key)
        if revoked is not None:
            context.load_verify_locations(revoked)
            context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    except ssl.SSLError:
        files = ", ".join(map(str, (certificate, key, authority)))
        must = "a certificate, its key, and the certificate of the authority, in PEM"
        raise refuse("certificate", "tls_context", must, files) from None
    return context


def fingerprint(certificate: str | Path) -> str:
    """Return the SHA-256 of the first certificate of a file in PEM, in hexadecimal."""
    text = Path(certificate).read_text("ascii")
    begin, end = text.find("-----BEGIN CERT"), text.find("-----END CERTIFICATE-----")
    if begin < 0 or end < begin:
        raise refuse("certificate", "fingerprint", "a certificate in PEM", str(certificate))
    der = ssl.PEM_cert_to_DER_cert(text[begin : end + len("-----END CERTIFICATE-----")])
    return hashlib.sha256(der).hexdigest()


def check_networked(agreement: Agreement) -> None:
    """Raise unless an agreement says who the parties and the coordinator of a network are."""
    for name in ("identities", "coordinator"):
        if not getattr(agreement, name):
            raise InvalidParameterError(
                f"The agreement must list {name!r} if parties are on a network: without them, "
                "anyone could impersonate a party. Write another agreement."
            )


@contextmanager
def _within(seconds: float, connection: Any) -> Iterator[None]:
    """Cut a connection that takes longer, however slowly its bytes come."""

    def cut() -> None:
        own = connection()
        # Of the socket below TLS: whoever reads there finds the end, and no state that changed.
        with suppress(OSError):
            if own is not None:
                socket.socket.shutdown(own, socket.SHUT_RDWR)

    timer = Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# -- the coordinator's side ------------------------------------------------------------------------


class HubServer:
    """HTTPS server of a hub; port 0 selects a free port.

    Privacy
    -------
    The page ``/health`` says how many replies were given.
    """

    def __init__(
        self, hub: Hub, agreement: Agreement, address: tuple[str, int], context: ssl.SSLContext
    ) -> None:
        check_networked(agreement)
        self.hub = hub
        self._agreement = agreement
        self._certificates: dict[int, str] = {}
        roster = hub.reply(Key(0, "hello"))
        if roster is not None:
            hellos = m.decode(roster, m.Roster).hellos
            self._certificates = {hello.party: hello.certificate for hello in hellos}
        self._server = _TlsServer(address, partial(_Handler, self), context)
        Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """The port that it listens to."""
        return int(self._server.server_address[1])

    def close(self, seconds: float = 0.0) -> None:
        """Give the port back, once all parties have heard of the end or the time is over."""
        self.hub.wait_until_heard(range(self._agreement.n_parties), seconds)
        self._server.shutdown()
        self._server.server_close()

    def admits(self, party: int, key: Key, body: bytes, certificate: str, name: str) -> bool:
        """Return whether a message of a party comes from its own certificate."""
        if not 0 <= party < self._agreement.n_parties:
            return False
        if party not in self._certificates and key == Key(0, "hello"):
            if not self._is_hello(party, body, certificate):
                return False
            self._certificates[party] = certificate
            _log.info("party %d is %s, certificate SHA-256 %s", party, name, certificate)
        return self._certificates.get(party) == certificate

    def _is_hello(self, party: int, body: bytes, certificate: str) -> bool:
        try:
            hello = m.decode(body, (m.Hello,))
            identity = self._agreement.identities[party]
            check_signature(identity, signed_hello(hello), hello.signature)
        except (m.MalformedMessageError, UntrustedKeyError):
            return False
        same = hello.terms == self._agreement.digest and hello.party == party
        return same and hello.certificate == certificate


class _TlsServer(ThreadingHTTPServer):
    """Server with the TLS handshake in the connection's thread, so slow clients block no one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: Any, context: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self._handler, self._context = handler, context

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(_REQUEST)
        with self._context.wrap_socket(
            request, server_side=True, do_handshake_on_connect=False
        ) as own:
            with _within(_REQUEST, lambda: own):
                own.do_handshake()
            self._handler(own, client_address, self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Without a certificate of the authority, or gone again: no traceback, which could tell.
        _log.warning("a connection ended before it was answered")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, server: HubServer, *arguments: Any) -> None:
        self._server = server
        super().__init__(*arguments)

    def setup(self) -> None:
        super().setup()
        content = self.connection.getpeercert(binary_form=True) or b""
        self._certificate = hashlib.sha256(content).hexdigest()
        self._name = _name_of(self.connection.getpeercert())

    def handle_one_request(self) -> None:
        """Answer a request, which has one deadline until it is read."""
        with _within(HELD + _REQUEST, lambda: self.connection):
            super().handle_one_request()

    def do_GET(self) -> None:
        """Say that the coordinator is there."""
        if self.path != "/health":
            return self._reply(404)
        content = {"status": "ready", "replies": self._server.hub.n_replies}
        return self._reply(_OK, json.dumps(content).encode(), "application/json")

    def do_POST(self) -> None:
        """Take in a message, and hold it until there is a reply."""
        where = _place(self.path)
        length = self.headers.get("Content-Length", "")
        if where is None:
            return self._reply(404)
        if not (length.isascii() and length.isdigit()):
            return self._reply(411)
        party, key = where
        # Who is not known yet says hello; nobody else's words are read.
        known = self._server.admits(party, key, b"", self._certificate, self._name)
        if not known and key != Key(0, "hello"):
            return self._refuse(party, int(length))
        if len(length) > 18 or int(length) > (m.MOST_BYTES if known else _LONGEST_HELLO):
            return self._reply(413)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        if not self._server.admits(party, key, body, self._certificate, self._name):
            return self._refuse(party, 0)
        if key.kind == m.FAIL:
            self._server.hub.fail(party)
            return self._reply(_OK)
        try:
            reply = self._server.hub.receive(party, key, body, HELD)
        except PartyRefusedError:
            return self._reply(409)
        return self._reply(_NO_CONTENT) if reply is None else self._reply(_OK, reply)

    def _refuse(self, party: int, n_waiting: int) -> None:
        # A connection that is closed before it is read to the end would lose the reply.
        self.rfile.read(min(n_waiting, _LONGEST_HELLO))
        _log.warning("%s is not party %d, and was refused", self._name, party)
        self._reply(_FORBIDDEN)

    def _reply(
        self, status: int, content: bytes = b"", kind: str = "application/octet-stream"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status != _NO_CONTENT:
            self.send_header("Content-Length", str(len(content)))
        if status not in (_OK, _NO_CONTENT):
            # What was not read would be taken for the next request.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(content)

    def version_string(self) -> str:
        return "dpboost"

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base's name
        pass


def _place(path: str) -> tuple[int, Key] | None:
    """Return the party and the key of a path, None for any other path."""
    parts = path.split("/")
    if len(parts) != 5 or parts[:2] != ["", _VERSION]:
        return None
    party, step, kind = parts[2:]
    numbers = all(text.isascii() and text.isdigit() and len(text) < 10 for text in (party, step))
    known = kind in (*m.NAMES, m.FAIL)
    return (int(party), Key(int(step), kind)) if numbers and known else None


def _name_of(certificate: Any) -> str:
    """Return the name of a certificate for the log."""
    parts = (pair for part in (certificate or {}).get("subject", ()) for pair in part)
    return next((repr(value) for name, value in parts if name == "commonName"), "nobody")


# -- a party's side --------------------------------------------------------------------------------


class HttpsLink:
    """A party's connection to the coordinator, ``"host:port"``.

    It retries for ``timeout`` seconds while the coordinator does not answer, since it may be
    restarting.
    """

    def __init__(
        self,
        address: str,
        party: int,
        agreement: Agreement,
        context: ssl.SSLContext,
        *,
        timeout: float = 3600.0,
    ) -> None:
        check_networked(agreement)
        self._host, self._port = read_address(address)
        self._party = party
        self._pin = agreement.coordinator
        self._context = context
        self._timeout = check_real("timeout", "HttpsLink", timeout, low=0.0)
        self._connection: _Connection | None = None
        if self._pin.startswith(FINGERPRINT):
            context.check_hostname = False  # the certificate itself is known

    def post(self, key: Key, body: bytes) -> bytes:
        """Send a message and wait for the reply; the same again where a connection breaks."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                status, content = self._request(f"{key.step}/{key.kind}", body)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise self._stranger(error.verify_message) from None
                if time.monotonic() > deadline:
                    raise PartyLostError(
                        f"The coordinator at {self._host}:{self._port} does not answer. All "
                        "charges remain. Start this party again to resume the session."
                    ) from None
                time.sleep(_PAUSE)
                continue
            if status == _OK:
                return content
            if status != _NO_CONTENT:
                raise PartyRefusedError(f"The coordinator refuses this party's message ({status}).")
            deadline = time.monotonic() + self._timeout

    def fail(self) -> None:
        """Say that this party does not go on."""
        with suppress(OSError, http.client.HTTPException, PartyRefusedError):
            self._request(f"0/{m.FAIL}", b"")
        self._drop()

    def _request(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request and read the reply, within one deadline for both."""
        if self._connection is None:
            self._connection = _Connection(self._host, self._port, self._pin, self._context)
        connection = self._connection
        with _within(HELD + _REQUEST, lambda: connection.sock):
            if connection.sock is None:
                connection.connect()
                self._check_peer(connection.sock)
            connection.request("POST", f"/{_VERSION}/{self._party}/{path}", body)
            response = connection.getresponse()
            content = response.read(m.MOST_BYTES + 1)
        if len(content) > m.MOST_BYTES:
            raise PartyRefusedError("The coordinator's reply is too long.")
        return response.status, content

    def _check_peer(self, connection: Any) -> None:
        content = connection.getpeercert(binary_form=True)
        found = hashlib.sha256(content).hexdigest()
        if self._pin.startswith(FINGERPRINT) and found != self._pin.removeprefix(FINGERPRINT):
            raise self._stranger(f"its certificate has the SHA-256 {found}")
        name = _name_of(connection.getpeercert())
        _log.info("connected to %s, certificate SHA-256 %s", name, found)

    def _stranger(self, why: str) -> PartyRefusedError:
        self._drop()
        return PartyRefusedError(
            f"Who answers at {self._host}:{self._port} is not the coordinator of the agreement, "
            f"{self._pin!r}: {why}. Nothing was sent."
        )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Connection(http.client.HTTPSConnection):
    """A connection to the coordinator of the agreement, through a proxy if one is configured."""

    def __init__(self, host: str, port: int, pin: str, context: ssl.SSLContext) -> None:
        self._own_context = context
        self._own_name = host if pin.startswith(FINGERPRINT) else pin
        proxy = proxy_of(host)
        limit = HELD + _REQUEST
        if proxy is None:
            super().__init__(host, port, context=context, timeout=limit)
            return
        super().__init__(proxy.hostname or "", proxy.port or 8080, context=context, timeout=limit)
        headers = {}
        if proxy.username:
            user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            headers["Proxy-Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        self.set_tunnel(host, port, headers)

    def connect(self) -> None:
        """Connect, and check that the certificate is for the name in the agreement."""
        http.client.HTTPConnection.connect(self)
        self.sock = self._own_context.wrap_socket(
            self.sock, server_hostname=self._own_name, do_handshake_on_connect=False
        )
        self.sock.do_handshake()


def proxy_of(host: str) -> Any:
    """Return the proxy for a host by the usual variables (``https_proxy``, ``no_proxy``)."""
    found = urllib.request.getproxies().get("https")
    if not found or urllib.request.proxy_bypass(host):
        return None
    return urlsplit(found if "//" in found else f"//{found}")


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of ``"host:port"``."""
    host, _, port = str(text).rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 <= int(port) < 65536):
        raise refuse("address", "HTTPS", "host:port", text)
    return host.strip("[]"), int(port)
