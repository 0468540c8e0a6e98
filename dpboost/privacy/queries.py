"""Row stores and queries, whose results are sensitive values.

A fit uses rows only through a `RowHandle`. Rows may be in this process, in partitions on other
machines, or at parties; the fit is the same. The content of `Sensitive` values:
docs/proofs/integers.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.sensitivity.bound import Neighbors, Norm, Sensitivity
from dpboost.privacy.stability_histogram import NameCounts


class SumQuery(Protocol):
    """A query whose integer result adds up over rows; the query is public and picklable.

    Privacy
    -------
    A query contains public and released numbers. Its result is private.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""

    def evaluate(self, rows: Any) -> NDArray[np.int64]:
        """Return the array for the rows of one place.

        The result for all rows is the exact sum of the results of the row stores. A repeated query
        gives the same result and does not affect later ones.
        """


class Query(SumQuery, Protocol):
    """A sum that may be released, with a proof of its sensitivity."""

    @property
    def unit(self) -> float:
        """Value of one unit of the result."""

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivities of the result, from public numbers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryInUnits:
    """A query whose result is counted in parts of a row, or of a bound, for finer noise."""

    #: Units that a row, or a part of one, is worth.
    units: int

    @property
    def unit(self) -> float:
        """Value of one unit of the result."""
        return 1 / self.units


class CategoryCountQuery(Protocol):
    """Counts of undeclared values; only for row stores that have all rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Public names of the counted columns."""

    def count(self, rows: Any) -> list[Counter[Any]]:
        """Return one table of counts for each column; adds up over sites."""


def carry_out(rows: Any, command: str, given: Mapping[str, Any]) -> Any:
    """Execute a command in one row store and return its next state.

    A command is a method of the state of rows, given released splits and leaves, or the next round.
    Where it returns None, the state stays.
    """
    following = getattr(rows, command)(**given)
    return rows if following is None else following


class RowStore(Protocol):
    """Private rows in any location; public code uses a `RowHandle`."""

    def sensitive(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return what the gate takes."""

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all rows.

        Scores of splits and clipped leaves are not sums: code that computes them from this wraps
        them as `Sensitive` immediately. A store of parties has no exact sums.
        """

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over all rows."""

    def apply(self, command: str, **given: Any) -> None:
        """Execute a command in all row stores, as `carry_out` does."""


class RowHandle:
    """Handle of private rows for public code: it sends queries and commands, and reads nothing.

    Privacy
    -------
    A result is `Sensitive`, a command returns nothing. Only private code accesses the store, by
    `store_of`.
    """

    __slots__ = ("_row_store", "exact_sums", "one_place")

    def __init__(self, store: RowStore) -> None:
        self._row_store = store
        #: Whether this process has all rows in one table, which is public.
        self.one_place = isinstance(store, LocalRows)
        #: Whether the private side has exact sums of all rows, which is public.
        self.exact_sums: bool = getattr(store, "exact_sums", True)

    def ask(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return the result of a query, as the gate takes it."""
        return self._row_store.sensitive(query, neighbors)

    def apply(self, command: str, **given: Any) -> None:
        """Call a method of the state of rows; its result stays private.

        Arguments are public and released values, and secret random assignments.
        """
        self._row_store.apply(command, **given)

    def prefetch(self, queries: Sequence[SumQuery]) -> None:
        """Announce the next queries, which then follow one by one; equal ones are taken as one.

        A store that reads its rows again for each query answers all of them in one reading.
        """
        at_once = getattr(self._row_store, "prefetch", None)
        if at_once is not None:
            at_once(queries)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A handle of private rows cannot be pickled or copied.")


def store_of(handle: RowHandle) -> RowStore:
    """Return the store of a handle, for the gate and for code that wraps exact sums."""
    return handle._row_store


class LocalRows:
    """Rows of this process.

    Parameters
    ----------
    rows : object
        State of the rows, for queries and commands.
    """

    __slots__ = ("_prefetched", "_rows")

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self._prefetched: dict[SumQuery, NDArray[np.int64]] = {}

    def sensitive(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return what the gate takes."""
        return wrapped(self, query, neighbors)

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all rows, on the private side."""
        if query in self._prefetched:
            return self._prefetched.pop(query)
        return query.evaluate(self._rows)

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over all rows, on the private side."""
        return query.count(self._rows)

    def prefetch(self, queries: Sequence[SumQuery]) -> None:
        """Answer them at once where rows are read in batches, so that they are read once."""
        at_once = getattr(self._rows, "answers", None)
        found = at_once(queries) if at_once is not None else None
        if found is not None:
            self._prefetched = dict(zip(queries, found, strict=True))

    def apply(self, command: str, **given: Any) -> None:
        """Carry out a command."""
        self._rows = carry_out(self._rows, command, given)


def handle_of(rows: Any) -> RowHandle:
    """Return the handle of rows of this process, in any state."""
    return RowHandle(LocalRows(rows))


def wrapped(store: RowStore, query: Query, neighbors: Neighbors) -> Sensitive:
    """Return the exact result of a trusted store as what the gate takes."""
    return Sensitive(store.exact(query), query.bounds(neighbors), unit=query.unit)


class SensitiveValueError(TypeError):
    """Code tried to read a value that depends on private rows."""


def _refusal(self: Sensitive, *args: Any, **kwargs: Any) -> NoReturn:
    raise SensitiveValueError(
        "This value still depends on private rows. Only `Ledger.release` turns it into numbers; "
        "`Sensitive.map` computes with it on the private side."
    )


class Sensitive:
    """An integer array computed from private rows.

    It reveals nothing: no number, no shape, no comparison. Python has no access control, so this
    prevents mistakes, not an adversary inside the process.

    Parameters
    ----------
    value : ndarray of int64, ScoreRuns or NameCounts
        C-contiguous integers; not copied.
    bounds : tuple of Sensitivity
        Sensitivities of ``value``; at most one of each kind.
    unit : float, default=1.0
        Value of one unit of ``value``; public.

    Raises
    ------
    InvalidParameterError
        If the array or the bounds are not of this form.
    """

    __slots__ = ("_value", "bounds", "unit")

    _value: NDArray[np.int64] | ScoreRuns | NameCounts
    bounds: tuple[Sensitivity, ...]
    unit: float

    def __init__(
        self,
        value: NDArray[np.int64] | ScoreRuns | NameCounts,
        bounds: tuple[Sensitivity, ...],
        unit: float = 1.0,
    ) -> None:
        other = isinstance(value, (ScoreRuns, NameCounts))
        if not other and (not isinstance(value, np.ndarray) or value.dtype != np.int64):
            raise InvalidParameterError(
                "The 'value' parameter of Sensitive must be an ndarray of int64: clip and round "
                "the summands to a public grid before they are added."
            )
        if (
            not isinstance(bounds, tuple)
            or not bounds
            or (len(bounds) > 1 and len({bound.kind for bound in bounds}) < len(bounds))
        ):
            raise refuse("bounds", "Sensitive", "a tuple of bounds of different kinds", bounds)
        object.__setattr__(self, "_value", value if other else np.ascontiguousarray(value))
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "unit", float(unit))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("A Sensitive does not change: a bound stays with its value.")

    def __repr__(self) -> str:
        return f"Sensitive(<hidden>, bounds={tuple(bound.kind for bound in self.bounds)})"

    def bound(self, kind: Norm) -> Sensitivity:
        """Return the bound of a kind, or raise where none was proved for the value."""
        for bound in self.bounds:
            if bound.kind == kind:
                return bound
        known = ", ".join(bound.kind for bound in self.bounds)
        raise InvalidParameterError(
            f"The mechanism needs a sensitivity of kind {kind!r}; this value has only: {known}."
        )

    def noise_stddev(self, noise: Noise) -> float:
        """Return the standard deviation of the noise on an entry of its release, in units."""
        return noise.noise_stddev(self.bound(noise.needs))

    def map(
        self,
        function: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        *,
        bounds: tuple[Sensitivity, ...],
    ) -> Sensitive:
        """Compute with the value on the private side.

        The function maps the hidden array to an int64 array, and must not store or reveal anything.
        The caller proves ``bounds``, the sensitivities of the result, which is in the same unit and
        hidden like this value.
        """
        if not isinstance(self._value, np.ndarray):
            raise InvalidParameterError("Scores in runs and counts of names are released only.")
        return Sensitive(function(self._value), bounds, self.unit)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refusal
    __hash__ = __bool__ = __len__ = __iter__ = __contains__ = _refusal
    __getitem__ = __format__ = __str__ = _refusal
    __int__ = __float__ = __index__ = __complex__ = __round__ = _refusal
    __array__ = __array_ufunc__ = __array_function__ = _refusal
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refusal


def _reveal(sensitive: Sensitive) -> Any:
    """Unwrap a value, an array or scores in runs.

    Only the ledger calls this, after it has recorded the charge.
    """
    return sensitive._value
