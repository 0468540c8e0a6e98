"""How much of the figures of Gubler is run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run.

    Attributes
    ----------
    repeats : dict of int to int
        By depth.
    features : tuple of int
    epsilons : tuple of float
    printed_depths : tuple of int
        Depths at which the readings that are not private are run.
    correlations : tuple of float
    shares, bounds_shares : tuple of float
        Of the leaves and of the bounds, in figure 2.
    share_repeats : int
        Of figure 2.
    share_epsilons : tuple of float
    """

    repeats: dict[int, int]
    features: tuple[int, ...]
    epsilons: tuple[float, ...]
    printed_depths: tuple[int, ...]
    correlations: tuple[float, ...] = (0.9, 0.3)
    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    bounds_shares: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    share_repeats: int = 50
    share_epsilons: tuple[float, ...] = (1.0, 5.0)


# As many as in the paper at depth 5, at the budgets of its curves. At depth 10 a tree has a
# thousand nodes, with rows or without, and takes twenty times as long.
FULL = Size(
    repeats={5: 50, 10: 20},
    features=(10, 25, 50),
    epsilons=(0.1, 1.2, 2.3, 3.4, 4.5, 5.6, 6.7, 7.8, 8.9, 10.0),
    printed_depths=(5, 10),
)
# The panels of figure 3 at both ends of the numbers of features, without figure 2: at depth 5 it
# takes less than a minute.
QUICK = Size(
    repeats={5: 10, 10: 2},
    features=(10, 50),
    epsilons=(0.5, 2.0, 10.0),
    printed_depths=(5,),
    share_repeats=0,
)
