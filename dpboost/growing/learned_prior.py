"""The typical step size, estimated from released sums; small if a good model is continued."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.shrunken_leaves import ShrunkenLeaf

# What earlier rounds count in the next one.
KEPT = 0.9
# The least typical step, as a part of that of the recipe's rule, which is the largest.
LEAST_PART = 1e-3


@dataclass(kw_only=True)
class LearnedPrior:
    """Shrink steps by the fraction of signal in the released sums.

    A fit that continues a good model finds mostly noise in its first sums. With the prior of a fit
    that starts at a constant, it would add that noise to the model. Here the variance of steps is
    estimated from released steps minus the variance of their noise, over the last rounds (an
    empirical Bayes estimate, as that of James and Stein).

    Proof: docs/proofs/constraints.md.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    _signal: float = field(default=0.0, init=False)
    _weight: float = field(default=0.0, init=False)

    def leaf(
        self,
        leaf: ShrunkenLeaf,
        gradients: NDArray[np.float64],
        hessians: NDArray[np.float64],
        noise_stddev: float,
    ) -> ShrunkenLeaf:
        """Return the leaves of a round, with a prior that follows its sums and those before.

        Parameters
        ----------
        leaf : ShrunkenLeaf
            With the largest prior.
        gradients, hessians : ndarray of shape (n_outputs, n_leaves)
            Released sums.
        noise_stddev : float
            Standard deviation of the noise of a gradient sum.
        """
        if noise_stddev == 0:
            return leaf
        denominator = np.maximum(hessians, 0.0) + leaf.reg_lambda
        variance = (noise_stddev / denominator) ** 2
        # Each leaf counts as its square tells of the variance of steps where that is small.
        weight = variance**-2
        signal = weight * ((gradients / denominator) ** 2 - variance)
        self._signal = KEPT * self._signal + float(signal.sum())
        self._weight = KEPT * self._weight + float(weight.sum())
        typical = max(self._signal / self._weight, 0.0) ** 0.5
        return replace(leaf, prior=min(leaf.prior, max(typical, LEAST_PART * leaf.prior)))
