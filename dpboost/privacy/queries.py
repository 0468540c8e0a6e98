"""Where private rows are: what may be asked of them, and what they may be told.

A fit works with rows through a `Source` alone. Rows may lie in this process, in partitions on
other machines, or at parties that show them to nobody; the fit is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitive import Bound, Sensitive


class Sum(Protocol):
    """An integer array that adds up over rows; public itself, and picklable.

    Privacy
    -------
    It is made of public and released numbers. Its answer is private.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""

    def answer(self, rows: Any) -> NDArray[np.int64]:
        """Return the array for the rows of one place.

        The answer for all rows is the sum of the answers of the places, exactly. Asking twice
        gives the same answer and changes nothing that a later one depends on.
        """


class Question(Sum, Protocol):
    """A sum that may be released, with proof of how far one row can move it."""

    @property
    def unit(self) -> float:
        """Worth of one unit of the answer."""

    def bounds(self, neighbours: Neighbours) -> tuple[Bound, ...]:
        """Return the sensitivities of the answer, from public numbers."""


class Tally(Protocol):
    """Counts by values that nobody has listed; only for sources that may be looked into."""

    def count(self, rows: Any) -> list[Counter[Any]]:
        """Return one table of counts for each column; adds up over places."""


class Order(Protocol):
    """What rows are told: released splits and leaves, the next round; picklable."""

    def carry_out(self, rows: Any) -> Any:
        """Return the next state of the rows of one place, maybe the same object."""


class Source(Protocol):
    """Private rows, wherever they are."""

    def sensitive(self, question: Question, neighbours: Neighbours) -> Sensitive:
        """Return what the gate takes."""

    def exact(self, question: Sum) -> NDArray[np.int64]:
        """Return the sum over all rows, on the private side.

        Scores of splits and clipped leaves are no sums: whoever computes them from this wraps
        them as `Sensitive` at once. A source of parties has no such sum to give.
        """

    def tally(self, question: Tally) -> list[Counter[Any]]:
        """Return counts over all rows, on the private side, as `exact` does."""

    def tell(self, order: Order) -> None:
        """Have an order carried out wherever rows are."""


class LocalSource:
    """Rows of this process.

    Parameters
    ----------
    rows : object
        Their state, as questions and orders know it.
    """

    __slots__ = ("_foreseen", "_rows")

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self._foreseen: dict[Sum, NDArray[np.int64]] = {}

    def sensitive(self, question: Question, neighbours: Neighbours) -> Sensitive:
        """Return what the gate takes."""
        return wrapped(self, question, neighbours)

    def exact(self, question: Sum) -> NDArray[np.int64]:
        """Return the sum over all rows, on the private side."""
        if question in self._foreseen:
            return self._foreseen.pop(question)
        return question.answer(self._rows)

    def tally(self, question: Tally) -> list[Counter[Any]]:
        """Return counts over all rows, on the private side."""
        return question.count(self._rows)

    def foresee(self, questions: Sequence[Sum]) -> None:
        """Answer them at once where rows are read in batches, so that they are read once."""
        at_once = getattr(self._rows, "answers", None)
        found = at_once(questions) if at_once is not None else None
        if found is not None:
            self._foreseen = dict(zip(questions, found, strict=True))

    def tell(self, order: Order) -> None:
        """Carry out an order."""
        self._rows = order.carry_out(self._rows)


def wrapped(source: Source, question: Question, neighbours: Neighbours) -> Sensitive:
    """Return the exact answer of a trusted source as what the gate takes."""
    return Sensitive(source.exact(question), question.bounds(neighbours), unit=question.unit)


def foresee(source: Source, questions: Sequence[Sum]) -> None:
    """Say which questions come next, one by one.

    A source that reads its rows anew for each question, and therefore has a method of this name,
    answers all of them in one reading. To the others it makes no difference.

    Parameters
    ----------
    source : Source
    questions : sequence of Sum
        Equal ones are taken as one.
    """
    at_once = getattr(source, "foresee", None)
    if at_once is not None:
        at_once(questions)
