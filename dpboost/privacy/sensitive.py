"""A value that still depends on private rows, with proof of how far one row can move it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, check_choice, check_integer, refuse
from dpboost.privacy.score_runs import ScoreRuns

if TYPE_CHECKING:
    from dpboost.privacy.ledger import LedgerEntry
    from dpboost.privacy.mechanisms import Mechanism, Noise

Norm = Literal["range", "l1", "l2"]
_KINDS = ("range", "l1", "l2")

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
        check_choice("kind", "Bound", self.kind, _KINDS)
        check_integer("constant", "Bound", self.constant, low=1, high=MOST_CHANGE)
        if self.coordinates is not None:
            check_integer("coordinates", "Bound", self.coordinates, low=1, high=MOST_CHANGE)


class SensitiveValueError(TypeError):
    """Code tried to look at a value that depends on private rows."""


def _refusal(self: Sensitive, *args: Any, **kwargs: Any) -> NoReturn:
    raise SensitiveValueError(
        "This value still depends on private rows. Only `Ledger.release` turns it into numbers; "
        "`Sensitive.map` computes with it on the private side."
    )


class Sensitive:
    """An integer array computed from private rows.

    It shows nothing of itself: no number, no shape, no comparison. Python has no walls, so this
    guards against mistakes, not against an adversary inside the process.

    Parameters
    ----------
    value : ndarray, int64, or ScoreRuns
        C-contiguous integers; not copied.
    bounds : tuple of Sensitivity
        How far one row can move ``value``; at most one of each kind.
    unit : float, default=1.0
        What one unit of ``value`` is worth; public.

    Raises
    ------
    InvalidParameterError
        If the array or the bounds are not of this form.
    """

    __slots__ = ("_value", "bounds", "unit")

    _value: NDArray[np.int64] | ScoreRuns
    bounds: tuple[Sensitivity, ...]
    unit: float

    def __init__(
        self,
        value: NDArray[np.int64] | ScoreRuns,
        bounds: tuple[Sensitivity, ...],
        unit: float = 1.0,
    ) -> None:
        runs = isinstance(value, ScoreRuns)
        if not runs and (not isinstance(value, np.ndarray) or value.dtype != np.int64):
            raise InvalidParameterError(
                "The 'value' parameter of Sensitive must be an ndarray of int64: clip and round "
                "the summands to a public grid before they are added."
            )
        kinds = [bound.kind for bound in bounds]
        if not isinstance(bounds, tuple) or not kinds or len(set(kinds)) < len(kinds):
            raise refuse("bounds", "Sensitive", "a tuple of bounds of different kinds", bounds)
        object.__setattr__(self, "_value", value if runs else np.ascontiguousarray(value))
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "unit", float(unit))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("A Sensitive does not change: a bound stays with its value.")

    def __repr__(self) -> str:
        return f"Sensitive(<hidden>, bounds={tuple(bound.kind for bound in self.bounds)})"

    def bound(self, kind: Norm) -> Sensitivity:
        """Return the bound of a kind.

        Raises
        ------
        InvalidParameterError
            If no bound of this kind was proved for the value.
        """
        for bound in self.bounds:
            if bound.kind == kind:
                return bound
        known = ", ".join(bound.kind for bound in self.bounds)
        raise InvalidParameterError(
            f"The mechanism needs a sensitivity of kind {kind!r}; this value has only: {known}."
        )

    def noise_stddev(self, noise: Noise) -> float:
        """Return the standard deviation of the noise on an entry of its release, in units.

        Raises
        ------
        InvalidParameterError
            As `bound`.
        """
        return noise.noise_stddev(self.bound(noise.needs))

    def map(
        self,
        function: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        *,
        bounds: tuple[Sensitivity, ...],
        unit: float | None = None,
    ) -> Sensitive:
        """Compute with the value on the private side.

        Parameters
        ----------
        function : callable
            From the hidden array to an int64 array. It must keep nothing and tell nobody.
        bounds : tuple of Sensitivity
            How far one row can move the result: the caller's proof.
        unit : float, optional
            Worth of one unit of the result; that of this value by default.

        Returns
        -------
        Sensitive
            The result, hidden like this one.
        """
        if isinstance(self._value, ScoreRuns):
            raise InvalidParameterError("Scores in runs are selected from, not computed with.")
        return Sensitive(function(self._value), bounds, self.unit if unit is None else unit)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refusal
    __hash__ = __bool__ = __len__ = __iter__ = __contains__ = _refusal
    __getitem__ = __format__ = __str__ = _refusal
    __int__ = __float__ = __index__ = __complex__ = __round__ = _refusal
    __array__ = __array_ufunc__ = __array_function__ = _refusal
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refusal


class RemoteHolder(Protocol):
    """Whoever can have the outcome of a booked release drawn where the rows are."""

    def check(self, mechanism: Mechanism, distant: RemoteSensitive) -> None:
        """Raise, before anything is booked, where the mechanism cannot be drawn there."""

    def fetch(self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]]) -> list[NDArray[Any]]:
        """Return the outcome of each booked release, all in one exchange."""


class RemoteSensitive(Sensitive):
    """An integer array that nobody in this process holds.

    Its rows lie elsewhere, with somebody who adds noise before anything is sent. The gate books
    the release as any other and then asks the holder for the outcome.

    Parameters
    ----------
    shape : tuple of int
        Public shape of the value.
    bounds : tuple of Sensitivity
        How far one row can move it.
    holder : RemoteHolder
        Has the outcomes drawn.
    query : object
        Public: what the holder asks the rows.
    unit : float, default=1.0
        What one unit of the value is worth; public.
    noise_variance_ratio : float, default=1.0
        Variance of the noise of its release, in parts of what is charged for: shares beyond
        those that carry the charge are noise as well.
    """

    __slots__ = ("holder", "query", "shape", "noise_variance_ratio")

    shape: tuple[int, ...]
    holder: RemoteHolder
    query: Any
    noise_variance_ratio: float

    def __init__(
        self,
        shape: tuple[int, ...],
        bounds: tuple[Sensitivity, ...],
        *,
        holder: RemoteHolder,
        query: Any,
        unit: float = 1.0,
        noise_variance_ratio: float = 1.0,
    ) -> None:
        super().__init__(np.empty(0, dtype=np.int64), bounds, unit)
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "holder", holder)
        object.__setattr__(self, "query", query)
        object.__setattr__(self, "noise_variance_ratio", noise_variance_ratio)

    def noise_stddev(self, noise: Noise) -> float:
        """Return the standard deviation of the noise of all shares, in units."""
        return super().noise_stddev(noise) * math.sqrt(self.noise_variance_ratio)

    def placeholder(self) -> NDArray[np.int64]:
        """Return zeros of the public shape, which take no memory: shapes are checked on them."""
        return np.broadcast_to(np.int64(0), self.shape)

    def map(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: nobody can compute with a value that lies elsewhere."""
        raise SensitiveValueError(
            "This value lies with the parties, who answer by sums alone: ask a question whose "
            "answer adds up, and compute with what is released."
        )


def _reveal(sensitive: Sensitive) -> Any:
    """Unwrap a value, an array or scores in runs.

    The ledger calls this after it has booked the charge; nobody else does.
    """
    return sensitive._value
