"""The driver's hub of a fit on Spark: one authenticated and encrypted connection per task.

Each fit has a certificate, whose key never leaves the driver, and a token for its tasks: the tasks
authenticate the driver by the certificate, and the driver authenticates the tasks by the token.
"""

from __future__ import annotations

import datetime
import hmac
import secrets
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.version import __version__

_TOKEN_BYTES, _LENGTH_BYTES = 32, 8
# Seconds that a stranger may take before it has shown the token, and days of a certificate.
_GREETING, _DAYS = 60.0, 3650
_NAME = "dpboost"


@dataclass(frozen=True, kw_only=True, repr=False)
class HubAddress:
    """The address of a hub, and the credentials of both sides."""

    host: str
    port: int
    #: In PEM.
    certificate: str
    #: Secret.
    token: bytes

    def connect(self, partition: int) -> ssl.SSLSocket:
        """Connect a task to the hub."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # The certificate is the one of this fit: whatever host shows it is the driver.
        context.check_hostname = False
        context.load_verify_locations(cadata=self.certificate)
        plain = socket.create_connection((self.host, self.port), timeout=_GREETING)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = context.wrap_socket(plain)
        link.settimeout(None)
        link.sendall(self.token)
        send(link, (partition, __version__))
        return link


def send(link: socket.socket, content: Any) -> None:
    """Send an object, or bytes as they are."""
    packed = content if isinstance(content, bytes) else cloudpickle.dumps(content)
    link.sendall(len(packed).to_bytes(_LENGTH_BYTES, "big") + packed)


def receive(link: socket.socket) -> bytes:
    """Return the bytes of the next message; raise ``OSError`` where the other end is gone."""
    return _exactly(link, int.from_bytes(_exactly(link, _LENGTH_BYTES), "big"))


def _exactly(link: socket.socket, n_bytes: int) -> bytes:
    content = bytearray(n_bytes)
    rest = memoryview(content)
    while rest:
        n_read = link.recv_into(rest)
        if not n_read:
            raise ConnectionResetError("the connection was closed")
        rest = rest[n_read:]
    return bytes(content)


class TaskHub:
    """The server for the tasks of one Spark job; a retried task replaces its predecessor.

    Tasks reach the driver under ``host``, and it listens at the address ``bind``; port 0 takes a
    free one. ``greeting(partition)`` returns the first message to a task.

    Privacy
    -------
    What tasks send is private and stays in the memory of this process.
    """

    def __init__(self, host: str, bind: str, port: int, greeting: Callable[[int], Any]) -> None:
        self._context, certificate = _own_certificate()
        self._greeting = greeting
        self._changed = threading.Condition()
        self._links: dict[int, ssl.SSLSocket] = {}
        self._refusals: dict[int, Exception] = {}
        self._failure: Exception | None = None
        self._ended = False
        self.first: dict[int, Any] = {}
        """What each partition has replied to its greeting; private."""
        self._listener = socket.create_server((bind, port), backlog=1024)
        self.address = HubAddress(
            host=host,
            port=self._listener.getsockname()[1],
            certificate=certificate,
            token=secrets.token_bytes(_TOKEN_BYTES),
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> TaskHub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Tell all tasks that this is the end."""
        with self._changed:
            self._ended = True
            links, self._links = list(self._links.values()), {}
        # Closed alone, it would stay open for as long as the thread waits for a client.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for link in links:
            with suppress(OSError):
                send(link, b"")
            link.close()

    def fail(self, error: Exception) -> None:
        """Tell waiting threads why no further task comes: the refusal of a task, if any."""
        with self._changed:
            # A task that ends with another finds its rows cut short: that one has the reason.
            refused = [*self._refusals.values(), error]
            of_input = [each for each in refused if isinstance(each, InvalidParameterError)]
            self._failure = (of_input or refused)[0]
            self._changed.notify_all()

    def check(self) -> None:
        """Raise why no more can be had of tasks, where that is so."""
        if self._failure is not None:
            raise self._failure

    def ask(self, partitions: Iterable[int], packed: Callable[[int], bytes]) -> list[Any]:
        """Ask tasks one query; those that are lost meanwhile are missing in the answers.

        ``packed(partition)`` returns the query as it is put to one of them.
        """
        asked = []
        for partition in partitions:
            link = self._link(partition)
            try:
                send(link, packed(partition))
                asked.append((partition, link))
            except OSError:
                self._drop(partition, link)
        found = []
        for partition, link in asked:
            try:
                answer = cloudpickle.loads(receive(link))
            except OSError:
                self._drop(partition, link)
                continue
            if isinstance(answer, Exception):
                self._refusals[partition] = answer
                self._drop(partition, link)
            else:
                found.append(answer)
        return found

    def _link(self, partition: int) -> ssl.SSLSocket:
        """Return the connection of a partition, once there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._failure or partition in self._links)
            self.check()
            return self._links[partition]

    def _drop(self, partition: int, link: ssl.SSLSocket) -> None:
        with self._changed:
            if self._links.get(partition) is link:
                del self._links[partition]
        link.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._greet, args=(plain,), daemon=True).start()

    def _greet(self, plain: socket.socket) -> None:
        """Admit a task of this fit, and no one else: any other client gets no answer."""
        with suppress(OSError):
            plain.settimeout(_GREETING)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = self._context.wrap_socket(plain, server_side=True)
            if not hmac.compare_digest(_exactly(link, _TOKEN_BYTES), self.address.token):
                link.close()
                return
            partition, version = cloudpickle.loads(receive(link))
            if version != __version__:
                reply = InvalidParameterError(
                    f"The Python of Spark's workers has dpboost {version}, and the driver's has "
                    f"{__version__}: install the same version in both."
                )
            else:
                send(link, self._greeting(partition))
                # A partition may take long to be read.
                link.settimeout(None)
                reply = cloudpickle.loads(receive(link))
            if isinstance(reply, Exception):
                # Spark tries the task again: it may have been killed while it read its rows.
                self._refusals[partition] = reply
                link.close()
            else:
                self._admit(partition, link, reply)

    def _admit(self, partition: int, link: ssl.SSLSocket, reply: Any) -> None:
        with self._changed:
            old = self._links.pop(partition, None)
            if self._ended:
                old = link
            else:
                self._refusals.pop(partition, None)
                self._links[partition] = link
                self.first[partition] = reply
            self._changed.notify_all()
        if old is not None:
            # Of the socket below TLS, in which another thread may be reading.
            with suppress(OSError):
                socket.socket.shutdown(old, socket.SHUT_RDWR)


def _own_certificate() -> tuple[ssl.SSLContext, str]:
    """Return the server's side of TLS with a fresh key, and its certificate in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    text = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The standard library reads keys from files alone; the folder is this user's, and short-lived.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key.pem"
        path.touch(mode=0o600)
        path.write_bytes(secret + text)
        context.load_cert_chain(path)
    return context, text.decode("ascii")
