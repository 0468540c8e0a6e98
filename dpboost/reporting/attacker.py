"""Bounds on membership-inference attacks that a guarantee implies.

The attacker has the model and all other rows, and tests whether the rows of an individual took
part, or which of two contents they have. A guarantee bounds the true-positive rate of every such
test at a false-positive rate alpha:

* (epsilon, delta): at most the smaller of delta + e^epsilon alpha and
  1 - e^-epsilon (1 - delta - alpha) (Wasserman and Zhou, JASA 2010, Theorem 2.4; Kairouz, Oh and
  Viswanath, ICML 2015, Theorem 2.1).
* mu-Gaussian: at most Phi(Phi^-1(alpha) + mu) (Dong, Roth and Su, JRSS B 2022, Definition 2.6);
  if the mechanism also fails with probability delta, 1 - (1 - delta) Phi(Phi^-1(1 - alpha /
  (1 - delta)) - mu) (ibid., Section 3.3, as the composition with f_{0, delta}).

Both bounds are valid, so the smaller one is used. Discrete noise equals Gaussian noise up to an
epsilon of 1e-6 and a delta of 1e-20; all results are rounded up to four digits.
"""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri


def best_true_positive_rate(
    false_positive_rate: float, *, epsilon: float, delta: float, mu: float | None = None
) -> float:
    """Bound the true-positive rate of any attacker at a false-positive rate.

    The rate is in (0, 1). ``epsilon`` and ``delta`` are the guarantee; epsilon may be infinite.
    ``mu`` is that of Gaussian differential privacy, if all releases have Gaussian noise; a failure
    of probability delta is allowed in addition. The bound is in [false_positive_rate, 1], rounded
    up to four digits.
    """
    rate = true_positive_bound(false_positive_rate, epsilon, delta, mu)
    return up(min(rate * SLACK, 1.0))


def membership_advantage(*, epsilon: float, delta: float, mu: float | None = None) -> float:
    """Bound the membership-inference advantage of any attacker.

    It is the true-positive rate minus the false-positive rate, rounded up to four digits: at most
    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), and 2 Phi(mu / 2) - 1 + delta if mu is given.
    """
    advantage = math.tanh(epsilon / 2)
    advantage += delta * (1 - advantage)
    if mu is not None:
        advantage = min(advantage, 2 * float(ndtr(mu / 2)) - 1 + delta)
    return up(min(advantage + 2e-6, 1.0))


def posterior(prior: float, *, epsilon: float, delta: float, mu: float | None = None) -> float:
    """Bound the posterior probability of an attacker's positive decision.

    The prior is in (0, 1). With delta = 0: prior e^epsilon / (1 - prior + prior e^epsilon), by
    Bayes' rule, for every outcome. With delta > 0 this bound may fail with probability delta; the
    bound is then by Bayes' rule from :func:`best_true_positive_rate` at a false-positive rate of 1
    %. Rounded up to four digits.
    """
    if delta == 0:
        odds = prior / (1 - prior) * math.exp(min(epsilon, LARGEST))
        return up(min(odds / (1 + odds), 1.0))
    rate = best_true_positive_rate(0.01, epsilon=epsilon, delta=delta, mu=mu)
    return up(prior * rate / (prior * rate + (1 - prior) * 0.01))


#: Excess of discrete noise over the Gaussian law.
SLACK = 1 + 2e-6
#: Larger values of epsilon overflow a double.
LARGEST = 700.0


def true_positive_bound(alpha: float, epsilon: float, delta: float, mu: float | None) -> float:
    """Return the largest true-positive rate of any attacker at a false-positive rate.

    The false-positive rate ``alpha`` is in [0, 1].
    """
    factor = math.exp(min(epsilon, LARGEST))
    best = min(delta + factor * alpha, 1 - (1 - delta - alpha) / factor, 1.0)
    if mu is None or delta + alpha >= 1:
        return best
    missed = (1 - delta) * float(ndtr(-ndtri(alpha / (1 - delta)) - mu))
    return min(best, 1 - missed)


def up(value: float) -> float:
    """Round a rate up to four significant digits, at most 1."""
    if value <= 0:
        return 0.0
    digits = 3 - math.floor(math.log10(value))
    return min(math.ceil(value * 10**digits - 1e-9) / 10**digits, 1.0)
