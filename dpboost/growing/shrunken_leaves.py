"""Leaves from noisy sums: Newton steps, shrunk by the known noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class ShrunkenLeaf:
    """Newton steps from noisy sums, shrunk towards zero by what is known of their noise.

    With denominator ``h = max(H, 0) + lambda`` the raw step ``-G / h`` carries noise of variance
    ``(s / h)**2``, where ``s`` is the standard deviation of the noise of ``G``. Multiplied by
    ``tau**2 / (tau**2 + (s / h)**2)`` it is the posterior mean of a step with prior variance
    ``tau**2``. An empty leaf then adds almost nothing, which makes deep partitions harmless.

    Parameters
    ----------
    reg_lambda : float
        Added to the denominator.
    prior : float
        ``tau``, the typical size of a step.
    largest : float
        Steps are clipped to +- this.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    reg_lambda: float
    prior: float
    largest: float = 2.0

    def steps(
        self, gradients: NDArray[np.float64], hessians: NDArray[np.float64], noise_stddev: float
    ) -> NDArray[np.float64]:
        """Return the step of every leaf, before the learning rate.

        Parameters
        ----------
        gradients, hessians : ndarray of shape (n_outputs, n_leaves)
            Released sums.
        noise_stddev : float
            Standard deviation of the noise of a gradient sum.

        Returns
        -------
        ndarray of shape (n_outputs, n_leaves)
        """
        # A noisy sum of hessians may be negative, and the true one is not: cut at zero, the
        # denominator can neither vanish nor turn a step round.
        denominator = np.maximum(hessians, 0.0) + self.reg_lambda
        steps = -gradients / denominator * self.shrinkage((noise_stddev / denominator) ** 2)
        # Shrinkage bounds the noise of a step, not a step of a leaf with few rows and hessians near
        # zero, where scores would run away.
        return np.minimum(np.maximum(steps, -self.largest), self.largest)

    def precision(self, hessians: NDArray[np.float64], noise_stddev: float) -> NDArray[np.float64]:
        """Return the inverse of the posterior variance of every step, up to a common factor.

        The steps that are in order and likeliest under noise and prior are the projection of the
        posterior means by these weights. Where there is no noise they are the denominators, the
        weights of the Newton step itself.

        Parameters
        ----------
        hessians : ndarray of shape (n_outputs, n_leaves)
            Released sums.
        noise_stddev : float
            Standard deviation of the noise of a gradient sum.

        Returns
        -------
        ndarray of shape (n_outputs, n_leaves)
        """
        denominator = np.maximum(hessians, 0.0) + self.reg_lambda
        if noise_stddev == 0:
            return denominator
        return (denominator / noise_stddev) ** 2 + self.prior**-2

    def shrinkage(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of the posterior mean for noise of this variance."""
        return self.prior**2 / (self.prior**2 + variance)
