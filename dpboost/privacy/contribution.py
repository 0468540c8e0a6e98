"""How far one row can move a vector of sums."""

from __future__ import annotations

from dataclasses import dataclass

from dpboost._utils.validation import check_integer


@dataclass(frozen=True, kw_only=True)
class ContributionBound:
    """Bounds of the integer vector that one row adds to the sums of its leaf.

    Parameters
    ----------
    l1 : int
        Bound of its L1 norm, at least 1.
    squares : int
        Bound of its squared L2 norm, at least 1.
    entries : int, default=1
        Its length: one entry for each output of the model.
    difference : int, optional
        Bound of the squared L2 norm of the difference of two such vectors, where it is less than
        the other bounds tell.

    Privacy
    -------
    A public promise about every possible row. Anyone who makes the vector keeps it by clipping.
    """

    l1: int
    squares: int
    entries: int = 1
    difference: int | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "squares", "entries"):
            check_integer(name, "ContributionBound", getattr(self, name), low=1)

    @classmethod
    def single(cls, bound: int) -> ContributionBound:
        """Return the reach of one number of at most ``bound`` in absolute value."""
        return cls(l1=bound, squares=bound * bound)

    def scaled(self, factor: int) -> ContributionBound:
        """Return the reach of the vector multiplied by a positive integer."""
        apart = self.difference
        return ContributionBound(
            l1=self.l1 * factor,
            squares=self.squares * factor * factor,
            entries=self.entries,
            difference=None if apart is None else apart * factor * factor,
        )
