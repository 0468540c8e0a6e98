"""The executor of a data holder: one for each hospital, at its own site."""

import json
from pathlib import Path
from threading import Thread

import numpy as np
from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from dpboost.federated import Agreement, Identity, Party, outcome_of
from dpboost.federated.carried import Mailbox
from hospitals.channel import MESSAGE, TASK, bytes_of


class HospitalExecutor(Executor):
    """Takes part with the rows of one hospital; tasks bring sums, and take its messages back.

    Parameters
    ----------
    folder : str
        With the hospital's agreement, key and rows; records and model are written there.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Become the party when the run starts."""
        if event_type == EventType.START_RUN:
            self._mailbox = Mailbox()
            party = party_of(Path(self._folder))
            Thread(target=self._take_part, args=(party,), daemon=True).start()

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Take in a sum and return the next message."""
        if task_name != TASK:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        return Shareable({MESSAGE: self._mailbox.exchange(bytes_of(shareable))})

    def _take_part(self, party: Party) -> None:
        model = outcome_of(party.run(self._mailbox))
        model.booster_.save_model(str(Path(self._folder) / "model.txt"))


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
        # Whatever leaves is on this disk before, and a site that is started again goes on.
        folder=folder / "records",
    )
