"""A guarantee as a distribution of the privacy loss, in the form of Google's dp-accounting."""

from __future__ import annotations

from typing import Any

#: Losses are rounded up to multiples of this.
INTERVAL = 1e-4

#: Lattice error in epsilon and delta of Gaussian noise (docs/proofs/accountants.md).
LATTICE = (1e-6, 1e-20)


def loss_distribution(
    *, epsilon: float, delta: float, mu: float | None = None, failure: float = 0.0
) -> Any:
    """Return a privacy loss distribution that dominates a guarantee.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee.
    mu : float, optional
        Of Gaussian differential privacy, which is tighter than one pair.
    failure : float, default=0.0
        Failure probability of estimated categories, in addition to ``mu``.

    Returns
    -------
    dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution

    Raises
    ------
    ImportError
        If ``dp-accounting`` is not installed.
    """
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "to_pld() needs dp-accounting: python -m pip install dp-accounting."
        ) from error

    def pair(epsilon: float, delta: float) -> Any:
        return privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, delta),
            value_discretization_interval=INTERVAL,
        )

    if not mu:
        return pair(epsilon, delta)
    gaussian = privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, value_discretization_interval=INTERVAL
    )
    return gaussian.compose(pair(LATTICE[0], LATTICE[1] + failure))
