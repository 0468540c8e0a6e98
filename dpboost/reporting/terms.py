"""What the pages of this room read of a privacy report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class ReportTerms(Protocol):
    """The terms of a fit, as ``dpboost.privacy.report.PrivacyReport`` states them."""

    @property
    def private(self) -> bool:
        """Whether there is a guarantee."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there is none."""

    @property
    def kind(self) -> str:
        """Kind of the guarantee."""

    @property
    def guarantee(self) -> str:
        """The guarantee in a sentence."""

    @property
    def neighbours(self) -> str:
        """The neighbouring relation."""

    @property
    def unit(self) -> str:
        """Who is protected."""

    @property
    def rows_per_user(self) -> int | None:
        """Rows of a user that take part."""

    @property
    def assumed_public(self) -> tuple[str, ...]:
        """What is public by assumption."""

    @property
    def accountant(self) -> str:
        """How releases add up."""

    @property
    def mu(self) -> float | None:
        """Of Gaussian differential privacy."""

    @property
    def total(self) -> tuple[Any, Any]:
        """Epsilon and delta of this fit and of those that it continues."""

    @property
    def earlier_epsilon(self) -> Any:
        """Epsilon of the fits that it continues."""

    @property
    def earlier_delta(self) -> Any:
        """Delta of the fits that it continues."""

    @property
    def accounting(self) -> dict[str, Any] | None:
        """Every release with its noise, and how they add up."""

    @property
    def capacity(self) -> Any:
        """The whole budget, in the unit of the accountant."""

    @property
    def releases(self) -> Sequence[Any]:
        """Every kind of release."""

    @property
    def facts(self) -> dict[str, Any]:
        """Public facts of the fit."""

    def details(self) -> str:
        """Return all terms as text."""
