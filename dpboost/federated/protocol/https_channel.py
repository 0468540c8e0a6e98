"""Parties behind HTTPS: each serves its messages, and the coordinator posts to all of them.

Both sides show a certificate that one authority of theirs has signed; nobody else gets a byte.
"""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from dpboost._utils.validation import check_real, refuse
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.transport import PartyLostError, RefusedError

_log = logging.getLogger("dpboost.federated")

# Between two attempts to reach a party that does not answer; it may be starting again.
_PAUSE = 0.2
# For a party that has let the whole time pass once: it is tried, and not waited for.
_SHORT = 2.0
_PATHS = ("/message", "/health")


def tls_context(
    certificate: str | Path, key: str | Path, authority: str | Path, *, server: bool
) -> ssl.SSLContext:
    """Return a context in which both sides show a certificate of one authority.

    Parameters
    ----------
    certificate, key : path
        Of this side, in PEM.
    authority : path
        Certificate of the authority that has signed those of all sides, in PEM.
    server : bool
        Whether this side waits for connections.

    Returns
    -------
    ssl.SSLContext

    Raises
    ------
    InvalidParameterError
        For files that hold no certificate or key, or that do not go together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(authority)
        context.load_cert_chain(certificate, key)
    except ssl.SSLError:
        files = ", ".join(map(str, (certificate, key, authority)))
        must = "a certificate, its key, and the certificate of the authority, in PEM"
        raise refuse("certificate", "tls_context", must, files) from None
    return context


class PartyServer:
    """Answers the messages of a party over HTTPS, one after the other.

    Parameters
    ----------
    receive : callable
        Takes the bytes of a message and returns those of the reply.
    address : (str, int)
        Host and port; port 0 takes a free one.
    context : ssl.SSLContext
        `tls_context` of a server.
    max_message_bytes : int, default=64 MiB
        Longer messages are refused before they are read.

    Privacy
    -------
    What goes out is what ``receive`` returns. The page ``/health`` says how many messages were
    answered, which the coordinator knows.
    """

    def __init__(
        self,
        receive: Callable[[bytes], bytes],
        address: tuple[str, int],
        context: ssl.SSLContext,
        *,
        max_message_bytes: int = wire.MOST_BYTES,
    ) -> None:
        self._receive = receive
        self._most_bytes = max_message_bytes
        self._waiting: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._answered = 0
        self._server = _TlsServer(address, partial(_Handler, self), context)

    @property
    def port(self) -> int:
        """The port that it listens to."""
        return int(self._server.server_address[1])

    def serve(self) -> None:
        """Answer, in the thread that calls it, until `close` is called.

        A ledger works in the thread that made it; connections have threads of their own.
        """
        Thread(target=self._server.serve_forever, daemon=True).start()
        while (waiting := self._waiting.get()) is not None:
            waiting.reply = self._receive(waiting.message)
            self._answered += 1
            _log.info("message %d answered", self._answered)
            waiting.done.set()

    def close(self) -> None:
        """End `serve` and give the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._waiting.put(None)

    def answer(self, message: bytes) -> bytes:
        """Return the reply to a message once those before it are answered."""
        waiting = _Waiting(message)
        self._waiting.put(waiting)
        waiting.done.wait()
        return waiting.reply

    @property
    def health(self) -> bytes:
        """What ``/health`` says."""
        return json.dumps({"status": "ready", "messages": self._answered}).encode()


class _Waiting:
    """A message whose connection waits for the reply."""

    def __init__(self, message: bytes) -> None:
        self.message = message
        self.reply = b""
        self.done = Event()


class _TlsServer(ThreadingHTTPServer):
    """Shakes hands in the thread of the connection: a slow stranger keeps nobody waiting."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: Any, context: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self._handler, self._context = handler, context

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(60.0)
        with self._context.wrap_socket(request, server_side=True) as own:
            self._handler(own, client_address, self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Without a certificate of the authority, or gone again: no traceback, which could tell.
        _log.warning("a connection ended before it was answered")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, party: PartyServer, *arguments: Any) -> None:
        self._party = party
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Say that the party is there."""
        if self.path != "/health":
            return self._reply(404)
        return self._reply(200, self._party.health, "application/json")

    def do_POST(self) -> None:
        """Answer a message."""
        length = self.headers.get("Content-Length", "")
        if self.path != "/message":
            return self._reply(404)
        if not (length.isascii() and length.isdigit()):
            return self._reply(411)
        if len(length) > 18 or int(length) > self._party._most_bytes:
            return self._reply(413)
        message = self.rfile.read(int(length))
        return self._reply(200, self._party.answer(message))

    def _reply(self, status: int, content: bytes = b"", kind: str = "application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if status != 200:
            # What was not read would be taken for the next request.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(content)

    def version_string(self) -> str:
        return "dpboost"

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base's name
        pass


class HttpsChannel:
    """Carries messages to parties that serve them with `PartyServer`.

    Parameters
    ----------
    addresses : sequence of str
        ``"host:port"`` of each party, in the order of their numbers.
    context : ssl.SSLContext
        `tls_context` of a client.
    timeout : float, default=600.0
        Seconds to wait for the reply of a party. One that cannot be reached, because it starts
        again, is tried until then; after that once a message, for 2 seconds, until it replies
        again.
    max_message_bytes : int, default=64 MiB
        Longer replies are refused before they are read to the end.

    Raises
    ------
    InvalidParameterError
        For an address that is none.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        context: ssl.SSLContext,
        *,
        timeout: float = 600.0,
        max_message_bytes: int = wire.MOST_BYTES,
    ) -> None:
        self._addresses = [_address(each) for each in addresses]
        self._context = context
        self._timeout = check_real("timeout", "HttpsChannel", timeout, low=0.0)
        self._most_bytes = max_message_bytes
        self._connections: dict[int, http.client.HTTPSConnection] = {}
        self._silent: set[int] = set()

    @property
    def n_parties(self) -> int:
        """How many parties it reaches."""
        return len(self._addresses)

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Send a message to some parties at once and wait for their replies.

        Raises
        ------
        RefusedError
            If a party takes no message of this length.
        """
        if not to:
            return {}
        with ThreadPoolExecutor(len(to)) as pool:
            replies = pool.map(partial(self._post, message), to)
            return {
                index: reply for index, reply in zip(to, replies, strict=True) if reply is not None
            }

    def wait(self) -> None:
        """Wait until every party answers.

        Raises
        ------
        PartyLostError
            If one does not within the time.
        """
        everybody = range(self.n_parties)
        with ThreadPoolExecutor(self.n_parties) as pool:
            ready = list(pool.map(partial(self._request, "GET", "/health", None), everybody))
        missing = [index for index in everybody if ready[index] is None]
        if missing:
            raise PartyLostError(f"No answer from party {missing[0]}: nothing was asked yet.")

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _post(self, message: bytes, index: int) -> bytes | None:
        return self._request("POST", "/message", message, index)

    def _request(self, method: str, path: str, content: bytes | None, index: int) -> bytes | None:
        """Return a reply, or nothing where none comes in time.

        A message that is sent twice gets the same bytes twice and is charged once.
        """
        silent = index in self._silent
        deadline = time.monotonic() + (min(_SHORT, self._timeout) if silent else self._timeout)
        while (left := deadline - time.monotonic()) > 0:
            connection = self._connections.pop(index, None)
            if connection is None:
                host, port = self._addresses[index]
                connection = http.client.HTTPSConnection(host, port, context=self._context)
            connection.timeout = left
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(left)
                connection.request(method, path, content)
                response = connection.getresponse()
                reply = response.read(self._most_bytes + 1)
                if response.length != 0 and len(reply) <= self._most_bytes:
                    # A party that is killed while it writes: what is there is no reply.
                    raise http.client.IncompleteRead(reply)
            except (OSError, http.client.HTTPException):
                connection.close()
                if silent:
                    return None
                time.sleep(min(_PAUSE, max(deadline - time.monotonic(), 0.0)))
                continue
            self._silent.discard(index)
            if len(reply) > self._most_bytes or response.status != 200:
                connection.close()
                return self._refused(index, len(reply), response.status, len(content or b""))
            self._connections[index] = connection
            return reply
        self._silent.add(index)
        return None

    def _refused(self, index: int, n_read: int, status: int, n_sent: int) -> bytes | None:
        """Raise where a message was too long; say of a reply that it was, or return none."""
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise RefusedError(
                f"Party {index} takes no message of {n_sent} bytes: the 'max_message_bytes' "
                "parameter of its PartyServer is smaller."
            )
        if n_read > self._most_bytes:
            return wire.encode(m.Refused(party=index, code=m.TOO_LONG))
        return None


def _address(text: str) -> tuple[str, int]:
    host, _, port = str(text).rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise refuse("addresses", "HttpsChannel", "host:port of each party", text)
    return host.strip("[]"), int(port)
