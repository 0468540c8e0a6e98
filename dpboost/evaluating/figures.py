"""A released estimate with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

#: Standard deviations of a normal law that 95 % of it lie within.
DEVIATIONS = 1.959964

#: Deviations of its noise below which a released number of rows is taken for noise.
CLEAR_ROWS = 3.0
#: Fewer rows than this say nothing of a group, even without noise.
LEAST_ROWS = 10.0
TOO_FEW = "too few rows"

Array = NDArray[np.float64]
#: A number, and its variances by sample and by noise.
Parts = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A noisy estimate of a metric of the evaluated rows, with its confidence interval.

    Parameters
    ----------
    value : float
        The estimate, clipped to the range of the metric.
    low, high : float
        95 % confidence interval for the metric of the population of the rows, which includes noise
        and sampling error.
    noise_stddev : float
        Standard deviation of the value from noise alone.
    too_few : bool, default=False
        Whether the released number of rows is within its noise: the group may be empty, and the
        value is meaningless. It is shown as "too few rows".
    """

    value: float
    low: float
    high: float
    noise_stddev: float
    too_few: bool = False

    @classmethod
    def around(
        cls,
        value: float,
        *,
        sampling: float,
        noise: float,
        least: float = -math.inf,
        most: float = math.inf,
        root: bool = False,
    ) -> Estimate:
        """Return a figure from variances.

        Parameters
        ----------
        sampling, noise : float
            Variances of the value.
        least, most : float
            Ends of the range of the metric.
        root : bool, default=False
            Whether the metric is the root of the value.
        """
        if not math.isfinite(value + sampling + noise):
            value, sampling, noise = 0.0, math.inf, math.inf
        reach = DEVIATIONS * math.sqrt(max(sampling, 0.0) + noise)
        ends = [value, value - reach, value + reach]
        deviation = math.sqrt(noise)
        if root:
            ends = [math.sqrt(max(end, 0.0)) for end in ends]
            # The slope of a root, by the interval where the value is near zero.
            deviation /= max(2 * ends[0], math.sqrt(reach) if reach else 1.0)
        found, low, high = (min(max(end, least), most) for end in ends)
        return cls(value=found, low=low, high=high, noise_stddev=deviation)

    def __format__(self, spec: str) -> str:
        if self.too_few:
            return TOO_FEW
        spec = spec or ".4g"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


def marked(figures: Mapping[str, Estimate], n_rows: float, variance: float) -> dict[str, Estimate]:
    """Return the metrics of a group, marked if its released number of rows is within noise.

    ``n_rows`` is noisy, ``variance`` that of its noise.
    """
    few = n_rows < max(LEAST_ROWS, CLEAR_ROWS * math.sqrt(variance))
    return {name: replace(figure, too_few=few) for name, figure in figures.items()}


def ratio(weights: Array, counts: Array, total: float, noise_variance: float) -> Parts:
    """Return a mean over rows that are counted in cells, with its variances.

    ``weights`` are what a row of each cell adds, ``counts`` noisy numbers of rows, all rows in one
    of the cells, ``total`` is their sum, at least 1.
    """
    value = float((weights * counts).sum()) / total
    slope = (weights - value) / total
    sampling = float((slope**2 * counts).sum())
    return value, max(sampling, 0.0), noise_variance * float((slope**2).sum())
