"""How a party ends the handling of a message."""

from __future__ import annotations


class RefusalError(Exception):
    """Ends the handling of a message with a code."""

    def __init__(self, code: str) -> None:
        self.code = code
