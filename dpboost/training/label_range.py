"""Private estimate of the label range inside wide bounds.

Some losses scale clips and steps by the range. The number of rows is released, and then noisy
histograms of labels. The cells of the first are public and finest near zero, so that very wide
bounds do no harm; the next ones divide the previous estimate into equal cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.schema_checks import LEAST_WIDTH
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.rows.cell_counts import CELL_NUMBERS, RangeCounts
from dpboost.training.private_bounds import row_units

#: Part of the budget that the first histogram gets; each further one gets the rest.
FIRST_SHARE = Fraction(1, 3)
#: Histograms of equal cells, at most: each may look into two cells of the one before.
MOST_LOOKS = 6
#: Parts of the rows that are seen below and above the range that the first histogram gives the
#: second; and the same of the range that is found.
FIRST_TAIL, TAIL = 0.003, 0.01
#: Probability, at most, that any empty cell of a histogram is taken for an occupied one.
STRAY_CELL = Fraction(1, 20)
#: Beside one another, cells of so many deviations of their noise are occupied as well.
DOUBT = 2.0
#: Rows are seen where occupied cells hold the first part of them, but for so many deviations of
#: their number, and the second part in any case. Else cells are merged, to so few.
SEEN, DOUBT_OF_COUNT, SEEN_AT_LEAST, LEAST_CELLS = 0.9, 2.0, 0.75, 4
#: There are as many cells as hold so many deviations of noise each, on average.
ROWS_OF_CELL = 3.0
#: Two cells hold all labels where the others hold this part of the rows at most, beyond doubt, or
#: where no other cell is occupied and rows are seen.
OTHERS = 0.2
#: Where less than this part of the variance that the first histogram shows lies inside the range,
#: labels have tails. Cells outside count from so many times what noise reaches in hardly any.
LEAST_VARIANCE, SURE_TAIL = 0.5, 1.5
#: Ranges of less than this part of their magnitude are not looked into: two of their cells would
#: be near the finest that the grid of labels can hold.
LEAST_RANGE = 2.0**-30
#: Nor are ranges of less than so many times the least that may be declared: none that is found is
#: narrower than that.
CELLS_OF_LEAST = 2 * CELL_NUMBERS[-1]

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


class SeenRange(NamedTuple):
    """An interval that contains nearly all labels.

    Parameters
    ----------
    tails : (float, float), optional
        Between which ones they were seen at all, where most of their variance lies outside.
    """

    low: float
    high: float
    tails: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class NoisyCount:
    """A released number of rows."""

    #: At least 1.
    rows: float
    noise_stddev: float


def release_row_count(
    ledger: Ledger,
    source: RowHandle,
    low: float,
    high: float,
    *,
    budget: PrivacyCost,
    label: str,
) -> NoisyCount:
    """Release the number of rows, as a histogram of their labels with one cell.

    Parameters
    ----------
    ledger, source, low, high, budget, label
        As of `release_label_range`; charged once.

    Privacy
    -------
    As `release_label_range`.
    """
    query = RangeCounts(low=low, high=high, units=row_units(ledger, budget), n_cells=1)
    counts = _Counts.release(ledger, source, query, budget, label)
    return NoisyCount(rows=max(float(counts.released[0]), 1.0), noise_stddev=counts.noise_stddev)


def release_label_range(
    ledger: Ledger,
    source: RowHandle,
    low: float,
    high: float,
    *,
    count: NoisyCount,
    budget: PrivacyCost,
    label: str,
) -> SeenRange | None:
    """Release between which numbers 98 % of the labels lie, as far as noise shows them.

    Parameters
    ----------
    ledger : Ledger
        Charged once for each histogram, which is two to ``1 + MOST_LOOKS`` times.
    source : RowHandle
        Of rows with labels, finite numbers.
    low, high : float
        Public or released bounds, ``low < high``. Labels outside count as those at the ends.
    count : NoisyCount
        The number of rows.
    budget : Fraction or inf
        Of the first two histograms, in the unit of the ledger's accountant; each further one
        costs as much as the second.

    Returns
    -------
    SeenRange or None
        Inside the bounds, ``low < high``; the bounds where noise hides the labels. None for
        bounds that are not looked into.

    Privacy
    -------
    Each release is a noisy histogram of labels over cells of a range that is public or comes from
    the release before: a row moves one count by one, or two when it is replaced
    (``constants.counts``), whatever the cells. All else is post-processing, how many histograms
    there are as well; their charges add up adaptively.

    Counts that noise alone could have made are set to zero. The second histogram has equal cells,
    as many as noise leaves room for, between the 0.3 and 99.7 % points of the first. Where two
    neighboring cells hold nearly all rows, these two are the range of the next one: so labels far
    from zero are found.
    """
    first = budget * FIRST_SHARE
    query = RangeCounts(low=low, high=high, units=row_units(ledger, first), n_cells=None)
    counts = _Counts.release(ledger, source, query, first, label)
    closer = counts.both(count) is not None
    wide = counts if counts.shows(count) and not closer else None
    if counts.shows(count):
        low, high = counts.points(FIRST_TAIL, whole=True)
    each = budget if budget == math.inf else budget - first
    found: SeenRange | None = None
    for _ in range(MOST_LOOKS):
        least = max(LEAST_RANGE * max(abs(low), abs(high)), CELLS_OF_LEAST * LEAST_WIDTH)
        if high - low <= least:
            break
        n_cells = CELL_NUMBERS[-1] if closer else _n_cells(ledger, each, count)
        query = RangeCounts(low=low, high=high, units=row_units(ledger, each), n_cells=n_cells)
        counts = _Counts.release(ledger, source, query, each, label)
        both = counts.both(count)
        if both is not None:
            closer, found = True, SeenRange(*both)
            low, high = both
        elif closer and not counts.shows(count):
            closer = False
        else:
            low, high = counts.seen(count)
            return SeenRange(low, high, None if wide is None else wide.tails(low, high))
    return found


def _n_cells(ledger: Ledger, budget: PrivacyCost, count: NoisyCount) -> int:
    """Return as many cells as noise leaves room for, where rows are spread over all of them."""
    noise = ledger.accountant.noise(budget)
    query = RangeCounts(low=0.0, high=1.0, units=row_units(ledger, budget))
    bound = next(one for one in query.bounds(ledger.neighbors) if one.kind == noise.needs)
    worth = ROWS_OF_CELL * noise.noise_stddev(bound) * query.unit
    numbers = [number for number in CELL_NUMBERS if number * worth <= count.rows]
    return max([CELL_NUMBERS[0], *numbers])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counts:
    """A released histogram, in rows."""

    #: Of shape (n_cells + 1,).
    edges: NDArray[np.float64]
    #: Of shape (n_cells,).
    released: NDArray[np.float64]
    noise_stddev: float
    #: What noise alone reaches in hardly any cell.
    threshold: float

    @classmethod
    def release(
        cls, ledger: Ledger, source: RowHandle, query: RangeCounts, budget: PrivacyCost, label: str
    ) -> _Counts:
        """Release it."""
        noise: Noise = ledger.accountant.noise(budget)
        sensitive = source.ask(query, ledger.neighbors)
        bound: Sensitivity = sensitive.bound(noise.needs)
        return cls(
            edges=query.edges,
            released=ledger.release(noise, sensitive, label=label) * query.unit,
            noise_stddev=sensitive.noise_stddev(noise) * query.unit,
            threshold=noise.tail(bound, STRAY_CELL / query.shape[0]) * query.unit,
        )

    @property
    def kept(self) -> NDArray[np.float64]:
        """Counts of cells that stand out, alone or with a neighbor; zeros elsewhere."""
        high = self.released > DOUBT * self.noise_stddev
        beside = np.zeros(len(high), dtype=bool)
        beside[1:] |= high[:-1]
        beside[:-1] |= high[1:]
        return np.where((self.released >= self.threshold) | (high & beside), self.released, 0.0)

    def shows(self, count: NoisyCount) -> bool:
        """Return whether the cells that stand out hold nearly all rows, as far as noise tells."""
        kept = float(self.kept.sum())
        doubt = DOUBT_OF_COUNT * count.noise_stddev
        return kept > 0 and kept >= max(SEEN * count.rows - doubt, SEEN_AT_LEAST * count.rows)

    def both(self, count: NoisyCount) -> tuple[float, float] | None:
        """Return the ends of two neighboring cells that hold nearly all rows, if they do."""
        pairs = self.released[:-1] + self.released[1:]
        position = int(np.argmax(pairs))
        doubt = math.hypot(math.sqrt(2) * self.noise_stddev, count.noise_stddev)
        occupied = np.flatnonzero(self.kept)
        alone = self.shows(count) and position <= occupied[0] and occupied[-1] <= position + 1
        if count.rows - float(pairs[position]) + doubt > OTHERS * count.rows and not alone:
            return None
        return float(self.edges[position]), float(self.edges[position + 2])

    def seen(self, count: NoisyCount) -> tuple[float, float]:
        """Return between which points all but a few rows lie: anywhere, where noise hides them."""
        counts = self
        while not counts.shows(count):
            if len(counts.released) <= LEAST_CELLS:
                return float(self.edges[0]), float(self.edges[-1])
            # The noise of several cells is that of one times at most the root of their number.
            counts = _Counts(
                edges=counts.edges[::2],
                released=counts.released.reshape(-1, 2).sum(axis=1),
                noise_stddev=math.sqrt(2) * counts.noise_stddev,
                threshold=math.sqrt(2) * counts.threshold,
            )
        return counts.points(TAIL)

    def tails(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the ends of what is seen, where most of the variance lies outside of a range.

        Every row counts as one in the middle of its cell.
        """
        inside = (self.edges[1:] > low) & (self.edges[:-1] < high)
        sure = self.released >= SURE_TAIL * self.threshold
        rows = np.where(inside, self.kept, np.where(sure, self.released, 0.0))
        if not rows.any():
            return None
        middles = (self.edges[:-1] + self.edges[1:]) / 2

        def variance(values: NDArray[np.float64]) -> float:
            return float(np.average((values - np.average(values, weights=rows)) ** 2, weights=rows))

        if variance(np.clip(middles, low, high)) >= LEAST_VARIANCE * variance(middles):
            return None
        seen = np.flatnonzero(rows)
        ends = float(self.edges[seen[0]]), float(self.edges[seen[-1] + 1])
        return min(low, ends[0]), max(high, ends[1])

    def points(self, tail: float, *, whole: bool = False) -> tuple[float, float]:
        """Return the points that leave a part of the kept rows below and above them.

        Parameters
        ----------
        whole : bool, default=False
            Whether the outer edges of their cells are meant.
        """
        kept = self.kept
        below = np.concatenate([[0.0], np.cumsum(kept)]) / kept.sum()
        first = int(np.searchsorted(below, tail, side="right")) - 1
        last = int(np.searchsorted(below, 1 - tail, side="left")) - 1
        if whole:
            return float(self.edges[first]), float(self.edges[last + 1])
        parts = [
            (position, (part - below[position]) / (below[position + 1] - below[position]))
            for position, part in ((first, tail), (last, 1 - tail))
        ]
        low, high = (
            self.edges[position] * (1 - part) + self.edges[position + 1] * part
            for position, part in parts
        )
        return float(low), float(high)


@dataclass(frozen=True, kw_only=True)
class LabelRange:
    """Released estimates of the label range; public."""

    #: To which labels are clipped.
    bounds: tuple[float, float]
    #: Distance of their 1 and 99 % points; None if the bounds are as before.
    spread: float | None = None
    #: Whether labels were counted.
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
    epsilon : float
        That of one row of the fit.

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
