"""Private values that are sums over parties, and releases that are fetched together.

Proof: docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.mechanisms import Mechanism, Noise
from dpboost.privacy.queries import Sensitive, SensitiveValueError
from dpboost.privacy.sensitivity.bound import Sensitivity

#: ``draw(position, mechanism)`` returns what a mechanism makes of this process's part of the value
#: of a booked release. Only the gate makes one.
Draw = Callable[[int, Mechanism], NDArray[Any]]


class RemoteHolder(Protocol):
    """The interface that exchanges parts of recorded releases with the other parties."""

    def check(self, mechanism: Mechanism, remote: RemoteSensitive) -> None:
        """Raise, before anything is recorded, where the mechanism cannot be drawn by parties."""

    def fetch(
        self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]], draw: Draw
    ) -> list[NDArray[Any]]:
        """Return the outcome of each recorded release, all in one exchange."""


class RemoteSensitive(Sensitive):
    """An integer array that is the sum of parts at several parties.

    The gate records its release like any other. The holder then lets the gate draw this process's
    part with a share of the noise and a mask, and returns the sum of all parts.

    Parameters
    ----------
    shape : tuple of int
        Public shape of the value.
    bounds : tuple of Sensitivity
        How far one row can move it.
    holder : RemoteHolder
        Exchanges the parts.
    query : object
        Public: what the rows were asked.
    unit : float, default=1.0
        What one unit of the value is worth; public.
    noise_variance_ratio : float, default=1.0
        Variance of the noise of its release, in parts of what is charged for: shares beyond
        those that carry the charge are noise as well. The holder knows it once it is
        released (`released_with`), and expects it before.
    own : ndarray of int64, optional
        The part of this process; none where it has no rows.
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
        own: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(np.empty(0, dtype=np.int64) if own is None else own, bounds, unit)
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "holder", holder)
        object.__setattr__(self, "query", query)
        object.__setattr__(self, "noise_variance_ratio", noise_variance_ratio)

    def noise_stddev(self, noise: Noise) -> float:
        """Return the standard deviation of the noise of all shares, in units."""
        return super().noise_stddev(noise) * math.sqrt(self.noise_variance_ratio)

    def released_with(self, noise_variance_ratio: float) -> None:
        """Take note of whose shares are in the noise: known once the value is released."""
        object.__setattr__(self, "noise_variance_ratio", noise_variance_ratio)

    def placeholder(self) -> NDArray[np.int64]:
        """Return zeros of the public shape, which take no memory: shapes are checked on them."""
        return np.broadcast_to(np.int64(0), self.shape)

    def map(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: no one can compute with a value of which others hold parts."""
        raise SensitiveValueError(
            "Parties hold parts of this value, which leave as sums alone: release a query whose "
            "result adds up, and compute with what is released."
        )


@dataclass(frozen=True, kw_only=True)
class Release:
    """One of several releases that are recorded one by one and fetched together."""

    #: What to draw, with its budget.
    mechanism: Mechanism
    value: RemoteSensitive
    label: str
    #: Names of the nested parts of the rows that the value is about, from the outside. Parts
    #: of one part hold disjoint rows.
    branch: tuple[str, ...] = ()
