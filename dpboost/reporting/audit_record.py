"""The audit record in certificates, written by ``dpboost.audit.record``."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

#: The output of the audit in the sources, and the command that produces it.
SOURCE = "benchmarks/results/audit.txt"
COMMAND = "python -m dpboost.audit"
#: File of the record in the package.
FILE = "audit_record.json"


def stored() -> dict[str, Any]:
    """Return the audit record of the package."""
    text = resources.files(__package__).joinpath(FILE).read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
