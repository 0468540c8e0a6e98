"""The app of a data holder: it carries bytes to the hospital's own process, and knows nothing else.

Flower starts a process for each message. The party runs in a process of its own for the whole fit
(`hospitals/party.py`), which this app reaches by a Unix socket on the same machine.
"""

import socket

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

KEY = "dpboost"
app = ClientApp()


@app.query()
def query(message: Message, context: Context) -> Message:
    """Hand a task to the hospital's process and bring back its message."""
    task = message.content[KEY]["task"]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(context.node_config["socket"]))
        line.sendall(task if isinstance(task, bytes) else b"")
        line.shutdown(socket.SHUT_WR)
        chunks = []
        while chunk := line.recv(1 << 20):
            chunks.append(chunk)
    content = {"party": int(context.node_config["party"]), "message": b"".join(chunks)}
    return Message(RecordDict({KEY: ConfigRecord(content)}), reply_to=message)
