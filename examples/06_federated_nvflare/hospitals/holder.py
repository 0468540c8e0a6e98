"""The executor of a data holder: one for each hospital, at its own site."""

import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from dpboost.federated import Agreement, Identity, Party
from dpboost.federated.party.party_store import PartyStore
from hospitals.channel import MESSAGE, TASK, bytes_of


class HospitalExecutor(Executor):
    """Answers messages for the rows of one hospital.

    Parameters
    ----------
    folder : str
        With the hospital's agreement, key and rows; it becomes the party there.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder
        self._open = ExitStack()

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Become the party when the run starts, and let its folder go at the end."""
        if event_type == EventType.START_RUN:
            folder = Path(self._folder)
            store = PartyStore(folder / "party")
            # Whatever leaves is booked on this disk before, and a site that restarts goes on.
            self._answer = self._open.enter_context(store.attached(party_of(folder)))
        elif event_type == EventType.END_RUN:
            self._open.close()

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Take in a message and return the reply."""
        if task_name != TASK:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        return Shareable({MESSAGE: self._answer(bytes_of(shareable))})


def party_of(folder: Path) -> Party:
    """Read a hospital's agreement, key and rows."""
    settings = json.loads((folder / "party.json").read_text("utf-8"))
    rows = np.load(folder / "rows.npz")
    return Party(
        settings["party"],
        rows["X"],
        rows["y"],
        agreement=Agreement.from_json((folder / "agreement.json").read_text("utf-8")),
        identity=Identity((folder / "identity").read_bytes()),
        # Only noise from a seed needs to know which rows these are of all.
        first_row=settings["first_row"],
    )
