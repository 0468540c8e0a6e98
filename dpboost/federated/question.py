"""What may be asked of rows, and what they may be told: both public, both sent as messages."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Bound


class Question(Protocol):
    """A frozen dataclass of public values; registered with `wire.known` so that it can be sent.

    Attributes
    ----------
    unit : float
        What one unit of the answer is worth.
    branch : tuple of str, optional
        Names of the nested parts of the rows that the question is about, from the outside; all
        rows without it. Parts with different names inside one part must hold disjoint rows
        whatever was told before: each party's ledger charges by these names, and only the code
        of `answer` makes them true. An order must therefore never move rows into a part anew.
    """

    @property
    def unit(self) -> float:
        """What one unit of the answer is worth."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""

    def answer(self, rows: Any) -> NDArray[np.int64]:
        """Private side: exact integers that add up over disjoint sets of rows.

        For a question of `Coordinator.each` they need not add up.
        """

    def bounds(self, neighbours: Neighbours) -> tuple[Bound, ...]:
        """Return how far one row moves the answer, from this object's fields alone.

        It must hold for every object that can be built: a party believes the fields, which the
        coordinator chose, and nothing else. Raise where they make no sense.
        """


class Order(Protocol):
    """A frozen dataclass of public values, registered with `wire.known`.

    The first order finds the rows as `HeldRows`. The state that an order returns may have

    * ``stage``: str. Releases of different stages add up in the party's ledger, as those of one
      stage do; the state itself must give a new name whenever rows are divided anew.
    * ``branch``: tuple of str. The part of the rows that is taken up, as of questions.
    """

    def carry_out(self, rows: Any) -> Any:
        """Private side: return the rows' next state, which may be the same object."""


def branch_of(question: Any) -> tuple[str, ...]:
    """Return the part of the rows that a question is about; ``()`` for all of them."""
    return tuple(getattr(question, "branch", ()))
