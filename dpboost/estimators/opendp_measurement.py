"""A fit as an OpenDP measurement, for use with OpenDP's odometers and filters.

Proof: docs/proofs/charges.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sklearn.base import clone

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.budget import MOST_HISTOGRAMS
from dpboost.estimators.fit_arguments import FitOptions
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.exact_arithmetic import DELTA_SHARE, as_budget, as_fraction, number_of
from dpboost.privacy.sensitivity.bound import Neighbors

_OWNER = "as_opendp_measurement"


def as_opendp_measurement(model: Any, *, fit: Callable[..., Any] | None = None) -> Any:
    """Return the fit of an estimator as a measurement of OpenDP.

    Parameters
    ----------
    model : estimator
        DPBoostClassifier, DPBoostRegressor, DPTreeClassifier or DPTreeRegressor; it stays
        unfitted. Its ``epsilon`` and ``delta`` are what each invocation spends.
    fit : callable, optional
        ``fit(model, *data)``, for a fit with further public arguments or with ``user_ids``;
        ``model.fit(*data)`` by default.

    Returns
    -------
    opendp.Measurement
        Of a tuple of rows, labels and whatever else ``fit`` takes; each invocation returns a new
        fitted estimator. Its distance is one of ``symmetric_distance`` (``change_one_distance``
        for ``neighbors="replace"``; users, ``user_distance("users")``, where they are protected).
        Its loss is epsilon of ``max_divergence`` for a pure fit, else rho and the delta of
        learned names, of ``approximate(zero_concentrated_divergence)``.

    Raises
    ------
    InvalidParameterError
        For other objects, bad parameters, and estimators that are not private.
    ImportError
        Where OpenDP is not installed: ``pip install opendp``.

    Privacy
    -------
    OpenDP keeps the account then, and a `Budget` of this library keeps none: charge one of both.
    OpenDP asks for its features "contrib" and "honest-but-curious" to be enabled, as it takes the
    guarantee of a function that it has not made on trust.

    Examples
    --------
    >>> import dpboost
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = dpboost.DPBoostRegressor(epsilon=1.0, schema=schema)
    >>> measurement = dpboost.as_opendp_measurement(model)  # doctest: +SKIP
    """
    asked = getattr(model, "_asked", None)
    if asked is None or not hasattr(model, "fit"):
        must = "an estimator of this library that fits rows of this process"
        raise refuse("model", _OWNER, must, type(model).__name__)
    model = clone(model)
    found = model._asked(FitOptions())
    privacy = found.privacy
    if privacy.epsilon == math.inf or privacy.noise_seed is not None:
        raise InvalidParameterError(
            f"The 'model' parameter of {_OWNER} must be private: epsilon finite and no noise_seed."
        )
    try:
        import opendp.prelude as opendp
    except ImportError as error:
        raise ImportError(f"{_OWNER} needs OpenDP: pip install opendp.") from error
    epsilon = as_budget("epsilon", _OWNER, privacy.epsilon)
    delta = as_fraction("delta", _OWNER, privacy.delta)
    accountant = found.recipe.accountant(privacy.epsilon, privacy.delta)
    capacity = Fraction(number_of(accountant.capacity(epsilon, delta)))
    pure = isinstance(accountant, PureAccountant)
    # All noise is on integers, of which half a squared mu is exactly a rho.
    cost = capacity / 2 if accountant.privacy_measure == "mu squared" else capacity
    failure = MOST_HISTOGRAMS * DELTA_SHARE * delta
    if pure and not delta:
        measure: Any = opendp.max_divergence()
    elif pure:
        measure = opendp.approximate(opendp.max_divergence())
    else:
        measure = opendp.approximate(opendp.zero_concentrated_divergence())

    def loss(distance: Any) -> Any:
        """Return what tables at a distance may be distinguished by."""
        n_rows = math.ceil(distance)
        if n_rows > 1 and failure:
            raise ValueError(f"{type(model).__name__} is for a distance of 1: its delta grows.")
        spent = _up(cost * (n_rows if pure else n_rows**2))
        return spent if pure and not delta else (spent, _up(failure))

    def released(data: Any) -> Any:
        """Fit a new estimator."""
        new = clone(model)
        return new.fit(*data) if fit is None else fit(new, *data)

    if privacy.rows_per_user is not None:
        metric: Any = opendp.user_distance("users")
    elif privacy.neighbors is Neighbors.REPLACE:
        metric = opendp.change_one_distance()
    else:
        metric = opendp.symmetric_distance()
    domain = opendp.user_domain("rows and labels", lambda data: isinstance(data, tuple))
    return opendp.m.make_user_measurement(domain, metric, measure, released, loss)


def _up(amount: Fraction) -> float:
    """Return a float that is not below a fraction."""
    near = float(amount)
    return near if Fraction(near) >= amount else math.nextafter(near, math.inf)
