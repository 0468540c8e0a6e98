"""Sensitivity of a value by the neighboring relation and the contribution bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from dpboost._utils.validation import check_choice, check_integer

Norm = Literal["range", "l1", "l2"]
_NORMS = ("range", "l1", "l2")

#: Largest bound: twice as much still fits in the integers of the values.
MOST_CHANGE = 2**62 - 1


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of a value: the maximum change between neighboring tables."""

    #: ``"l1"`` and ``"l2"``: norm of the change of the whole array. ``"range"``: for scores of
    #: shape ``(n_nodes, n_candidates)``, the largest change of any candidate minus the smallest
    #: change of any candidate of a node, summed over the nodes.
    kind: Norm
    #: The bound in the integer units of the value, at least 1 and below 2**62; rounded up where
    #: it was not an integer.
    constant: int
    #: The proof in one line, for the report.
    reason: str
    #: At most this many entries of the array change; None if no one counted. Only accounting
    #: by Gaussian differential privacy asks for it, and takes the size of the array for None.
    coordinates: int | None = None
    #: Where ``constant`` is for the replace relation: what one added or removed row moves, as a
    #: norm for ``"l1"`` and ``"range"`` and as a squared norm for ``"l2"``. A replaced row may
    #: leave one node for another, and then counts in both.
    added: int | None = None

    def __post_init__(self) -> None:
        check_choice("kind", "Sensitivity", self.kind, _NORMS)
        check_integer("constant", "Sensitivity", self.constant, low=1, high=MOST_CHANGE)
        if self.coordinates is not None:
            check_integer("coordinates", "Sensitivity", self.coordinates, low=1, high=MOST_CHANGE)
        if self.added is not None:
            check_integer("added", "Sensitivity", self.added, low=1)

    @classmethod
    def listed(cls, line: Mapping[str, Any]) -> Sensitivity:
        """Return the bound that a line of a certificate lists, proved by anyone who listed it."""
        return cls(line["norm"], line["constant"], "as listed", line["coordinates"], line["added"])


class Neighbors(str, Enum):
    """The neighboring relation."""

    #: One table has one row more; the number of rows is private.
    ADD_REMOVE = "add_remove"
    #: The tables have equally many rows, at equal places, and differ in one of them; the number
    #: of rows is public. A replacement is a removal followed by an addition, so every constant
    #: is at most twice that of ``ADD_REMOVE``.
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


@dataclass(frozen=True, kw_only=True)
class ContributionBound:
    """Bounds of the integer vector that one row adds to the sums of its leaf.

    Privacy
    -------
    A public promise about every possible row. Anyone who makes the vector keeps it by clipping.
    """

    #: Bound of its L1 norm, at least 1.
    l1: int
    #: Bound of its squared L2 norm, at least 1.
    squares: int
    #: Its length: one entry for each output of the model.
    entries: int = 1
    #: Bound of the squared L2 norm of the difference of two such vectors, where it is less than
    #: the other bounds tell.
    difference: int | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "squares", "entries"):
            check_integer(name, "ContributionBound", getattr(self, name), low=1)

    @classmethod
    def single(cls, bound: int) -> ContributionBound:
        """Return the reach of one number of at most ``bound`` in absolute value."""
        return cls(l1=bound, squares=bound * bound)

    def scaled(self, factor: int) -> ContributionBound:
        """Return the reach of the vector multiplied by a positive integer."""
        apart = self.difference
        return ContributionBound(
            l1=self.l1 * factor,
            squares=self.squares * factor * factor,
            entries=self.entries,
            difference=None if apart is None else apart * factor * factor,
        )
