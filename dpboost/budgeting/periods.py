"""Charges of individuals with rows in several periods: the largest possible sum.

Proof: docs/proofs/budgets.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

#: The division of rows into periods, in the part of a line: one pair for each that a fit reads.
PERIODS = "periods"
#: Most periods that somebody may be declared to have rows in.
MOST_PERIODS = 1000
#: A search that has looked at so many sets of periods ends with what no set can be above.
MOST_STEPS = 20_000

#: Sums of fractions, by the periods that they are for.
Sums = Mapping[frozenset[str], Fraction]


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The most periods of an individual, and the factor for fits on several periods."""

    #: Maximum number of periods in which an individual, or user, has rows.
    most: int
    #: Whether users are protected, with a fixed maximum of rows per fit over all of its periods.
    #: Otherwise an individual has one row per period.
    of_users: bool

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None) -> Overlap | None:
        """Return the overlap from the data of `plain`; None without periods."""
        if plain is None:
            return None
        return cls(most=int(plain["most"]), of_users=bool(plain["of_users"]))

    def plain(self) -> dict[str, Any]:
        """Return plain data for a certificate."""
        return {"most": self.most, "of_users": self.of_users}

    def factor(self, n_periods: int, account: str) -> int:
        """Return the factor of the charge for one row that covers an individual in a fit.

        The individual has rows in so many periods of the fit. Epsilon of a group adds up; rho and
        mu squared, in the account "Gaussian", grow with its square.
        """
        if self.of_users:
            return min(n_periods, 1)
        return n_periods if account == "pure" else n_periods**2

    def lasting(self, window: int, account: str) -> Fraction:
        """Return the largest fraction of a fit on the last few periods, one fit for each period.

        Two periods that lie ``d`` apart are both in ``window - d`` fits, so that rows in successive
        periods cost most where a fit costs the square of their number.
        """
        alone = self.most * window
        if self.of_users or account == "pure":
            return Fraction(1, alone)
        apart = range(1, min(self.most, window))
        together = sum((self.most - each) * (window - each) for each in apart)
        return Fraction(1, alone + 2 * together)

    def several(self, n_periods: int) -> bool:
        """Return whether a fit of this number of periods may read several rows of an individual."""
        return not self.of_users and min(self.most, n_periods) > 1


def most_paid(sums: Sums, overlap: Overlap, account: str, including: str | None = None) -> Fraction:
    """Return the largest charge of an individual, over all sets of ``overlap.most`` periods.

    ``sums`` has the recorded amount for each set of periods; the empty set means all periods. The
    account is "pure" or "Gaussian"; ``including`` is a period in which the individual has rows.
    After `MOST_STEPS` the result is an upper bound.

    Notes
    -----
    The search expands the open set with the largest bound first, so its bound is never below the
    largest sum, and it may stop at any time.
    """
    everywhere = sums.get(frozenset(), Fraction(0)) * overlap.factor(overlap.most, account)
    windows = [(window, fraction) for window, fraction in sums.items() if window]
    if not windows:
        return everywhere
    search = _Search(windows, overlap, account)
    return everywhere + search.largest(including)


class _Search:
    """A search over sets of periods, with charges as integers over a common denominator."""

    def __init__(
        self, windows: list[tuple[frozenset[str], Fraction]], overlap: Overlap, account: str
    ) -> None:
        self.overlap, self.account = overlap, account
        self.scale = math.lcm(*(fraction.denominator for _, fraction in windows))
        self.windows = [(window, int(fraction * self.scale)) for window, fraction in windows]
        names = sorted(frozenset[str]().union(*(window for window, _ in windows)))
        # What two rows cost together beyond what each costs alone, where costs are squares.
        squares = not overlap.of_users and account == "Gaussian"
        self.together = {
            name: {
                other: sum(weight for window, weight in self.windows if {name, other} <= window)
                for other in names
                if other != name and squares
            }
            for name in names
        }
        self.most_together = {name: self._sums(name) for name in names}
        self.names = sorted(
            names, key=lambda name: -self._alone(name) - self.most_together[name][-1]
        )

    def _alone(self, name: str) -> int:
        return sum(weight for window, weight in self.windows if name in window)

    def _sums(self, name: str) -> list[int]:
        """Return the largest charge of a period with 0, 1, ... other periods."""
        largest = sorted(self.together[name].values(), reverse=True)[: self.overlap.most - 1]
        found = [0]
        for each in largest:
            found.append(found[-1] + each)
        return found

    def value(self, chosen: frozenset[str]) -> int:
        """Return the charge of an individual with rows in these periods."""
        return sum(
            weight * self.overlap.factor(len(window & chosen), self.account)
            for window, weight in self.windows
        )

    def _gain(self, chosen: frozenset[str], name: str) -> int:
        """Return the increase of the value by one more period."""
        if self.overlap.of_users:
            return sum(
                weight for window, weight in self.windows if name in window and not window & chosen
            )
        together = self.together[name]
        return self._alone(name) + 2 * sum(together.get(other, 0) for other in chosen)

    def bound(self, chosen: frozenset[str], more: int, names: list[str]) -> int:
        """Return an upper bound for sets with at most ``more`` of some further periods."""
        gains = sorted(
            (
                self._gain(chosen, name)
                + self.most_together[name][min(more, len(self.most_together[name])) - 1]
                for name in names
            ),
            reverse=True,
        )
        return self.value(chosen) + sum(gains[:more])

    def largest(self, including: str | None) -> Fraction:
        chosen = frozenset[str]() if including is None else frozenset({including})
        names = [name for name in self.names if name not in chosen]
        more = min(self.overlap.most - len(chosen), len(names))
        # The largest bound first; of equal ones the set that lacks fewest periods.
        heap = [(-self._bound_of(chosen, more, names, 0), more, 0, sorted(chosen))]
        steps = 0
        while True:
            bound, more, start, listed = heapq.heappop(heap)
            steps += 1
            if not more or start == len(names) or steps > MOST_STEPS:
                return Fraction(-bound, self.scale)
            with_it = [*listed, names[start]]
            for own, left in ((with_it, more - 1), (listed, more)):
                found = self._bound_of(frozenset(own), left, names, start + 1)
                heapq.heappush(heap, (-found, left, start + 1, own))

    def _bound_of(self, chosen: frozenset[str], more: int, names: list[str], start: int) -> int:
        return self.bound(chosen, more, names[start:]) if more else self.value(chosen)
