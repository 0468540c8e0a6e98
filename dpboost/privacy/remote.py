"""A private value that nobody in this process holds, and releases that are fetched together.

Proof: docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.mechanisms import Mechanism, Noise
from dpboost.privacy.sensitive import Sensitive, SensitiveValueError
from dpboost.privacy.sensitivity.bound import Sensitivity


class RemoteHolder(Protocol):
    """Whoever can have the outcome of a booked release drawn where the rows are."""

    def check(self, mechanism: Mechanism, distant: RemoteSensitive) -> None:
        """Raise, before anything is booked, where the mechanism cannot be drawn there."""

    def fetch(self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]]) -> list[NDArray[Any]]:
        """Return the outcome of each booked release, all in one exchange."""


class RemoteSensitive(Sensitive):
    """An integer array that nobody in this process holds.

    Its rows lie elsewhere, with somebody who adds noise before anything is sent. The gate records
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
        those that carry the charge are noise as well. The holder knows it once it is
        released (`released_with`), and expects it before.
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

    def released_with(self, noise_variance_ratio: float) -> None:
        """Take note of whose shares are in the noise: known once the value is released."""
        object.__setattr__(self, "noise_variance_ratio", noise_variance_ratio)

    def placeholder(self) -> NDArray[np.int64]:
        """Return zeros of the public shape, which take no memory: shapes are checked on them."""
        return np.broadcast_to(np.int64(0), self.shape)

    def map(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: nobody can compute with a value that lies elsewhere."""
        raise SensitiveValueError(
            "This value lies with the parties, who answer by sums alone: ask a question whose "
            "answer adds up, and compute with what is released."
        )


@dataclass(frozen=True, kw_only=True)
class Release:
    """One of several releases that are booked one by one and fetched together.

    Parameters
    ----------
    mechanism : Mechanism
        What to draw, with its budget.
    value : RemoteSensitive
        The value.
    label : str
        Kind of release, for the report.
    branch : tuple of str
        Names of the nested parts of the rows that the value is about, from the outside. Parts
        of one part hold disjoint rows.
    """

    mechanism: Mechanism
    value: RemoteSensitive
    label: str
    branch: tuple[str, ...] = ()
