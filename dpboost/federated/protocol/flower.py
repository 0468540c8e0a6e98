"""Parties and coordinator as apps of Flower (``pip install 'dpboost[federated]'``).

Flower starts a process for every message to a client, so a party lives on its holder's disk
between messages (`PartyStore`). One message asks all that a level or a tree needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

try:
    from flwr.app import ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ImportError as error:
    raise ImportError(
        "dpboost.federated.protocol.flower needs Flower, and Flower needs Python 3.11: install "
        "dpboost with the extra 'federated', pip install 'dpboost[federated]'."
    ) from error

from dpboost.federated.party.party import Party
from dpboost.federated.party.party_store import PartyStore
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.transport import PartyLostError
from dpboost.federated.secagg.keys import Identity

_KEY = "dpboost"
# Seconds for a party that has let the whole time pass once: it is tried, and not waited for.
_SHORT = 5.0


def client_app(load: Callable[[Context], tuple[Any, Any]]) -> ClientApp:
    """Return the app of a data holder.

    Parameters
    ----------
    load : callable
        ``load(context)`` returns the rows ``X`` and labels ``y`` of this party, the same ones for
        every message. ``context.node_config`` has what the node was started with:

        * ``party``: the number of the party;
        * ``agreement``: path of the agreement that the data holder approves;
        * ``folder``: where the party lives between messages; a new one for every fit;
        * ``identity``: path of the secret key, 32 bytes, where the agreement lists identities;
        * ``first-row``: number of the first row, only for noise from a seed.

    Returns
    -------
    flwr.clientapp.ClientApp
    """
    app = ClientApp()

    @app.query()
    def query(message: Message, context: Context) -> Message:
        config = context.node_config
        agreement = Agreement.from_json(Path(str(config["agreement"])).read_text("utf-8"))
        identity = None
        if "identity" in config:
            identity = Identity(Path(str(config["identity"])).read_bytes())
        X, y = load(context)
        party = Party(
            int(config["party"]),
            X,
            y,
            agreement=agreement,
            identity=identity,
            first_row=int(config.get("first-row", 0)),
        )
        content = _bytes(message.content[_KEY]["message"])
        reply = PartyStore(str(config["folder"])).answer(party, content)
        return Message(RecordDict({_KEY: ConfigRecord({"message": reply})}), reply_to=message)

    return app


def server_app(run: Callable[[Grid, Context], None]) -> ServerApp:
    """Return the app of the coordinator.

    Parameters
    ----------
    run : callable
        ``run(grid, context)`` makes a `FlowerChannel` of the grid, trains with it and keeps the
        model.

    Returns
    -------
    flwr.serverapp.ServerApp
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        run(grid, context)

    return app


class FlowerChannel:
    """Carries messages through a Flower grid.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    n_parties : int
        Waits until so many nodes are there.
    timeout : float, default=600.0
        Seconds to wait for nodes, and for the replies to a message; 5 for those of a node that
        has let the whole time pass, until it replies again.

    Raises
    ------
    PartyLostError
        If not every party has come.
    """

    def __init__(self, grid: Grid, n_parties: int, *, timeout: float = 600.0) -> None:
        self._grid = grid
        self._timeout = timeout
        self._silent: set[int] = set()
        self._nodes = self._meet(n_parties)

    @property
    def n_parties(self) -> int:
        """How many parties there are."""
        return len(self._nodes)

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Send a message to some parties and wait for their replies."""
        nodes = {self._nodes[index]: index for index in to}
        late = [node for node in nodes if node in self._silent]
        replies = self._send(message, [node for node in nodes if node not in self._silent])
        replies |= self._send(message, late, min(_SHORT, self._timeout))
        self._silent = (self._silent | set(nodes)) - set(replies)
        return {nodes[node]: reply for node, reply in replies.items()}

    def _meet(self, n_parties: int) -> tuple[int, ...]:
        """Return the node of each party."""
        deadline = time.monotonic() + self._timeout
        found: dict[int, int] = {}
        while time.monotonic() < deadline:
            unknown = [node for node in self._grid.get_node_ids() if node not in found.values()]
            for node, reply in self._send(wire.encode(m.Hello()), unknown).items():
                found[wire.decode(reply, m.Done).party] = node
            if set(found) == set(range(n_parties)):
                return tuple(found[index] for index in range(n_parties))
            time.sleep(1.0)
        raise PartyLostError(f"{len(found)} of {n_parties} parties have come.")

    def _send(
        self, message: bytes, nodes: list[int], timeout: float | None = None
    ) -> dict[int, bytes]:
        if not nodes:
            return {}
        record = RecordDict({_KEY: ConfigRecord({"message": message})})
        sent = [Message(record, dst_node_id=node, message_type="query") for node in nodes]
        seconds = self._timeout if timeout is None else timeout
        replies = self._grid.send_and_receive(sent, timeout=seconds)
        return {
            reply.metadata.src_node_id: _bytes(reply.content[_KEY]["message"])
            for reply in replies
            if not reply.has_error()
        }


def _bytes(content: Any) -> bytes:
    """Return what should be bytes; nothing, which is no message, where it is another kind.

    A number would otherwise become as many zeros.
    """
    return content if isinstance(content, bytes) else b""
