"""The identifier of the open budget that an estimator carries into another process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BudgetMark:
    """The identifier of an open budget, without its content.

    Parameters
    ----------
    token : str
        Of the object in the process that opened it.
    title : str
        What messages call its table.
    path : str or None
        Its file, by which other processes charge the same records; None without one.
    n_lines : int
        Lines that the records had.
    digest : str
        Of the terms and these lines: another file, or an older copy, has another one.
    """

    token: str
    title: str
    path: str | None
    n_lines: int
    digest: str

    def is_same(self, other: BudgetMark) -> bool:
        """Return whether both name one budget, or objects on one file."""
        return other.token == self.token or (self.path is not None and other.path == self.path)
