"""What the certificate says of the audit: a record that ``dpboost.audit.record`` has made."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

#: The run, in the sources, and the command that it is the output of.
SOURCE = "benchmarks/results/audit.txt"
COMMAND = "python -m dpboost.audit"
#: Where the package keeps what it says.
FILE = "audit_record.json"


def stored() -> dict[str, Any]:
    """Return the record that the package keeps."""
    text = resources.files(__package__).joinpath(FILE).read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
