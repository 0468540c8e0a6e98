"""The guarantee against colluding parties that know some shares of the noise.

Proof: docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, kve

from dpboost._utils.validation import check_integer, check_real
from dpboost.privacy.accounting import Accountant, GroupAccountant
from dpboost.privacy.ledger import Ledger, LedgerEntry, Scope
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, Mechanism
from dpboost.privacy.noise_shares import MaskedShare

# Beyond so many units to an epsilon of one, the law of real numbers serves for that on integers.
_FINE = 1 << 12


def effective_epsilon(
    epsilon: float, *, n_parties: int, colluding: int, honest: int, units: int | None = None
) -> float:
    r"""Return the epsilon of Laplace noise some of whose shares are known.

    Shares are differences of two negative binomial (on a fine grid, gamma) numbers of shape
    1/honest. What is left when the shares of ``colluding`` parties are subtracted has shape
    :math:`r = (K - c) / m`: all of the noise and more where :math:`r \ge 1`, a law with a sharp
    peak at zero else, the ratio of whose values at 0 and at one step is the largest.

    Parameters
    ----------
    epsilon : float
        What is charged for the sum.
    n_parties : int
        K.
    colluding : int
        c, the parties that show what they know; 1 where a party subtracts its own share.
    honest : int
        m, the number of shares that carry all of the noise.
    units : int, optional
        Integers that a row moves one coordinate by; by default very many. A row that moves
        several coordinates is worth one call for each of them.

    Returns
    -------
    float
        At least ``epsilon``; infinite where the density of what is left has no bound.

    Raises
    ------
    InvalidParameterError
        For a number outside its domain.

    Notes
    -----
    With :math:`t = e^{-\epsilon / \Delta}` and :math:`c_k = \binom{k + r - 1}{k}`, the law at
    :math:`k \ge 0` is proportional to :math:`\sum_j c_j c_{j + k} t^{2 j + k}`, in the limit of
    fine grids to :math:`|x|^\nu K_\nu(\epsilon |x|)` with :math:`\nu = r - 1/2`, which has the
    larger peak.

    Examples
    --------
    Gamma shares of shape 1/K, one of which its party knows:

    >>> for k in (3, 5, 10, 50):
    ...     print(k, round(effective_epsilon(1.0, n_parties=k, colluding=1, honest=k), 2))
    3 1.99
    5 1.44
    10 1.19
    50 1.03
    """
    owner = "effective_epsilon"
    epsilon = check_real("epsilon", owner, epsilon, low=0, low_open=True)
    check_integer("n_parties", owner, n_parties, low=1)
    check_integer("colluding", owner, colluding, low=0, high=n_parties - 1)
    check_integer("honest", owner, honest, low=1)
    shape = (n_parties - colluding) / honest
    if shape >= 1:
        return epsilon
    if units is None or units > _FINE * epsilon:
        return _fine_loss(epsilon, shape)
    return _integer_loss(epsilon / units, shape, units)


def _fine_loss(epsilon: float, shape: float) -> float:
    order = shape - 0.5
    if order <= 0:
        return math.inf
    at_zero = (order - 1) * math.log(2) + float(gammaln(order))
    at_step = order * math.log(epsilon) + math.log(float(kve(order, epsilon))) - epsilon
    return max(at_zero - at_step, epsilon)


@lru_cache(maxsize=4096)
def _integer_loss(rate: float, shape: float, units: int) -> float:
    # The law at k is the sum over j of the probabilities of j + k and of j, as t^(2 j + k) c c.
    j = np.arange(math.ceil(20 / rate) + 1)
    own = gammaln(j + shape) - gammaln(j + 1)
    moved = gammaln(j + units + shape) - gammaln(j + units + 1)
    peak = _log_of_sum(2 * own - 2 * rate * j)
    step = _log_of_sum(own + moved - rate * (2 * j + units))
    return max(peak - step, rate * units)


def _log_of_sum(logarithms: NDArray[np.float64]) -> float:
    # SciPy's takes ten times as long for a few terms, and a tree has thousands of releases.
    largest = float(logarithms.max())
    return largest + math.log(float(np.exp(logarithms - largest).sum()))


def epsilon_against(ledger: Ledger, *, n_parties: int, colluding: int, honest: int) -> float:
    """Return the epsilon of all releases against parties that know their shares.

    It is what is asked for in the ledger, that of the fit or of a party, where ``colluding``
    parties leave all of the noise. Else it is an upper bound, by the scopes of the ledger; infinite
    where there is none. The numbers are as in `effective_epsilon`.
    """
    if n_parties - colluding >= honest:
        return float(ledger.epsilon)
    accountant = ledger.accountant
    if accountant.name == "pure":
        shares = {"n_parties": n_parties, "colluding": colluding, "honest": honest}
        loss = _of_scope(ledger.root, lambda entry: _of_entry(entry, **shares))
        # Of one row of one fit; accountants of several count it as often.
        while isinstance(accountant, GroupAccountant):
            loss, accountant = loss * float(accountant.factor), accountant.inner
        return loss
    return _of_total(ledger.entries, accountant, ledger, Fraction(honest, n_parties - colluding))


def _of_scope(scope: Scope, loss: Callable[[LedgerEntry], float]) -> float:
    """Add up a scope: the largest of its children, or all but the least, where rows are so."""
    children = sorted(_of_scope(child, loss) for child in scope.children.values())
    if scope.parallel:
        children = children[-1:]
    elif scope.n_folds == len(children):
        children = children[1:]
    return sum(map(loss, scope.entries)) + sum(children)


def _of_entry(entry: LedgerEntry, *, n_parties: int, colluding: int, honest: int) -> float:
    """Return the loss of one release: the peak of the law makes small steps expensive."""
    mechanism, bound = _of_sum(entry.mechanism), entry.bound
    if not isinstance(mechanism, DiscreteLaplace):
        return float(mechanism.epsilon if mechanism.epsilon is not None else math.inf)
    # Of two ways to move so many units the one over more coordinates costs more.
    steps = min(bound.coordinates or bound.constant, bound.constant)
    units = -(-bound.constant // steps)
    if mechanism.epsilon == math.inf:
        return math.inf
    step = float(mechanism.epsilon) * units / bound.constant
    loss = effective_epsilon(
        step, n_parties=n_parties, colluding=colluding, honest=honest, units=units
    )
    return loss * steps


def _of_total(
    entries: Iterable[LedgerEntry], accountant: Accountant, ledger: Ledger, factor: Fraction
) -> float:
    """Return the epsilon of Gaussian releases with less variance."""
    if not all(isinstance(_of_sum(entry.mechanism), DiscreteGaussian) for entry in entries):
        return math.inf
    return accountant.epsilon(ledger.spent * factor, ledger.delta - ledger.delta_spent)


def _of_sum(mechanism: Mechanism) -> Mechanism:
    """Return the noise of the sum that a mechanism is a share of, or the mechanism itself."""
    return mechanism.base if isinstance(mechanism, MaskedShare) else mechanism
