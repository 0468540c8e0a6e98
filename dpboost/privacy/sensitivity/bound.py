"""How far neighboring tables can move a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dpboost._utils.validation import check_choice, check_integer

Norm = Literal["range", "l1", "l2"]
_NORMS = ("range", "l1", "l2")

#: Largest bound: twice as much still fits in the integers of the values.
MOST_CHANGE = 2**62 - 1


@dataclass(frozen=True)
class Sensitivity:
    """How far neighboring tables can move a value.

    Parameters
    ----------
    kind : {"range", "l1", "l2"}
        ``"l1"`` and ``"l2"``: norm of the change of the whole array. ``"range"``: for scores of
        shape ``(n_nodes, n_candidates)``, the largest change of any candidate minus the smallest
        change of any candidate of a node, summed over the nodes.
    constant : int
        The bound in the integer units of the value, at least 1 and below 2**62; rounded up where
        it was not an integer.
    reason : str
        The proof in one line, for the report.
    coordinates : int or None
        At most this many entries of the array change; None where no one counted. Only accounting
        by Gaussian differential privacy asks for it, and takes the size of the array for None.
    added : int or None
        Where ``constant`` is for the replace relation: what one added or removed row moves, as a
        norm for ``"l1"`` and ``"range"`` and as a squared norm for ``"l2"``. A replaced row may
        leave one node for another, and then counts in both.
    """

    kind: Norm
    constant: int
    reason: str
    coordinates: int | None = None
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
