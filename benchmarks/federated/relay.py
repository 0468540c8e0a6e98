"""A relay that counts the bytes of anyone who connects through it."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Lock, Thread

_CHUNK = 1 << 16


class Relay:
    """Takes connections of this machine, makes one to a server for each, and counts.

    Parameters
    ----------
    port : int
        Of the server, on this machine.

    Attributes
    ----------
    port : int
        Where it listens itself.
    down, up : int
        Bytes from the server, and to it, so far.
    """

    def __init__(self, port: int) -> None:
        self._server = port
        self._lock = Lock()
        self.down = self.up = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._server))
            except OSError:
                client.close()
                continue
            for source, target, upwards in ((client, server, True), (server, client, False)):
                Thread(target=self._carry, args=(source, target, upwards), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, upwards: bool) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                with self._lock:
                    self.up += len(chunk) if upwards else 0
                    self.down += 0 if upwards else len(chunk)
                target.sendall(chunk)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
