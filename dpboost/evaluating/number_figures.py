"""Metrics of a regressor from released sums of errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.evaluating.figures import Figure

Array = NDArray[np.float64]

#: What a regressor is judged by.
NUMBER_METRICS = ("rmse", "mae", "r2", "quantile_loss")

# A mean over fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0


def largest_error(counts: Array, ends: Array, threshold: float) -> float:
    """Return where errors may be clipped: above the largest cell that more than noise is in.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy numbers of rows by error, largest errors first.
    ends : ndarray of shape (n_cells,)
        Upper ends of the cells.
    threshold : float
        Noise alone reaches it hardly ever.

    Returns
    -------
    float
        The upper end of the next larger cell; of all cells where noise hides them.
    """
    found = np.flatnonzero(counts >= threshold)
    first = int(found[0]) if found.size else 0
    return float(ends[max(first - 1, 0)])


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorMoments:
    """Sums of one group as means, with what errors look like in all groups.

    Parameters
    ----------
    sums : mapping of str to float
        Noisy, by the names of ``ErrorSums``.
    largest : float
        Where errors are clipped.
    width : float
        Of the label bounds.
    level : float or None
        Of the quantile loss.
    fourth : float
        Mean fourth power of errors over the square of their mean square, roughly.
    variance : float
        Of the noise of each sum.
    alike : int, default=1
        Rows that may be one and the same: the variance of the sample is so many times as large.
    """

    sums: Mapping[str, float]
    largest: float
    width: float
    level: float | None
    fourth: float
    variance: float
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

    def figure(self, name: str) -> Figure:
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

    def _scaled(self, name: str, sampling: float, unit: float, *, root: bool = False) -> Figure:
        return Figure.around(
            self.mean(name) * unit,
            sampling=self.alike * sampling * unit**2,
            noise=self.noise(name) * unit**2,
            least=0.0,
            root=root,
        )

    def _r2(self) -> Figure:
        r"""Return one less the mean square error over the variance of the labels.

        Notes
        -----
        With :math:`\rho = m / V`, the ratio of a sample varies as the mean of
        :math:`(e^2 - \rho (y - \mu)^2) / V`. Errors are taken as uncorrelated with predictions,
        so that :math:`\mathrm{Cov}(e^2, (y - \mu)^2) = \mathrm{Var}(e^2)`, and the labels'
        fourth moment as that of a normal law.
        """
        half = self.width / 2
        mean = self.mean("label")
        spread = max(self.mean("label_square") - mean**2, 1e-12) * half**2
        unit = self.largest**2
        error = self.mean("square") * unit
        part = error / spread
        own = self.square_sampling * unit**2 * (1 - 2 * part)
        sampling = max(own + part**2 * 2 * spread**2 / self.n_rows, 0.0) / spread**2
        sampling *= self.alike
        of_label = self.variance * half**4 * (1 + 4 * mean**2) / self.n_rows**2
        # The number of rows cancels but for the square of the mean.
        of_error = self.variance * unit**2 / self.n_rows**2
        noise = (of_error + part**2 * of_label) / spread**2
        return Figure.around(1 - part, sampling=sampling, noise=noise, most=1.0)


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


def number_figures(moments: ErrorMoments, names: Sequence[str]) -> dict[str, Figure]:
    """Return metrics of one group of rows."""
    return {name: moments.figure(name) for name in names if math.isfinite(moments.n_rows)}
