"""Explanation of a guarantee, or of a planned fit, without rows."""

from __future__ import annotations

import math
from typing import Any

from dpboost._utils.validation import (
    InvalidParameterError,
    check_integer,
    check_real,
    refuse,
)
from dpboost.budgeting import Budget
from dpboost.budgeting.claim import Claim
from dpboost.privacy.accounting import for_group
from dpboost.privacy.exact_arithmetic import (
    DELTA_SHARE,
    PrivacyCost,
    as_budget,
    as_fraction,
    number_of,
)
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import Recipe
from dpboost.reporting.epsilon_explanation import EpsilonExplanation
from dpboost.reporting.terms import four_digits_up
from dpboost.schema import Schema
from dpboost.training.privacy_params import MOST_ROWS_PER_USER


def explain_epsilon(
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    mu: float | None = None,
    recipe: str | Recipe | None = None,
    rows_per_user: int | None = None,
    schema: Any = None,
    budget: Budget | None = None,
    fraction: Any = None,
) -> EpsilonExplanation:
    """Explain a guarantee as bounds on membership-inference attacks.

    Parameters
    ----------
    epsilon : float, optional
        Of a pure or an (epsilon, delta) guarantee, nonnegative; ``inf`` means no guarantee.
    delta : float, default=0.0
        In [0, 1).
    mu : float, optional
        Of a Gaussian guarantee, instead of ``epsilon``; tighter than any pair of epsilon and delta
        that it implies.
    recipe : str or Recipe, optional
        Of a planned fit with this epsilon and delta: the bounds are then those of its
        ``privacy_report_``. They are tighter than those of the pair alone if the recipe accounts
        Gaussian noise in mu, as ``"best"`` does for a positive delta.
    rows_per_user : int, optional
        Of the planned fit, if it protects users.
    schema : Schema, dict, DataDictionary or path, optional
        Of the planned fit. If it leaves categories to be estimated, these use a part of delta.
    budget : Budget, optional
        Budget of the planned fit, instead of a separate epsilon. The command
        ``fit --epsilon E --delta D --holdout PART`` uses the whole of
        ``Budget(epsilon=E, delta=D)``. Nothing is charged.
    fraction : float or Fraction, optional
        Fraction of the budget, in (0, 1].

    Returns
    -------
    EpsilonExplanation
        Prints as a sentence, with bounds by its methods, ``table()`` and ``plot()``.

    Raises
    ------
    InvalidParameterError
        If not exactly one of epsilon, mu and budget is given, delta or recipe is given with mu,
        rows_per_user or schema without recipe, one of budget, fraction and recipe without the
        others, or a number is outside its domain.

    Privacy
    -------
    Reads no rows.

    Notes
    -----
    If a planned fit estimates classes, or categories of categorical columns that the schema does
    not name, these use another tenth of delta, and the noise is slightly larger.

    References
    ----------
    P. Kairouz, S. Oh, P. Viswanath, The Composition Theorem for Differential Privacy, ICML 2015.

    J. Dong, A. Roth, W. J. Su, Gaussian Differential Privacy, Journal of the Royal Statistical
    Society B 84, 2022.

    Examples
    --------
    >>> from dpboost import explain_epsilon
    >>> round(explain_epsilon(1.0).advantage, 3)
    0.462
    >>> round(explain_epsilon(1.0, 1e-6, recipe="best").mu, 3)
    0.237
    """
    owner = "explain_epsilon"
    if sum(given is not None for given in (epsilon, mu, budget)) != 1:
        raise InvalidParameterError(
            f"{owner} takes either epsilon, with or without delta, or mu, or a budget. "
            f"Got epsilon={epsilon!r} and mu={mu!r} instead."
        )
    if schema is not None and recipe is None:
        raise refuse("schema", owner, "None without the recipe of a fit", schema)
    lists = int(learns_categories(Schema.coerce(schema)))
    if budget is not None:
        if recipe is None or rows_per_user is not None or delta:
            raise InvalidParameterError(
                f"{owner} takes a budget with fraction and recipe. The budget sets delta and "
                "rows_per_user: leave them out."
            )
        return _in_a_budget(recipe, budget, fraction, lists, owner)
    if fraction is not None:
        raise refuse("fraction", owner, "None without a budget", fraction)
    failure = check_real("delta", owner, delta, low=0, high=1, high_open=True)
    if rows_per_user is not None and recipe is None:
        raise refuse("rows_per_user", owner, "None without the recipe of a fit", rows_per_user)
    if mu is None:
        number = check_real("epsilon", owner, epsilon, low=0, infinite=True)
        if recipe is not None:
            return planned_guarantee(recipe, number, failure, rows_per_user, owner, lists)
        return EpsilonExplanation(epsilon=number, delta=failure, mu=None)
    if recipe is not None:
        raise refuse("recipe", owner, "None together with mu", recipe)
    if failure:
        raise InvalidParameterError(
            f"{owner} takes either mu or delta: mu gives a guarantee at every delta. "
            f"Got delta={delta!r} instead."
        )
    number = check_real("mu", owner, mu, low=0, infinite=True)
    return EpsilonExplanation(epsilon=None, delta=0.0, mu=number)


def learns_categories(schema: Schema) -> bool:
    """Return whether a schema leaves categories to be estimated."""
    return not all(schema.categories.values())


def planned_capacity(
    recipe: str | Recipe,
    epsilon: float,
    delta: float,
    rows_per_user: int | None,
    owner: str,
    lists: int = 0,
) -> tuple[str, PrivacyCost]:
    """Return the capacity of a fit for one row, and its accountant.

    Epsilon and delta are checked. ``lists`` are estimated lists of classes and categories, each
    with a part of delta.
    """
    if rows_per_user is not None:
        check_integer("rows_per_user", owner, rows_per_user, low=1, high=MOST_ROWS_PER_USER)
    own = ALGORITHMS.find(recipe, owner).accountant(epsilon, delta)
    accountant = for_group(own, rows_per_user or 1)
    whole = as_budget("epsilon", owner, epsilon), as_fraction("delta", owner, delta)
    left = whole[1] * (1 - lists * DELTA_SHARE)
    return accountant.privacy_measure, accountant.capacity(whole[0], left)


def planned_guarantee(
    recipe: str | Recipe,
    epsilon: float,
    delta: float,
    rows_per_user: int | None,
    owner: str,
    lists: int = 0,
) -> EpsilonExplanation:
    """Return the guarantee of a fit that uses its whole budget."""
    if epsilon in (0.0, math.inf):
        raise refuse("epsilon", owner, "positive and finite of a planned fit", epsilon)
    measure, capacity = planned_capacity(recipe, epsilon, delta, rows_per_user, owner, lists)
    name = ALGORITHMS.find(recipe, owner).name
    what = f"recipe={name!r}"
    if measure == "epsilon":
        return EpsilonExplanation(epsilon=epsilon, delta=0.0, mu=None, what=what)
    mu = None
    if measure == "mu squared":
        mu = math.sqrt(number_of(capacity)) * (rows_per_user or 1)
    return EpsilonExplanation(epsilon=epsilon, delta=delta, mu=mu, what=what)


def _in_a_budget(
    recipe: str | Recipe, budget: Budget, fraction: Any, lists: int, owner: str
) -> EpsilonExplanation:
    """Return the guarantee of a fit that uses its whole fraction of a budget."""
    if not isinstance(budget, Budget):
        raise refuse("budget", owner, "a dpboost.Budget", budget)
    share = as_fraction("fraction", owner, 0 if fraction is None else fraction)
    if not 0 < share <= 1:
        raise refuse("fraction", owner, "in (0, 1] with a budget", fraction)
    found = ALGORITHMS.find(recipe, owner)
    claim = Claim(budget=budget, fraction=share, what=found.name).settled(found.accountant)
    assert claim.accountant is not None
    rows = budget.rows_per_user or 1
    accountant = for_group(claim.accountant, rows)
    delta = budget.delta - lists * claim.histogram_delta
    whole = accountant.capacity(as_budget("epsilon", owner, budget.epsilon), delta)
    epsilon = float(budget.epsilon)
    if share < 1:
        epsilon = min(four_digits_up(accountant.epsilon(whole, delta)), epsilon)
    measure, what = accountant.privacy_measure, f"recipe={found.name!r}"
    if measure == "epsilon":
        return EpsilonExplanation(epsilon=epsilon, delta=0.0, mu=None, what=what)
    mu = math.sqrt(number_of(whole)) * rows if measure == "mu squared" else None
    return EpsilonExplanation(epsilon=epsilon, delta=float(budget.delta), mu=mu, what=what)
