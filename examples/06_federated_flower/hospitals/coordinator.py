"""The app of the coordinator: it adds what the hospitals send, and keeps the model."""

import time
from collections.abc import Mapping
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from dpboost.federated import Agreement, PartyLostError
from dpboost.federated.carried import coordinate_carried

KEY = "dpboost"
SECONDS = 600.0
app = ServerApp()


class Tasks:
    """Carries bytes to the nodes of the hospitals, and brings back theirs.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    n_parties : int
        Waits until so many nodes are there.
    """

    def __init__(self, grid: Grid, n_parties: int) -> None:
        self._grid = grid
        self._nodes: dict[int, int] = {}
        deadline = time.monotonic() + SECONDS
        while set(self._nodes) != set(range(n_parties)):
            if time.monotonic() > deadline:
                raise PartyLostError(f"{len(self._nodes)} of {n_parties} parties have come.")
            unknown = [node for node in grid.get_node_ids() if node not in self._nodes.values()]
            for node, content in self._send(dict.fromkeys(unknown, b"")).items():
                self._nodes[int(content["party"])] = node
            time.sleep(0.2)

    def __call__(self, tasks: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """Bring each party a task, and return the messages of those that reply."""
        parties = {self._nodes[party]: party for party in tasks}
        found = self._send({node: tasks[party] for node, party in parties.items()})
        return {
            parties[node]: content["message"]
            for node, content in found.items()
            if isinstance(content["message"], bytes)
        }

    def _send(self, tasks: Mapping[int, bytes]) -> dict[int, ConfigRecord]:
        messages = [
            Message(
                RecordDict({KEY: ConfigRecord({"task": task})}),
                dst_node_id=node,
                message_type="query",
            )
            for node, task in tasks.items()
        ]
        if not messages:
            return {}
        replies = self._grid.send_and_receive(messages, timeout=SECONDS)
        return {
            reply.metadata.src_node_id: reply.content[KEY]
            for reply in replies
            if not reply.has_error()
        }


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Coordinate the fit of the agreement and write the model as LightGBM text."""
    agreement = Agreement.from_json(Path(str(context.run_config["agreement"])).read_text("utf-8"))
    model = coordinate_carried(agreement, Tasks(grid, agreement.n_parties))
    model.booster_.save_model(str(context.run_config["model"]))
    print(model.privacy_report_)
