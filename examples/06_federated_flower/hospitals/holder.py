"""The app of a data holder: one for each hospital, on its own machine."""

from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context

from dpboost.federated.protocol.flower import client_app


def load(context: Context) -> tuple[Any, Any]:
    """Read this hospital's rows from its own disk."""
    content = np.load(Path(str(context.node_config["rows"])))
    return content["X"], content["y"]


app = client_app(load)
