"""A value that still depends on private rows, with proof of how far one row can move it.

What such a value is made of: docs/proofs/integers.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.sensitivity.bound import Norm, Sensitivity
from dpboost.privacy.stability_histogram import NameCounts


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
    value : ndarray of int64, ScoreRuns or NameCounts
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
            From the hidden array to an int64 array. It must keep nothing and tell no one.
        bounds : tuple of Sensitivity
            How far one row can move the result: the caller's proof.
        unit : float, optional
            Worth of one unit of the result; that of this value by default.

        Returns
        -------
        Sensitive
            The result, hidden like this one.
        """
        if not isinstance(self._value, np.ndarray):
            raise InvalidParameterError("Scores in runs and counts of names are released only.")
        return Sensitive(function(self._value), bounds, self.unit if unit is None else unit)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refusal
    __hash__ = __bool__ = __len__ = __iter__ = __contains__ = _refusal
    __getitem__ = __format__ = __str__ = _refusal
    __int__ = __float__ = __index__ = __complex__ = __round__ = _refusal
    __array__ = __array_ufunc__ = __array_function__ = _refusal
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refusal


def _reveal(sensitive: Sensitive) -> Any:
    """Unwrap a value, an array or scores in runs.

    The ledger calls this after it has recorded the charge; no one else does.
    """
    return sensitive._value
