"""The neighboring relation: which two tables must be hard to tell apart."""

from __future__ import annotations

from enum import Enum


class Neighbors(str, Enum):
    """Which tables count as neighbors.

    Attributes
    ----------
    ADD_REMOVE
        One table has one row more; the number of rows is private.
    REPLACE
        The tables have equally many rows, at equal places, and differ in one of them; the number
        of rows is public. A replacement is a removal followed by an addition, so every constant
        is at most twice that of ``ADD_REMOVE``.
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"

    @property
    def rows(self) -> int:
        """Additions and removals that lead from a table to its neighbor."""
        return 1 if self is Neighbors.ADD_REMOVE else 2

    @property
    def sentence(self) -> str:
        """The relation in words, to complete "differ by ..."."""
        if self is Neighbors.ADD_REMOVE:
            return "one added or removed row"
        return "the content of one row"
