"""How far neighbouring tables can move a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpboost._utils.validation import check_choice, check_integer

Norm = Literal["range", "l1", "l2"]
_NORMS = ("range", "l1", "l2")

#: Largest bound: twice as much still fits in the integers of the values.
MOST_CHANGE = 2**62 - 1


@dataclass(frozen=True)
class Sensitivity:
    """How far neighbouring tables can move a value.

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
        At most this many entries of the array change; None where nobody counted. Only accounting
        by Gaussian differential privacy asks for it, and takes the size of the array for None.
    """

    kind: Norm
    constant: int
    reason: str
    coordinates: int | None = None

    def __post_init__(self) -> None:
        check_choice("kind", "Sensitivity", self.kind, _NORMS)
        check_integer("constant", "Sensitivity", self.constant, low=1, high=MOST_CHANGE)
        if self.coordinates is not None:
            check_integer("coordinates", "Sensitivity", self.coordinates, low=1, high=MOST_CHANGE)
