"""The process of a hospital: it takes part in one fit, and is reached by a Unix socket.

python -m hospitals.party work 0
"""

import json
import socket
import sys
from pathlib import Path
from threading import Thread

import numpy as np

from dpboost.federated import Agreement, Identity, Party, outcome_of
from dpboost.federated.carried import Mailbox


def party_of(folder: Path, index: int) -> Party:
    """Read this hospital's agreement, key and rows from its own disk."""
    rows = np.load(folder / f"rows{index}.npz")
    settings = json.loads((folder / f"party{index}.json").read_text("utf-8"))
    return Party(
        index,
        rows["X"],
        rows["y"],
        agreement=Agreement.from_json((folder / "agreement.json").read_text("utf-8")),
        identity=Identity((folder / f"identity{index}").read_bytes()),
        # Whatever leaves is on this disk before, and a party that is started again goes on.
        folder=folder / f"records{index}",
        first_row=settings["first_row"],
    )


def main(folder: Path, index: int) -> None:
    """Take part, and keep the model."""
    party, mailbox = party_of(folder, index), Mailbox()
    path = folder / f"socket{index}"
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    Thread(target=_serve, args=(listener, mailbox), daemon=True).start()
    print(f"party {index} waits", flush=True)
    model = outcome_of(party.run(mailbox))
    model.booster_.save_model(str(folder / f"model{index}.txt"))


def _serve(listener: socket.socket, mailbox: Mailbox) -> None:
    while True:
        line, _ = listener.accept()
        with line:
            task = b""
            while chunk := line.recv(1 << 20):
                task += chunk
            line.sendall(mailbox.exchange(task))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
