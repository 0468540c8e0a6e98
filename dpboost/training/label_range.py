"""Where labels lie inside wide bounds, for losses whose clips and steps are parts of a range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.label_range import release_label_range, release_row_count
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle

# Of the budget, by the norm of the noise: for the number of rows, and the least, the most and, over
# rows times epsilon, the share of the first two histograms.
COUNT_SHARE = {"l2": Fraction(1, 100), "l1": Fraction(2, 100)}
LEAST_SHARE = {"l2": Fraction(1, 100), "l1": Fraction(2, 100)}
MOST_SHARE = {"l2": Fraction(20, 100), "l1": Fraction(15, 100)}
SHARE_OF_ONE = {"l2": 50.0, "l1": 150.0}
# From so many rows times epsilon on, a histogram is worth its charge.
ROWS_TO_LOOK = 250.0
# Labels of a larger part of their bounds are left with these.
WORTH_WHILE = 0.7


@dataclass(frozen=True, kw_only=True)
class LabelRange:
    """What has been released of where labels lie; public.

    Parameters
    ----------
    bounds : (float, float)
        To which labels are clipped.
    spread : float or None
        Distance of their 1 and 99 % points; None where the bounds are as before.
    looked : bool
        Whether labels were counted.
    """

    bounds: tuple[float, float]
    spread: float | None = None
    looked: bool = False


def learn_label_range(
    bounds: tuple[float, float],
    source: RowHandle,
    *,
    margin: float,
    budget: PrivacyCost,
    ledger: Ledger,
    epsilon: float,
    max_rows: int | None,
) -> LabelRange:
    """Release the number of rows and, where these are enough, where their labels lie.

    Parameters
    ----------
    bounds : (float, float)
        Declared or released bounds of the labels.
    source : RowHandle
        Of ``RawRows``.
    margin : float
        How far the range goes beyond the 1 and 99 % points, in their distance.
    budget : Fraction or inf
        That of the trees, of which a part is taken.
    ledger : Ledger
        The gate.
    epsilon : float
        That of one row of the fit.
    max_rows : int or None
        As declared.

    Privacy
    -------
    One release of the number of rows, and those of `release_label_range`.
    """
    low, high = bounds
    if low == high:
        return LabelRange(bounds=bounds)
    kind = ledger.accountant.noise(budget).needs
    count = release_row_count(
        ledger, source, low, high, budget=budget * COUNT_SHARE[kind], label="label range"
    )
    information = min(count.rows, max_rows or math.inf) * epsilon
    if information < ROWS_TO_LOOK:
        return LabelRange(bounds=bounds)
    part = Fraction(SHARE_OF_ONE[kind] / information) if information < math.inf else Fraction(0)
    part = min(MOST_SHARE[kind], max(LEAST_SHARE[kind], part))
    found = release_label_range(
        ledger, source, low, high, count=count, budget=budget * part, label="label range"
    )
    if found is None or found.high - found.low > WORTH_WHILE * (high - low):
        return LabelRange(bounds=bounds, looked=True)
    spread = found.high - found.low
    inside = (max(low, found.low - margin * spread), min(high, found.high + margin * spread))
    if found.tails is not None:
        # Clips by the range of nearly all labels would leave little of what there is to learn.
        ends = (min(inside[0], found.tails[0]), max(inside[1], found.tails[1]))
        return LabelRange(bounds=ends, looked=True)
    return LabelRange(bounds=inside, spread=spread, looked=True)
