"""Metrics of a regressor from released sums of errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.evaluating.figures import DEVIATIONS, LEAST_ROWS, Estimate

Array = NDArray[np.float64]

#: What a regressor is judged by.
NUMBER_METRICS = ("rmse", "mae", "r2", "quantile_loss")


def largest_error(counts: Array, ends: Array, threshold: float) -> float:
    """Return where errors may be clipped: above the largest cell that more than noise is in.

    ``counts``, of shape (n_cells,), are noisy numbers of rows by error, largest errors first,
    ``ends`` the upper ends of the cells; noise alone reaches the threshold hardly ever. Returns the
    upper end of the next larger cell; of all cells where noise hides them.
    """
    found = np.flatnonzero(counts >= threshold)
    first = int(found[0]) if found.size else 0
    return float(ends[max(first - 1, 0)])


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorMoments:
    """Means of one group, with the distribution of errors in all groups."""

    #: Noisy, by the names of ``ErrorSums``.
    sums: Mapping[str, float]
    #: Where errors are clipped.
    largest: float
    #: Of the label bounds.
    width: float
    #: Of the quantile loss.
    level: float | None
    #: Mean fourth power of errors over the square of their mean square, roughly.
    fourth: float
    #: Of the noise of each sum.
    variance: float
    #: Rows that may be one and the same: the variance of the sample is so many times as large.
    alike: int = 1

    @property
    def n_rows(self) -> float:
        """Noisy number of rows."""
        return max(self.sums["rows"], LEAST_ROWS)

    def mean(self, name: str) -> float:
        """Return a mean, of scaled parts."""
        return self.sums[name] / self.n_rows

    def noise(self, name: str) -> float:
        """Return what noise adds to the variance of a mean."""
        return self.variance * (1 + self.mean(name) ** 2) / self.n_rows**2

    @property
    def square_sampling(self) -> float:
        """Variance of the scaled mean square, of a sample."""
        square = max(self.mean("square"), 0.0)
        return (min(self.fourth * square**2, square) - square**2) / self.n_rows

    def figure(self, name: str) -> Estimate:
        """Return a metric by its name in ``NUMBER_METRICS``."""
        if name == "rmse":
            return self._scaled("square", self.square_sampling, self.largest**2, root=True)
        if name == "r2":
            return self._r2()
        # Mean and mean square of the errors say how far absolute errors vary.
        square = max(self.mean("square"), 0.0)
        if name == "mae":
            sampling = max(square - self.mean("absolute") ** 2, 0.0) / self.n_rows
            return self._scaled("absolute", sampling, self.largest)
        assert self.level is not None
        steepest = max(self.level, 1 - self.level)
        sampling = max(square - self.mean("quantile") ** 2, 0.0) / self.n_rows
        return self._scaled("quantile", sampling, self.largest * steepest)

    def _scaled(self, name: str, sampling: float, unit: float, *, root: bool = False) -> Estimate:
        return Estimate.around(
            self.mean(name) * unit,
            sampling=self.alike * sampling * unit**2,
            noise=self.noise(name) * unit**2,
            least=0.0,
            root=root,
        )

    def _r2(self) -> Estimate:
        r"""Return one less the mean square error over the variance of the labels.

        Notes
        -----
        The interval of the ratio :math:`\rho = m / V` is that of Fieller (1954): all
        :math:`\rho` for which :math:`m - \rho V` is within its deviations of zero. Errors are
        taken as uncorrelated with predictions, so that :math:`\mathrm{Cov}(e^2, (y - \mu)^2) =
        \mathrm{Var}(e^2)` in a sample, and the labels' fourth moment as that of a normal law.
        """
        half, mean, unit = self.width / 2, self.mean("label"), self.largest**2
        spread = max(self.mean("label_square") - mean**2, 1e-12) * half**2
        error = self.mean("square") * unit
        together = self.alike * self.square_sampling * unit**2
        # The number of rows cancels but for the square of the mean.
        noise = self.variance * unit**2 / self.n_rows**2
        label_noise = self.variance * half**4 * (1 + 4 * mean**2) / self.n_rows**2
        error_variance = together + noise
        label_variance = self.alike * 2 * spread**2 / self.n_rows + label_noise
        part = error / spread
        least, most = _fieller(
            (error, spread), (error_variance, label_variance, together), DEVIATIONS**2
        )
        return Estimate(
            value=min(1 - part, 1.0),
            low=min(1 - most, 1.0),
            high=min(1 - least, 1.0),
            noise_stddev=math.sqrt(noise + part**2 * label_noise) / spread,
        )


def _fieller(
    means: tuple[float, float], variances: tuple[float, float, float], reach: float
) -> tuple[float, float]:
    """Return the ends of the ratio of two means, of which the second is positive.

    ``variances`` are those of the two, and their covariance; ``reach`` is in squared deviations.
    """
    above, below = means
    curve = below**2 - reach * variances[1]
    if curve <= 0:
        return -math.inf, math.inf
    slope = above * below - reach * variances[2]
    rest = above**2 - reach * variances[0]
    root = math.sqrt(max(slope**2 - curve * rest, 0.0))
    return (slope - root) / curve, (slope + root) / curve


def fourth_moment(counts: Array, ends: Array, largest: float, threshold: float) -> float:
    """Return the fourth moment of errors over their squared second one, from counts by cells.

    Cells that noise alone may have filled are left out; 3, as of normal errors, where none is
    left.
    """
    kept = np.where(counts >= threshold, counts, 0.0)
    if kept.sum() <= 0:
        return 3.0
    # Inside a cell, whose ends are a half octave apart, errors are near its geometric middle.
    errors = np.minimum(ends * 2**-0.25, largest)
    second = float(kept @ errors**2) / kept.sum()
    fourth = float(kept @ errors**4) / kept.sum()
    return max(fourth / second**2, 1.0) if second > 0 else 3.0


def number_figures(moments: ErrorMoments, names: Sequence[str]) -> dict[str, Estimate]:
    """Return metrics of one group of rows."""
    return {name: moments.figure(name) for name in names if math.isfinite(moments.n_rows)}
