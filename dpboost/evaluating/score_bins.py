"""Released counts by score: borders of bins, and the distribution of scores inside a bin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpboost._utils.integer_units import to_integer_units

Array = NDArray[np.float64]

#: Log-odds are clipped to this; no loss of a row is larger than its log loss.
LARGEST_SCORE = 8.0
#: Bins of so many rows for each of noise; more rows have more.
USUAL_BINS = 6.5
ENOUGH_ROWS = 400.0
FEWEST_BINS, MOST_BINS = 4, 64
#: Cells count for the range of scores from so many deviations of their noise on.
SEEN = 2.5
# A step of Newton's method moves the line of log-odds by at most this.
_LARGEST_STEP = 1.0


def occupied_range(counts: Array, noise_stddev: float) -> tuple[float, float]:
    """Return the range of the equal cells of the scores that seem to hold rows, and one more.

    A range that is too wide costs resolution; outside of it scores are lost sight of. The counts
    are noisy.
    """
    borders = np.linspace(-LARGEST_SCORE, LARGEST_SCORE, len(counts) + 1)
    found = np.flatnonzero(counts >= max(SEEN * noise_stddev, 1.0))
    if not found.size:
        return -LARGEST_SCORE, LARGEST_SCORE
    last = min(found[-1] + 2, len(counts))
    return float(borders[max(found[0] - 1, 0)]), float(borders[last])


def number_of_bins(n_rows: float, noise_stddev: float) -> int:
    """Return how many bins pay: bins that are too wide hide order, more of them add noise."""
    enough = max(n_rows, 1.0) / max(noise_stddev, 1e-9) / ENOUGH_ROWS
    return int(min(max(round(USUAL_BINS * enough**0.25), FEWEST_BINS), MOST_BINS))


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreLaw:
    """The distribution of scores from a released histogram; independent of labels."""

    #: Range of the cells.
    low: float
    high: float
    #: Of shape (n_cells,). Noisy numbers of rows.
    counts: Array

    @property
    def borders(self) -> Array:
        """Ends of the cells."""
        return np.linspace(self.low, self.high, len(self.counts) + 1)

    @property
    def masses(self) -> Array:
        """Weights of the cells, not negative, with a sum of 1; equal where noise left nothing."""
        kept = np.maximum(self.counts, 0.0)
        whole = kept.sum()
        return kept / whole if whole > 0 else np.full(len(kept), 1 / len(kept))

    def shifted(self, step: float) -> list[ScoreLaw]:
        """Return the laws that come of one more ``step`` in one of the cells, for each cell."""
        moved = self.counts + step * np.eye(len(self.counts))
        return [ScoreLaw(low=self.low, high=self.high, counts=row) for row in moved]

    def edges(self, n_bins: int) -> tuple[float, ...]:
        """Return borders between bins that tell about equally much.

        A row tells as much as its label deviates where the odds are those of its score: among
        rows of which nearly all have one label, a bin costs noise and keeps hardly any of the
        others apart. One border is moved to even odds: there predictions change.
        """
        middles = (self.borders[:-1] + self.borders[1:]) / 2
        chance = expit(middles)
        weights = self.masses * np.sqrt(chance * (1 - chance))
        grown = np.concatenate(([0.0], np.cumsum(weights / weights.sum())))
        # Strictly growing, so that every share is at one place.
        grown = grown + np.linspace(0, 1e-9, len(grown))
        shares = np.arange(1, n_bins) / n_bins * grown[-1]
        found = np.interp(shares, grown, self.borders)
        found[np.argmin(np.abs(found))] = 0.0
        least = (self.high - self.low) * 1e-6
        kept = [0.0]
        for edge in found.tolist():
            if all(abs(edge - other) > least for other in kept):
                kept.append(edge)
        return tuple(sorted(kept))

    def pieces(self, edges: Sequence[float]) -> tuple[Array, Array, Array, NDArray[np.intp]]:
        """Cut the cells at the borders of bins.

        Returns the middle and the width of each piece, its weight, which is positive, so that no
        bin is empty, and the bin that it is in.
        """
        # Even odds may be outside the cells: there are bins beyond them then.
        outside = [edges[0] - 1] if edges[0] <= self.low else []
        outside += [edges[-1] + 1] if edges[-1] >= self.high else []
        borders = np.unique(np.concatenate((self.borders, edges, outside)))
        middles = (borders[:-1] + borders[1:]) / 2
        cell = (self.high - self.low) / len(self.counts)
        own = to_integer_units(
            (middles - self.low) / cell, 0, len(self.counts) - 1, toward_zero=True
        )
        inside = (middles > self.low) & (middles < self.high)
        masses = np.where(inside, self.masses[own], 0.0)
        widths = np.diff(borders)
        masses = (masses + 1e-6 / len(self.counts)) * widths / cell
        return middles, widths, masses, np.searchsorted(edges, middles, side="left")


class InsideBins:
    """Mean scores in each bin, of rows with the label and of others.

    ``own`` and ``others``, of shape (n_bins,), are noisy numbers of rows.

    Notes
    -----
    Inside a bin, rows lie as the histogram of scores says, and the odds of a label grow with the
    score as they do over all bins, by logistic regression of the counts.
    """

    def __init__(self, law: ScoreLaw, edges: tuple[float, ...], own: Array, others: Array) -> None:
        positions, widths, masses, bins = law.pieces(edges)
        n_bins = len(edges) + 1
        middle = np.bincount(bins, masses * positions, n_bins) / np.bincount(bins, masses, n_bins)
        line = _line(middle, own, others)
        chance = expit(np.polyval(line, positions))
        self._ahead = np.minimum(line[0] * widths / 12, 0.5)
        self.positions = positions
        self._spread = np.zeros((2, n_bins, len(positions)))
        for row, weights in enumerate((masses * (1 - chance), masses * chance)):
            self._spread[row, bins, np.arange(len(positions))] = weights
        self._spread /= np.maximum(self._spread.sum(axis=2, keepdims=True), 1e-300)

    def means(self, function: Array) -> Array:
        """Return means over each bin, of others and of rows with the label.

        The function is that at ``positions``. The result has shape (n_bins, 2).
        """
        return np.asarray(self._spread @ function).T

    @property
    def order(self) -> Array:
        """Return how often a row with the label of one bin has a score above another of a bin.

        The result has shape (n_bins, n_bins), by the bin of the row with the label, and of the
        other; equal scores count half.
        """
        others, own = self._spread
        # Of two rows in one piece the one with the label is above as odds grow over its width.
        below = np.cumsum(others, axis=1) - others * (0.5 - self._ahead)
        return np.asarray(own @ below.T)


def _line(middle: Array, own: Array, others: Array) -> Array:
    """Fit log-odds as a growing line of the score; a little ridge keeps it finite."""
    own, others = np.maximum(own, 0.0) + 0.5, np.maximum(others, 0.0) + 0.5
    slope, level = 0.0, math.log(own.sum() / others.sum())
    center = float(np.average(middle, weights=own + others))
    x = middle - center
    for _ in range(30):
        chance = expit(level + slope * x)
        weight = (own + others) * chance * (1 - chance)
        rest = own - (own + others) * chance
        gradient = np.array([rest.sum(), (rest * x).sum() - 1e-3 * slope])
        curve = np.array(
            [
                [weight.sum() + 1e-9, (weight * x).sum()],
                [(weight * x).sum(), (weight * x * x).sum() + 1e-3],
            ]
        )
        step = np.clip(np.linalg.solve(curve, gradient), -_LARGEST_STEP, _LARGEST_STEP)
        level, slope = level + step[0], slope + step[1]
    slope = min(max(slope, 0.0), 50.0)
    return np.array([slope, level - slope * center])
