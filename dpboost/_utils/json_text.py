"""Parsing of untrusted JSON, with protection against deep nesting."""

from __future__ import annotations

import json
from typing import Any

# No file of this library comes near; what is read is walked by functions that call themselves.
DEEPEST_JSON = 100


def parse_json(text: str | bytes) -> Any:
    """Return what a text in JSON says.

    ValueError for what is no JSON, and for lists and objects more than 100 levels deep.
    """
    try:
        found = json.loads(text)
        level = [found]
        for _ in range(DEEPEST_JSON):
            level = [item for each in level for item in _items(each)]
            if not level:
                return found
    except RecursionError:
        pass
    raise ValueError(f"its lists and objects are more than {DEEPEST_JSON} levels deep")


def _items(value: Any) -> Any:
    """Return what a list or an object holds."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
