"""The identifier of the open budget that an estimator carries into another process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BudgetMark:
    """The identifier of an open budget, without its content."""

    #: Of the object in the process that opened it.
    token: str
    #: What messages call its table.
    title: str
    #: Its file, by which other processes charge the same records; None without one.
    path: str | None
    #: Lines that the records had.
    n_lines: int
    #: Of the terms and these lines: another file, or an older copy, has another one.
    digest: str

    def is_same(self, other: BudgetMark) -> bool:
        """Return whether both name one budget, or objects on one file."""
        return other.token == self.token or (self.path is not None and other.path == self.path)
